"""Decides which works must be removed, and whether that is safe.

A work is removed when its cluster is selected no more, on a consistent read, within the removal brake;
all works go when their workload is deleted. Source: semantics rows 15-17; safety contract S11.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from rollout.model import names
from rollout.model.conditions import Condition, merge
from rollout.model.intents import INSTANT_ACCEPTED, Intents
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.model.policy import Policy
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason, Wait
from rollout.model.wording import first_of
from rollout.model.work import owner_label
from rollout.model.writes import Delete, PatchStatus, RemoveFinalizer
from rollout.planning.plan import Plan, Write
from rollout.planning.views import ReplicaSetView
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Head
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import NOTHING_SHUT, Shut


@dataclass(frozen=True, slots=True)
class Removals:
    """The deletes that are due, why others are held, and when that can change by itself.

    ``kept`` says which clusters a person holds, that keep what they have though selected no more.
    """

    writes: list[Write] = field(default_factory=list)
    hold: Wait | None = None
    recheck_at: datetime | None = None
    kept: str = ""


NONE = Removals()


def removals(
    workload: ReplicaSetWorkload,
    replicaset: ReplicaSet,
    view: ReplicaSetView,
    now: datetime,
    *,
    shut: Shut = NOTHING_SHUT,
) -> Removals:
    """Works of clusters that are selected no more, but for those that are shut.

    Any share that is not settled (torn decisions, a quiet period, no such placement) could still select
    any cluster, so nothing goes.
    """
    if not workload.strays or not all(s.is_settled for s in workload.shares.values()):
        return NONE
    kept = _kept(sorted(workload.strays & workload.held))
    leaving = sorted(workload.strays - workload.held)
    going = [cluster for cluster in leaving if cluster not in shut.waits]
    opens_at = shut.until if len(going) < len(leaving) else None
    if not going:
        return Removals(recheck_at=opens_at, kept=kept)
    unasked = [cluster for cluster in going if cluster not in workload.asked_for]
    braking = brake(
        workload, unasked, replicaset.intents, view.is_detached, policy=view.policy, now=now
    )
    keys = tuple(f"{replicaset.namespace}/{name}" for name in workload.shares)
    free = [cluster for cluster in going if cluster not in braking.clusters]
    looks = [at for at in (braking.eased_at, opens_at) if at is not None]
    writes = _deletes(workload, free, keys, workload.ref)
    return Removals(writes, braking.hold, min(looks, default=None), kept)


def _kept(clusters: Sequence[str]) -> str:
    if not clusters:
        return ""
    named = ", ".join([*clusters[:3], *(["..."] if len(clusters) > 3 else [])])
    are = "1 cluster is" if len(clusters) == 1 else f"{len(clusters)} clusters are"
    return f"{are} selected no more, and held: the work stays there until it is released ({named})"


def _deletes(
    workload: ReplicaSetWorkload,
    clusters: Iterable[str],
    keys: tuple[str, ...] = (),
    removed_from: Ref | None = None,
) -> list[Write]:
    return [
        Delete(
            Ref(MANIFEST_WORK, work.key),
            work.uid,
            unless_selected_by=keys,
            cluster=cluster,
            removed_from=removed_from,
        )
        for cluster in clusters
        for _, work in sorted(workload.works(cluster).items())
        if not work.deleting
    ]


@dataclass(frozen=True, slots=True)
class Braking:
    """Which clusters keep what they have though they are selected no more, why, and until when."""

    clusters: frozenset[str] = frozenset()
    hold: Wait | None = None
    eased_at: datetime | None = None


FREE = Braking()


def brake(
    workload: Workload[PlacementShare],
    going: list[str],
    intents: Intents,
    is_detached: Callable[[str], bool],
    *,
    policy: Policy,
    now: datetime,
) -> Braking:
    """Row 16: too many at once, or most of those that are left, and nobody changed a spec.

    Args:
        is_detached: whether a cluster's ManagedCluster is deleted, or being deleted. Somebody wants
            such a cluster to lose everything: it is held where many go, and where most go it counts
            for nothing. Nothing that is well loses its workload by that.
    """
    first = next(iter(workload.shares.values()), None)
    head = first.live.head if first else Head()
    since, released = head.basis.since, intents.released_until
    if released is not None and now < released:
        return FREE
    if since is not None and now < since + policy.brake_window:
        return FREE
    recent = [(at, n) for at, n in head.removals if now < at + policy.brake_window]
    again = [head.leaving[cluster] for cluster in going if cluster in head.leaving]
    again = [each for each in again if now < each.at + policy.brake_window]  # they go still
    went = sum(n for _, n in recent) - len(again)
    held, total = going, len(workload.members) + len(going) + went
    count = len(held) + went
    if count <= policy.brake_least or count * 100 <= policy.brake_share_percent * total:
        held = [cluster for cluster in going if not is_detached(cluster)]
        away = sum(n for at, n in head.detached if now < at + policy.brake_window)
        away -= sum(each.detached for each in again)
        total -= len(going) - len(held) + away
        count = len(held) + went - away
        is_ocm = (intents.profile or policy.profile) == "ocm"
        if is_ocm or not held or count * 2 <= total:
            return FREE
    eased_at = min((at + policy.brake_window for at, _ in recent), default=None)
    return Braking(frozenset(held), _brake_hold(held, count, total, policy), eased_at)


class RemovalView(Protocol):
    """What the count of removals depends on, besides the workload."""

    policy: Policy

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...


def counted(
    workload: Workload[PlacementShare],
    decided: Mapping[str, Decided],
    gone: Iterable[Write],
    *,
    view: RemovalView,
    now: datetime,
) -> dict[str, Decided]:
    """The same decisions, with what goes now in the head that remembers removals: it is written down
    before anything goes, so that whoever comes after this process counts it too (row 16).
    """
    clusters = {
        write.cluster: view.is_detached(write.cluster)
        for write in gone
        if isinstance(write, Delete) and write.removed_from == workload.ref
    }
    first = next(iter(workload.shares), None)
    if first is None or not clusters:
        return dict(decided)
    head = decided[first].head.removing(clusters, now, view.policy.brake_window)
    if head == decided[first].head:
        return dict(decided)
    return {**decided, first: replace(decided[first], head=head)}


def _brake_hold(held: list[str], count: int, total: int, policy: Policy) -> Wait:
    minutes = int(policy.brake_window.total_seconds() // 60)
    named = ", ".join([*held[:3], *(["..."] if len(held) > 3 else [])])
    return Wait(
        Reason.REMOVAL_BRAKE,
        f"{count} of {total} clusters would lose the workload within {minutes} minutes, though "
        f"nobody edited its placements, or which it names ({named}); to release them "
        f"set annotation {names.RELEASE_REMOVALS} to {INSTANT_ACCEPTED}",
    )


def cleanup(
    workload: ReplicaSetWorkload,
    replicaset: ReplicaSet,
    is_available: Callable[[str], bool],
    now: datetime,
    *,
    shut: Shut = NOTHING_SHUT,
) -> Plan:
    """The workload is being deleted: its works go, those of held and shut clusters later, then its
    finalizer.

    Background: when all works are known to be deleted or on their way; Foreground: when all are known
    to be gone, and until then the status says whose still stand. Only then is the server asked whether
    it is so.
    """
    if names.REPLICASET_FINALIZER not in replicaset.finalizers:
        return Plan()
    kept = workload.held | shut.waits.keys()
    deletes = _deletes(workload, (c for c in workload.clusters if c not in kept))
    why, opens_at = _staying(workload, replicaset.intents, shut)
    if deletes:
        return Plan((tuple(deletes),), recheck_at=opens_at, pressing=True)
    if why:
        told = _leaving_status(replicaset, f"{_LEAVING}{why}", now)
        return Plan(((told,),) if told else (), recheck_at=opens_at)
    foreground = replicaset.cascade == "Foreground"
    if foreground and workload.clusters:
        told = _leaving_status(replicaset, _still_there(workload, is_available), now)
        return Plan(((told,),) if told else (), pressing=True)
    release = RemoveFinalizer(
        ref=workload.ref,
        kept=tuple(f for f in replicaset.finalizers if f != names.REPLICASET_FINALIZER),
        version=replicaset.version,
        kind=MANIFEST_WORK,
        label=(names.WORK_OWNER_LABEL, owner_label(replicaset.namespace, replicaset.name)),
        deleting_is_gone=not foreground,
    )
    return Plan(((release,),))


_LEAVING = "the workload is being deleted, and waits for its works: "


def _staying(
    workload: ReplicaSetWorkload, intents: Intents, shut: Shut
) -> tuple[str, datetime | None]:
    """Why works stay though their workload is being deleted, "" where none does, and when that can end by
    itself.
    """
    there = set(workload.clusters)
    closed = _deletes(workload, sorted(there & shut.waits.keys() - workload.held))
    held = _deletes(workload, sorted(there & workload.held))
    why: list[str] = []
    if closed:
        why.append(f"{len(closed)} stay: {shut.waits[closed[0].ref.namespace].message}")
    if held:
        why.append(_why_held(held, intents))
    return "; ".join(why), shut.until if closed else None


def _why_held(works: Sequence[Write], intents: Intents) -> str:
    """In which held clusters works stay, who asked for that as far as one person did, and what ends it."""
    clusters = list(dict.fromkeys(work.ref.namespace for work in works))
    asked = {str(intents.who(f"hold/{cluster}")) for cluster in clusters}
    by = asked.pop() if len(asked) == 1 else ""
    named = ", ".join([*clusters[:3], *(["..."] if len(clusters) > 3 else [])])
    return (
        f"{len(works)} stay in clusters that are held{by} ({named}); release these (`rollout release`, "
        f"or take them off annotation {names.HOLD}) to let them go"
    )


def _leaving_status(replicaset: ReplicaSet, message: str, now: datetime) -> PatchStatus | None:
    """That the workload is being deleted and what that waits for, or None where the object says so."""
    old: Obj = replicaset.raw.get("status") or {}
    said = [
        Condition(
            kind, "False", Reason.DELETING, message, observed_generation=replicaset.generation
        )
        for kind in (names.PROGRESSING, names.READY)
    ]
    conditions = merge(old.get("conditions") or [], said, now)
    if old.get("conditions") == conditions:
        return None
    return PatchStatus(
        Ref(REPLICA_SET, replicaset.key), {"conditions": conditions}, replicaset.version
    )


def _still_there(workload: ReplicaSetWorkload, is_available: Callable[[str], bool]) -> str:
    """The clusters whose works still exist, and what each deletion waits for."""
    clusters = workload.clusters
    named = first_of(
        clusters, 3, lambda cluster: f"{cluster} ({_why_there(workload, cluster, is_available)})"
    )
    return (
        "the workload is being deleted, and waits for its works (cascadeDeletionPolicy Foreground): "
        f"{len(clusters)} still there, {named}"
    )


def _why_there(
    workload: ReplicaSetWorkload, cluster: str, is_available: Callable[[str], bool]
) -> str:
    works = workload.works(cluster).values()
    said = [work.conditions.get(names.DELETING) for work in works]
    if said and all(condition is not None and condition.is_true for condition in said):
        return "its agent is deleting what it applied, and holds the work by its finalizer"
    if not is_available(cluster):
        return "its agent is silent: the cluster is not available"
    return "its agent has not begun to delete"
