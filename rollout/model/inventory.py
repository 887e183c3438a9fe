"""Decisions and clusters in the form of SIG Multicluster, for other tools."""

from dataclasses import dataclass, field

from rollout.model.kinds import Obj

PUBLISHER = "rollout-engine.io"
"""The publisher name on our objects. An object with another publisher's name is never changed."""
SLICE_SIZE = 100
"""The most clusters of one PlacementDecision, by its definition."""

DECISION_KEY = "multicluster.x-k8s.io/decision-key"
DECISION_INDEX = "multicluster.x-k8s.io/decision-index"
PLACEMENT_KEY = "multicluster.x-k8s.io/placement-key"
CLUSTER_MANAGER = "x-k8s.io/cluster-manager"
CLUSTER_NAME = "open-cluster-management.io/cluster-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A PlacementDecision of SIG Multicluster. ``placement`` is "" where no label says one."""

    placement: str
    clusters: tuple[str, ...]
    publisher: str
    uid: str
    version: int
    raw: Obj = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProfile:
    """A ClusterProfile."""

    publisher: str
    uid: str
    version: int
    raw: Obj = field(compare=False, repr=False)
