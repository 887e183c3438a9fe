"""Plans the objects that publish our decisions in the form of SIG Multicluster.

Each PlacementDecision of OCM, whoever wrote it, gets one of `multicluster.x-k8s.io` (KEP-5313) of the same
name, and each cluster that is named gets a ClusterProfile (KEP-4322) in the namespace. They follow what was
decided and decide nothing. As with OCM's, no cluster is missing from all of them while it moves from one to
another. What another publisher wrote is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.model.cluster import Cluster
from rollout.model.conditions import Condition, merge, read_conditions
from rollout.model.inventory import (
    CLUSTER_MANAGER,
    CLUSTER_NAME,
    DECISION_INDEX,
    DECISION_KEY,
    PLACEMENT_KEY,
    PUBLISHER,
    SLICE_SIZE,
    ClusterProfile,
    Slice,
)
from rollout.model.kinds import (
    CLUSTER_PROFILE,
    MANAGED_CLUSTER,
    PLACEMENT,
    SHARED_DECISION,
    Kind,
    Obj,
    Ref,
)
from rollout.model.names import CLUSTER_AVAILABLE, CLUSTER_JOINED, PLACEMENT_LABEL
from rollout.model.ownership import owned_object
from rollout.model.placement import Decision, Placement
from rollout.model.writes import Create, Delete, Patch, PatchStatus
from rollout.planning.plan import NOTHING, Note, Plan

CONDITIONS = {CLUSTER_AVAILABLE: "ControlPlaneHealthy", CLUSTER_JOINED: "Joined"}
"""Conditions of a ManagedCluster, and what a ClusterProfile calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicesState:
    """A placement, its decisions in their order, and what is published of them, by name.

    ``placement`` is None where there is none (any more).
    """

    placement: Placement | None
    decisions: Sequence[Decision]
    known: Mapping[str, Slice]

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        return {} if self.placement is None else {d.name: d.clusters for d in self.decisions}

    @property
    def published(self) -> dict[str, tuple[str, ...]]:
        ours = self.known.items()
        return {name: each.clusters for name, each in ours if each.publisher == PUBLISHER}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileState:
    """A cluster in one namespace. ``cluster`` is None where no decision there names it, or it goes."""

    cluster: Cluster | None
    known: ClusterProfile | None


class InventoryView(Protocol):
    """What these planners read."""

    def slices(self, key: str) -> SlicesState | None:
        """Of the placement to which the PlacementDecision ``key`` belongs.

        None where nothing can be said: the decisions are half written, or the hub lacks the kind.
        """
        ...

    def profile(self, key: str) -> ProfileState | None:
        """Of ``namespace/cluster``; None where the hub lacks the kind."""
        ...


class SlicePlanner:
    """Plans one PlacementDecision of SIG Multicluster."""

    kind: Kind = SHARED_DECISION

    def plan(self, key: str, view: InventoryView, now: datetime) -> Plan:
        """The write that brings it one step on; nothing where it is right, or waits for another."""
        ref, state = Ref(SHARED_DECISION, key), view.slices(key)
        if state is None:
            return NOTHING
        known = state.known.get(ref.name)
        if known is not None and known.publisher != PUBLISHER:
            return _occupied(ref, known.publisher) if ref.name in state.wanted else NOTHING
        clusters = step(state.wanted, state.published).get(ref.name)
        if clusters is None:
            return NOTHING if known is None else Plan(((Delete(ref, known.uid),),))
        if state.placement is not None and ref.name in state.wanted:
            return _brought(ref, _body(ref, state, state.placement, clusters), known)
        if known is None or known.clusters == clusters:
            return NOTHING  # until others have got what it still holds
        changes: Obj = {"decisions": _entries(ref, clusters)}
        return Plan(((Patch(ref, changes, known.version or None),),))


def _brought(ref: Ref, body: Obj, known: Slice | None) -> Plan:
    meta = body["metadata"]
    if known is None:
        return Plan(((Create(ref, body),),))
    found: Obj = known.raw["metadata"]
    changes: Obj = {
        key: body[key] for key in ("schedulerName", "decisions") if known.raw.get(key) != body[key]
    }
    wrong: Obj = {}
    labels = found.get("labels") or {}
    if any(labels.get(name) != value for name, value in meta["labels"].items()):
        wrong["labels"] = meta["labels"]
    if found.get("ownerReferences") != meta["ownerReferences"]:
        wrong["ownerReferences"] = meta["ownerReferences"]
    changes |= {"metadata": wrong} if wrong else {}
    return Plan(((Patch(ref, changes, known.version or None),),)) if changes else NOTHING


