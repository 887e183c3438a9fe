"""The engine: one thread that takes in events, plans what they concern, and sends the writes out.

Everything that others tell it arrives as a message in the inbox: events of the hub, wake-ups of timers,
outcomes of writes. All messages that wait are taken in before the next key is planned. A key is busy
until all writes of its plan have come back. The same class runs in production, in simulation and in
frozen time; only the hub, the clock, the timers and the I/O differ.
"""

import contextlib
import logging
import queue
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime, timedelta

from rollout.clock import Clock
from rollout.errors import Gone, HubError
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Hub
from rollout.hub.watching import last_seen, version_of
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref
from rollout.planning.plan import (
    NOTHING,
    Note,
    Planner,
    Write,
    holds_up_nothing,
    is_touch,
    precondition,
)
from rollout.runtime.io import InlineIo, Io, ReadBack, WriteOutcome, WriteResult
from rollout.runtime.messages import Answered, Ask, Broken, Flight, Message, Woken
from rollout.runtime.pace import BLINK, USUAL, Gathering, Pace
from rollout.runtime.planners import plan_now
from rollout.runtime.timers import Timers, Wake
from rollout.runtime.watches import Watches
from rollout.runtime.workqueue import Places, WorkQueue

log = logging.getLogger(__name__)

SHORTEST = timedelta(milliseconds=100)
"""A server that asks to come back at once is asked again no sooner than this."""


