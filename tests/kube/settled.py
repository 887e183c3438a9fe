"""How can a history in virtual time run on a real API server? Nothing else happens before it has settled.

Each write waits until the server has told of it, and tells whoever watches before it returns, as an
embedded hub does. So the same seed is the same history there, judged by the same judge.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from rollout.errors import Denied, Invalid
from rollout.hub.base import EventSink, Expire, Listing
from rollout.hub.kube import KubeHub
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref, ref_of
from rollout.model.writes import Create, Patch, PatchStatus
from rollout.planning.plan import Write
from rollout.runtime.io import Done, Io, ReadBack, WriteOutcome, WriteResult, outcome_of
from rollout.runtime.kube_io import KubeIo
from tests.kube.setting import PATIENCE
from tests.safety.door import Door, Ear
from tests.safety.setting import Setting
from tests.safety.world import History
from tests.support.faults import Fault, Faults, FaultyHub


class _Feed:
    """All that the server told of one kind, in order. Filled on the hub's thread."""

    def __init__(self, hub: KubeHub, kind: Kind) -> None:
        listing = hub.list(kind)
        self.log = [_added(kind, obj) for obj in listing.items]
        self.log.sort(key=lambda event: event.version)
        self._there = {event.ref: event.obj for event in self.log}
        self._reached = listing.version
        self._news = threading.Condition()
        self.stop = hub.watch(kind, listing.version, self._heard)

    def _heard(self, event: Event) -> None:
        with self._news:
            self.log.append(event)
            self._reached = event.version
            if event.change is Change.DELETED:
                self._there.pop(event.ref, None)
            else:
                self._there[event.ref] = event.obj
            self._news.notify_all()

    def wait_for(self, what: str, check: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(check, PATIENCE), f"the server never told of {what}"

    def has_told(self, ref: Ref, stored: Obj) -> bool:
        """Whether the object was told of as it was stored; or, where that ended it, that it is gone."""
        meta = stored["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            return self.has_ended(ref, meta["uid"])
        return self._reached >= int(meta["resourceVersion"])

    def has_ended(self, ref: Ref, uid: str) -> bool:
        there = self._there.get(ref)
        return there is None or there["metadata"]["uid"] != uid

    def is_going(self, ref: Ref, uid: str) -> bool:
        return self.has_ended(ref, uid) or "deletionTimestamp" in self._there[ref]["metadata"]

    def uid(self, ref: Ref) -> str:
        there = self._there.get(ref)
        return str(there["metadata"]["uid"]) if there else ""


class SettledHub:
    """A real API server as one thread sees it that is alone there. See the module."""

    def __init__(self, hub: KubeHub) -> None:
        self._hub, self._io = hub, KubeIo(hub)
        self._feeds: dict[Kind, _Feed] = {}
        self._watches: list[_Watch] = []

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Nothing is gained by beginning early."""

    def get(self, ref: Ref) -> Obj:
        return self._hub.get(ref)

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        **selectors: str,
    ) -> Listing:
        assert not any(selectors.values()), "histories select by labels alone"
        return self._hub.list(kind, namespace, labels)

    def create(self, ref: Ref, obj: Obj) -> Obj:
        return self._settled(ref, self._hub.create(ref, obj))

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._settled(ref, self._hub.patch(ref, changes, version))

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._settled(ref, self._hub.patch_status(ref, changes, version))

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        found = self._feed(ref.kind).uid(ref)
        self._hub.delete(ref, uid, version)
        self._gone(ref, found)

    def carry(self, write: Write) -> WriteOutcome:
        """One write by the way that a controller's writes take."""
        found = self._feed(write.ref.kind).uid(write.ref)
        back, outcomes = threading.Event(), list[WriteOutcome]()

        def done(_: Write, outcome: WriteOutcome) -> None:
            outcomes.append(outcome)
            back.set()

        self._io.send([write], done)
        assert back.wait(PATIENCE), f"{write.ref} never came back"
        if outcomes[0].result is WriteResult.LANDED:
            stored = outcomes[0].obj
            if stored is not None:
                self._settled(write.ref, stored)
            else:
                self._gone(write.ref, found)
        return outcomes[0]

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        watch = _Watch(self._feed(kind), since, sink)
        self._watches.append(watch)
        watch.tell()

        def end() -> None:
            watch.over = True
            if watch in self._watches:
                self._watches.remove(watch)

        return end

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.stop()

    def _feed(self, kind: Kind) -> _Feed:
        if kind not in self._feeds:
            self._feeds[kind] = _Feed(self._hub, kind)
        return self._feeds[kind]

    def _settled(self, ref: Ref, stored: Obj) -> Obj:
        feed = self._feed(ref.kind)
        feed.wait_for(str(ref), partial(feed.has_told, ref, stored))
        self._tell()
        return stored

    def _gone(self, ref: Ref, uid: str) -> None:
        feed = self._feed(ref.kind)
        feed.wait_for(f"the end of {ref}", partial(feed.is_going, ref, uid))
        self._tell()

    def _tell(self) -> None:
        for watch in tuple(self._watches):
            watch.tell()


class _Watch:
    """Somebody who watches: what of a feed was told already."""

    def __init__(self, feed: _Feed, since: int, sink: EventSink) -> None:
        self._feed, self._sink, self.over = feed, sink, False
        self._next = sum(event.version <= since for event in feed.log)

    def tell(self) -> None:
        while not self.over and self._next < len(self._feed.log):
            self._next += 1
            self._sink(self._feed.log[self._next - 1])


def _added(kind: Kind, obj: Obj) -> Event:
    return Event(ref_of(kind, obj), Change.ADDED, obj, int(obj["metadata"]["resourceVersion"]))


class _Failed(Exception):
    """A write that did not land, with what is to be said of it."""

    def __init__(self, outcome: WriteOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


class KubeDoor(Door):
    """A door through which writes go as a controller sends them, one after the other."""

    def __init__(
        self,
        faulty: FaultyHub,
        ear: Ear,
        carrier: Kind,
        refusing: set[str],
        hub: SettledHub,
        faults: Faults,
    ) -> None:
        super().__init__(faulty, ear, carrier, refusing)
        self._server, self._faults = hub, faults

    def io(self) -> Io:
        return self

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        for write in writes:
            done(write, self.carry(write))

    def carry(self, write: Write) -> WriteOutcome:
        match write:
            case Create(obj=changes) | Patch(changes=changes):
                pass
            case PatchStatus(status=status):
                changes = {"status": status}
            case _:
                changes = {}
        found: list[WriteOutcome] = []

        def call() -> Any:
            outcome = self._carry(write)
            found.append(outcome)
            if outcome.result is not WriteResult.LANDED:
                raise _Failed(outcome)
            return outcome.obj

        try:
            self._write(write.ref, changes, call)
        except _Failed as failed:
            if failed.outcome.read_back is ReadBack.DONE:
                self._found(write.ref, failed.outcome.obj)
            return failed.outcome
        except (Invalid, Denied) as error:
            return outcome_of(write, error)
        return found[0]

    def _found(self, ref: Ref, obj: Obj | None) -> None:
        if obj is None:
            self._ear.heard(ref, None, 0)
        else:
            self._hear(ref.kind, obj)

    def _carry(self, write: Write) -> WriteOutcome:
        """The write, and what bad luck makes of it."""
        match self._faults.call("write", write.ref):
            case None:
                return self._server.carry(write)
            case Fault.CONFLICT:
                return WriteOutcome(result=WriteResult.STALE, message="an injected conflict")
            case Fault.THROTTLED:
                return WriteOutcome(result=WriteResult.WAIT, after=timedelta(seconds=1))
            case Fault.UNAVAILABLE:
                return WriteOutcome(result=WriteResult.UNKNOWN, message="an injected cut")
            case Fault.LOST:
                self._server.carry(write)
                return WriteOutcome(result=WriteResult.UNKNOWN, message="the answer was lost")


class ServedHistory(History):
    """A history on a real API server on which nothing is left of an earlier one.

    Close `served` when nobody asks it any more.
    """

    def __init__(self, hub: KubeHub, setting: Setting, *, die_after: int | None = None) -> None:
        self.served = SettledHub(hub)
        super().__init__(setting, die_after=die_after, hub=self.served)
        self.judge.hears_reads = False  # those before a delete go their own way to the server

    def make_door(self) -> Door:
        refusing, kind = self.hands.refusing, self.subject.carrier
        return KubeDoor(self.faulty, self.judge, kind, refusing, self.served, self.faults)
