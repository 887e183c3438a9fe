"""What is kept of what was rendered for clusters: clusters that are kept for a while lose nothing of it, and
what somebody edits is neither given back nor left so.
"""

import pytest

from rollout.model import names
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_REVISION,
    Obj,
    Ref,
    ref_of,
)
from tests.stories.test_values import kept, relabel, rules, setting, story, values
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, Story

PAGE = Ref(PLACEMENT_DECISION, "default/p-0-1")


def decided_by_others() -> Story:
    """Three clusters of a placement whose decisions the test writes."""
    names = [f"c{n:02}" for n in range(3)]
    clusters = [make.cluster(name, {"tier": tier}) for name, tier in zip(names, "aab", strict=True)]
    around = [make.cluster_set(), make.binding(), make.placement(ours=False), make.decision(names)]
    return Story([*clusters, *around, values(), make.workload()]).on(5 * MIN)


def updated(told: Story) -> int:
    return told.summary()["updated"]


def test_a_cluster_that_is_in_no_decision_for_a_moment_still_counts() -> None:
    told = decided_by_others()
    left = {
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in ("c00", "c01")]}
    }
    told.hub.patch_status(PAGE, left)
    told.on(1 * SEC)
    assert (updated(told), told.reason) == (3, "Complete")

    told.hub.delete(Ref(MANAGED_CLUSTER, "c02"))
    told.on(1 * SEC)
    assert (updated(told), told.reason) == (3, "Complete")

    told.on(5 * MIN)
    assert set(told.versions()) == {"c00", "c01"}


def test_clusters_of_a_placement_that_is_gone_still_count() -> None:
    told = decided_by_others()
    told.hub.delete(PAGE)
    told.hub.delete(Ref(PLACEMENT, "default/p"))
    relabel(told, "c00", "z")
    told.on(1 * SEC)
    assert (updated(told), told.reason) == (2, "PlacementNotFound")

    relabel(told, "c00", "a")
    told.on(5 * MIN)
    assert (updated(told), told.reason) == (3, "PlacementNotFound")


def test_a_new_process_that_can_follow_no_rule_still_knows_who_has_what_was_agreed() -> None:
    told = story(values(), make.workload()).end()
    rules(told, setting("'"))
    told.on(5 * MIN)
    assert (updated(told), told.reason) == (3, "Misconfigured")

    told.restart().on(5 * MIN)
    assert (updated(told), told.reason) == (3, "Misconfigured")

    rules(told, setting("current + cluster.labels['tier']"))
    told.end()
    assert told.versions() == {"c00": "1a", "c01": "1a", "c02": "1b"}
    assert told.reason == "Complete"


# -- contents that somebody edits ----------------------------------------------------------------


def content(told: Story, value: str) -> Obj:
    """The kept content that has this value."""
    return next(o for o in kept(told) if [v["value"] for v in o.get("values", [])] == [value])


def alter(told: Story, value: str) -> None:
    """Somebody edits the kept content that has this value."""
    obj = content(told, value)
    changed = [{**obj["values"][0], "value": "evil"}]
    told.hub.patch(ref_of(ROLLOUT_REVISION, obj), {"values": changed})


def released(*versions: str) -> Story:
    """These versions, one after the other, each until it has soaked."""
    told = story(values(), make.workload(annotations={names.ROLLBACK_CONCURRENCY: "1"})).end()
    for version in versions:
        told.template(make.template(version))
        told.end()
    return told


def undone(told: Story, *, after_restart: bool) -> Story:
    if after_restart:
        told.restart()
    told.annotate(names.UNDO, told.mwrs()["status"]["updateRevision"])
    return told.on(2 * HOUR)


def test_instead_of_a_content_edited_while_nobody_looked_the_cluster_gets_the_one_before() -> None:
    told = released("2", "3")
    alter(told, "2-b")

    undone(told, after_restart=True)

    assert told.versions() == {"c00": "2-a", "c01": "2-a", "c02": "1-b"}
    assert told.reason == "RolledBack"


def test_a_cluster_whose_only_content_was_edited_then_has_nothing_to_go_back_to_and_is_named() -> (
    None
):
    told = released("2")
    alter(told, "1-b")

    undone(told, after_restart=True)

    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "2-b"}
    assert told.reason == "RolledBack"
    assert "1 have nothing to go back to and keep it (c02)" in told.message


def test_clusters_go_back_to_a_content_that_somebody_edits_while_a_leader_knows_it() -> None:
    told = released("2")
    alter(told, "1-b")

    undone(told, after_restart=False)

    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "1-b"}
    assert told.reason == "RolledBack"


def test_a_content_that_is_deleted_while_clusters_go_back_ends_the_wait_for_its_cluster() -> None:
    told = released("2")
    told.annotate(names.HOLD, "c02")
    undone(told, after_restart=False)
    told.annotate(names.HOLD, None)
    told.hub.delete(ref_of(ROLLOUT_REVISION, content(told, "1-b")))
    told.on(2 * HOUR)

    assert told.reason == "RolledBack"
    assert "(c02)" in told.message


@pytest.mark.parametrize("how", ["edited", "deleted"])
def test_a_content_that_clusters_have_is_kept_again_when_somebody_edits_or_deletes_it(
    how: str,
) -> None:
    told = released()
    if how == "edited":
        alter(told, "1-b")
    else:
        told.hub.delete(ref_of(ROLLOUT_REVISION, content(told, "1-b")))
    told.settle()
    assert content(told, "1-b")
    assert len(kept(told)) == 3

    told.template(make.template("2"))
    told.end()
    undone(told, after_restart=False)
    assert told.versions()["c02"] == "1-b"
