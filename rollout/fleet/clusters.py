"""Keeps clusters, sets, bindings, placements, decisions and scores.

Fed with decoded values, one change at a time; answers the placement planner's view, and says which
objects are worth planning again. A change that no placement can see costs a comparison and wakes
nobody. No I/O, no lock: one writer.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from rollout.fleet.groups import drop
from rollout.fleet.interests import NO_CHANGE, Interest, difference, interest_of
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding, Score
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    SCORE,
    Kind,
    Ref,
)
from rollout.model.names import CLUSTER_SET_LABEL
from rollout.model.placement import Decision, Placement
from rollout.placement.index import ClusterIndex, Pool

ANY_SET = "*"

PlacementInput = Cluster | ClusterSet | ClusterSetBinding | Placement | Decision | Score


class ClusterStore:
    """The placement side of what the engine knows. Implements `rollout.planning.placements.PlacementView`."""

    def __init__(self, *, reads_everything: bool = False) -> None:
        """``reads_everything``: filter plugins are in use, so any change of a cluster matters."""
        self.index = ClusterIndex()
        self._reads_everything = reads_everything
        self._sets: dict[str, ClusterSet] = {}
        self._by_labels: dict[str, ClusterSet] = {}  # sets whose members match a selector
        self._broken: set[str] = set()  # sets whose members nobody can tell
        self._bindings: dict[str, dict[str, ClusterSetBinding]] = {}  # namespace -> name
        self._bound_in: dict[str, set[str]] = {}  # set -> namespaces
        self._placements: dict[str, Placement] = {}
        self._interests: dict[str, Interest] = {}
        self._in_namespace: dict[str, set[str]] = {}  # namespace -> placements
        self._asking: dict[tuple[str, str], set[str]] = {}  # (namespace, set or *) -> placements
        self._scored_by: dict[str, set[str]] = {}  # score name or * -> placements
        self._cel_users = 0
        self._decisions: dict[str, Decision] = {}
        self._pages: dict[str, dict[str, Decision]] = {}  # placement -> key -> decision
        self._counts: dict[str, int] = {}
        self._counts_read: dict[str, int] | None = None  # a copy, until the counts change
        self._scores: dict[str, dict[str, Score]] = {}
        self._self = object()  # sets the stamps of two stores apart
        self._edition = 0  # of everything but clusters, decisions and single placements
        self._last_edition = 0
        self._placement_editions: dict[str, int] = {}

    # What the fleet feeds in.

    def put(self, kind: Kind, key: str, value: PlacementInput) -> set[Ref]:
        """Take the new state of an object; returns the refs that are worth planning."""
        match value:
            case Cluster():
                return self._put_cluster(value)
            case ClusterSet():
                return self._put_set(key, value)
            case ClusterSetBinding():
                return self._put_binding(value)
            case Placement():
                return self._put_placement(key, value)
            case Decision():
                return self._put_decision(key, value)
            case Score():
                return self._put_score(value, self._scores.get(value.name, {}).get(value.cluster))

    def remove(self, kind: Kind, key: str) -> set[Ref]:
        """Forget an object; returns the refs that are worth planning."""
        match kind.name:
            case MANAGED_CLUSTER.name:
                return self._remove_cluster(key)
            case CLUSTER_SET.name:
                return self._remove_set(key)
            case CLUSTER_SET_BINDING.name:
                return self._remove_binding(key)
            case PLACEMENT.name:
                self._forget_placement(key)
                self._placement_editions.pop(key, None)
                return {Ref(PLACEMENT, key)}
            case PLACEMENT_DECISION.name:
                return self._remove_decision(key)
            case SCORE.name:
                return self._remove_score(key)
        raise ValueError(f"remove {kind.name}: not a kind that is kept here")

    # What planners read.

    def cluster(self, name: str) -> Cluster | None:
        return self.index.get(name)

    def placement(self, key: str) -> Placement | None:
        return self._placements.get(key)

    def cluster_set(self, name: str) -> ClusterSet | None:
        return self._sets.get(name)

    def binding(self, key: str) -> ClusterSetBinding | None:
        namespace, _, name = key.rpartition("/")
        return self._bindings.get(namespace, {}).get(name)

    def bindings(self, namespace: str) -> Sequence[ClusterSetBinding]:
        return tuple(self._bindings.get(namespace, {}).values())

    def member_bits(self, name: str) -> int:
        """All members of a set, terminating ones included. Cost: O(its requirements)."""
        known = self._sets.get(name)
        if known is None or known.problems:
            return 0
        if known.selector is None:
            index = self.index
            holding = index.labels.holding(CLUSTER_SET_LABEL, name, index.alive.bit_length())
            return holding & index.alive
        return self.index.members(known.selector)

    def members(self, sets: Sequence[str]) -> Pool:
        bits = 0
        for name in sets:
            bits |= self.member_bits(name)
        return self.index.pool(bits & ~self.index.deleting)

    def clusters(self, names: Sequence[str]) -> Pool:
        return self.index.pool(self.index.bits(names) & ~self.index.deleting)

    def decisions(self, placement_key: str) -> Sequence[Decision]:
        pages = self._pages.get(placement_key, {})
        return tuple(pages[key] for key in sorted(pages))

    def decision(self, key: str) -> Decision | None:
        return self._decisions.get(key)

    def decision_counts(self) -> Mapping[str, int]:
        if self._counts_read is None:
            self._counts_read = dict(self._counts)
        return self._counts_read

    def scores(self, name: str) -> Mapping[str, Score]:
        return self._scores.get(name, {})

    def stamp(self, placement_key: str) -> Hashable:
        edition = self._placement_editions.get(placement_key, 0)
        counts = self.decision_counts()
        return (self._self, self.index.version, self._edition, edition, _SameObject(counts))

    def sets_of(self, cluster: Cluster) -> set[str]:
        """The sets that the cluster is a member of. Cost: O(sets with a selector)."""
        exclusive = self._sets.get(cluster.labels.get(CLUSTER_SET_LABEL, ""))
        found = {exclusive.name} if exclusive is not None and exclusive.selector is None else set()
        for name, each in self._by_labels.items():
            if each.selector is not None and each.selector.matches(cluster.labels):
                found.add(name)
        return found

    # Clusters.

    def _put_cluster(self, cluster: Cluster) -> set[Ref]:
        old = self.index.get(cluster.name)
        change = difference(old, cluster, raw=self._cel_users > 0)
        if change == NO_CHANGE:
            self.index.refresh(cluster, compared=self._cel_users > 0)
            return set()
        before = self.sets_of(old) if old is not None else set()
        self.index.put(cluster)
        after = self.sets_of(cluster)
        moved = before ^ after
        refs = {Ref(CLUSTER_SET, name) for name in moved}
        for name in before | after:
            for key in self._placements_of_set(name):
                if name in moved or change.matters_to(self._interests[key]):
                    refs.add(Ref(PLACEMENT, key))
        for key in self._keeping(cluster.name):
            if change.matters_to(self._interests[key]):
                refs.add(Ref(PLACEMENT, key))
        return refs

    def _remove_cluster(self, name: str) -> set[Ref]:
        old = self.index.get(name)
        if old is None:
            return set()
        sets = self.sets_of(old)
        self.index.remove(name)
        refs = {Ref(CLUSTER_SET, each) for each in sets}
        refs |= {Ref(PLACEMENT, key) for key in self._keeping(name)}
        return refs | self._refs_of_sets(sets)

    def _keeping(self, cluster: str) -> Iterable[str]:
        """Placements for which the cluster counts as long as a set cannot be read: they have it."""
        for name in self._broken:
            for key in self._placements_of_set(name):
                pages = self._pages.get(key, {})
                if any(cluster in page.clusters for page in pages.values()):
                    yield key

    # Sets and bindings.

    def _put_set(self, name: str, new: ClusterSet) -> set[Ref]:
        self._edition += 1
        old = self._sets.get(name)
        self._sets[name] = new
        self._forget_members(name)
        if new.problems:
            self._broken.add(name)
        elif new.selector is not None:
            self._by_labels[name] = new
        refs = {Ref(CLUSTER_SET, name)}
        if old is None:
            refs |= self._refs_around(name) | self._refs_of_bindings(name)
        elif (old.selector, old.problems) != (new.selector, new.problems):
            refs |= self._refs_of_sets((name,))
        return refs

    def _remove_set(self, name: str) -> set[Ref]:
        self._edition += 1
        self._sets.pop(name, None)
        self._forget_members(name)
        refs = {Ref(CLUSTER_SET, name)}
        return refs | self._refs_around(name) | self._refs_of_bindings(name)

    def _forget_members(self, name: str) -> None:
        self._by_labels.pop(name, None)
        self._broken.discard(name)

    def _put_binding(self, binding: ClusterSetBinding) -> set[Ref]:
        namespace, name = binding.namespace, binding.name
        old = self._bindings.setdefault(namespace, {}).get(name)
        self._bindings[namespace][name] = binding
        if old == binding:
            return set()
        self._edition += 1
        self._bound_in.setdefault(name, set()).add(namespace)
        refs = {Ref(CLUSTER_SET_BINDING, f"{namespace}/{name}")}
        return refs | self._refs_in(namespace)

    def _remove_binding(self, key: str) -> set[Ref]:
        namespace, _, name = key.rpartition("/")
        if self._bindings.get(namespace, {}).pop(name, None) is None:
            return set()
        self._edition += 1
        if not self._bindings[namespace]:
            del self._bindings[namespace]
        drop(self._bound_in, name, namespace)
        return self._refs_in(namespace)

    def _refs_of_bindings(self, set_name: str) -> set[Ref]:
        namespaces = self._bound_in.get(set_name, ())
        return {Ref(CLUSTER_SET_BINDING, f"{each}/{set_name}") for each in namespaces}

    def _refs_of_sets(self, sets: Iterable[str]) -> set[Ref]:
        return {Ref(PLACEMENT, key) for each in sets for key in self._placements_of_set(each)}

    def _refs_in(self, namespace: str) -> set[Ref]:
        """All placements of a namespace: each says whether any set is bound there at all."""
        return {Ref(PLACEMENT, key) for key in self._in_namespace.get(namespace, ())}

    def _refs_around(self, set_name: str) -> set[Ref]:
        """All placements of the namespaces in which the set is bound."""
        found: set[Ref] = set()
        for namespace in self._bound_in.get(set_name, ()):
            found |= self._refs_in(namespace)
        return found

    def _placements_of_set(self, name: str) -> Iterable[str]:
        for namespace in self._bound_in.get(name, ()):
            yield from self._asking_in(namespace, name)

    def _asking_in(self, namespace: str, set_name: str) -> Iterable[str]:
        yield from self._asking.get((namespace, set_name), ())
        yield from self._asking.get((namespace, ANY_SET), ())

    # Placements and what they ask about.

    def _put_placement(self, key: str, new: Placement) -> set[Ref]:
        self._forget_placement(key)
        self._touch(key)
        interest = interest_of(new, reads_everything=self._reads_everything)
        self._placements[key] = new
        self._in_namespace.setdefault(new.namespace, set()).add(key)
        self._interests[key] = interest
        self._cel_users += interest.raw
        for name in new.cluster_sets or (ANY_SET,):
            self._asking.setdefault((new.namespace, name), set()).add(key)
        for name in interest.scores:
            self._scored_by.setdefault(name, set()).add(key)
        return {Ref(PLACEMENT, key)}

    def _forget_placement(self, key: str) -> None:
        old = self._placements.pop(key, None)
        if old is None:
            return
        interest = self._interests.pop(key)
        self._cel_users -= interest.raw
        for name in old.cluster_sets or (ANY_SET,):
            drop(self._asking, (old.namespace, name), key)
        drop(self._in_namespace, old.namespace, key)
        for name in interest.scores:
            drop(self._scored_by, name, key)

    def _touch(self, placement_key: str) -> None:
        self._last_edition += 1
        self._placement_editions[placement_key] = self._last_edition

    # Decisions: pages by placement, and how many of them name a cluster.

    def _put_decision(self, key: str, new: Decision) -> set[Ref]:
        old = self._decisions.get(key)
        refs = self._drop_decision(key, recount=old is None or old.clusters != new.clusters)
        if old is None or old.clusters != new.clusters:
            self._count(new.clusters, 1)
        self._decisions[key] = new
        if new.placement:
            owner = f"{new.namespace}/{new.placement}"
            self._pages.setdefault(owner, {})[key] = new
            self._touch(owner)
            refs.add(Ref(PLACEMENT, owner))
        return refs

    def _remove_decision(self, key: str) -> set[Ref]:
        return self._drop_decision(key, recount=True)

    def _drop_decision(self, key: str, *, recount: bool) -> set[Ref]:
        old = self._decisions.pop(key, None)
        if old is None:
            return set()
        if recount:
            self._count(old.clusters, -1)
        if not old.placement:
            return set()
        owner = f"{old.namespace}/{old.placement}"
        self._pages[owner].pop(key)
        self._touch(owner)
        if not self._pages[owner]:
            del self._pages[owner]
            if owner not in self._placements:
                self._placement_editions.pop(owner, None)
        return {Ref(PLACEMENT, owner)}

    def _count(self, clusters: Iterable[str], by: int) -> None:
        counts = self._counts
        self._counts_read = None
        for name in clusters:
            left = counts.get(name, 0) + by
            if left:
                counts[name] = left
            else:
                del counts[name]

    # Scores.

    def _put_score(self, new: Score, old: Score | None) -> set[Ref]:
        self._scores.setdefault(new.name, {})[new.cluster] = new
        if old == new:
            return set()
        self.index.rescored(new.cluster)
        self._edition += 1
        return self._refs_of_score(new.name, new.cluster)

    def _remove_score(self, key: str) -> set[Ref]:
        cluster, _, name = key.rpartition("/")
        if self._scores.get(name, {}).pop(cluster, None) is None:
            return set()
        self.index.rescored(cluster)
        self._edition += 1
        if not self._scores[name]:
            del self._scores[name]
        return self._refs_of_score(name, cluster)

    def _refs_of_score(self, name: str, cluster_name: str) -> set[Ref]:
        """Placements that read the score and can see the cluster."""
        readers = self._scored_by.get(name, set()) | self._scored_by.get(ANY_SET, set())
        cluster = self.index.get(cluster_name)
        if not readers or cluster is None:
            return set()
        seeing = {key for each in self.sets_of(cluster) for key in self._placements_of_set(each)}
        seeing.update(self._keeping(cluster_name))
        return {Ref(PLACEMENT, key) for key in readers & seeing}


class _SameObject:
    """Equal only for the very same object."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)