def _body(ref: Ref, state: SlicesState, placement: Placement, clusters: Sequence[str]) -> Obj:
    """The whole object. Labels of OCM's decision are kept: they tell its group."""
    names = [each.name for each in state.decisions]
    index = names.index(ref.name)
    told = state.decisions[index].raw["metadata"].get("labels") or {}
    labels: Obj = {name: value for name, value in told.items() if name != PLACEMENT_LABEL}
    labels[DECISION_KEY] = labels[PLACEMENT_KEY] = placement.name
    labels[DECISION_INDEX] = str(index)
    body: Obj = {"schedulerName": PUBLISHER, "decisions": _entries(ref, clusters)}
    owner = Ref(PLACEMENT, placement.key)
    return owned_object(ref, owner, placement.uid, body, labels=labels)


def _entries(ref: Ref, clusters: Sequence[str]) -> list[Obj]:
    return [{"clusterProfileRef": {"name": c, "namespace": ref.namespace}} for c in clusters]


def _occupied(ref: Ref, publisher: str) -> Plan:
    text = (
        f"another publisher ({publisher or 'unnamed'}) has written the PlacementDecision"
        f" {ref.key} of {SHARED_DECISION.group}; it is left as it is"
    )
    return Plan(notes=(Note(ref, "NameOccupied", text, warning=True),))


def step(
    wanted: Mapping[str, Sequence[str]], known: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The clusters of each slice after the next writes, in whatever order these land.

    A cluster leaves a slice only once it stands in the one that is to have it. Where full slices only
    exchange clusters there is no room for that, and they are written at once.
    """
    names = {name: frozenset(clusters) for name, clusters in wanted.items()}
    there = {name: frozenset(clusters) for name, clusters in known.items()}
    selected = frozenset[str]().union(*names.values())
    placed = {c for name, found in known.items() for c in found if c in names.get(name, ())}
    after: dict[str, tuple[str, ...]] = {}
    for name in {**wanted, **known}:
        mine, has = names.get(name, frozenset()), there.get(name, frozenset())
        kept = [
            c for c in known.get(name, ()) if c not in mine and c in selected and c not in placed
        ]
        room = SLICE_SIZE - len(kept)
        stays = [c for c in wanted.get(name, ()) if c in has]
        comes = [c for c in wanted.get(name, ()) if c not in has][: max(room - len(stays), 0)]
        if kept:
            after[name] = (*stays, *comes, *kept)
        elif name in wanted:
            after[name] = tuple(wanted[name])
    final = {name: tuple(clusters) for name, clusters in wanted.items()}
    if {name: frozenset(clusters) for name, clusters in after.items()} == there:
        return (
            final  # but for their order, and unless full slices only exchange, this is so already
        )
    return after


class ProfilePlanner:
    """Plans one ClusterProfile: it is there as long as a decision of its namespace names the cluster."""

    kind: Kind = CLUSTER_PROFILE

    def plan(self, key: str, view: InventoryView, now: datetime) -> Plan:
        """The next write; its status follows once it is there."""
        ref, state = Ref(CLUSTER_PROFILE, key), view.profile(key)
        if state is None:
            return NOTHING
        cluster, known = state.cluster, state.known
        if known is not None and known.publisher != PUBLISHER:
            return NOTHING  # the hub has an inventory of its own
        if cluster is None:
            return NOTHING if known is None else Plan(((Delete(ref, known.uid),),))
        labels = {CLUSTER_MANAGER: PUBLISHER, CLUSTER_NAME: cluster.name}
        if known is None:
            spec = {"displayName": cluster.name, "clusterManager": {"name": PUBLISHER}}
            owner = Ref(MANAGED_CLUSTER, cluster.name)
            body: Obj = {"spec": spec}
            return Plan(
                ((Create(ref, owned_object(ref, owner, cluster.uid, body, labels=labels)),),)
            )
        found = known.raw["metadata"].get("labels") or {}
        if any(found.get(name) != value for name, value in labels.items()):
            return Plan(((Patch(ref, {"metadata": {"labels": labels}}, known.version or None),),))
        return _status_plan(ref, cluster, known, now)


def _status_plan(ref: Ref, cluster: Cluster, known: ClusterProfile, now: datetime) -> Plan:
    """What the cluster's agent says of it, where the profile says something else."""
    told: Obj = cluster.raw.get("status") or {}
    has: Obj = known.raw.get("status") or {}
    conditions = [
        Condition(name, each.status, each.reason or "Unknown", each.message)
        for kind, name in CONDITIONS.items()
        if (each := read_conditions(told.get("conditions")).get(kind)) is not None
    ]
    version = told.get("version")
    status: Obj = {
        "version": {"kubernetes": version.get("kubernetes") or ""}
        if isinstance(version, dict)
        else {},
        "properties": [{"name": n, "value": v} for n, v in cluster.claims.items() if n and v],
        "conditions": merge(has.get("conditions") or (), conditions, now),
    }
    changes = {
        key: value for key, value in status.items() if (has.get(key) or type(value)()) != value
    }
    return Plan(((PatchStatus(ref, changes, known.version or None),),)) if changes else NOTHING
