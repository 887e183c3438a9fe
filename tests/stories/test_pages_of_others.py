"""PlacementDecisions that another controller owns are in nobody's way."""

import pytest

from tests.support import make
from tests.support.story import MIN, Story

THEIRS = [
    {"apiVersion": "x.io/v1", "kind": "Other", "name": "o", "uid": "u-other", "controller": True}
]


@pytest.mark.parametrize("how", ["name", "label", "label later"])
def test_a_rollout_goes_on_beside_a_page_that_another_controller_owns(how: str) -> None:
    page = make.decision(["c01"])
    page["metadata"]["ownerReferences"] = THEIRS
    if how == "name":
        page["metadata"] |= {"name": "p-decision-1", "labels": {}}
    before = [page] if how != "label later" else []
    story = Story([*before, *make.fleet(3), make.workload()])
    story.to(MIN)
    if not before:
        story.add(page)
        story.template(make.template("2"))
        story.to(2 * MIN)

    assert story.reason == "Complete"
    assert set(story.versions().values()) == {"2" if not before else "1"}
    assert len(story.works()) == 3
