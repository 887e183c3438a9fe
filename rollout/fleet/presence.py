"""Keeps which clusters are there, when each was last heard of, and how those left that are gone."""

from datetime import datetime, timedelta

from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.heartbeats import LEASE_NAME, Heartbeats
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.kinds import MANAGED_CLUSTER, Ref
from rollout.planning.health import Silence, period_of
from rollout.rollouts.outages import Outages

_KEPT = 10_000  # deleted clusters


class Presence:
    """ManagedClusters and their leases: what `rollout.planning.health` reads, and who left how."""

    def __init__(self, clusters: ClusterStore, outages: Outages) -> None:
        self._clusters, self._outages = clusters, outages
        self._beats = Heartbeats()
        self._departed: dict[str, bool] = {}  # deleted clusters -> available when last seen

    # -- what happened -------------------------------------------------------------------------

    def take_cluster(self, event: Event, now: datetime) -> set[Ref]:
        key = event.ref.key
        if event.change is Change.DELETED:
            before = self._clusters.cluster(key)
            if len(self._departed) >= _KEPT:
                self._departed.pop(next(iter(self._departed)))
            self._departed[key] = before is not None and before.available is True
            self._beats.forget(key)
            return self._clusters.remove(MANAGED_CLUSTER, key)
        cluster = decode(MANAGED_CLUSTER, event.obj)
        assert isinstance(cluster, Cluster)
        self._departed.pop(key, None)
        return {event.ref} | self._clusters.put(MANAGED_CLUSTER, key, cluster)

    def take_lease(self, event: Event, now: datetime) -> set[Ref]:
        cluster = self._clusters.cluster(event.ref.namespace)
        if cluster is None or event.ref.name != LEASE_NAME:
            return set()
        if event.change is Change.DELETED:
            self._beats.forget(cluster.name)
            return {Ref(MANAGED_CLUSTER, cluster.name)}
        return self._beats.heard(event.obj, timedelta(seconds=period_of(cluster)), now)

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
