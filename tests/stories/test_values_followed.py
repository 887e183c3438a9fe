"""What is rendered follows everything that rules read and say, at once and without a new process."""

from typing import Any

import pytest

from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from tests.stories.test_values import CONFIG, relabel, rules, setting, story, values
from tests.support import make
from tests.support.story import SEC, Story


def upgrade(told: Story, cluster: str, version: str) -> None:
    status = {"version": {"kubernetes": version}}
    told.hub.patch_status(Ref(MANAGED_CLUSTER, cluster), {"status": status})


def test_a_rule_follows_whatever_its_selector_reads_of_a_cluster() -> None:
    newest = "managedCluster.status.?version.kubernetes.orValue('') == 'v2'"
    told = story(
        values(setting("'new'"), clusters={"celSelector": {"celExpressions": [newest]}}),
        make.workload(),
    ).end()
    assert set(told.versions().values()) == {"1"}

    upgrade(told, "c00", "v2")
    told.end()
    assert told.versions() == {"c00": "new", "c01": "1", "c02": "1"}

    upgrade(told, "c00", "v3")
    told.end()
    assert set(told.versions().values()) == {"1"}


def literal(value: Any) -> Obj:
    return {"target": CONFIG, "path": "/spec/field", "literal": value}


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), ({"a": 1}, {"a": True})])
def test_a_literal_of_another_type_is_another_literal(before: Any, after: Any) -> None:
    told = story(values(literal(before)), make.workload()).end()
    rules(told, literal(after))
    told.end()

    fields = [
        work["spec"]["workload"]["manifests"][0]["spec"]["field"] for work in told.works().values()
    ]
    assert [repr(field) for field in fields] == [repr(after)] * 3


def test_a_label_that_changes_in_the_same_moment_as_a_rule_waits() -> None:
    told = story(values(setting("'1'")), make.workload()).end()
    start = told.now
    relabel(told, "c00", "z")
    rules(told, setting())
    told.end()

    assert told.touched("1-a") == {"c01": start}
    assert told.touched("1-z") == {"c00": start + 60 * SEC}
