"""Add-ons on a few clusters, or on canaries first, and what people change of them."""

from datetime import UTC, datetime

from rollout.analysis.copies import TrialChange, holding
from rollout.analysis.full_run import FullRun
from rollout.clock import VirtualClock
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import ADDON_DEPLOYMENT_CONFIG, MANAGED_CLUSTER_ADDON, Obj, Ref
from rollout.model.names import PAUSED, SKIP
from rollout.sim.scenario import Scenario
from tests.support.addons import (
    CMA,
    MIN,
    NAME,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)
from tests.support.changes import storing
from tests.support.shapes import binding, cluster, cluster_set, placement

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = Ref(ADDON_DEPLOYMENT_CONFIG, "default/default")
CANARY_FIRST = progressive(
    maxConcurrency="25%", minSuccessTime="5m", mandatoryDecisionGroups=[{"groupName": "canary"}]
)
GROUPS: Obj = {
    "groupStrategy": {
        "decisionGroups": [
            {
                "groupName": "canary",
                "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": "canary"}}},
            }
        ]
    }
}


def canaries(value: str = "one", size: int = 12) -> list[Obj]:
    """An add-on on some clusters, of which two are canaries."""
    rings = [{"ring": "canary"} if i < 2 else {} for i in range(size)]
    clusters = [cluster(f"c{i:02}", ring) for i, ring in enumerate(rings)]
    chosen = placement(decisionStrategy=GROUPS)
    placed = installed_at("fleet", refer("default"), strategy=CANARY_FIRST)
    own = [config(value=value), addon(placements=[placed])]
    return [cluster_set(), binding(), *clusters, chosen, *own]


def rolled_out(objects: list[Obj]) -> tuple[MemoryHub, VirtualClock]:
    hub, clock = holding({}, NOW)
    storing(objects)(hub)
    FullRun(hub, clock, Scenario()).run()
    return hub, clock


def patching(ref: Ref, changes: Obj) -> TrialChange:
    def change(hub: EmbeddedHub) -> None:
        hub.patch(ref, changes)

    return change


def deleting(ref: Ref) -> TrialChange:
    def change(hub: EmbeddedHub) -> None:
        hub.delete(ref)

    return change


def in_turn(*changes: TrialChange) -> TrialChange:
    def change(hub: EmbeddedHub) -> None:
        for each in changes:
            each(hub)

    return change


def annotated(**annotations: str) -> TrialChange:
    return patching(CMA, {"metadata": {"annotations": annotations}})


def placed(*configs: str, **options: object) -> Obj:
    strategy = progressive(maxConcurrency=2, **options)
    return installed_at("p", *map(refer, configs), strategy=strategy)


def spec_of(document: Obj) -> TrialChange:
    return patching(CMA, {"spec": document["spec"]})


NEW_VALUE = storing([config(value="two")])
CHANGES: dict[str, tuple[TrialChange, list[str]]] = {
    "a config edit": (NEW_VALUE, ["c0", "c1"]),
    "a config of one cluster's own": (storing([config("own", "x")]), ["c3"]),
    "both": (in_turn(NEW_VALUE, storing([config("own", "x")])), ["c0", "c1", "c3"]),
    "another config": (spec_of(addon(placements=[placed("other")])), ["c0", "c1"]),
    "the same once more": (storing([config(value="test")]), []),
    "a missing config": (spec_of(addon(placements=[placed("nowhere")])), []),
    "a config that is deleted": (deleting(CONFIG), []),
    "an edit while paused": (in_turn(NEW_VALUE, annotated(**{PAUSED: "true"})), []),
    "an edit with a cluster skipped": (in_turn(NEW_VALUE, annotated(**{SKIP: "c0"})), ["c1", "c2"]),
    "an edit with a soak": (  # c3, whose own configuration stays, soaks with the new revision
        in_turn(NEW_VALUE, spec_of(addon(placements=[placed("default", minSuccessTime="1m")]))),
        ["c0"],
    ),
    "an end of the install strategy": (spec_of(addon("other")), []),
}


def four() -> Rig:
    """An add-on on four clusters, all well; c3 has a configuration of its own."""
    documents = [*fleet("c0", "c1", "c2", "c3"), config(), config("other", "o"), config("own", "w")]
    rig = Rig([*documents, addon(placements=[placed("default")])])
    rig.decide(["c0", "c1", "c2", "c3"])
    rig.works_do(["c0", "c1"]).works_do(["c2", "c3"]).later(MIN)
    rig.edit(Ref(MANAGED_CLUSTER_ADDON, f"c3/{NAME}"), {"spec": {"configs": [refer("own")]}})
    rig.works_do(["c3"]).later(MIN)
    assert rig.halted() == ("False", "Complete")
    rig.take_touched()
    return rig
