"""Keeps when each cluster was last heard of, and counts those that are silent.

A lease counts as renewed at the instant at which the hub's watch showed it changed, on our clock; what
the agent wrote into it is compared, never read as a time. A cluster's grace begins anew when this
process first sees it, so a restart or an outage of the hub evicts nobody.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from rollout.planning.health import GRACE_PERIODS, MISSED_PERIODS, Silence

LEASE_NAME = "managed-cluster-lease"
CLUSTER_NAME_LABEL = "open-cluster-management.io/cluster-name"


@dataclass(frozen=True, slots=True)
class _Beat:
    renewal: object  # spec.renewTime as written, to tell one renewal from the next
    heard_at: datetime
    period: timedelta

    @property
    def missed_at(self) -> datetime:
        return self.heard_at + MISSED_PERIODS * self.period

    @property
    def ends_at(self) -> datetime:
        return self.heard_at + GRACE_PERIODS * self.period


class Heartbeats:
    """Lease renewals by cluster. O(log n) to count who is missed, O(n) in C to move one entry."""

    def __init__(self) -> None:
        self._beats: dict[str, _Beat] = {}
        self._missed: list[tuple[datetime, str]] = []  # from when on each is missed, in order

    def heard(self, lease: Obj, period: timedelta, now: datetime) -> set[Ref]:
        """Take in a Lease; returns the cluster if its renewal is news.

        Leases that no agent of a cluster writes are not ours, and change nothing.
        """
        cluster = lease.get("metadata", {}).get("namespace", "")
        if lease.get("metadata", {}).get("name") != LEASE_NAME or not cluster:
            return set()
        renewal = (lease.get("spec") or {}).get("renewTime")
        known = self._beats.get(cluster)
        if known is not None and known.renewal == renewal:
            return set()
        self.forget(cluster)
        beat = _Beat(renewal, now, period)
        self._beats[cluster] = beat
        insort(self._missed, (beat.missed_at, cluster))
        was_silent = known is None or known.ends_at <= now
        return {Ref(MANAGED_CLUSTER, cluster)} if was_silent else set()

    def forget(self, cluster: str) -> None:
        """The cluster is gone."""
        known = self._beats.pop(cluster, None)
        if known is not None:
            at = bisect_right(self._missed, (known.missed_at, cluster)) - 1
            del self._missed[at]

    def restart(self, now: datetime) -> None:
        """The hub was out of touch until now: every grace begins anew. Cost: O(n log n)."""
        for cluster, beat in list(self._beats.items()):
            self._beats[cluster] = _Beat(beat.renewal, now, beat.period)
        self._missed = sorted((beat.missed_at, cluster) for cluster, beat in self._beats.items())

    def heard_at(self, cluster: str) -> datetime | None:
        known = self._beats.get(cluster)
        return None if known is None else known.heard_at

    def renewal(self, cluster: str) -> object:
        """When the agent says that it last renewed the lease, as written."""
        known = self._beats.get(cluster)
        return None if known is None else known.renewal

    def silence(self, now: datetime, window: timedelta) -> Silence:
        """Who is missed now, and who came to be missed within the window before."""
        missed = self._missed_by(now)
        return Silence(missed, missed - self._missed_by(now - window), len(self._missed))

    def _missed_by(self, instant: datetime) -> int:
        return bisect_right(self._missed, (instant, "\U0010ffff"))
