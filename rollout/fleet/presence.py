"""Keeps which clusters exist, when each was last heard of, and how the others left."""

from datetime import datetime, timedelta

from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.heartbeats import LEASE_NAME, Heartbeats
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from rollout.planning.health import Silence, period_of
from rollout.rollouts.outages import Outages

_KEPT = 10_000  # deleted clusters


class Presence:
    """ManagedClusters and their leases: what `rollout.planning.health` reads, and who left how."""

    def __init__(self, clusters: ClusterStore, outages: Outages) -> None:
        self._clusters, self._outages = clusters, outages
        self._beats = Heartbeats()
        self._unclaimed: dict[str, Obj] = {}  # leases of clusters that are not there
        self._leaseless: set[str] = set()  # clusters heard of whose lease was deleted
        self._departed: dict[str, bool] = {}  # deleted clusters -> available when last seen

    # -- what happened -------------------------------------------------------------------------

    def take_cluster(self, event: Event, now: datetime) -> set[Ref]:
        key = event.ref.key
        if event.change is Change.DELETED:
            before = self._clusters.cluster(key)
            if len(self._departed) >= _KEPT:
                self._departed.pop(next(iter(self._departed)))
            self._departed[key] = before is not None and before.available is True
            self._part(key)
            return self._clusters.remove(MANAGED_CLUSTER, key)
        cluster = decode(MANAGED_CLUSTER, event.obj)
        assert isinstance(cluster, Cluster)
        self._departed.pop(key, None)
        refs = {event.ref} | self._clusters.put(MANAGED_CLUSTER, key, cluster)
        lease = self._unclaimed.pop(key, None)
        return refs | (self._hear(cluster, lease, now) if lease is not None else set())

    def take_lease(self, event: Event, now: datetime) -> set[Ref]:
        """Take in a Lease. Its deletion is no sign of life of the agent: the grace goes on."""
        name = event.ref.namespace
        if event.ref.name != LEASE_NAME:
            return set()
        cluster = self._clusters.cluster(name)
        if event.change is Change.DELETED:
            self._unclaimed.pop(name, None)
            if self._beats.heard_at(name) is not None:
                self._leaseless.add(name)
            return set()
        if cluster is None:
            self._unclaimed[name] = _renewal(name, (event.obj.get("spec") or {}).get("renewTime"))
            return set()
        return self._hear(cluster, event.obj, now)

    def _hear(self, cluster: Cluster, lease: Obj, now: datetime) -> set[Ref]:
        self._leaseless.discard(cluster.name)
        return self._beats.heard(lease, timedelta(seconds=period_of(cluster)), now)

    def _part(self, name: str) -> None:
        """A cluster is gone. Where it comes back its lease may still stand, and nobody tell of it."""
        if self._beats.heard_at(name) is not None and name not in self._leaseless:
            self._unclaimed[name] = _renewal(name, self._beats.renewal(name))
        self._leaseless.discard(name)
        self._beats.forget(name)

    def restart(self, now: datetime) -> None:
        """The hub was out of touch until now: every cluster's grace begins anew."""
        self._beats.restart(now)

    # -- what others read ----------------------------------------------------------------------

    def is_available(self, name: str) -> bool:
        """Whether it is well, or was when it left. Of one that nobody saw leave that is not known."""
        known = self._clusters.cluster(name)
        if known is not None:
            return known.available is True
        return self._departed.get(name, False)

    def is_detached(self, name: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        known = self._clusters.cluster(name)
        return known is None or known.deleting

    def cluster(self, name: str) -> Cluster | None:
        return self._clusters.cluster(name)

    def heard_at(self, name: str) -> datetime | None:
        return self._beats.heard_at(name)

    def blind_since(self) -> datetime | None:
        return self._outages.blind_since

    def silence(self, now: datetime, window: timedelta) -> Silence:
        return self._beats.silence(now, window)


def _renewal(name: str, at: object) -> Obj:
    """A Lease with no more than what is read of it."""
    return {"metadata": {"namespace": name, "name": LEASE_NAME}, "spec": {"renewTime": at}}
