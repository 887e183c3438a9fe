"""An engine with a planner that does what the test says, and writes that land when it says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.clock import VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import REPLICA_SET, ROLLOUT_RECORD, Kind, Ref
from rollout.model.writes import Create
from rollout.planning.plan import NOTHING, Plan, Write
from rollout.runtime.engine import Engine
from rollout.runtime.io import Done, InlineIo, WriteOutcome, perform
from rollout.runtime.pace import Pace
from rollout.runtime.timers import VirtualTimers
from tests.support import make

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN, MS = timedelta(seconds=1), timedelta(minutes=1), timedelta(milliseconds=1)
A, B = Ref(REPLICA_SET, "default/a"), Ref(REPLICA_SET, "default/b")


def note(name: str, value: str = "") -> Create:
    """A write that concerns no single cluster."""
    ref = Ref(ROLLOUT_RECORD, f"default/{name}")
    return Create(ref, {"metadata": {"namespace": "default", "name": name}, "data": {"v": value}})


@dataclass
class Script:
    """A planner that does what the test says, and remembers when it was asked for whom."""

    answers: dict[str, Callable[[], Plan]] = field(default_factory=dict)
    asked: list[tuple[datetime, str]] = field(default_factory=list)
    kind: Kind = REPLICA_SET

    def plan(self, key: str, view: object, now: datetime) -> Plan:
        self.asked.append((now, key))
        return self.answers.get(key, lambda: NOTHING)()

    def once(self, ref: Ref, *waves: Sequence[Write], recheck_at: datetime | None = None) -> None:
        """Plan these waves the next time, and nothing after."""

        def answer() -> Plan:
            del self.answers[ref.key]
            return Plan(tuple(tuple(wave) for wave in waves), recheck_at=recheck_at)

        self.answers[ref.key] = answer

    @property
    def keys(self) -> list[str]:
        return [key.removeprefix("default/") for _, key in self.asked]


class HoldingIo:
    """Writes at once, but answers only when the test lets it."""

    def __init__(self, hub: MemoryHub) -> None:
        self.hub = hub
        self.sent: list[str] = []
        self.held: list[Callable[[], None]] = []
        self.answers: dict[str, WriteOutcome] = {}

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        for write in writes:
            self.sent.append(write.ref.name)
            outcome = self.answers.get(write.ref.name) or perform(self.hub, write, {})
            self.held.append(lambda w=write, o=outcome: done(w, o))  # type: ignore[misc]

    def release(self, count: int = 1) -> None:
        for _ in range(count):
            self.held.pop(0)()


class Rig:
    """An engine with a scripted planner, on virtual time."""

    def __init__(
        self,
        hub: Any = None,
        *,
        holding: bool = False,
        strict: bool = True,
        gather: timedelta = 0 * SEC,
        hurry: timedelta | None = None,
        most_out: int = 99,
        from_landing: bool = False,
        quiet: timedelta | None = None,
    ) -> None:
        self.clock = VirtualClock(T0)
        self.store = MemoryHub(self.clock)
        self.hub: Any = hub(self.store) if hub else self.store
        self.script, self.io = Script(), HoldingIo(self.store)
        self.fleet = Fleet()
        self.engine = Engine(
            self.hub,
            self.clock,
            self._timers,
            {REPLICA_SET: self.script},
            self.fleet,
            io=self.io if holding else InlineIo(self.hub),
            pace=Pace(
                least_interval={REPLICA_SET: gather},
                from_landing=(REPLICA_SET,) if from_landing else (),
                quiet={} if quiet is None else {REPLICA_SET: quiet},
                hurry=hurry,
                most_out={REPLICA_SET: most_out},
                strict=strict,
            ),
            seed=0,
        )

    def _timers(self, wake: Callable[[Any], None]) -> VirtualTimers:
        self.timers = VirtualTimers(self.clock, wake)
        return self.timers

    def start(self, *refs: Ref) -> "Rig":
        for ref in refs:
            self.store.create(ref, make.workload(ref.name))
        self.engine.start()
        return self.run()

    def run(self) -> "Rig":
        self.engine.run_until_idle()
        return self

    def poke(self, ref: Ref, value: str = "x") -> None:
        """News of an object that nobody edited: its status says something else."""
        self.store.patch_status(ref, {"status": {"poke": value}})

    def edit(self, ref: Ref, value: str) -> None:
        """Somebody asks something else of an object."""
        self.store.patch(ref, {"metadata": {"annotations": {"asked": value}}})

    def to(self, after: timedelta) -> "Rig":
        """On to an instant, waking whoever is due on the way."""
        end = T0 + after
        self.run()
        while (at := self.timers.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), 0 * SEC))
            self.timers.run_due()
            self.run()
        self.clock.advance(end - self.clock.now())
        return self.run()

    def asked(self, since: int = 0) -> list[tuple[timedelta, str]]:
        return [(at - T0, key.removeprefix("default/")) for at, key in self.script.asked[since:]]

    def notes(self) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self.store.list(ROLLOUT_RECORD).items)
