"""Workloads that verbs are tried on, and what was written there."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from rollout.clock import VirtualClock
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.intents import read_asked
from rollout.model.kinds import MANAGED_CLUSTER, REPLICA_SET, Ref
from rollout.operate import Who
from tests.support import make
from tests.support.addons import CMA, Rig, addon, config, fleet, installed_at, refer
from tests.support.story import Story

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ANN = Who("ann", NOON, "lunch")
BEN = Who("ben", NOON + timedelta(minutes=5))
WEB = Ref(REPLICA_SET, "default/web")
TWO_AT_ONCE = make.progressive(maxConcurrency=2, progressDeadline="5m")

BOTH = pytest.mark.parametrize("ref", [WEB, CMA], ids=["a replica set", "an add-on"])


def hub_with(notes: Mapping[str, str] | None = None) -> MemoryHub:
    """A replica set, an add-on and clusters, on a hub that checks what is written. Nothing rolls out."""
    hub = MemoryHub(VirtualClock(NOON), admit=admit)
    for name in (f"c{n}" for n in range(10)):
        hub.create(Ref(MANAGED_CLUSTER, name), make.cluster(name))
    hub.create(WEB, make.workload(annotations=dict(notes or {})))
    hub.create(CMA, addon(annotations=notes))
    return hub


def rolled_out(*versions: str) -> Story:
    """Each version is rolled out to its end, one after the other."""
    workload = make.workload(strategy=TWO_AT_ONCE, version=versions[0])
    story = Story([*make.fleet(3), workload]).end()
    for version in versions[1:]:
        story.template(make.template(version))
        story.end()
    return story


def two_placements() -> Rig:
    """An add-on that is rolled out on two configurations, each to a placement of its own."""
    placed = [installed_at(name, refer(name)) for name in ("p", "q")]
    documents = [config("p"), config("q", "other"), addon(placements=placed)]
    rig = Rig([*fleet("c0", "c1", placements=("p", "q")), *documents])
    return rig.decide(["c0"]).decide(["c1"], placement="q")


def notes(hub: MemoryHub, ref: Ref = WEB) -> dict[str, str]:
    """Our annotations, without the memory of who asked."""
    found = hub.get(ref)["metadata"].get("annotations") or {}
    return {name: value for name, value in found.items() if name != names.ASKED}


def asked(hub: MemoryHub, ref: Ref = WEB) -> dict[str, str]:
    """Who asked for what, with the reason."""
    told = read_asked(hub.get(ref)["metadata"].get("annotations") or {})
    return {verb: f"{each.by} {each.reason}".strip() for verb, each in told.items()}
