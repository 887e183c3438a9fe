"""Which value is this object? One door to the decoders of all kinds.

Decoding is total: whatever got into an API server, the result is a value; what cannot be honoured
is in its ``problems`` (semantics row 26).
"""

from collections.abc import Callable

from rollout.api.addon import decode_addon, decode_cluster_addon
from rollout.api.cluster import decode_binding, decode_cluster, decode_cluster_set, decode_score
from rollout.api.consent import decode_approval, decode_freeze
from rollout.api.placement import decode_decision, decode_placement
from rollout.api.replicaset import decode_replicaset
from rollout.api.work import decode_work
from rollout.model.addon import AddOn, ClusterAddOn
from rollout.model.approvals import Approval, Freeze
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding, Score
from rollout.model.kinds import (
    APPROVAL,
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    SCORE,
    Kind,
    Obj,
)
from rollout.model.placement import Decision, Placement
from rollout.model.replicaset import ReplicaSet
from rollout.model.work import Work

Decoded = (
    Cluster
    | ClusterSet
    | ClusterSetBinding
    | Placement
    | Decision
    | Score
    | Work
    | ReplicaSet
    | AddOn
    | ClusterAddOn
    | Approval
    | Freeze
)

_STATELESS: dict[str, Callable[[Obj], Decoded]] = {
    MANAGED_CLUSTER.name: decode_cluster,
    CLUSTER_SET.name: decode_cluster_set,
    CLUSTER_SET_BINDING.name: decode_binding,
    PLACEMENT_DECISION.name: decode_decision,
    SCORE.name: decode_score,
    APPROVAL.name: decode_approval,
    FREEZE.name: decode_freeze,
}
_STATEFUL = (MANIFEST_WORK, REPLICA_SET, PLACEMENT, CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)
DECODED = frozenset({*_STATELESS, *(kind.name for kind in _STATEFUL)})
"""The names of the kinds that have a model value."""


def decode(kind: Kind, obj: Obj, previous: object = None) -> Decoded:
    """The model value of a stored object.

    Args:
        kind: one of the kinds with a model value (`DECODED`).
        obj: its JSON; shared by the result as ``raw``, never altered.
        previous: what an earlier version of the same object was decoded to. Saves the hashing and
            parsing of a spec that has not changed: same uid, same generation.

    Raises: ValueError for a kind that has no model value.
    """
    if kind.name == MANIFEST_WORK.name:
        return decode_work(obj, previous if isinstance(previous, Work) else None)
    if kind.name == REPLICA_SET.name:
        return decode_replicaset(obj, previous if isinstance(previous, ReplicaSet) else None)
    if kind.name == PLACEMENT.name:
        return decode_placement(obj, previous if isinstance(previous, Placement) else None)
    if kind.name == MANAGED_CLUSTER_ADDON.name:
        return decode_cluster_addon(obj, previous if isinstance(previous, ClusterAddOn) else None)
    if kind.name == CLUSTER_MANAGEMENT_ADDON.name:
        return decode_addon(obj, previous if isinstance(previous, AddOn) else None)
    stateless = _STATELESS.get(kind.name)
    if stateless is None:
        raise ValueError(f"decode {kind.name}: no model value; the hub's JSON is all there is")
    return stateless(obj)
