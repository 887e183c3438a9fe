"""The kinds of the API: which model describes each, and which value an object of it becomes.

Decoding is total: whatever got into an API server, the result is a value; what cannot be honoured
is in its ``problems`` (semantics row 26).
"""

from collections.abc import Callable

from rollout.api.addon import AddOnObject, decode_addon
from rollout.api.addon_template import DeploymentConfigObject, TemplateObject
from rollout.api.analysis import AnalysisObject
from rollout.api.analysis_run import AnalysisRunObject
from rollout.api.calendar import CalendarObject
from rollout.api.cluster import (
    BindingObject,
    ClusterObject,
    ClusterSetObject,
    decode_binding,
    decode_cluster,
    decode_cluster_set,
)
from rollout.api.cluster_addon import ClusterAddOnObject, decode_cluster_addon
from rollout.api.decisions import DecisionObject, ScoreObject, decode_decision, decode_score
from rollout.api.notification import NotificationObject
from rollout.api.own import (
    ApprovalObject,
    FreezeObject,
    RecordObject,
    RevisionObject,
    decode_approval,
    decode_freeze,
)
from rollout.api.placement import PlacementObject, decode_placement
from rollout.api.replicaset import ReplicaSetObject, decode_replicaset
from rollout.api.values import ClusterValuesObject
from rollout.api.wire import WireObject
from rollout.api.work import WorkObject, decode_work
from rollout.model.addon import AddOn, ClusterAddOn
from rollout.model.approvals import Approval, Freeze
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding, Score
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CLUSTER_VALUES,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
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

MODELS: dict[str, type[WireObject]] = {
    MANAGED_CLUSTER.name: ClusterObject,
    CLUSTER_SET.name: ClusterSetObject,
    CLUSTER_SET_BINDING.name: BindingObject,
    PLACEMENT.name: PlacementObject,
    PLACEMENT_DECISION.name: DecisionObject,
    SCORE.name: ScoreObject,
    MANIFEST_WORK.name: WorkObject,
    REPLICA_SET.name: ReplicaSetObject,
    CLUSTER_MANAGEMENT_ADDON.name: AddOnObject,
    MANAGED_CLUSTER_ADDON.name: ClusterAddOnObject,
    ADDON_DEPLOYMENT_CONFIG.name: DeploymentConfigObject,
    ADDON_TEMPLATE.name: TemplateObject,
    APPROVAL.name: ApprovalObject,
    FREEZE.name: FreezeObject,
    CALENDAR.name: CalendarObject,
    CLUSTER_CALENDAR.name: CalendarObject,
    ROLLOUT_ANALYSIS.name: AnalysisObject,
    ROLLOUT_ANALYSIS_RUN.name: AnalysisRunObject,
    ROLLOUT_NOTIFICATION.name: NotificationObject,
    CLUSTER_VALUES.name: ClusterValuesObject,
    ROLLOUT_RECORD.name: RecordObject,
    ROLLOUT_REVISION.name: RevisionObject,
}
"""The model of the objects of each kind, by its name."""

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


def _is_condition(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("type"), str)


def _is_object(each: object) -> bool:
    return isinstance(each, dict)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_FITS: dict[str, Callable[[object], bool]] = {
    "conditions": _is_condition,
    "installProgressions": _is_object,
    "configReferences": _is_object,
    "supportedConfigs": _is_object,
}
_LISTS = tuple(_FITS)
_MAPS = ("resourceStatus", "summary")


def shaped(obj: Obj) -> Obj:
    """The object; where its status, or a list of objects in it, is of another type: without that.

    What people write (``spec``) is checked field by field, and they are told. A status is written by
    programs: what has not even its outer shape is taken for missing, and written anew by whose it is.
    """
    status = obj.get("status")
    if status is None:
        return obj
    if not isinstance(status, dict):
        return {key: value for key, value in obj.items() if key != "status"}
    wrong = {n: status[n] for n in _LISTS if not all(map(_FITS[n], _items(status.get(n))))}
    wrong |= {n: status[n] for n in _LISTS if not isinstance(status.get(n), list | None)}
    wrong |= {n: status[n] for n in _MAPS if not isinstance(status.get(n), dict | None)}
    if not wrong:
        return obj
    kept = {key: value for key, value in status.items() if key not in wrong}
    for name, value in wrong.items():
        if name in _LISTS and isinstance(value, list):
            kept[name] = [each for each in value if _FITS[name](each)]
    return {**obj, "status": kept}