class Engine:
    """The engine of the module. Call `start`, then `turn` until it returns False, and again after news."""

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        timers: Callable[[Wake], Timers],
        planners: Mapping[Kind, Planner[Fleet]],
        fleet: Fleet | None = None,
        *,
        io: Io | None = None,
        pace: Pace = USUAL,
        notes: Callable[[Note, datetime], None] | None = None,
        seed: int | None = None,
    ) -> None:
        self.hub, self.clock, self.fleet = hub, clock, fleet or Fleet()
        self.inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.timers = timers(self._woken)
        self.failures = 0  # plans that raised
        self.passes = 0
        self._planners = planners
        self._io = io or InlineIo(hub)
        self._pace, self._notes = pace, notes
        self._queue: WorkQueue[Ref] = WorkQueue(seed, turn_of=lambda ref: ref.namespace)
        self._places = Places(pace.most_out)
        self._order = {kind: place for place, kind in enumerate(planners)}
        self._gathering = Gathering(pace, self.timers)
        self._first: Message | None = None  # taken out of the inbox by `wait`
        self._asked: list[Callable[[], None]] = []
        self._is_cut = self._was_long = False  # the last turn, so it planned nothing
        self._is_followed = False  # whether the kinds that are wanted by now are watched
        self._watches = Watches(
            hub,
            self.fleet,
            self.timers,
            self.inbox.put,
            see=self._see,
            want=self._want,
            time=clock.now,
            seed=seed,
            strict=pace.strict,
        )

    def _woken(self, key: Hashable) -> None:
        """Timers call this on any thread. It only posts a message."""
        assert isinstance(key, tuple)
        self.inbox.put(Broken(key[1]) if key[0] == "list" else Woken(key[1], key[0]))

    # -- news ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Read everything, then watch. Nothing is planned before all kinds have been read.

        Raises: HubError; then it can be started again.
        """
        self._watches.start(self.clock.now())
        for kind in self._planners:
            for ref in sorted(self.fleet.versions.known(kind) | self.fleet.standing(kind), key=str):
                self._queue.add(ref, turn="")  # once, in one line: what others follow from first

    def stop(self) -> None:
        """End the watches. Writes that are out still come back."""
        self._watches.stop()

    def _see(self, event: Event, now: datetime) -> None:
        found = [ref for ref in self.fleet.apply(event, now) if ref.kind in self._order]
        if event.change is Change.DELETED:
            self._gathering.forget(event.ref)
        edited = event.ref in found and self._gathering.is_edit(event)
        if len(found) > 1:  # by the order of planners: placements are decided before they are read
            found.sort(key=lambda ref: (self._order[ref.kind], ref.key))
        for ref in found:
            self._want(ref, now, edited=edited and ref == event.ref)

    def _want(self, ref: Ref, now: datetime, *, edited: bool = False) -> None:
        """Queue the key now, or as soon as its interval is over and it is quiet."""
        if self._gathering.is_due(ref, now, edited=edited):
            self._queue.add(ref)

    def _wake(self, ref: Ref, timer: str, now: datetime) -> None:
        """A timer of the key is due: queue it, unless more is being heard of it right now."""
        if self._gathering.is_over(ref, timer, now):
            self._queue.add(ref)

    # -- the loop ------------------------------------------------------------------------------

    def turn(self, began: datetime | None = None) -> bool:
        """Take in all messages, do one thing that was asked, plan one key. False: nothing to do.

        A turn in which much time went by (a slow list, a machine that stood still) ends before it plans:
        by the time of now the engine would judge what nobody saw. The caller can note that span first.
        The next turn plans at once, so a key waits for one turn at most.

        Args:
            began: when the caller last looked out; None: now.
        """
        if self._was_long:
            self._was_long = False
            self._plan_next(self.clock.now())
            return True
        now = self.clock.now()
        began = began or now
        busy = self._take_in(now)
        if self._is_cut:
            return True
        now = self.clock.now()
        if now > began + BLINK:
            self._was_long = True
            return True
        return self._plan_next(now) or busy

    def _take_in(self, now: datetime) -> bool:
        """Take in all messages, and do one thing that was asked. False: there was nothing.

        After a list that took long the turn is cut: more kinds may have to be listed, and the caller must be
        able to stop. Nothing is planned before the rest is taken in.
        """
        busy = self._is_cut = False
        while (message := self._next_message()) is not None:
            busy, before = True, now
            self._is_followed = False
            self._take(message, now)
            # Timers fire meanwhile. By an older time they would not be due, be set again, and fire again.
            now = self.clock.now()
            self._is_cut = isinstance(message, Broken) and now > before + BLINK
            if self._is_cut:
                return True
        if not self._is_followed:
            self._is_followed = not self._watches.follow(now)
            busy = busy or not self._is_followed
        if self._asked:
            busy = True
            self._asked.pop(0)()
        return busy

    def _plan_next(self, now: datetime) -> bool:
        """Plan one key. False: none waits."""
        ref = self._queue.get()
        if ref is None:
            return False
        if self._places.is_open(ref):
            self._plan(ref, now)
        else:
            self._places.wait(ref)
        return True

    def wait(self, seconds: float) -> bool:
        """Block until a message is there, or for so long. Returns whether one is."""
        if self._first is None:
            with contextlib.suppress(queue.Empty):
                self._first = self.inbox.get(timeout=seconds)
        return self._first is not None

    @property
    def is_idle(self) -> bool:
        """Whether a turn would find nothing to do now."""
        is_behind = self._first or self._asked or self._was_long or not self._is_followed
        return not is_behind and self.inbox.empty() and not self._queue

    @property
    def waiting(self) -> int:
        """How many objects wait to be planned."""
        return len(self._queue) + len(self._places)

    @property
    def failing(self) -> int:
        """How many objects are planned again after a pause, since something failed."""
        return self._queue.failing

    def run_until_idle(self) -> None:
        while self.turn():
            pass

    def _next_message(self) -> Message | None:
        if self._first is None and not self.inbox.empty():  # nobody else takes from it
            return self.inbox.get_nowait()
        found, self._first = self._first, None
        return found

    def _take(self, message: Message, now: datetime) -> None:
        match message:
            case Event():
                self._see(message, now)
            case Woken(ref, timer):
                self._wake(ref, timer, now)
            case Answered(flight, write, outcome):
                self._answer(flight, write, outcome, now)
            case Broken(kind):
                self._watches.again(kind, now)
            case Ask(job):
                self._asked.append(job)

    def _plan(self, ref: Ref, now: datetime) -> None:
        self._gathering.planned(ref, now)
        self._is_followed = False
        self.passes += 1
        try:
            plan = plan_now(self._planners[ref.kind], self.fleet, ref, now)
        except Exception:
            if self._pace.strict:
                raise
            self.failures += 1
            log.exception("planning %s failed; it is tried again later", ref)
            self._queue.done(ref)
            self._let_in(ref)
            wait = self._queue.backoff(ref, now)
            self.timers.arm(("retry", ref), self._queue.retry_at(ref, wait, now))
            return
        if plan.unfinished:
            self._queue.back(ref)
            return
        for note in plan.notes:
            self._tell(note, now)
        self._gathering.hurry(ref, self.clock.now() - now if plan.pressing else None)
        if plan is NOTHING and not self.fleet.versions.exists(ref):
            self._gathering.forget(ref)
        self._places.take(ref)
        self._next_wave(Flight(ref=ref, plan=plan), now)

    def _tell(self, note: Note, now: datetime) -> None:
        level = logging.WARNING if note.warning else logging.INFO
        log.log(level, "%s: %s: %s", note.ref, note.reason, note.message)
        if self._notes is not None:
            self._notes(note, now)

    # -- writes --------------------------------------------------------------------------------

    def _next_wave(self, flight: Flight, now: datetime) -> None:
        flight.wave += 1
        if flight.wave >= len(flight.plan.waves) or flight.blocked:
            self._landed(flight, now)
            return
        wave = flight.plan.waves[flight.wave]
        flight.pending = len(wave)
        flight.known = {write.ref: self.fleet.versions.of(write.ref) for write in wave}
        for write in wave:
            self.fleet.attempted(write, now, flight.ref)
        turn = flight.ref.namespace
        self._io.send(wave, lambda w, outcome: self.inbox.put(Answered(flight, w, outcome)), turn)

    def _answer(self, flight: Flight, write: Write, outcome: WriteOutcome, now: datetime) -> None:
        match outcome.result:
            case WriteResult.LANDED:
                self.fleet.landed(write, now)
                flight.moved |= write.ref != flight.ref  # its own status nearly always lands
                if outcome.obj is not None:
                    event = Event(write.ref, Change.MODIFIED, outcome.obj, version_of(outcome.obj))
                    self._see(event, now)
                    if is_touch(write) and event.version == precondition(write):
                        self._want(flight.ref, now)  # it changed nothing: no event will come of it
            case WriteResult.STALE:
                flight.failed = True
                self._read_back(write.ref, outcome, flight.known[write.ref], now)
            case WriteResult.REFUSED:
                self._refused(flight, write, outcome.message, now)
            case WriteResult.WAIT:
                flight.wait = max(outcome.after or SHORTEST, flight.wait, SHORTEST)
            case WriteResult.UNKNOWN:
                flight.failed = True
                self.fleet.unanswered(write, now)
                self._read_back(write.ref, outcome, flight.known[write.ref], now)
        if outcome.result is not WriteResult.LANDED and not holds_up_nothing(write):
            flight.blocked = True
        flight.pending -= 1
        if flight.pending == 0:
            self._next_wave(flight, now)

    def _refused(self, flight: Flight, write: Write, message: str, now: datetime) -> None:
        log.warning("%s was refused: %s", write.ref, message)
        retry_at = self.fleet.rejected(write, message, now, flight.ref)
        if retry_at is None:
            flight.failed = True
        else:
            flight.retry_at = min(flight.retry_at or retry_at, retry_at)

    def _read_back(self, ref: Ref, outcome: WriteOutcome, known: int, now: datetime) -> None:
        """Read the object. A write that failed may have been made all the same, or somebody else wrote.

        ``known`` is the version that was known when the write went out.
        """
        match outcome.read_back:
            case ReadBack.DONE:
                # Nothing was there, before or after what has been heard since: the watch tells.
                if outcome.obj is not None or self.fleet.versions.of(ref) == known:
                    self._found(ref, outcome.obj, now)
                return
            case ReadBack.FAILED | ReadBack.HEARD:
                return
        try:
            found = self.hub.get(ref)
        except Gone:
            self._found(ref, None, now)
        except HubError as error:
            log.info("reading back %s failed: %s", ref, error)
        else:
            self._found(ref, found, now)

    def _found(self, ref: Ref, obj: Obj | None, now: datetime) -> None:
        """Take in what a read showed; None: nothing is there."""
        if obj is not None:
            self.fleet.versions.found(ref, version_of(obj))
            self._see(Event(ref, Change.MODIFIED, obj, version_of(obj)), now)
        elif self.fleet.versions.exists(ref):
            version = self.fleet.versions.of(ref) + 1
            self._see(Event(ref, Change.DELETED, last_seen(ref), version), now)

    def _landed(self, flight: Flight, now: datetime) -> None:
        """All writes of the plan have come back: free the key and set when to plan it again."""
        ref = flight.ref
        self._places.leave(ref)
        self._let_in(ref)
        rechecks = [flight.plan.recheck_at, flight.retry_at]
        wait = self._pause(flight, now)
        if wait:
            rechecks.append(self._queue.retry_at(ref, wait, now))
        soonest = now + self._gathering.interval(ref)
        wanted = [max(at, soonest) for at in rechecks if at is not None]
        if flight.plan.status_due_at is not None:
            # One instant, so there is nothing to gather.
            wanted.append(max(flight.plan.status_due_at, now + wait))
        if wanted:
            self.timers.arm(("recheck", ref), min(wanted))
        else:
            self.timers.cancel(("recheck", ref))
        self._let_go(flight, now)

    def _let_in(self, ended: Ref) -> None:
        """Queue one object that waits for a place, if there is one."""
        ref = self._places.next(ended)
        if ref is not None:
            self._queue.back(ref)

    def _pause(self, flight: Flight, now: datetime) -> timedelta:
        """How long to rest for the sake of what did not land; longer each time nothing else did, either.

        A plan of a thousand works in front of a server that fails now and then nearly always meets a
        failure: as long as it gets on, the next one is made soon.
        """
        if flight.moved or not (flight.failed or flight.wait):
            self._queue.forget(flight.ref)
        pause = self._queue.backoff(flight.ref, now) if flight.failed else timedelta(0)
        return max(pause, flight.wait)

    def _let_go(self, flight: Flight, now: datetime) -> None:
        """The key may be planned again: for news of meanwhile at once, or after its interval."""
        rests = bool(flight.plan.waves) and self._gathering.is_from_landing(flight.ref)
        wanted = self._queue.done(flight.ref, again=not rests)
        if rests:
            self._gathering.landed(flight.ref, now, wanted)
