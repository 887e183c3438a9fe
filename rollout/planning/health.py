"""Decides whether a cluster is still there, and which taints follow.

The hub's own clock measures how long a cluster's lease has not changed; an agent's clock is never
read. A cluster that was silent for five lease periods is Unknown and gets the taint ``unreachable``;
one that reports trouble gets ``unavailable``. When most of the fleet falls silent, or ever more of
it, the fault is likelier here than there: then nothing is tainted, and somebody is told. Renewals are
out of phase, so graces end one by one; an outage is seen before the first ends, by counting the
clusters that have missed a renewal.
Source: OCM placement spec 4.4, weaknesses W7, W8, W10, W11.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from rollout.model.cluster import Cluster, Taint
from rollout.model.conditions import Condition, merge, read_conditions
from rollout.model.instants import rfc3339
from rollout.model.kinds import MANAGED_CLUSTER, Kind, Obj, Ref
from rollout.model.names import (
    CLUSTER_ACCEPTED,
    CLUSTER_AVAILABLE,
    TAINT_UNAVAILABLE,
    TAINT_UNREACHABLE,
)
from rollout.model.writes import Patch, PatchStatus
from rollout.planning.plan import NOTHING, Note, Plan, Write

GRACE_PERIODS = 5
MISSED_PERIODS = 2  # agents renew every 1 to 1.25 periods: by then one renewal at least is missing
DEFAULT_PERIOD = 60  # seconds
LONGEST_PERIOD = 24 * 3600


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """When silence means nothing because too many are silent."""

    brake_share_percent: int = 55
    """At least this share of all watched clusters is missed ..."""
    brake_least: int = 3
    """... and at least this many: then none is tainted."""
    rise_share_percent: int = 5
    """At least this share of all watched clusters, and at least ``brake_least``, came to be missed
    within the last two periods: then more may follow, and none is tainted before it stands still."""
    brake_recheck: timedelta = timedelta(seconds=30)
    """How often to look again while the brake holds."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How many clusters have not been heard of for two of their periods."""

    missed: int
    risen: int
    """How many of them came to be missed within the window that was asked for."""
    watched: int
    """Of how many, in all."""


class HealthView(Protocol):
    """What the planner reads."""

    def cluster(self, name: str) -> Cluster | None: ...

    def heard_at(self, name: str) -> datetime | None:
        """When the hub last saw the cluster's lease change; None where it never saw one."""
        ...

    def blind_since(self) -> datetime | None:
        """Since when renewals may have been missed; None where all are seen."""
        ...

    def silence(self, now: datetime, window: timedelta) -> Silence:
        """How many clusters are missed, and how many of them came to be so within the window."""
        ...


def period_of(cluster: Cluster) -> int:
    """Seconds between two renewals: leaseDurationSeconds, from 1 s to a day; unset or 0 is 60."""
    spec = cluster.raw.get("spec")
    written = spec.get("leaseDurationSeconds") if isinstance(spec, dict) else None
    if not isinstance(written, int) or isinstance(written, bool) or written == 0:
        return DEFAULT_PERIOD
    return max(1, min(written, LONGEST_PERIOD))


def _window(cluster: Cluster) -> timedelta:
    """For how long the number of missed clusters must stand still before this one is tainted."""
    return timedelta(seconds=MISSED_PERIODS * period_of(cluster))


def grace_of(cluster: Cluster) -> timedelta:
    """How long a cluster may be silent."""
    return timedelta(seconds=GRACE_PERIODS * period_of(cluster))


