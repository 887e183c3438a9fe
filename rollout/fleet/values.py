"""Keeps ClusterValues by workload, and notices which clusters their rules see differently."""

from rollout.api.decoding import decoder
from rollout.fleet.interests import readable
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.values.rendering import seen_of
from rollout.values.rules import ClusterValues


class ValuesStore:
    """All ClusterValues, by the workload that they are for, and the clusters as rules saw them last."""

    def __init__(self) -> None:
        self._workload: dict[str, str] = {}  # key -> key of the workload
        self._values: dict[str, dict[str, ClusterValues]] = {}  # workload -> key -> values
        self._select_by_cel: set[str] = set()  # workloads of which a rule reads whole clusters
        self._seen: dict[str, Cluster] = {}

    def take(self, event: Event) -> set[str]:
        """Take in a ClusterValues; the keys of the workloads that it was for, or is for."""
        key = event.ref.key
        before = self._workload.pop(key, "")
        if before:
            self._values[before].pop(key, None)
            if not self._values[before]:
                del self._values[before]
        found = {before} if before else set()
        if event.change is not Change.DELETED:
            values: ClusterValues = decoder(event.ref.kind.name)(event.obj)
            workload = f"{event.ref.namespace}/{values.workload}"
            self._workload[key] = workload
            self._values.setdefault(workload, {})[key] = values
            found.add(workload)
        for workload in found:
            several = self._values.get(workload, {}).values()
            reads_all = any(rule.selecting for values in several for rule in values.rules)
            (self._select_by_cel.add if reads_all else self._select_by_cel.discard)(workload)
        return found

    def take_cluster(self, name: str, cluster: Cluster | None) -> set[str]:
        """Take in a cluster (None: it is gone); the workloads with values, where rules may see it anew."""
        before = self._seen.get(name)
        if cluster is None:
            self._seen.pop(name, None)
        else:
            self._seen[name] = cluster
        if before is None or cluster is None or seen_of(before) != seen_of(cluster):
            return set(self._values)
        if self._select_by_cel and readable(before.raw) != readable(cluster.raw):
            return set(self._select_by_cel)
        return set()

    def of(self, workload: str) -> tuple[ClusterValues, ...]:
        """Those for a workload, by name."""
        return tuple(sorted(self._values.get(workload, {}).values(), key=lambda v: v.name))
