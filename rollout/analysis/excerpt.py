"""Picks the objects of a hub that a simulation of some workloads needs; all other objects do not change."""

from collections.abc import Collection, Mapping, Set

from rollout.analysis.snapshot import HubLists, everything
from rollout.api.fields import listed, mapping, text
from rollout.model import names
from rollout.model.kinds import (
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    WORKLOADS,
    Obj,
    Ref,
    key_of,
)

_OWNED = frozenset({MANIFEST_WORK, ROLLOUT_RECORD, ROLLOUT_REVISION})
_OF_ADDONS = frozenset({MANAGED_CLUSTER_ADDON, ADDON_TEMPLATE})


def excerpt(
    hub: HubLists, workloads: Collection[Ref], placements: Set[str] = frozenset()
) -> dict[Ref, Obj]:
    """What there is without other workloads, what those own, their Placements, and runs of analyses.

    Two workloads that bear on each other, such as by the same manifests, are foreseen together or not
    as they are.

    Args:
        placements: Placements that are needed besides those that the workloads name.
    """
    found = everything(hub)
    has_addons = any(ref.kind is CLUSTER_MANAGEMENT_ADDON for ref in workloads)
    owners = {ref.key for ref in workloads}
    owners |= {f"{ref.namespace}.{ref.name}" for ref in workloads if ref.namespace}
    named = {key for ref in workloads for key in placements_of(ref, found.get(ref, {}))}
    return {
        ref: obj
        for ref, obj in found.items()
        if _is_needed(ref, obj, workloads, owners, has_addons=has_addons)
        and _is_placed(ref, obj, named | placements)
    }


def placements_of(ref: Ref, obj: Obj) -> set[str]:
    """The keys of the Placements that a workload names."""
    spec = mapping(obj.get("spec"))
    if ref.kind is CLUSTER_MANAGEMENT_ADDON:
        asked = listed(mapping(spec.get("installStrategy")).get("placements"))
        pairs = [(text(mapping(each).get("namespace")), mapping(each)) for each in asked]
    else:
        pairs = [(ref.namespace, mapping(each)) for each in listed(spec.get("placementRefs"))]
    return {key_of(namespace, text(each.get("name"))) for namespace, each in pairs}


def _is_placed(ref: Ref, obj: Obj, placements: Set[str]) -> bool:
    if ref.kind is PLACEMENT:
        return ref.key in placements
    if ref.kind is PLACEMENT_DECISION:
        labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
        return key_of(ref.namespace, labels.get(names.PLACEMENT_LABEL, "")) in placements
    return True


def _is_needed(
    ref: Ref, obj: Obj, workloads: Collection[Ref], owners: Collection[str], *, has_addons: bool
) -> bool:
    if ref.kind in WORKLOADS:
        return ref in workloads
    if ref.kind in _OWNED:
        return any(owner in owners for owner in _owners(obj))
    if ref.kind in _OF_ADDONS:
        return has_addons
    return ref.kind is not ROLLOUT_ANALYSIS_RUN


def _owners(obj: Obj) -> set[object]:
    meta = obj["metadata"]
    labels: Mapping[str, object] = meta.get("labels") or {}
    notes: Mapping[str, object] = meta.get("annotations") or {}
    return {
        notes.get(names.OWNER),
        labels.get(names.WORK_OWNER_LABEL),
        labels.get(names.ADDON_NAME_LABEL),
    }
