"""The annotations that add-ons copy from their clusters. Source: OCM add-on spec 2.7."""

from collections.abc import Mapping

from rollout.model import names


class Mirror:
    """The annotations of the add-on API by cluster.

    One that a cluster has no longer is None from then on, so that it is taken from its add-ons too;
    one that it never had may be somebody else's.
    """

    def __init__(self) -> None:
        self._clusters: dict[str, dict[str, str | None]] = {}

    def has(self, cluster: str) -> bool:
        return cluster in self._clusters

    def of(self, cluster: str) -> Mapping[str, str | None]:
        return self._clusters.get(cluster, {})

    def put(self, cluster: str, annotations: Mapping[str, str]) -> bool:
        """Take in a cluster's annotations; returns whether its add-ons have to follow."""
        before = self._clusters.get(cluster)
        after: dict[str, str | None] = dict.fromkeys(before or ())
        after |= {k: v for k, v in annotations.items() if k.startswith(names.ADDON_PREFIX)}
        self._clusters[cluster] = after
        return after != before

    def drop(self, cluster: str) -> None:
        self._clusters.pop(cluster, None)
