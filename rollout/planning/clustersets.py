"""The status of ManagedClusterSets and bindings, and the standard sets.

Source: OCM placement spec 4.1 to 4.3. Differences: a set that cannot be read says so in a condition
of its own and hinders nobody else; conditions carry observedGeneration; a binding that is not bound
says why in words.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from rollout.model.cluster import ClusterSet, ClusterSetBinding
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import CLUSTER_SET, CLUSTER_SET_BINDING, Kind, Obj, Ref
from rollout.model.names import BOUND, CLUSTER_SET_EMPTY, MISCONFIGURED
from rollout.model.problems import joined
from rollout.model.writes import Create, Patch, PatchStatus
from rollout.planning.plan import NOTHING, Note, Plan

AUTO_UPDATE = "cluster.open-cluster-management.io/autoupdate"

STANDARD: dict[str, Obj] = {
    "default": {"selectorType": "ExclusiveClusterSetLabel"},
    "global": {"selectorType": "LabelSelector", "labelSelector": {}},
}
"""Sets that are always there, with the clusterSelector that they are kept at."""
_LONGEST_NAME = 253


class ClusterSetView(Protocol):
    """What these planners read."""

    def cluster_set(self, name: str) -> ClusterSet | None: ...

    def binding(self, key: str) -> ClusterSetBinding | None: ...

    def member_bits(self, name: str) -> int:
        """All members of a set as bits, terminating ones included."""
        ...


class ClusterSetPlanner:
    """Plans one ManagedClusterSet: its condition, and for a standard set that it exists.

    ``standard`` False: the sets ``default`` and ``global`` are somebody else's business.
    """

    kind: Kind = CLUSTER_SET

    def __init__(self, *, standard: bool = True) -> None:
        self._standard = STANDARD if standard else {}

    def plan(self, key: str, view: ClusterSetView, now: datetime) -> Plan:
        """The writes for the set; nothing where it is right."""
        known, ref = view.cluster_set(key), Ref(CLUSTER_SET, key)
        wanted = self._standard.get(key)
        if known is None:
            return NOTHING if wanted is None else _created(ref, wanted)
        if known.deleting:
            return NOTHING
        if wanted is not None and (repair := _repaired(known, wanted)) is not None:
            reason = f"{key.title()}ManagedClusterSetSpecRollbacked"
            note = Note(ref, reason, f"The selector of the ManagedClusterSet {key} is restored")
            return Plan(((Patch(ref, repair, known.version or None),),), notes=(note,))
        conditions = _set_conditions(known, view.member_bits(key).bit_count())
        return _status_plan(ref, known.raw, known.version, conditions, now=now)


def _created(ref: Ref, selector: Obj) -> Plan:
    obj: Obj = {
        "apiVersion": CLUSTER_SET.api_version,
        "kind": CLUSTER_SET.name,
        "metadata": {"name": ref.key},
        "spec": {"clusterSelector": selector},
    }
    reason = f"{ref.key.title()}ManagedClusterSetCreated"
    note = Note(ref, reason, f"The ManagedClusterSet {ref.key} is created")
    return Plan(((Create(ref, obj),),), notes=(note,))


def _repaired(known: ClusterSet, wanted: Obj) -> Obj | None:
    """The merge patch that restores a standard set's selector; None where it need not be."""
    notes = known.raw.get("metadata", {}).get("annotations") or {}
    if notes.get(AUTO_UPDATE) == "false":
        return None
    found = known.raw.get("spec", {}).get("clusterSelector") or {}
    kind = found.get("selectorType") or "ExclusiveClusterSetLabel"
    selector = found.get("labelSelector")
    if (kind, selector) == (wanted["selectorType"], wanted.get("labelSelector")):
        return None
    # A merge patch only adds to a map: what is in the selector too much has to be named.
    extra = dict.fromkeys(selector) if isinstance(selector, dict) else {}
    fixed = {"labelSelector": None, **wanted}
    if "labelSelector" in wanted and extra:
        fixed["labelSelector"] = extra
    return {"spec": {"clusterSelector": fixed}}


def _set_conditions(known: ClusterSet, members: int) -> list[Condition]:
    generation = known.generation or None
    if known.problems:
        text = joined(known.problems)
        return [
            Condition(
                MISCONFIGURED, "True", "InvalidSelector", text, observed_generation=generation
            )
        ]
    if members:
        text = f"{members} ManagedClusters selected"
        empty = Condition(
            CLUSTER_SET_EMPTY, "False", "ClustersSelected", text, observed_generation=generation
        )
    else:
        text = "No ManagedCluster selected"
        empty = Condition(
            CLUSTER_SET_EMPTY, "True", "NoClusterMatched", text, observed_generation=generation
        )
    if any(c.get("type") == MISCONFIGURED for c in _listed(known.raw)):
        text = "The selector can be read"
        return [
            empty,
            Condition(
                MISCONFIGURED, "False", "ValidSelector", text, observed_generation=generation
            ),
        ]
    return [empty]


class BindingPlanner:
    """Plans one ManagedClusterSetBinding: whether it is bound to a set that exists."""

    kind: Kind = CLUSTER_SET_BINDING

    def plan(self, key: str, view: ClusterSetView, now: datetime) -> Plan:
        """The status patch, where the condition differs."""
        known = view.binding(key)
        if known is None:
            return NOTHING
        bound = view.cluster_set(known.cluster_set) is not None
        generation = known.raw.get("metadata", {}).get("generation")
        condition = Condition(
            BOUND,
            "True" if bound else "False",
            "ClusterSetBound" if bound else "ClusterSetNotFound",
            "" if bound else _unbound(known.cluster_set),
            observed_generation=generation if isinstance(generation, int) else None,
        )
        ref = Ref(CLUSTER_SET_BINDING, key)
        return _status_plan(ref, known.raw, known.version, [condition], now=now)


def _unbound(name: str) -> str:
    """Why a binding to a set of this name is none."""
    if not name:
        return "spec.clusterSet has to name a ManagedClusterSet"
    return f"there is no ManagedClusterSet {name[:_LONGEST_NAME]}"


def _listed(raw: Obj) -> list[Obj]:
    listed = (raw.get("status") or {}).get("conditions")
    return [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []


def _status_plan(
    ref: Ref, raw: Obj, version: int, conditions: Sequence[Condition], now: datetime
) -> Plan:
    old = _listed(raw)
    merged = merge(old, conditions, now)
    if merged == old:
        return NOTHING
    return Plan(((PatchStatus(ref, {"conditions": merged}, version or None),),))
