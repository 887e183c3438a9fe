"""Clusters with values of their own where OCM's rules decide (profile ``ocm``)."""

from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.strategies.base import Phase
from tests.stories.test_values import CANARY, kept, relabel, rules, setting, story, values
from tests.support import make
from tests.support.story import MIN, Story

OCM = {names.SEMANTICS: "ocm"}
ONE = make.progressive(maxConcurrency=1)


def phases(told: Story) -> dict[Phase, int]:
    workload = told.engine.fleet.rollout(Ref(REPLICA_SET, "default/web"))
    assert workload is not None
    (stage,) = workload.shares["p"].live.last.stages
    return dict(stage.phases)


def test_a_cluster_that_cannot_be_rendered_takes_no_slot_and_says_so() -> None:
    told = story(values(), make.workload(annotations=OCM, strategy=ONE), tiers="-ab")
    told.on(10 * MIN)

    assert told.versions() == {"c01": "1-a", "c02": "1-b"}
    assert told.reason == "ValuesMissing"
    assert "c00: ClusterValues tiers rules[0].set[0]" in told.message
    assert phases(told) == {Phase.SOAKED: 2, Phase.UNRENDERED: 1}
    assert all(obj["metadata"]["annotations"][names.REVISION] for obj in kept(told))

    relabel(told, "c00", "c")
    told.end()
    assert told.versions()["c00"] == "1-c"
    assert told.reason == "Complete"


def test_a_cluster_whose_label_goes_when_all_is_done_holds_nobody_else() -> None:
    told = story(values(), make.workload(annotations=OCM, strategy=ONE)).end()
    relabel(told, "c00", None)
    told.on(5 * MIN)
    assert told.reason == "ValuesMissing"

    rules(told, setting("'2-' + cluster.labels['tier']"))
    told.on(10 * MIN)
    assert told.versions() == {"c00": "1-a", "c01": "2-a", "c02": "2-b"}
    assert told.reason == "ValuesMissing"


def test_a_fleet_of_which_nobody_can_be_rendered_is_not_complete() -> None:
    told = story(values(), make.workload(annotations=OCM), tiers="--").on(10 * MIN)

    assert told.versions() == {}
    assert told.reason == "ValuesMissing"
    assert phases(told) == {Phase.UNRENDERED: 2}


def test_a_mandatory_canary_that_cannot_be_rendered_is_not_passed_by() -> None:
    workload = make.workload(annotations=OCM, strategy=CANARY)
    told = story(values(), workload, tiers="-ab", canary=1).on(10 * MIN)

    assert told.versions() == {}
    assert told.reason == "ValuesMissing"
    assert phases(told) == {Phase.WAITING: 2, Phase.UNRENDERED: 1}

    relabel(told, "c00", "a")
    told.end()
    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "1-b"}
