"""What does a ManagedCluster, a set, a binding or a score say? Wire objects to model values.

Source: OCM placement spec 1.1 to 1.3 and 1.6.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rollout.api.fields import (
    NOTHING,
    Reader,
    listed,
    mapping,
    strings,
    text,
    version_of,
    whole,
)
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding, Score, Taint
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import CLUSTER_AVAILABLE
from rollout.model.problems import Problem
from rollout.model.selectors import Selector

SELECTOR_TYPES = ("ExclusiveClusterSetLabel", "LabelSelector")

_EXPIRED = datetime(1, 1, 1, tzinfo=UTC)


def decode_cluster(obj: Obj) -> Cluster:
    """A ManagedCluster. Claims named twice: the last wins; taints without a key are left out."""
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    return Cluster(
        text(meta.get("name")),
        strings(meta.get("labels")),
        _claims(status.get("clusterClaims")),
        _taints(mapping(obj.get("spec")).get("taints")),
        _quantities(status.get("allocatable")),
        _quantities(status.get("capacity")),
        _available(status.get("conditions")),
        meta.get("deletionTimestamp") is not None,
        text(meta.get("uid")),
        version_of(meta),
        obj,
    )


def _claims(raw: object) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for item in listed(raw):
        if isinstance(item, dict):
            name, value = item.get("name"), item.get("value")
            if isinstance(name, str) and isinstance(value, str):
                found[name] = value
    return found


def _taints(raw: object) -> tuple[Taint, ...]:
    if not isinstance(raw, list):
        return ()
    return tuple(
        Taint(
            item["key"],
            text(item.get("value")),
            text(item.get("effect")),
            parse_instant(item.get("timeAdded")),
        )
        for item in raw
        if isinstance(item, dict) and isinstance(item.get("key"), str)
    )


def _quantities(raw: object) -> Mapping[str, str]:
    """Quantities as text; a bare number (the schema allows both) is written out."""
    if not isinstance(raw, dict):
        return {}
    for value in raw.values():
        if value.__class__ is not str:
            return {k: str(v) for k, v in raw.items() if _is_quantity(v)}
    return raw


def _is_quantity(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _available(raw: object) -> bool | None:
    for item in listed(raw):
        if isinstance(item, dict) and item.get("type") == CLUSTER_AVAILABLE:
            status = item.get("status")
            return True if status == "True" else False if status == "False" else None
    return None


def decode_cluster_set(obj: Obj) -> ClusterSet:
    """A ManagedClusterSet. A LabelSelector set without a selector, or with a bad one, is empty."""
    meta = mapping(obj.get("metadata"))
    problems: list[Problem] = []
    spec = Reader(obj.get("spec"), "spec", problems).inner("clusterSelector")
    before = len(problems)
    kind = spec.one_of("selectorType", SELECTOR_TYPES, SELECTOR_TYPES[0])
    selector: Selector | None = None
    if kind == "LabelSelector":
        selector = spec.selector("labelSelector") if spec.has("labelSelector") else NOTHING
    elif len(problems) > before:
        selector = NOTHING
    return ClusterSet(
        text(meta.get("name")),
        selector,
        text(meta.get("uid")),
        whole(meta.get("generation")),
        meta.get("deletionTimestamp") is not None,
        tuple(problems),
        version_of(meta),
        obj,
    )


def decode_binding(obj: Obj) -> ClusterSetBinding:
    """A ManagedClusterSetBinding."""
    meta, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    return ClusterSetBinding(
        text(meta.get("namespace")),
        text(meta.get("name")),
        text(spec.get("clusterSet")),
        version_of(meta),
        obj,
    )


def decode_score(obj: Obj) -> Score:
    """An AddOnPlacementScore. A validUntil that cannot be read counts as long past."""
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    until = status.get("validUntil")
    return Score(
        text(meta.get("namespace")),
        text(meta.get("name")),
        {
            item["name"]: item["value"]
            for item in listed(status.get("scores"))
            if isinstance(item, dict)
            and isinstance(item.get("name"), str)
            and type(item.get("value")) is int
        },
        None if until is None else parse_instant(until) or _EXPIRED,
    )
