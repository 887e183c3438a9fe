"""What people ask for where clusters have values of their own: a verb is about the revision that the engine
rolls out, which is that of the template and of the rules over it.
"""

from typing import Any
from unittest.mock import patch

import pytest

from rollout import operate
from rollout.errors import ConfigError, Denied
from rollout.model import names
from rollout.model.kinds import CLUSTER_VALUES, REPLICA_SET, Kind, Ref
from rollout.operate import Who
from tests.stories.operating import revision
from tests.stories.test_values import relabel, rules, setting, story, values
from tests.support import make
from tests.support.story import MIN, Story

WEB = Ref(REPLICA_SET, "default/web")
ONE = make.progressive(maxConcurrency=1, minSuccessTime="5m")
FIRST = {"c00": "1-a", "c01": "1-a", "c02": "1-b"}


def ann(told: Story) -> Who:
    return Who("ann", told.clock.now())


def under_way(**notes: str) -> Story:
    """Version 1 is everywhere, and version 2 on its first cluster."""
    annotations = {names.PREFIX + key: value for key, value in notes.items()}
    told = story(values(), make.workload(strategy=ONE, annotations=annotations)).end()
    told.template(make.template("2"))
    told.on(MIN)
    assert told.versions() == {**FIRST, "c00": "2-a"}
    return told


def test_an_abort_stops_it() -> None:
    told = under_way()

    said = operate.abort(told.hub, WEB, ann(told))

    assert said.message.startswith(f"aborted: revision {revision(told)} is rolled out to no more")
    told.end()
    assert (told.reason, told.versions()) == ("Aborted", {**FIRST, "c00": "2-a"})


def test_a_rejection_stops_it_and_a_retry_names_the_approval_to_be_deleted() -> None:
    told = under_way()

    (said,) = operate.reject(told.hub, WEB, ann(told))

    told.end()
    assert (told.reason, told.versions()) == ("Rejected", {**FIRST, "c00": "2-a"})
    with pytest.raises(ConfigError, match=f"still rejected by ann .* in Approval {said.ref.name}"):
        operate.retry(told.hub, WEB, ann(told))


def test_an_approval_opens_the_gate() -> None:
    gated = make.workload(annotations={names.GATES: "before:rest"}, strategy=make.progressive())
    told = story(values(), gated).end()
    assert told.reason == "ApprovalNeeded"

    operate.approve(told.hub, WEB, ann(told), shown={revision(told)})

    assert (told.end().reason, told.versions()) == ("Complete", FIRST)


def test_a_skip_waives_the_cluster_for_what_is_rolled_out() -> None:
    told = under_way()

    operate.skip(told.hub, WEB, ["c02"], ann(told))

    told.end()
    assert told.versions() == {"c00": "2-a", "c01": "2-a", "c02": "1-b"}
    assert (told.reason, told.message) == ("Complete", "2 clusters succeeded, 1 skipped")


def test_an_undo_takes_it_back() -> None:
    told = under_way()

    operate.undo(told.hub, WEB, ann(told))

    assert (told.end().reason, told.versions()) == ("RolledBack", FIRST)


def test_an_undo_by_number_gives_back_what_the_rules_gave_then() -> None:
    told = story(values(), make.workload()).end()
    for value in ("'x'", "'y'"):
        rules(told, setting(value))
        told.end()

    operate.undo(told.hub, WEB, ann(told), to=1)

    assert (told.end().reason, told.versions()) == ("RolledBack", FIRST)


def test_a_first_revision_has_nothing_earlier_to_go_back_to() -> None:
    told = story(values(), make.workload()).end()

    with pytest.raises(ConfigError, match="there is no earlier revision to go back to"):
        operate.undo(told.hub, WEB, ann(told))


def test_a_rule_that_is_edited_makes_another_revision_which_nobody_has_seen() -> None:
    told = under_way()
    shown = {revision(told)}
    relabel(told, "c02", "c")
    assert operate.abort(told.hub, WEB, ann(told), shown=shown).changed  # labels make none

    rules(told, setting("'x'"))

    with pytest.raises(ConfigError, match="look at it first"):
        operate.abort(told.hub, WEB, ann(told), shown=shown)


def test_values_of_other_workloads_and_namespaces_make_no_other_revision() -> None:
    told = story(make.workload()).end()
    of_another, elsewhere = values(name="other"), values(name="away")
    of_another["spec"]["workload"]["name"] = "api"
    elsewhere["metadata"]["namespace"] = "team"
    told.add(of_another)
    told.add(elsewhere)

    assert operate.abort(told.hub, WEB, ann(told), shown={revision(told)}).changed
    assert told.end().reason == "Aborted"


def denied(told: Story) -> Any:
    """While it lasts, ClusterValues may not be listed."""
    listed = told.hub.list

    def refused(kind: Kind, *where: Any, **how: Any) -> Any:
        if kind is CLUSTER_VALUES:
            raise Denied("clustervalues are forbidden")
        return listed(kind, *where, **how)

    return patch.object(told.hub, "list", side_effect=refused)


def test_who_may_not_list_values_means_the_revision_that_the_status_tells() -> None:
    told = under_way()

    with denied(told):
        assert operate.abort(told.hub, WEB, ann(told), shown={revision(told)}).changed

    assert (told.end().reason, told.versions()["c02"]) == ("Aborted", "1-b")


def test_who_may_not_list_values_is_refused_while_the_status_is_of_an_earlier_spec() -> None:
    """Else the verb would say that it has stopped what goes on."""
    told = under_way()
    told.template(make.template("3"))

    with denied(told), pytest.raises(Denied, match="clustervalues are forbidden"):
        operate.abort(told.hub, WEB, ann(told))
