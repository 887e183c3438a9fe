"""A placement keeps the clusters that it has, whatever other placements decide meanwhile."""

import pytest

from rollout.model.kinds import Obj
from tests.support import make
from tests.support.story import HOUR, Story


def asking_for_two(*documents: Obj) -> Story:
    """Placement p asks for two of four clusters, and gets c0 and c1."""
    clusters = [make.cluster(f"c{n}", {"half": "ab"[n // 2]}) for n in range(4)]
    placement = make.placement("p")
    placement["spec"]["numberOfClusters"] = 2
    fleet = [*clusters, make.cluster_set(), make.binding(), placement]
    story = Story([*fleet, make.workload(placements=["p"])]).end()
    for document in documents:
        story.add(document)
    story.end()
    assert sorted(story.works()) == ["c0", "c1"]
    return story


OTHERS = pytest.mark.parametrize(
    "others",
    [
        make.placement("q", only={"half": "a"}),
        make.decision(["c0", "c1"], "of-nobody", "elsewhere"),
    ],
    ids=["another placement", "pages without a placement"],
)


@OTHERS
def test_a_restart_moves_nothing_when_others_have_decided_the_same_clusters(others: Obj) -> None:
    story = asking_for_two(others)

    story.restart().end()

    assert sorted(story.works()) == ["c0", "c1"]
    assert story.removed() == {}


@OTHERS
def test_a_cluster_that_joins_moves_nothing_when_others_have_decided_the_same_clusters(
    others: Obj,
) -> None:
    story = asking_for_two(others)

    story.add(make.cluster("c9"))
    story.end().on(HOUR)

    assert sorted(story.works()) == ["c0", "c1"]
    assert story.removed() == {}


@OTHERS
def test_a_cluster_that_is_missing_is_replaced_by_one_that_others_left_free(others: Obj) -> None:
    story = asking_for_two(others)
    story.add(make.placement("r", only={"half": "b"}))
    story.add(make.cluster("c9"))

    story.lose("c1")
    story.end()

    assert sorted(story.works()) == ["c0", "c9"]
