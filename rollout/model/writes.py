"""The writes that plans are made of, each to one object."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from msgspec import Struct

from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.notifications import Notification
from rollout.model.work import Work


@dataclass(frozen=True, slots=True)
class Touch:
    """Marks the write that brings a revision to a cluster, or keeps it there.

    ``placement`` is the placementRef that owns the cluster; ``first`` is False where what the
    cluster is supposed to have is only restored. ``revision`` is what it brings ("": the rollout's).
    """

    workload: Ref
    placement: str
    cluster: str
    _: KW_ONLY
    first: bool = True
    cause: str = ""
    revision: str = ""

    @property
    def brings(self) -> bool:
        """Whether it brings what the cluster is supposed to have, not only what is said about it."""
        return self.first or self.cause in ("Restore", "Configure")


class Create(Struct, frozen=True, gc=False):
    """Create ``obj`` (whole, as JSON, with apiVersion, kind and metadata)."""

    ref: Ref
    obj: Obj
    touch: Touch | None = None


class Patch(Struct, frozen=True, gc=False):
    """JSON merge patch of the object, only while it still has ``version`` (None: whatever it has)."""

    ref: Ref
    changes: Obj
    version: int | None = None
    touch: Touch | None = None


class PatchWork(Patch, frozen=True, kw_only=True):
    """A patch that brings content to a ManifestWork. ``known`` is the work in ``version``.

    Where its agent alone has written since, it is patched all the same: the patch rests on nothing that
    the agent says of this cluster.
    """

    known: Work


class PatchStatus(Struct, frozen=True, gc=False):
    """JSON merge patch ``{"status": status}`` of the status subresource, with the same precondition."""

    ref: Ref
    status: Obj
    version: int | None = None
    touch: Touch | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object with this uid.

    ``unless_selected_by``: the key of a Placement whose decisions are read live right before; the
    delete is dropped if they name ``cluster`` after all (semantics row 16). ``removed_from``: the
    workload that this takes from the cluster, since removals are counted.
    """

    ref: Ref
    uid: str
    _: KW_ONLY
    unless_selected_by: tuple[str, ...] = ()
    cluster: str = ""
    removed_from: Ref | None = None


class RemoveFinalizer(Struct, frozen=True, kw_only=True):
    """Let the object go, once the server shows nothing left of what it stands for.

    ``kept``: the finalizers of others, which stay. ``kind`` and ``label`` say what must be gone; with
    ``deleting_is_gone`` it is enough that it is being deleted. It is planned when nothing is known to
    be left; what the server then shows must be no older than the newest object of ``kind`` that this
    process has seen. Where something is left the write is dropped as a conflict, and planned again.
    """

    ref: Ref
    kept: tuple[str, ...]
    version: int
    kind: Kind
    label: tuple[str, str]
    deleting_is_gone: bool

    @property
    def changes(self) -> Obj:
        """The merge patch that removes it."""
        return {"metadata": {"finalizers": list(self.kept) or None}}

    def left_of(self, found: Iterable[Obj]) -> int:
        """How many of the objects found, all of ``kind``, are left of what must be gone."""
        key, value = self.label
        metas = (obj["metadata"] for obj in found)
        return sum(
            1
            for meta in metas
            if (meta.get("labels") or {}).get(key) == value
            and not (self.deleting_is_gone and meta.get("deletionTimestamp"))
        )


class Deliver(Struct, frozen=True, kw_only=True):
    """Try to deliver a notification, and write what comes of it into its status."""

    ref: Ref
    notification: Notification
