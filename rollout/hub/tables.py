"""Where is an object, and who depends on it? The maps behind an embedded hub.

Objects by kind and key, keys by namespace, references by uid, dependents by the uid of their owner.
Cost: O(1) per put and drop for objects without owners, O(owners) else.
"""

from collections.abc import Iterator

from rollout.model.kinds import Kind, Obj, Ref

_NOTHING: dict[str, Obj] = {}
_NOBODY: dict[Ref, None] = {}


class Tables:
    """The objects as they are now. Holds what it is given; copies nothing."""

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[str, Obj]] = {}
        self._namespaces: dict[tuple[Kind, str], dict[str, None]] = {}
        self._by_uid: dict[str, Ref] = {}
        self._dependents: dict[str, dict[Ref, None]] = {}

    def get(self, ref: Ref) -> Obj | None:
        return self._objects.get(ref.kind, _NOTHING).get(ref.key)

    def of_kind(self, kind: Kind, namespace: str | None) -> Iterator[Obj]:
        """Objects of a kind, by key. Cost: O(n log n) in those of the namespace, or of the kind."""
        objects = self._objects.get(kind, _NOTHING)
        keys = objects if namespace is None else self._namespaces.get((kind, namespace), {})
        return (objects[key] for key in sorted(keys))

    def owner(self, uid: str) -> Ref | None:
        """What is stored under this uid now."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> list[Ref]:
        """What names this uid among its owners, in the order of kinds and keys."""
        found = self._dependents.get(uid, _NOBODY)
        return sorted(found, key=lambda ref: (ref.kind.name, ref.key))

    def put(self, ref: Ref, obj: Obj) -> None:
        """Store an object in place of what the reference held before."""
        meta = obj["metadata"]
        objects = self._objects.get(ref.kind)
        if objects is None:
            objects = self._objects[ref.kind] = {}
        old = objects.get(ref.key)
        objects[ref.key] = obj
        if old is not None:
            old_meta = old["metadata"]
            if old_meta["uid"] == meta["uid"]:
                if old_meta.get("ownerReferences") is not meta.get("ownerReferences"):
                    self._disown(ref, old_meta)
                    self._own(ref, meta)
                return
            self._forget(ref, old_meta)
        if ref.kind.namespaced:
            self._namespaces.setdefault((ref.kind, ref.namespace), {})[ref.key] = None
        self._by_uid[meta["uid"]] = ref
        self._own(ref, meta)

    def drop(self, ref: Ref) -> None:
        """Remove what the reference holds; nothing where it holds nothing."""
        old = self._objects.get(ref.kind, {}).pop(ref.key, None)
        if old is not None:
            self._forget(ref, old["metadata"])

    def _forget(self, ref: Ref, meta: Obj) -> None:
        if ref.kind.namespaced:
            keys = self._namespaces[ref.kind, ref.namespace]
            del keys[ref.key]
            if not keys:
                del self._namespaces[ref.kind, ref.namespace]
        self._by_uid.pop(meta["uid"], None)
        self._disown(ref, meta)

    def _own(self, ref: Ref, meta: Obj) -> None:
        for owner in meta.get("ownerReferences") or ():
            self._dependents.setdefault(owner["uid"], {})[ref] = None

    def _disown(self, ref: Ref, meta: Obj) -> None:
        for owner in meta.get("ownerReferences") or ():
            dependents = self._dependents.get(owner["uid"])
            if dependents is not None and dependents.pop(ref, ref) is None and not dependents:
                del self._dependents[owner["uid"]]
