"""Lists and watches the kinds that the fleet needs; if one cannot be read, the others go on.

The fleet's own kinds are all read before anything is planned, those of its trackers where the server
has them. Kinds that workloads refer to come and go: each is watched from the first reference to the
last, and one that cannot be had stops no other.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from rollout.errors import Denied, HubError, NotServed
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Hub
from rollout.hub.watching import ListWatch, last_seen
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Ref
from rollout.runtime.messages import Broken, Message
from rollout.runtime.pace import BLINK
from rollout.runtime.timers import Timers
from rollout.runtime.workqueue import WorkQueue

log = logging.getLogger(__name__)


class Watches:
    """The lists and watches of one engine. Used by its thread alone.

    Args:
        post: puts a message into the engine's inbox, from any thread.
        see: takes in what a list shows.
        want: has an object planned anew.
        time: the time of now; a list can take long.
        strict: in tests, a fault of ours is raised.
    """

    def __init__(
        self,
        hub: Hub,
        fleet: Fleet,
        timers: Timers,
        post: Callable[[Message], None],
        *,
        see: Callable[[Event, datetime], None],
        want: Callable[[Ref, datetime], None],
        time: Callable[[], datetime],
        seed: int | None = None,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._hub, self._fleet, self._timers = hub, fleet, timers
        self._post, self._see, self._want, self._time = post, see, want, time
        self._watched: dict[Kind, ListWatch] = {}
        self._broken: dict[Kind, datetime] = {}  # out of sync after they were read -> since when
        self._missing: dict[Kind, str] = {}  # referred to, and cannot be had -> why
        self._followed: frozenset[Kind] = frozenset()  # kinds that workloads refer to
        self._waits: WorkQueue[Kind] = WorkQueue(seed)  # for its backoff
        self._started = False

    def start(self, now: datetime) -> None:
        """Read everything. Raises: HubError; then it can be started again."""
        self._hub.expect(self._fleet.watched)
        for kind in self._fleet.watched:
            self._list(kind, now)
        self._followed = frozenset()
        while wanted := self._newly_wanted():  # what is read can refer to further kinds
            for kind in wanted:
                if kind in self._fleet.tracked:
                    self._read(kind, now)
                else:
                    self.again(kind, now)
        self._started = True

    def stop(self) -> None:
        self._started = False
        for watch in self._watched.values():
            watch.end()
        self._watched.clear()

    def follow(self, now: datetime) -> bool:
        """ListWatch the kinds that workloads refer to by now. Returns whether these are others.

        Whoever stands by reads nothing, neither before `start` nor after `stop`.
        """
        if not self._started:
            return False
        before = self._followed
        for kind in self._newly_wanted():
            self.again(kind, now)
        return self._followed != before

    def again(self, kind: Kind, now: datetime) -> None:
        """List a kind again: its watch is broken, or it could not be had before.

        Deadlines do not run while that fails, and of an essential kind time decides nothing (row 20). A
        kind that workloads refer to may well not exist: that stops no deadline, until it was read.
        """
        if kind not in self._fleet.watched and kind not in self._followed:
            return
        if kind in self._fleet.watched or kind in self._watched:
            self._broken.setdefault(kind, now)
        if kind in self._broken and kind in self._fleet.essential:
            self._fleet.blind(kind, self._broken[kind])  # what is listed now may hide what happened
        try:
            self._read(kind, now)
        except HubError as error:
            log.warning("listing %s failed, it is tried again: %s", kind.plural, error)
            self._later(kind, now)
            return
        except Exception:  # a fault of ours: what else is watched goes on
            if self._strict:
                raise
            log.exception("taking in %s failed, they are listed again", kind.plural)
            self._later(kind, now)
            return
        self._fleet.blind(kind, None)
        if kind in self._missing:
            return
        since, end = self._broken.pop(kind, now), self._time()
        if now > since or end > since + BLINK:
            self._fleet.out_of_touch(since, end)
            for ref in self._fleet.rolled_out():
                self._want(ref, now)

    # -- one kind ------------------------------------------------------------------------------

    def _read(self, kind: Kind, now: datetime) -> None:
        """List and watch; one that is not the fleet's own may be missing. Raises: HubError."""
        try:
            self._list(kind, now)
        except (NotServed, Denied) as error:
            if kind in self._fleet.watched:
                raise
            self._miss(kind, error, now)
            return
        self._waits.forget(kind)
        if self._missing.pop(kind, None) is not None:
            log.info("%s can be read now", kind.plural)
            self._tell(kind, "", now)

    def _list(self, kind: Kind, now: datetime) -> None:
        watch = self._watched.get(kind) or ListWatch(
            self._hub, kind, self._post, lambda: self._post(Broken(kind))
        )
        seen = watch.again(self._fleet.versions.known(kind))
        self._watched[kind] = watch
        for event in seen:
            self._see(event, now)

    def _miss(self, kind: Kind, error: HubError, now: datetime) -> None:
        """It cannot be had for now. Where the server does not have it (any more) it has no objects."""
        self._later(kind, now)
        why = str(error)
        if self._missing.get(kind) == why:
            return  # all of it is known, and told
        if isinstance(error, NotServed):
            self._unwatch(kind)
            for ref in sorted(self._fleet.versions.known(kind), key=str):
                version = self._fleet.versions.of(ref) + 1
                self._see(Event(ref, Change.DELETED, last_seen(ref), version), now)
            self._fleet.forget(kind)
        self._missing[kind] = why
        log.warning("%s; it is tried again now and then", why)
        self._tell(kind, why, now)

    def _tell(self, kind: Kind, why: str, now: datetime) -> None:
        for ref in self._fleet.missed(kind, why):
            self._want(ref, now)

    def _later(self, kind: Kind, now: datetime) -> None:
        self._timers.arm(("list", kind), now + self._waits.backoff(kind, now))

    # -- kinds that come and go ----------------------------------------------------------------

    def _newly_wanted(self) -> list[Kind]:
        """Kinds that are referred to by now. What nobody refers to any more is watched no more."""
        wanted = self._fleet.wanted_kinds()
        if wanted == self._followed:
            return []
        before, self._followed = self._followed, wanted
        for kind in sorted(before - wanted, key=repr):
            self._unwatch(kind)
            self._missing.pop(kind, None)
            self._timers.cancel(("list", kind))
            self._fleet.forget(kind)
        return sorted(wanted - before, key=repr)

    def _unwatch(self, kind: Kind) -> None:
        if (watch := self._watched.pop(kind, None)) is not None:
            watch.end()
        self._broken.pop(kind, None)
        self._fleet.blind(kind, None)
