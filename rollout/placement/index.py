"""Keeps facts about clusters so that "which ones match?" is a few operations on ints.

Every cluster has a slot; a set of clusters is one Python int with the bits of its slots, so AND, OR
and NOT over a whole fleet are single operations. One changed cluster costs O(its labels). Tests
compare every answer with a plain loop over `Cluster` values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import overload

from rollout.model.cluster import Cluster, Taint
from rollout.model.selectors import Requirement, Selector
from rollout.placement.quantity import as_float

RESOURCES = ("cpu", "memory")
_DERIVED_KEPT = 32
_TO_FLAGS = bytes.maketrans(b"01", b"\x00\x01")


def flags_of(bits: int, width: int = 0) -> bytes:
    """By slot, at least ``width`` of them: 1 where the bit is set, else 0. Cost: as `slots_of`."""
    return f"{bits:0{width}b}"[::-1].encode().translate(_TO_FLAGS)


def slots_of(bits: int) -> list[int]:
    """The positions of the bits that are set, ascending. Cost: O(highest bit), in C."""
    flags = flags_of(bits)
    return list(compress(range(len(flags)), flags))


def bits_of(slots: Iterable[int], width: int) -> int:
    """The int with these bits set; every slot is below ``width``."""
    flags = bytearray((width >> 3) + 1)
    for slot in slots:
        flags[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(flags, "little")


class Facts:
    """Who has which key, and with which value: for labels, and again for claims."""

    def __init__(self) -> None:
        self._having: dict[str, int] = {}
        self._holders: dict[str, dict[str, set[int]]] = {}
        self._asked: dict[tuple[str, str], int] = {}  # bits of the pairs that somebody asked for

    def replace(self, slot: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        """Move one cluster from ``old`` to ``new``. Cost: O(len(old) + len(new))."""
        bit = 1 << slot
        for key, value in old.items():
            if new.get(key) == value:
                continue
            holders = self._holders[key]
            holders[value].discard(slot)
            if not holders[value]:
                del holders[value]
            if key not in new:
                self._having[key] &= ~bit
                if not self._having[key]:
                    del self._having[key]
                    del self._holders[key]
            if (key, value) in self._asked:
                self._asked[key, value] &= ~bit
        for key, value in new.items():
            if old.get(key) == value:
                continue
            self._having[key] = self._having.get(key, 0) | bit
            self._holders.setdefault(key, {}).setdefault(value, set()).add(slot)
            if (key, value) in self._asked:
                self._asked[key, value] |= bit

    def having(self, key: str) -> int:
        """The clusters that have the key, with any value."""
        return self._having.get(key, 0)

    def holding(self, key: str, value: str, width: int) -> int:
        """The clusters that have the key with this value. ``width``: above the highest slot."""
        known = self._asked.get((key, value))
        if known is None:
            if len(self._asked) >= 4096:
                self._asked.clear()
            known = bits_of(self._holders.get(key, {}).get(value, ()), width)
            self._asked[key, value] = known
        return known

    def satisfying(self, requirement: Requirement, all_bits: int) -> int:
        """The clusters of ``all_bits`` that meet one requirement."""
        key = requirement.key
        match requirement.operator:
            case "Exists":
                return all_bits & self.having(key)
            case "DoesNotExist":
                return all_bits & ~self.having(key)
        width, listed = all_bits.bit_length(), 0
        for value in requirement.values:
            listed |= self.holding(key, value, max(width, self.having(key).bit_length()))
        return all_bits & (listed if requirement.operator == "In" else ~listed)

    def matching(self, selector: Selector, all_bits: int) -> int:
        """The clusters of ``all_bits`` that meet every requirement."""
        for requirement in selector.requirements:
            if not all_bits:
                break
            all_bits = self.satisfying(requirement, all_bits)
        return all_bits


class ClusterIndex:
    """Clusters by slot, with everything that scheduling asks of many of them at once.

    ``version`` grows with every change. Slots are given in order of arrival and used again after a
    removal, so nothing shifts when a cluster joins.
    """

    def __init__(self, clusters: Iterable[Cluster] = ()) -> None:
        self.version = 0
        self.labels = Facts()
        self.claims = Facts()
        self.alive = 0
        self.deleting = 0
        self.taints: dict[tuple[Taint, ...], int] = {}
        self.resources: dict[str, list[float | None]] = {name: [] for name in RESOURCES}
        self.edition = 0  # of everything that an expression can read
        self.edits: list[int] = []  # by slot: the edition that changed the cluster last
        self.score_edition = 0
        self.score_edits: dict[int, int] = {}  # likewise, of its scores
        self._slots: dict[str, int] = {}
        self._clusters: list[Cluster | None] = []
        self._names: list[str] = []
        self._free: list[int] = []
        self._derived: dict[int, tuple[object, Sequence[int]]] = {}
        self.in_name_order = True  # as long as clusters come by name and none leaves
        for cluster in clusters:
            self.put(cluster)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def get(self, name: str) -> Cluster | None:
        slot = self._slots.get(name)
        return None if slot is None else self._clusters[slot]

    def put(self, cluster: Cluster) -> None:
        """Add the cluster, or replace the one of its name. Cost: O(labels, claims, taints)."""
        self.version += 1
        slot = self._slots.get(cluster.name)
        if slot is None:
            slot = self._take_slot(cluster.name)
        old = self._clusters[slot]
        self._clusters[slot] = cluster
        bit = 1 << slot
        self.alive |= bit
        self.deleting = self.deleting | bit if cluster.deleting else self.deleting & ~bit
        if old is None or old.labels != cluster.labels:
            self.labels.replace(slot, old.labels if old else {}, cluster.labels)
        if old is None or old.claims != cluster.claims:
            self.claims.replace(slot, old.claims if old else {}, cluster.claims)
        self._retaint(bit, old.taints if old else (), cluster.taints)
        for name, column in self.resources.items():
            column[slot] = resource_of(cluster, name)
        self._edited(slot)

    def refresh(self, cluster: Cluster, *, compared: bool = False) -> None:
        """Keep the newer value of a known cluster that differs in nothing the index knows of.

        ``compared``: nor in anything that an expression could read.
        """
        slot = self._slots[cluster.name]
        self._clusters[slot] = cluster
        if not compared:
            self._edited(slot)

    def rescored(self, name: str) -> None:
        """A score of the cluster has changed, come or gone."""
        self.edition += 1
        self.score_edition = self.edition
        slot = self._slots.get(name)
        if slot is not None:
            self.score_edits[slot] = self.edition

    def remove(self, name: str) -> None:
        """Forget the cluster, if it is known."""
        slot = self._slots.pop(name, None)
        if slot is None:
            return
        self.version += 1
        old = self._clusters[slot]
        assert old is not None, "a named slot holds a cluster"
        bit = 1 << slot
        self._clusters[slot] = None
        self._free.append(slot)
        self.alive &= ~bit
        self.deleting &= ~bit
        self.labels.replace(slot, old.labels, {})
        self.claims.replace(slot, old.claims, {})
        self._retaint(bit, old.taints, ())
        self._edited(slot)

    def members(self, selector: Selector) -> int:
        """All clusters whose labels match, terminating ones included."""
        return self.labels.matching(selector, self.alive)

    def bits(self, names: Iterable[str]) -> int:
        """The known ones of these clusters."""
        slots = self._slots
        return bits_of((slots[n] for n in names if n in slots), len(self._clusters))

    def pool(self, bits: int | None = None) -> "Pool":
        """These clusters (default: all). Valid until the next change of the index."""
        return Pool(self, self.alive if bits is None else bits)

    def cluster_at(self, slot: int) -> Cluster:
        cluster = self._clusters[slot]
        assert cluster is not None, "a set bit belongs to a cluster"
        return cluster

    @property
    def names(self) -> Sequence[str]:
        """Names by slot; of a free slot, the name that it had."""
        return self._names

    def derived(
        self, source: object, pool: "Pool", make: Callable[[Sequence[str]], list[int]]
    ) -> list[int]:
        """One number per cluster of the pool, made from ``source`` and the clusters' names.

        For a large pool the numbers of all clusters are kept as long as ``source`` is the same
        object (which must never change) and no cluster comes or goes.
        """
        if len(pool) * 2 < len(self._slots):
            return make(pool.names)
        kept = self._derived.get(id(source))
        if kept is None:
            if len(self._derived) >= _DERIVED_KEPT:
                self._derived.pop(next(iter(self._derived)))
            kept = self._derived[id(source)] = (source, make(self._names))
        return list(map(kept[1].__getitem__, pool.slots))

    def _take_slot(self, name: str) -> int:
        self._derived.clear()
        if self._free:
            slot = self._free.pop()
            self._names[slot] = name
            self.in_name_order = False
        else:
            slot = len(self._clusters)
            self.in_name_order = self.in_name_order and (not slot or name > self._names[-1])
            self._clusters.append(None)
            self.edits.append(0)
            self._names.append(name)
            for column in self.resources.values():
                column.append(None)
        self._slots[name] = slot
        return slot

    def _edited(self, slot: int) -> None:
        self.edition += 1
        self.edits[slot] = self.edition

    def _retaint(self, bit: int, old: tuple[Taint, ...], new: tuple[Taint, ...]) -> None:
        if old == new:
            return
        if old:
            self.taints[old] &= ~bit
            if not self.taints[old]:
                del self.taints[old]
        if new:
            self.taints[new] = self.taints.get(new, 0) | bit


def resource_of(cluster: Cluster, name: str) -> float | None:
    """The allocatable amount, where the cluster reports both it and its capacity."""
    if name not in cluster.capacity or name not in cluster.allocatable:
        return None
    return as_float(cluster.allocatable[name])


class Pool(Sequence[Cluster]):
    """Some clusters of an index, in the order of their names. A value until the index changes."""

    def __init__(self, source: ClusterIndex, bits: int) -> None:
        self.source = source
        self.bits = bits

    @classmethod
    def of(cls, clusters: Iterable[Cluster]) -> "Pool":
        """A pool of its own, for callers that keep no index. Cost: O(clusters x labels)."""
        return ClusterIndex(clusters).pool()

    def narrow(self, bits: int) -> "Pool":
        """The clusters of this pool that are in ``bits``."""
        both = self.bits & bits
        return self if both == self.bits else Pool(self.source, both)

    @cached_property
    def slots(self) -> list[int]:
        """Slots in the order of names. Cost: O(fleet) in C, once."""
        slots = slots_of(self.bits)
        if not self.source.in_name_order:
            slots.sort(key=self.source.names.__getitem__)
        return slots

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(map(self.source.names.__getitem__, self.slots))

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __iter__(self) -> Iterator[Cluster]:
        return map(self.source.cluster_at, self.slots)

    @overload
    def __getitem__(self, at: int) -> Cluster: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cluster]: ...
    def __getitem__(self, at: int | slice) -> Cluster | list[Cluster]:
        if isinstance(at, slice):
            return [self.source.cluster_at(slot) for slot in self.slots[at]]
        return self.source.cluster_at(self.slots[at])
