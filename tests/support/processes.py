"""Several controllers on one hub in virtual time, each of which can freeze, even between two writes."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from rollout.clock import VirtualClock
from rollout.errors import Fenced, Unavailable
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import KINDS, LEASE, MANIFEST_WORK, Kind, Obj, Ref, ref_of
from rollout.planning.plan import Write
from rollout.runtime.assembly import Connections, assemble
from rollout.runtime.io import Done, InlineIo, WriteOutcome, WriteResult, perform
from rollout.runtime.timers import VirtualTimers, Wake
from rollout.settings import Settings
from rollout.sim.agents import Agents
from rollout.sim.scenario import Scenario
from tests.support.selected import SelectedHub

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC = timedelta(seconds=1)


def _admit(ref: Ref, new: Obj, old: Obj | None) -> Obj:
    """Objects without a model of ours (Events, Leases) are taken as they are."""
    return admit(ref, new, old) if ref.kind.name in KINDS else new


class Line:
    """A hub as one process reaches it: it can be cut, and it can be told who writes.

    ``is_silent``: over watches, too, nothing comes while it is cut, and all of it once it is mended.
    ``is_deaf``: over watches nothing comes, and all else goes on.
    """

    def __init__(self, world: "World", me: str) -> None:
        self._world, self._me, self.cut = world, me, False
        self.is_silent = self.is_deaf = False
        self._late: list[Callable[[], None]] = []

    def mend(self) -> None:
        self.cut, late, self._late = False, self._late, []
        for arrive in late:
            arrive()

    def watch(self, kind: Kind, since: int, sink: Callable[[Event], None], *more: Any) -> Any:
        def heard(event: Event) -> None:
            if self.is_deaf or (self.cut and self.is_silent):
                self._late.append(partial(sink, event))
            else:
                sink(event)

        return self.__getattr__("watch")(kind, since, heard, *more)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._world.hub, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.cut:
                raise Unavailable(f"{name}: the line is cut")
            before, self._world.writer = self._world.writer, self._me
            try:
                return method(*args, **kwargs)
            finally:
                self._world.writer = before

        return call


class Pipe:
    """An `Io` that does its writes one by one, and may stop in front of any of them.

    ``stop_before``: how many writes still pass; None: all. Whoever stops calls ``stopped``.
    """

    def __init__(self, hub: Any, allowed: Callable[[], bool]) -> None:
        self._hub, self.allowed = hub, allowed
        self.waiting: list[tuple[Write, Done]] = []
        self.stop_before: int | None = None
        self.sent = 0

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        self.waiting += [(write, done) for write in writes]
        self.flow()

    @property
    def is_stopped(self) -> bool:
        return self.stop_before is not None and self.sent >= self.stop_before

    def flow(self) -> None:
        while self.waiting and not self.is_stopped:
            write, done = self.waiting.pop(0)
            self.sent += 1
            if self.allowed():
                done(write, perform(self._hub, write, {}))
            else:
                done(write, WriteOutcome(result=WriteResult.WAIT, message="not allowed", after=SEC))


class Process:
    """One controller. ``frozen``: neither its threads nor its writes move."""

    def __init__(self, world: "World", me: str, settings: Settings) -> None:
        self.me, self.frozen, self.ended = me, False, ""
        self.line = Line(world, me)
        self.in_touch = True
        self.begun: list[datetime] = []  # when it was asked to go by the server's clock
        self._world = world
        self._timers: list[VirtualTimers] = []
        works = settings.sharding("default").selector
        around = Connections(
            hub=SelectedHub(self.line, {MANIFEST_WORK: works} if works else {}),
            side=self.line,
            side_io=InlineIo(self.line),
            io=self._pipe,
            clock=world.clock,
            timers=self._alarms,
            lease_timers=self._alarms,
            in_touch=lambda _: self.in_touch,
            begin=lambda: self.begun.append(world.clock.now()),
        )
        self.parts = assemble(settings, around, me, "default")
        self.controller = self.parts.controller
        self.controller.candidate.start()

    def _pipe(self, allowed: Callable[[], bool], _: Callable[[Ref], int]) -> Pipe:
        self.pipe = Pipe(self.line, allowed)
        return self.pipe

    def _alarms(self, wake: Wake) -> VirtualTimers:
        self._timers.append(VirtualTimers(self._world.clock, wake))
        return self._timers[-1]

    def turn(self) -> bool:
        if self.frozen or self.ended:
            return False
        if self.pipe.is_stopped:
            self.frozen = True
            return False
        self.run_timers()
        try:
            return self.controller.step()
        except Fenced as fault:
            self.ended = str(fault)
            return False

    def run_timers(self) -> None:
        """Timers have threads of their own, and only post."""
        for timers in self._timers:
            timers.run_due()

    def thaw(self) -> None:
        """Go on where it stopped: first with the writes that were on their way."""
        self.frozen, self.pipe.stop_before = False, None
        self.pipe.flow()

    @property
    def leads(self) -> bool:
        return self.controller.candidate.may_write()


class World:
    """A hub, agents, and processes."""

    def __init__(self, documents: Iterable[Obj], **agents: Any) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock, admit=_admit)
        self.writer = "people"
        self.changes: list[tuple[str, Event]] = []
        for kind in KINDS.values():
            if kind is not LEASE:
                self.hub.watch(kind, 0, self._heard)
        for document in documents:
            ref = ref_of(KINDS[document["kind"]], document)
            self.hub.create(ref, document)
            if document.get("status"):
                self.hub.patch_status(ref, {"status": document["status"]})
        self.agents = Agents(self.hub, self.clock, Scenario.model_validate({"spec": agents}))
        self.agents.start()
        self.processes: list[Process] = []

    def _heard(self, event: Event) -> None:
        self.changes.append((self.writer, event))

    def start(self, me: str, **settings: Any) -> Process:
        self.processes.append(Process(self, me, Settings(**settings)))
        return self.processes[-1]

    def on(self, seconds: float, until: Callable[[], bool] = lambda: False) -> "World":
        end = self.clock.now() + seconds * SEC
        while self.clock.now() < end and not until():
            busy = True
            while busy:
                turned = [process.turn() for process in self.processes]
                busy = any(turned)
                self.writer = "agents"
                busy = bool(self.agents.run_due()) or busy
                self.writer = "people"
                if until():
                    return self
            self.clock.advance(SEC / 2)
        return self

    def by(self, me: str, kind: Kind | None = None) -> list[Event]:
        """What a process has changed."""
        return [e for who, e in self.changes if who == me and kind in (None, e.ref.kind)]

    def works(self) -> dict[str, Obj]:
        found = {obj["metadata"]["namespace"]: obj for obj in self.hub.list(MANIFEST_WORK).items}
        assert len(found) == len(self.hub.list(MANIFEST_WORK).items), "twins"
        return found

    def get(self, kind: Kind, key: str) -> Obj:
        return self.hub.get(Ref(kind, key))
