"""The contract of every hub, and the keys under which a run saves its own state there.

A hub stores objects as JSON (`Obj`), gives each change a growing version, and tells everyone who
watches. Objects that it hands out are shared and must not be mutated.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Protocol

from rollout.model.events import Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import Kind, Obj, Ref

EventSink = Callable[[Event], None]
Expire = Callable[[], None]
Changes = Obj | list[Obj]
"""A JSON merge patch (RFC 7386), or the operations of a JSON patch (RFC 6902)."""
Admit = Callable[[Ref, Obj, Obj | None], Obj]
"""``(ref, new, old or None) -> the object to store``: defaults, or raises Invalid or Denied."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind at one version; a watch from ``version`` misses nothing after it."""

    items: tuple[Obj, ...]
    version: int


class Hub(Protocol):
    """What an API server does that controllers rely on.

    Every method may raise `rollout.errors.HubError` subclasses: who must act is in their names.
    """

    def get(self, ref: Ref) -> Obj:
        """The object as it is now (a live read). Raises: Gone."""
        ...

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, ordered by key; only those whose labels contain ``labels``."""
        ...

    def expect(self, kinds: Sequence[Kind]) -> None:
        """These kinds are listed next, whole and in this order: whoever takes long may begin."""
        ...

    def create(self, ref: Ref, obj: Obj) -> Obj:
        """Store a new object; returns it as stored. Raises: AlreadyExists, Gone, Invalid, Denied."""
        ...

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        """JSON merge patch of everything but the status. Raises: Conflict, Gone, Invalid."""
        ...

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        """JSON merge patch of the status alone: ``changes`` is ``{"status": {...}}``."""
        ...

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        """Delete, or begin to where finalizers are set. Raises: Conflict (other uid), Gone."""
        ...

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        """Send every event of the kind after ``since`` to ``sink``, old ones before this returns.

        Events come in the order of their versions, each after its write is committed. Where the
        watch breaks and cannot be resumed, ``expired`` is called once: the watch has ended and
        events may be missing, so list again and watch from that listing's version.

        Returns: a function that ends the watch. Raises: Expired where ``since`` is too old.
        """
        ...

    def close(self) -> None: ...


class EmbeddedHub(Hub, Protocol):
    """What a hub that we keep ourselves does besides: whole batches, and the runner's own state.

    Made for one thread. Watchers are called on it, by the write they follow from.
    """

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        """As `Hub.list`, and by selectors as kubectl takes them. Raises: Invalid for a bad one."""
        ...

    def patch(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        """As `Hub.patch`; a list is a JSON patch."""
        ...

    def patch_status(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        """As `Hub.patch_status`; a list is a JSON patch."""
        ...

    def replace(self, ref: Ref, obj: Obj, version: int | None = None) -> Obj:
        """Make everything but the status as it is in ``obj`` (PUT).

        A resourceVersion or uid in it is a precondition; without one it is put over whatever is
        there. Raises: Conflict, Gone, Invalid.
        """
        ...

    def batch(self) -> AbstractContextManager[None]:
        """One transaction of all writes inside: acknowledged, and told to watchers, when it ends.

        Inside, reads see the batch's own writes. An exception that leaves the batch undoes all of
        it. A batch inside a batch is part of it.
        """
        ...

    def written_since(self, version: int) -> bool | None:
        """Whether anything was written after this version; None: that cannot be told at little cost."""
        ...

    def poll(self) -> int:
        """Bring in what other processes wrote, and tell watchers.

        Returns: the number of events since the last poll; 1 for a gap that made watches expire.
        """
        ...

    def put_state(self, key: str, value: bytes | None) -> None:
        """Keep a value for the runner, in the same transaction as the batch around it; None keeps none."""
        ...

    def get_state(self, key: str) -> bytes | None: ...

    def get_states(self, prefix: str) -> Mapping[str, bytes]:
        """All values whose keys begin so, by the rest of their key."""
        ...


class StateKey(StrEnum):
    """Keys of `EmbeddedHub.put_state`: with them, a run that was killed goes on where it was."""

    STARTED = "started"
    """The instant at which the first run began."""
    CLOCK = "clock"
    """The instant at which a run on a clock of its own is; absent on real time."""
    ALIVE = "alive"
    """The instant at which a run on real time was last alive. On an API server: at which a leader last
    renewed its Lease, where none leads any more."""
    AGENTS = "agents"
    """What the simulated agents have pending, and the state of their chance; of single works under
    ``agents/`` and the work's key."""
    PROFILE = "profile"
    """Whose rules the engine goes by where an object does not say: ``strict`` or ``ocm``. On an API
    server the leader's Lease says so, by the label `rollout.model.names.PROFILE_LABEL`."""
    TOLD = "told"
    """What happened, newest last: JSON lists of instant, kind, key, reason and message."""
    SCENARIO = "scenario"
    """How the agents behave: the text of the scenario and its seed."""


class Kept(Protocol):
    """A hub, as far as it keeps what is no object."""

    def get_state(self, key: str) -> bytes | None: ...


def profile_of(hub: Kept) -> Literal["strict", "ocm"]:
    """Whose rules the engine of this hub goes by; ``strict`` where nobody left word."""
    return "ocm" if hub.get_state(StateKey.PROFILE) == b"ocm" else "strict"


PATIENCE = timedelta(seconds=15)
"""An engine on wall time leaves word every few seconds; after so long without, none is running."""


def away_since(hub: Kept, now: datetime) -> datetime | None:
    """When the engine of a hub was last heard of, where that is too long ago to be running.

    Only an engine on wall time leaves word; virtual time stands still while nobody runs it.
    """
    kept = hub.get_state(StateKey.ALIVE)
    alive = parse_instant(kept.decode()) if kept and not hub.get_state(StateKey.CLOCK) else None
    return alive if alive is not None and now - alive > PATIENCE else None
