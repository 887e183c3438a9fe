"""Which objects of a hub does the outlook of some workloads need? All others stand still meanwhile."""

from collections.abc import Collection, Mapping

from rollout.analysis.snapshot import HubLists, everything
from rollout.model import names
from rollout.model.kinds import (
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    WORKLOADS,
    Obj,
    Ref,
)

_OWNED = frozenset({MANIFEST_WORK, ROLLOUT_RECORD, ROLLOUT_REVISION})
_OF_ADDONS = frozenset({MANAGED_CLUSTER_ADDON, ADDON_TEMPLATE})


def excerpt(hub: HubLists, workloads: Collection[Ref]) -> dict[Ref, Obj]:
    """What there is without other workloads, what those own, and runs of analyses.

    Two workloads that bear on each other, such as by the same manifests, are foreseen together or not
    as they are.
    """
    has_addons = any(ref.kind is CLUSTER_MANAGEMENT_ADDON for ref in workloads)
    owners = {ref.key for ref in workloads}
    owners |= {f"{ref.namespace}.{ref.name}" for ref in workloads if ref.namespace}
    return {
        ref: obj
        for ref, obj in everything(hub).items()
        if _is_needed(ref, obj, workloads, owners, has_addons=has_addons)
    }


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
