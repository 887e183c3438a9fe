"""Clusters that are kept for a while, with what was rendered for them: nothing of it is lost meanwhile."""

from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, Ref
from tests.stories.test_values import relabel, rules, setting, story, values
from tests.support import make
from tests.support.story import MIN, SEC, Story

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