class HealthPlanner:
    """Plans one ManagedCluster: its Available condition and the two health taints."""

    kind: Kind = MANAGED_CLUSTER

    def __init__(self, policy: HealthPolicy = HealthPolicy()) -> None:
        self._policy = policy

    def plan(self, key: str, view: HealthView, now: datetime) -> Plan:
        """The writes, and when the lease will have run out."""
        cluster = view.cluster(key)
        if cluster is None or cluster.deleting:
            return NOTHING
        ref = Ref(MANAGED_CLUSTER, key)
        conditions = read_conditions((cluster.raw.get("status") or {}).get("conditions"))
        heard, blind = view.heard_at(key), view.blind_since()
        # while we were not watching, a cluster's silence does not count
        seen_until = now if blind is None else min(now, blind)
        expires = None if heard is None else heard + grace_of(cluster)
        expired = CLUSTER_ACCEPTED in conditions and expires is not None and expires <= seen_until
        available = conditions.get(CLUSTER_AVAILABLE)
        unknown = available is None or available.status == "Unknown" or expired
        silence = view.silence(seen_until, _window(cluster))
        if unknown and self._braked(silence):
            recheck = now + self._policy.brake_recheck
            return Plan(recheck_at=recheck, notes=(_brake_note(ref, silence),) if expired else ())
        waves: list[tuple[Write, ...]] = []
        notes: tuple[Note, ...] = ()
        status = "Unknown" if unknown else str(available and available.status)
        if expired and not (available and available.status == "Unknown"):
            waves.append((_unknown(ref, cluster, now),))
            notes = (_unknown_note(ref),)
        taints = tainted(cluster.taints, status, now)
        if taints != cluster.taints:
            version = cluster.version if not waves else None
            changes = {"spec": {"taints": [_wire(taint) for taint in taints]}}
            waves.append((Patch(ref, changes, version or None),))
        recheck_at = expires if expires is not None and not expired else None
        if recheck_at is not None and blind is not None:
            recheck_at = max(recheck_at, now + self._policy.brake_recheck)
        return (
            Plan(tuple(waves), recheck_at=recheck_at, notes=notes)
            if waves or recheck_at
            else NOTHING
        )

    def _braked(self, silence: Silence) -> bool:
        policy, watched = self._policy, silence.watched
        return (
            silence.missed >= policy.brake_least
            and silence.missed * 100 >= policy.brake_share_percent * watched
        ) or (
            silence.risen >= policy.brake_least
            and silence.risen * 100 >= policy.rise_share_percent * watched
        )


def tainted(taints: tuple[Taint, ...], status: str, now: datetime) -> tuple[Taint, ...]:
    """The taints that go with an Available status; those of others stay as they are."""
    wanted = {"True": None, "False": TAINT_UNAVAILABLE}.get(status, TAINT_UNREACHABLE)
    ours = (TAINT_UNAVAILABLE, TAINT_UNREACHABLE)
    kept = [
        taint
        for taint in taints
        if taint.key not in ours or taint.key == wanted or taint.effect != "NoSelect"
    ]
    if wanted is None or Taint(wanted) in [replace(taint, added=None) for taint in kept]:
        return tuple(kept)
    return (*kept, Taint(wanted, added=now))


def _wire(taint: Taint) -> Obj:
    wire: Obj = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        wire["value"] = taint.value
    wire["timeAdded"] = rfc3339(taint.added) if taint.added else None
    return wire


def _unknown(ref: Ref, cluster: Cluster, now: datetime) -> PatchStatus:
    listed = (cluster.raw.get("status") or {}).get("conditions") or []
    text = "Registration agent stopped updating its lease."
    condition = Condition(CLUSTER_AVAILABLE, "Unknown", "ManagedClusterLeaseUpdateStopped", text)
    return PatchStatus(
        ref, {"conditions": merge(listed, [condition], now)}, cluster.version or None
    )


def _unknown_note(ref: Ref) -> Note:
    text = (
        f"The {ref.key} is successfully imported. However, the connection check from the managed"
        " cluster to the hub cluster has failed"
    )
    return Note(ref, "AvailableUnknown", text, warning=True, action="AvailableUnknown")


def _brake_note(ref: Ref, silence: Silence) -> Note:
    text = (
        f"{silence.missed} of {silence.watched} clusters have not renewed their leases for"
        f" {MISSED_PERIODS} periods, {silence.risen} of them only lately: the fault is taken to be on"
        " the hub's side, and no cluster is tainted for it"
    )
    return Note(ref, "HealthBrake", text, warning=True, action="TaintsHeld")
