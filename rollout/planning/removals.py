"""Which works must go, and is it safe that they do?

A work is removed when its cluster is selected no more, on a consistent read, within the removal brake;
all works go when their workload is deleted. Source: semantics rows 15-17; safety contract S11.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rollout.model import names
from rollout.model.intents import INSTANT_ACCEPTED
from rollout.model.kinds import MANIFEST_WORK, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.planning.documents import owner_label
from rollout.planning.plan import Delete, Plan, RemoveFinalizer, Write
from rollout.planning.policy import Policy
from rollout.planning.record import Head
from rollout.planning.views import Live, Workload
from rollout.strategies.base import Hold


@dataclass(frozen=True, slots=True)
class Removals:
    """The deletes that are due, why others are held, and when that can change by itself."""

    writes: list[Write] = field(default_factory=list)
    hold: Hold | None = None
    recheck_at: datetime | None = None


NONE = Removals()


class _Remembering(Protocol):
    @property
    def live(self) -> Live: ...


class Braked(Protocol):
    """A workload of any kind, as far as the brake looks at it."""

    members: dict[str, str]

    @property
    def shares(self) -> Mapping[str, _Remembering]: ...


def removals(
    workload: Workload,
    replicaset: ReplicaSet,
    policy: Policy,
    now: datetime,
) -> Removals:
    """Works of clusters that are selected no more.

    Any share that is not settled (torn decisions, a quiet period) could still select any cluster,
    so nothing goes; a placement that does not exist keeps its own works.
    """
    if not workload.strays or not all(s.is_settled for s in workload.shares.values()):
        return NONE
    kept = replicaset.intents.held
    going = [c for c in sorted(workload.strays) if c not in kept and _may_go(workload, c)]
    if not going:
        return NONE
    released_until = replicaset.intents.released_until
    is_released = released_until is not None and now < released_until
    if not is_released:
        unasked = [cluster for cluster in going if not _was_asked_for(workload, cluster)]
        held = brake(workload, unasked, policy, now)
        if held is not None:
            return held
    keys = tuple(f"{replicaset.namespace}/{name}" for name in workload.shares)
    return Removals(_deletes(workload, going, keys, workload.ref))


def _may_go(workload: Workload, cluster: str) -> bool:
    work = workload.work(cluster)
    share = workload.shares.get(work.placement) if work else None
    return share is None or share.hold is None or share.hold.reason != "PlacementNotFound"


def _was_asked_for(workload: Workload, cluster: str) -> bool:
    """Whether a person took the placementRef that the work belongs to out of the workload."""
    work = workload.work(cluster)
    label = work.placement if work else ""
    kept = {share.labels[names.WORK_PLACEMENT_LABEL] for share in workload.shares.values()}
    return label != "" and label not in kept


def _deletes(
    workload: Workload,
    clusters: Iterable[str],
    keys: tuple[str, ...] = (),
    removed_from: Ref | None = None,
) -> list[Write]:
    return [
        Delete(Ref(MANIFEST_WORK, work.key), work.uid, keys, cluster, removed_from)
        for cluster in clusters
        for _, work in sorted(workload.works(cluster).items())
        if not work.deleting
    ]


def brake(
    workload: Braked,
    going: list[str],
    policy: Policy,
    now: datetime,
) -> Removals | None:
    """Row 16: too many at once, and nobody changed a spec."""
    first = next(iter(workload.shares.values()), None)
    head = first.live.head if first else Head()
    since = head.basis.since
    if since is not None and now < since + policy.brake_window:
        return None
    recent = [(at, n) for at, n in head.removals if now < at + policy.brake_window]
    count = len(going) + sum(n for _, n in recent)
    total = len(workload.members) + count
    if count <= policy.brake_least or count * 100 <= policy.brake_share_percent * total:
        return None
    minutes = int(policy.brake_window.total_seconds() // 60)
    hold = Hold(
        "RemovalBrake",
        f"{count} of {total} clusters would lose the workload within {minutes} minutes, though "
        f"neither it nor its placement was edited ({', '.join(going[:3])}, ...); to release them "
        f"set annotation {names.RELEASE_REMOVALS} to {INSTANT_ACCEPTED}",
    )
    eased_at = min((at + policy.brake_window for at, _ in recent), default=None)
    return Removals([], hold, eased_at)


def cleanup(workload: Workload, replicaset: ReplicaSet) -> Plan:
    """The workload is being deleted: its works go, then its finalizer.

    Background: when all works are known to be deleted or on their way; Foreground: when all are known
    to be gone. Only then is the server asked whether it is so.
    """
    if names.REPLICASET_FINALIZER not in replicaset.finalizers:
        return Plan()
    deletes = _deletes(workload, workload.clusters)
    if deletes:
        return Plan((tuple(deletes),), pressing=True)
    foreground = replicaset.cascade == "Foreground"
    if foreground and workload.clusters:
        return Plan(pressing=True)
    release = RemoveFinalizer(
        ref=workload.ref,
        kept=tuple(f for f in replicaset.finalizers if f != names.REPLICASET_FINALIZER),
        version=replicaset.version,
        kind=MANIFEST_WORK,
        label=(names.WORK_OWNER_LABEL, owner_label(replicaset.namespace, replicaset.name)),
        deleting_is_gone=not foreground,
    )
    return Plan(((release,),))
