"""Keeps which clusters decisions name in each namespace, and which of them are published."""

from collections import Counter
from collections.abc import Collection

from rollout.api.inventory import decode_profile, decode_slice
from rollout.fleet.clusters import ClusterStore
from rollout.model.events import Change, Event
from rollout.model.inventory import ClusterProfile, Slice
from rollout.model.kinds import (
    CLUSTER_PROFILE,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    SHARED_DECISION,
    Kind,
    Ref,
    key_of,
)
from rollout.model.placement import Decision
from rollout.planning.inventory import ProfileState, SlicesState
from rollout.rollouts.selections import contradiction


class Inventory:
    """Implements `rollout.planning.inventory.InventoryView`.

    Args:
        clusters: has taken in each event before it comes here.
        publishes: the kinds that are written; nothing is kept where there are none.
    """

    def __init__(self, clusters: ClusterStore, publishes: Collection[Kind] = ()) -> None:
        self.kinds = frozenset(publishes)
        self._clusters = clusters
        self._missing: set[Kind] = set()
        self._decisions: dict[str, Decision] = {}
        self._named: dict[str, Counter[str]] = {}  # cluster -> namespace -> decisions that name it
        self._slices: dict[str, Slice] = {}
        self._of: dict[str, set[str]] = {}  # placement -> keys of its slices
        self._profiles: dict[str, ClusterProfile] = {}
        self._at: dict[str, set[str]] = {}  # cluster -> namespaces with a profile of it

    def missed(self, kind: Kind, why: str) -> set[Ref]:
        """The hub lacks a kind, or ("") has it now."""
        if kind not in self.kinds:
            return set()
        if why:
            self._missing.add(kind)
            return set()
        self._missing.discard(kind)
        if kind is CLUSTER_PROFILE:
            return {ref for name in self._named for ref in self._profiles_of(name)}
        return {Ref(SHARED_DECISION, key) for key in self._decisions}

    def take(self, event: Event) -> set[Ref]:
        """Take in an event of any kind; what is to be published anew."""
        if not self.kinds:
            return set()
        kind, key = event.ref.kind, event.ref.key
        if kind is PLACEMENT_DECISION:
            return self._take_decision(event.ref)
        if kind is PLACEMENT:
            return self._slices_of(key)
        if kind is MANAGED_CLUSTER:
            return self._profiles_of(key)
        gone = event.change is Change.DELETED
        if kind is SHARED_DECISION:
            return self._take_slice(event.ref, None if gone else decode_slice(event.obj))
        if kind is CLUSTER_PROFILE:
            self._take_profile(event.ref, None if gone else decode_profile(event.obj))
            return {event.ref}
        return set()

    def _take_decision(self, ref: Ref) -> set[Ref]:
        before, after = self._decisions.pop(ref.key, None), self._clusters.decision(ref.key)
        if after is not None:
            self._decisions[ref.key] = after
        old = frozenset(before.clusters if before else ())
        new = frozenset(after.clusters if after else ())
        for name in new - old:
            self._named.setdefault(name, Counter())[ref.namespace] += 1
        for name in old - new:
            counts = self._named[name]
            counts[ref.namespace] -= 1
            if not counts[ref.namespace]:
                del counts[ref.namespace]
            if not counts:
                del self._named[name]
        found = {Ref(CLUSTER_PROFILE, key_of(ref.namespace, name)) for name in old ^ new}
        for each in (before, after):
            if each is not None and each.placement:
                found |= self._slices_of(key_of(ref.namespace, each.placement))
        return found | {Ref(SHARED_DECISION, ref.key)}

    def _take_slice(self, ref: Ref, new: Slice | None) -> set[Ref]:
        old = self._slices.pop(ref.key, None)
        if old is not None:
            owner = key_of(ref.namespace, old.placement)
            self._of[owner].discard(ref.key)
            if not self._of[owner]:
                del self._of[owner]
        if new is not None:
            self._slices[ref.key] = new
            self._of.setdefault(key_of(ref.namespace, new.placement), set()).add(ref.key)
        keys = {key_of(ref.namespace, each.placement) for each in (old, new) if each is not None}
        return {ref}.union(*(self._slices_of(key) for key in keys))

    def _take_profile(self, ref: Ref, new: ClusterProfile | None) -> None:
        if new is not None:
            self._profiles[ref.key] = new
            self._at.setdefault(ref.name, set()).add(ref.namespace)
        elif self._profiles.pop(ref.key, None) is not None:
            self._at[ref.name].discard(ref.namespace)
            if not self._at[ref.name]:
                del self._at[ref.name]

    def _slices_of(self, placement: str) -> set[Ref]:
        """What is, and what should be, published of a placement."""
        keys = {key_of(each.namespace, each.name) for each in self._clusters.decisions(placement)}
        return {Ref(SHARED_DECISION, key) for key in keys | self._of.get(placement, set())}

    def _profiles_of(self, cluster: str) -> set[Ref]:
        named = self._named.get(cluster, Counter[str]())
        namespaces = {*named, *self._at.get(cluster, ())}
        return {Ref(CLUSTER_PROFILE, key_of(each, cluster)) for each in namespaces}

    # -- what planners read --------------------------------------------------------------------

    def slices(self, key: str) -> SlicesState | None:
        """As the protocol says. Cost: O(clusters of the placement)."""
        if SHARED_DECISION in self._missing:
            return None
        decision, known = self._decisions.get(key), self._slices.get(key)
        name = decision.placement if decision else known.placement if known else ""
        namespace = key.rpartition("/")[0]
        owner = key_of(namespace, name)
        placement = self._clusters.placement(owner)
        decisions = self._clusters.decisions(owner) if name else ()
        if placement is not None and contradiction(placement, decisions):
            return None
        listed = [
            page for group in (placement and placement.status_groups) or () for page in group[3]
        ]
        order = {name: index for index, name in enumerate(listed)}
        ours = {
            slice_key.rpartition("/")[2]: self._slices[slice_key]
            for slice_key in self._of.get(owner, ())
        }
        if known is not None:
            ours[key.rpartition("/")[2]] = known
        return SlicesState(
            placement=placement,
            decisions=sorted(decisions, key=lambda each: order.get(each.name, len(order))),
            known=ours,
        )

    def profile(self, key: str) -> ProfileState | None:
        if CLUSTER_PROFILE in self._missing:
            return None
        namespace, _, name = key.rpartition("/")
        named = namespace in self._named.get(name, ())
        cluster = self._clusters.cluster(name) if named else None
        if cluster is not None and cluster.deleting:
            cluster = None
        return ProfileState(cluster=cluster, known=self._profiles.get(key))
