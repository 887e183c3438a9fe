"""What does a vector of ``mwrs_sync`` put before the controller? The input alone, read from the wire.

For the excuses of that suite: what each placementRef selects, and for each selected cluster the work
that counts, how OCM reads it (`work_status`) and how profile ``strict`` does (`read_report`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout.api.decoding import decode
from rollout.model import names
from rollout.model.instants import parse_instant
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET
from rollout.model.placement import Group
from rollout.model.replicaset import PlacementRef, ReplicaSet, RolloutSpec
from rollout.model.work import Work
from rollout.strategies.base import Health
from rollout.strategies.ocm import Status, work_status
from rollout.strategies.states import read_report
from tests.conformance.suite import Json

COUNTED = (names.APPLIED, names.AVAILABLE, names.PROGRESSING, names.DEGRADED)


@dataclass(frozen=True, slots=True)
class Carried:
    """A work, and whether it carries the template. ``since`` is what OCM measures its time from."""

    work: Work
    is_current: bool
    status: Status
    since: datetime | None
    health: Health

    @property
    def done(self) -> bool:
        """Whether strict sees success; OCM does where the status is Succeeded."""
        return self.health is Health.SUCCEEDED

    def true_at_any_generation(self) -> frozenset[str]:
        return frozenset(
            kind
            for kind in COUNTED
            if (found := self.work.conditions.get(kind)) is not None and found.is_true
        )

    def true_now(self) -> frozenset[str]:
        return frozenset(
            kind
            for kind in self.true_at_any_generation()
            if self.work.conditions[kind].observed_generation == self.work.generation
        )


@dataclass(frozen=True, slots=True)
class Selecting:
    """One placementRef: whom its placement selects, by the decisions and by the status's number."""

    ref: PlacementRef
    exists: bool
    told: int
    groups: tuple[Group, ...]
    carried: Mapping[str, Carried]  # cluster -> work labelled with this placement

    @property
    def spec(self) -> RolloutSpec | None:
        return self.ref.rollout

    @property
    def members(self) -> tuple[str, ...]:
        """By (group, name)."""
        return tuple(cluster for group in self.groups for cluster in group.clusters)

    def current(self) -> dict[str, Carried]:
        """Members whose work carries the template."""
        return {c: w for c in self.members if (w := self.carried.get(c)) and w.is_current}

    def outdated(self) -> dict[str, Carried]:
        return {c: w for c in self.members if (w := self.carried.get(c)) and not w.is_current}

    def waiting(self) -> list[str]:
        """Members that do not carry the template: to OCM they are new."""
        current = self.current()
        return [cluster for cluster in self.members if cluster not in current]


@dataclass(frozen=True, slots=True)
class Given:
    """A vector's input, read."""

    replicaset: ReplicaSet
    now: datetime
    refs: tuple[Selecting, ...]
    works: tuple[Carried, ...]  # all of this workload's, in the order given
    selected: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_evaluated(self) -> bool:
        """Neither OCM's pass nor ours ends before the placementRefs are looked at."""
        finalized = names.REPLICASET_FINALIZER in self.replicaset.finalizers
        return finalized and not self.replicaset.deleting

    @property
    def told(self) -> int:
        return sum(ref.told for ref in self.refs)

    @property
    def total(self) -> int:
        return sum(len(ref.members) for ref in self.refs)

    def leaving(self) -> list[Carried]:
        """Works at clusters that no placementRef selects."""
        return [w for w in self.works if w.work.cluster not in self.selected]

    def current(self) -> Iterator[Carried]:
        """Works that carry the template, at a cluster selected by the placement they are of."""
        for ref in self.refs:
            yield from ref.current().values()


def read(given: Json) -> Given:
    replicaset = decode(REPLICA_SET, given["manifestWorkReplicaSet"])
    now = parse_instant(given["now"])
    assert isinstance(replicaset, ReplicaSet)
    assert now is not None
    owner = f"{replicaset.namespace}/{replicaset.name}"
    works = [_carried(obj, replicaset) for obj in given.get("manifestWorks") or ()]
    mine = tuple(w for w in works if w.work.owner == owner)
    refs = tuple(_selecting(ref, given, mine) for ref in replicaset.refs)
    selected = frozenset(c for ref in refs for c in ref.members)
    return Given(replicaset, now, refs, mine, selected)


def _carried(obj: Json, replicaset: ReplicaSet) -> Carried:
    work = decode(MANIFEST_WORK, obj)
    assert isinstance(work, Work)
    status, since = work_status(work.generation, work.conditions)
    health = read_report(work, replicaset.template.rules).health
    return Carried(work, work.content == replicaset.template.content, status, since, health)


def _selecting(ref: PlacementRef, given: Json, works: tuple[Carried, ...]) -> Selecting:
    placements = {p["metadata"]["name"]: p for p in given.get("placements") or ()}
    placement = placements.get(ref.name)
    told = (placement or {}).get("status", {}).get("numberOfSelectedClusters", 0)
    groups = sorted(
        (
            Group(
                int(labels[names.GROUP_INDEX_LABEL]),
                labels.get(names.GROUP_NAME_LABEL, ""),
                tuple(sorted(d["clusterName"] for d in page["status"].get("decisions") or ())),
            )
            for page in given.get("placementDecisions") or ()
            if (labels := page["metadata"]["labels"])[names.PLACEMENT_LABEL] == ref.name
        ),
        key=lambda g: (g.index, g.name),
    )
    carried = {w.work.cluster: w for w in works if w.work.placement == ref.name}
    return Selecting(ref, placement is not None, told, tuple(groups) if placement else (), carried)
