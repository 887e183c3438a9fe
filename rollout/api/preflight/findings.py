"""The values of preflight: a finding, and what is known of a set of files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from rollout.api.cluster import decode_binding, decode_cluster, decode_cluster_set
from rollout.api.fields import mapping, text
from rollout.api.load import Document
from rollout.api.placement import decode_placement
from rollout.api.replicaset import decode_replicaset
from rollout.api.validation import kind_of
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    Kind,
    Obj,
    key_of,
)
from rollout.model.names import CLUSTER_SET_LABEL
from rollout.model.placement import Placement
from rollout.model.replicaset import ReplicaSet


class Severity(IntEnum):
    """How much it matters: an error will be refused or cannot work, a warning may be a mistake."""

    ERROR = 0
    WARNING = 1
    INFO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know about an object.

    Attributes:
        severity: how much it matters.
        source: ``file:line`` of the field; of what is around it where it is not there.
        object: ``Kind namespace/name``; "" where the text could not be read.
        path: the field, "" for the whole object.
        message: what is the matter.
        remedy: what to do about it.
        index: the place of the object among all that were read, from 0; -1 for what was not.
    """

    severity: Severity
    source: str
    object: str
    path: str
    message: str
    remedy: str
    index: int = 0

    def __str__(self) -> str:
        where = " ".join(part for part in (self.object, self.path) if part)
        head = f"{self.source}: {self.severity.name.lower()}: "
        return f"{head}{where + ': ' if where else ''}{self.message}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An object of the set: its document, kind and key."""

    document: Document
    index: int
    kind: Kind
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return key_of(self.namespace, self.name)

    def find(self, severity: Severity, path: str, message: str, remedy: str) -> Finding:
        source, shown = self.document.source_of(path), f"{self.kind.name} {self.key}"
        return Finding(
            severity=severity,
            source=source,
            object=shown,
            path=path,
            message=message,
            remedy=remedy,
            index=self.index,
        )

    def error(self, path: str, message: str, remedy: str) -> Finding:
        return self.find(Severity.ERROR, path, message, remedy)

    def warning(self, path: str, message: str, remedy: str) -> Finding:
        return self.find(Severity.WARNING, path, message, remedy)

    def info(self, path: str, message: str, remedy: str) -> Finding:
        return self.find(Severity.INFO, path, message, remedy)


class World:
    """All objects of the files, those that are there beside them, and what follows from them together.

    ``items`` are the objects of the files: these are judged. The others (``context``) are looked at where
    that asks for them. ``more_clusters``: there are, or will be, clusters besides those that are known.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        namespace: str,
        context: Iterable[Obj] = (),
        *,
        more_clusters: bool = False,
    ) -> None:
        self.documents, self._namespace = documents, namespace
        self.more_clusters = more_clusters
        self.items = [item for i, d in enumerate(documents) for item in self._items(d, i)]
        self._context: dict[str, list[Obj]] = {}
        for obj in context:
            self._context.setdefault(text(obj.get("kind")), []).append(obj)

    def _items(self, document: Document, index: int) -> Iterator[Item]:
        """The document as an object of a kind; nothing where its kind is not known."""
        kind, _ = kind_of(document.obj)
        if kind is not None:
            meta = mapping(document.obj.get("metadata"))
            name = text(meta.get("name")) or text(meta.get("generateName")) or "(no name)"
            space = (text(meta.get("namespace")) or self._namespace) if kind.namespaced else ""
            yield Item(document=document, index=index, kind=kind, namespace=space, name=name)

    def of(self, kind: Kind) -> Iterator[Item]:
        """The objects of the files."""
        return (item for item in self.items if item.kind.name == kind.name)

    def known(self, kind: Kind) -> Iterator[Item]:
        """All objects that there are."""
        yield from self.of(kind)
        for obj in self._context.get(kind.name, ()):
            yield from self._items(Document(obj=obj, source="", index=0), len(self.documents))

    @cached_property
    def clusters(self) -> list[Cluster]:
        return [decode_cluster(item.document.obj) for item in self.known(MANAGED_CLUSTER)]

    @cached_property
    def sets(self) -> dict[str, ClusterSet]:
        return {i.name: decode_cluster_set(i.document.obj) for i in self.known(CLUSTER_SET)}

    @cached_property
    def bindings(self) -> list[tuple[Item, ClusterSetBinding]]:
        return [(i, decode_binding(i.document.obj)) for i in self.known(CLUSTER_SET_BINDING)]

    @cached_property
    def placements(self) -> dict[str, Placement]:
        return {i.key: decode_placement(i.document.obj) for i in self.known(PLACEMENT)}

    @cached_property
    def replicasets(self) -> list[tuple[Item, ReplicaSet]]:
        return [(i, decode_replicaset(i.document.obj)) for i in self.known(REPLICA_SET)]

    def members(self, cluster_set: ClusterSet) -> set[str]:
        """The clusters of the files that are in the set."""
        if cluster_set.selector is None:
            label, name = CLUSTER_SET_LABEL, cluster_set.name
            return {c.name for c in self.clusters if c.labels.get(label) == name}
        return {c.name for c in self.clusters if cluster_set.selector.matches(c.labels)}

    def at_most(self, placement_key: str) -> int | None:
        """How many clusters the placement can select; None where the files do not say.

        Expressions, taints and scores are not looked at: they can only make it fewer.
        """
        placement = self.placements.get(placement_key)
        if placement is None:
            return None
        wanted = placement.number
        if not self.clusters:
            return wanted
        found = len(self._candidates(placement, placement_key.partition("/")[0]))
        return found if wanted is None else min(found, wanted)

    def can_be_in(self, placement_key: str, group: str) -> bool:
        """Whether a cluster of the files can be in the decision group; True where they do not say."""
        placement = self.placements.get(placement_key)
        if placement is None or not self.clusters:
            return True
        inside = self._candidates(placement, placement_key.partition("/")[0])
        return any(
            each.labels.matches(c.labels) and each.claims.matches(c.claims)
            for each in placement.groups
            if each.name == group
            for c in self.clusters
            if c.name in inside
        )

    def _candidates(self, placement: Placement, namespace: str) -> set[str]:
        bound = {b.name for item, b in self.bindings if item.namespace == namespace}
        names = bound & set(placement.cluster_sets) if placement.cluster_sets else bound
        inside: set[str] = set()
        for name in names & self.sets.keys():
            inside |= self.members(self.sets[name])
        return {
            c.name
            for c in self.clusters
            if c.name in inside
            and (
                not placement.predicates
                or any(
                    p.labels.matches(c.labels) and p.claims.matches(c.claims)
                    for p in placement.predicates
                )
            )
        }
