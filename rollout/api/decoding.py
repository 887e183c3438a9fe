"""Turns a stored object of a kind into the value that it stands for.

Decoding is total: whatever got into an API server, the result is a value; what cannot be honoured
is in its ``problems`` (semantics row 26). What reads a kind is loaded when the first object of it comes:
a hub has few of the kinds that there are.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

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
    SCORE,
    Kind,
    Obj,
)
from rollout.model.placement import Decision, Placement
from rollout.model.problems import TOO_DEEP
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

_DECODERS: dict[str, tuple[str, str]] = {
    MANAGED_CLUSTER.name: ("cluster", "decode_cluster"),
    CLUSTER_SET.name: ("cluster", "decode_cluster_set"),
    CLUSTER_SET_BINDING.name: ("cluster", "decode_binding"),
    PLACEMENT.name: ("placement", "decode_placement"),
    PLACEMENT_DECISION.name: ("decisions", "decode_decision"),
    SCORE.name: ("decisions", "decode_score"),
    MANIFEST_WORK.name: ("work", "decode_work"),
    REPLICA_SET.name: ("replicaset", "decode_replicaset"),
    CLUSTER_MANAGEMENT_ADDON.name: ("addon", "decode_addon"),
    MANAGED_CLUSTER_ADDON.name: ("cluster_addon", "decode_cluster_addon"),
    APPROVAL.name: ("own", "decode_approval"),
    FREEZE.name: ("own", "decode_freeze"),
    CALENDAR.name: ("calendar", "decode_calendar"),
    CLUSTER_CALENDAR.name: ("calendar", "decode_calendar"),
    CLUSTER_VALUES.name: ("values", "decode_values"),
    ROLLOUT_ANALYSIS.name: ("analysis", "decode_analysis"),
    ROLLOUT_ANALYSIS_RUN.name: ("analysis_run", "decode_run"),
    ROLLOUT_NOTIFICATION.name: ("notification", "decode_notification"),
    ADDON_TEMPLATE.name: ("addon_template", "decode_template"),
    ADDON_DEPLOYMENT_CONFIG.name: ("addon_template", "decode_deployment_config"),
}
_STATELESS = frozenset(
    kind.name
    for kind in (
        MANAGED_CLUSTER,
        CLUSTER_SET,
        CLUSTER_SET_BINDING,
        PLACEMENT_DECISION,
        SCORE,
        APPROVAL,
        FREEZE,
    )
)
_STATEFUL: dict[str, type] = {
    MANIFEST_WORK.name: Work,
    REPLICA_SET.name: ReplicaSet,
    PLACEMENT.name: Placement,
    CLUSTER_MANAGEMENT_ADDON.name: AddOn,
    MANAGED_CLUSTER_ADDON.name: ClusterAddOn,
}


@cache
def decoder(kind: str) -> Callable[..., Any]:
    """What reads the objects of a kind, by its name; its own signature says how. Raises: KeyError."""
    module, name = _DECODERS[kind]
    found: Callable[..., Any] = getattr(import_module(f"rollout.api.{module}"), name)
    return found


def decode(kind: Kind, obj: Obj, previous: object = None) -> Decoded:
    """The model value of a stored object.

    Args:
        kind: one of the kinds with a model value.
        obj: its JSON; shared by the result as ``raw``, never altered.
        previous: what an earlier version of the same object was decoded to. Saves the hashing and
            parsing of a spec that has not changed: same uid, same generation.

    Raises: ValueError for a kind that has no model value.
    """
    try:
        return _decoded(kind, obj, previous)
    except RecursionError:  # a hub may read deeper than what is made of it can follow
        shallow: Obj = {n: obj[n] for n in ("apiVersion", "kind", "metadata") if n in obj}
        return _decoded(kind, {**shallow, "spec": TOO_DEEP}, None)


def _decoded(kind: Kind, obj: Obj, previous: object) -> Decoded:
    found: Decoded
    model = _STATEFUL.get(kind.name)
    if model is not None:
        found = decoder(kind.name)(obj, previous if isinstance(previous, model) else None)
    elif kind.name in _STATELESS:
        found = decoder(kind.name)(obj)
    else:
        raise ValueError(f"decode {kind.name}: no model value; the hub's JSON is all there is")
    return found


def _is_condition(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("type"), str)


def _is_object(each: object) -> bool:
    return isinstance(each, dict)


def _is_reference(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("desiredConfig"), dict | None)


def _is_progression(each: object) -> bool:
    """Whether it says which placement it is about, and its lists are lists."""
    if not isinstance(each, dict):
        return False
    named = all(isinstance(each.get(part), str | None) for part in ("namespace", "name"))
    lists = {"conditions": _is_condition, "configReferences": _is_reference}
    return named and all(
        isinstance(each.get(name), list | None) and all(map(fits, _items(each.get(name))))
        for name, fits in lists.items()
    )


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_FITS: dict[str, Callable[[object], bool]] = {
    "conditions": _is_condition,
    "installProgressions": _is_progression,
    "configReferences": _is_object,
    "supportedConfigs": _is_object,
}
_LISTS = tuple(_FITS)
_MAPS = ("resourceStatus", "summary")


def _is_shaped(status: Obj) -> bool:
    """Whether nothing is wrong, as nearly always."""
    for name, value in status.items():
        fits = _FITS.get(name)
        if fits is not None:
            if value is not None and not (isinstance(value, list) and all(map(fits, value))):
                return False
        elif name in _MAPS and not isinstance(value, dict | None):
            return False
    return True


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
    if _is_shaped(status):
        return obj
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
