"""The API server's verbs over the stored objects.

Each verb checks everything before it changes anything, then leaves what it did on a list of records
that the hub around it publishes (`take`) or takes back (`undo`).

Not modelled: terminating namespaces, foreground and orphan deletion, server-side apply.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from rollout.clock import Clock
from rollout.errors import AlreadyExists, Conflict, Gone, Invalid
from rollout.hub import rules
from rollout.hub.base import Admit, Changes, Listing
from rollout.hub.patching import json_patch, merge, shared
from rollout.hub.selecting import parse_fields, parse_labels
from rollout.model.events import Change, Event
from rollout.model.instants import rfc3339
from rollout.model.kinds import Kind, Obj, Ref

_NOTHING: dict[str, Obj] = {}
_NOBODY: dict[Ref, None] = {}


class Tables:
    """The objects as they are now, by kind and key, by uid, and by the uid of their owner.

    It holds what it is given and copies nothing. Cost: O(1) for each put and drop of an object without
    owners, O(owners) else.
    """

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


_ATTEMPTS = 8  # to find a free generated name, as an API server


class ChangeRecord(NamedTuple):
    """One change that was made, and what was there before it (None: nothing)."""

    event: Event
    old: Obj | None


class Objects:
    """The objects at ``version``, the verbs that change them, and the records of what they did.

    Args:
        clock: gives creation and deletion timestamps.
        seed: uids and generated names follow from it and the version alone.
        admit: called with every object before it is stored, and the one it replaces.
        kinds: the kinds that an owner can be of; a reference to another kind is left alone.
    """

    def __init__(
        self, clock: Clock, seed: str, admit: Admit | None, kinds: Mapping[str, Kind]
    ) -> None:
        self.version = 0
        self._clock, self._seed, self._admit, self._kinds = clock, seed, admit, kinds
        self._tables = Tables()
        self._records: list[ChangeRecord] = []
        self._instant: tuple[datetime | None, str] = (None, "")

    # Reading

    def get(self, ref: Ref) -> Obj:
        obj = self._tables.get(ref)
        if obj is None:
            raise Gone(f"{ref} is not there")
        return obj

    def select(
        self,
        kind: Kind,
        namespace: str | None,
        labels: Mapping[str, str] | None,
        label_selector: str,
        field_selector: str,
    ) -> Listing:
        items = self._tables.of_kind(kind, namespace)
        if labels:
            wanted = labels.items()
            items = (o for o in items if wanted <= _labels(o).items())
        if label_selector:
            selector = parse_labels(label_selector)
            items = (o for o in items if selector.matches(_labels(o)))
        if field_selector:
            matches = parse_fields(field_selector)
            items = (o for o in items if matches(o))
        return Listing(tuple(items), self.version)

    # Writing

    def create(self, ref: Ref, obj: Obj) -> Obj:
        ref = ref if ref.name else self._named(ref, obj)
        rules.check_ref(ref)
        if self._tables.get(ref) is not None:
            raise AlreadyExists(f"cannot create {ref}: it exists; read it, then plan again")
        draft = rules.drafted(ref, obj)
        if self._admit is not None:
            draft = self._admit(ref, draft, None)
        version = self.version + 1
        uid = rules.uid_of(self._seed, version)
        new = rules.born(ref, draft, version, uid, created=self._now())
        self._record(ref, Change.ADDED, new, None)
        if new["metadata"].get("ownerReferences"):
            self._collect(ref)
        return new

    def patch(self, ref: Ref, changes: Changes, version: int | None) -> Obj:
        old = self._expected(ref, version)
        draft = json_patch(old, changes) if isinstance(changes, list) else merge(old, changes)
        return self._update(ref, old, draft)

    def replace(self, ref: Ref, obj: Obj, version: int | None) -> Obj:
        return self._update(ref, (old := self._expected(ref, version)), shared(old, obj))

    def patch_status(self, ref: Ref, changes: Changes, version: int | None) -> Obj:
        if not ref.kind.has_status:
            return self.patch(ref, changes, version)
        old = self._expected(ref, version)
        draft = json_patch(old, changes) if isinstance(changes, list) else merge(old, changes)
        if draft is old:
            return old
        rules.check_status(ref.kind, draft)
        rules.check_preconditions(ref, old["metadata"], rules.metadata_of(draft))
        new = _with_status(old, draft)
        if self._admit is not None and (admitted := self._admit(ref, new, old)) is not new:
            new = _with_status(old, shared(old, admitted))
        return old if new.get("status") is old.get("status") else self._modify(ref, old, new)

    def delete(self, ref: Ref, uid: str | None, version: int | None) -> None:
        old = self._expected(ref, version)
        rules.check_preconditions(ref, old["metadata"], {"uid": uid})
        self._delete(ref, old)

    # What the hub around this does with the outcome

    def mark(self) -> int:
        """A place in the records, for `since` and `undo`."""
        return len(self._records)

    def since(self, mark: int) -> list[ChangeRecord]:
        return self._records[mark:]

    def take(self) -> list[ChangeRecord]:
        """The records not taken yet; they can no longer be undone."""
        if not self._records:
            return []
        taken, self._records = self._records, []
        return taken

    def undo(self, mark: int = 0) -> None:
        """Take back everything recorded after ``mark``."""
        while len(self._records) > mark:
            event, old = self._records.pop()
            self.version = event.version - 1
            if old is None:
                self._tables.drop(event.ref)
            else:
                self._tables.put(event.ref, old)

    def load(self, event: Event) -> None:
        """Take over a change that another process has made."""
        self.version = event.version
        if event.change is Change.DELETED:
            self._tables.drop(event.ref)
        else:
            self._tables.put(event.ref, event.obj)

    def put(self, event: Event) -> None:
        """Take over an object as it was stored before this hub looked."""
        self._tables.put(event.ref, event.obj)

    def clear(self) -> None:
        """Forget every object, to be loaded anew."""
        self._tables = Tables()

    # How

    def _now(self) -> str:
        now = self._clock.now()
        if now != self._instant[0]:
            self._instant = (now, rfc3339(now))
        return self._instant[1]

    def _expected(self, ref: Ref, version: int | None) -> Obj:
        """The stored object. Raises: Gone; Conflict where it is not at ``version``."""
        old = self.get(ref)
        if version is not None and old["metadata"]["resourceVersion"] != str(version):
            found = old["metadata"]["resourceVersion"]
            raise Conflict(f"cannot write {ref}: it is at version {found}, not {version}")
        return old

    def _named(self, ref: Ref, obj: Obj) -> Ref:
        stem = rules.metadata_of(obj).get("generateName")
        if not stem or not isinstance(stem, str):
            raise Invalid(f"cannot create a {ref.kind.name}: it needs a name or a generateName")
        prefix = f"{ref.namespace}/" if ref.namespace else ""
        for attempt in range(_ATTEMPTS):
            name = rules.generated_name(stem, self._seed, self.version + 1, attempt)
            if self._tables.get(named := Ref(ref.kind, prefix + name)) is None:
                return named
        raise AlreadyExists(
            f"cannot create a {ref.kind.name}: no free name for {stem!r}; try again"
        )

    def _update(self, ref: Ref, old: Obj, draft: Obj) -> Obj:
        """Store ``draft`` over ``old``, but for what a client may not change."""
        if draft is old:
            return old
        draft = rules.settled(ref, old, draft)
        if draft is old:
            return old
        if self._admit is not None and (admitted := self._admit(ref, draft, old)) is not draft:
            draft = rules.settled(ref, old, shared(old, admitted))
        if draft is old:
            return old
        meta = draft["metadata"]
        if "generation" in meta and rules.spec_changed(old, draft):
            draft = {**draft, "metadata": {**meta, "generation": meta["generation"] + 1}}
        if "deletionTimestamp" in meta and not rules.finalizers(meta):
            return self._remove(ref, draft)
        new = self._modify(ref, old, draft)
        if meta.get("ownerReferences") is not old["metadata"].get("ownerReferences"):
            self._collect(ref)
        return new

    def _modify(self, ref: Ref, old: Obj, new: Obj) -> Obj:
        new = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self.version + 1)}}
        self._record(ref, Change.MODIFIED, new, old)
        return new

    def _delete(self, ref: Ref, old: Obj) -> None:
        meta = old["metadata"]
        if not rules.finalizers(meta):
            self._remove(ref, old)
        elif "deletionTimestamp" not in meta:
            marked = {**meta, "deletionTimestamp": self._now(), "deletionGracePeriodSeconds": 0}
            if "generation" in meta:
                marked["generation"] = meta["generation"] + 1  # an API server counts this too
            self._modify(ref, old, {**old, "metadata": marked})

    def _remove(self, ref: Ref, last: Obj) -> Obj:
        """Remove an object, then what depended on it. The event has ``last`` at a version of its own."""
        meta = {**last["metadata"], "resourceVersion": str(self.version + 1)}
        gone = {**last, "metadata": meta}
        self._record(ref, Change.DELETED, gone, self._tables.get(ref))
        for dependent in self._tables.dependents(meta["uid"]):
            self._collect(dependent)
        return gone

    def _collect(self, ref: Ref) -> None:
        """Delete an object whose owners are all gone; from one that has others, drop the dead ones."""
        obj = self._tables.get(ref)
        if obj is None:
            return
        owners = obj["metadata"].get("ownerReferences") or []
        alive = [owner for owner in owners if not self._is_gone(ref, owner)]
        if owners and not alive:
            self._delete(ref, obj)
        elif len(alive) < len(owners):
            self._modify(
                ref, obj, {**obj, "metadata": {**obj["metadata"], "ownerReferences": alive}}
            )

    def _is_gone(self, dependent: Ref, owner: Obj) -> bool:
        """Whether an owner is known not to be there; one of a kind not kept here never is.

        An owner is of no namespace, or of its dependent's: another one's counts as not there.
        """
        found = self._tables.owner(owner["uid"])
        if found is not None:
            namespaced = dependent.kind.namespaced and found.kind.namespaced
            return namespaced and found.namespace != dependent.namespace
        kind = self._kinds.get(owner["kind"])
        if kind is None or kind.group != owner["apiVersion"].rpartition("/")[0]:
            return False
        return dependent.kind.namespaced or not kind.namespaced

    def _record(self, ref: Ref, change: Change, new: Obj, old: Obj | None) -> None:
        self.version += 1
        if change is Change.DELETED:
            self._tables.drop(ref)
        else:
            self._tables.put(ref, new)
        self._records.append(ChangeRecord(Event(ref, change, new, self.version), old))


def _labels(obj: Obj) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _with_status(old: Obj, draft: Obj) -> Obj:
    """``old`` with the status of ``draft``."""
    if "status" in draft:
        return {**old, "status": draft["status"]}
    return {key: value for key, value in old.items() if key != "status"}
