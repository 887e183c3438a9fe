"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

A mutant is a patch of the engine's own code. ``seed`` is a history (or ``kind`` of run) that is known to
show it; the search goes on from there when the engine has changed meanwhile.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from rollout.fleet import book, observations, selections
from rollout.fleet.live import LiveRollout
from rollout.fleet.workloads import Workload
from rollout.planning import documents, removals, status
from rollout.planning.replicasets import _Pass
from rollout.runtime import engine, io
from rollout.runtime.messages import Broken
from rollout.strategies import base, judge, ledger, stages, states, step
from rollout.strategies.base import Phase, Verdict
from rollout.strategies.judge import Judgement
from tests.safety.pairs import Make, lossy_watch
from tests.safety.setting import draw
from tests.safety.sizes import measure
from tests.safety.world import History

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that breaks one promise. ``kind``: how it is looked for."""

    promise: str
    name: str
    patch: Patch
    seed: int = 0
    kind: str = "history"


def _swap(where: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Replace a function by one made from it."""
    return lambda: patch.object(where, name, make(getattr(where, name)))


def _always(where: Any, name: str, value: Any) -> Patch:
    return _swap(where, name, lambda _: lambda *a, **k: value)


def _one_more(real: Any) -> Any:
    return lambda rollout, census, limit, scope, fleet: real(
        rollout, census, limit + 1, scope, fleet
    )


def _more_for_each_failure(real: Any) -> Any:
    def fill(rollout: Any, census: Any, limit: int, scope: Any, fleet: Any) -> Any:
        failed = sum(n for phase, n in census.phases.items() if phase is Phase.FAILED)
        return real(rollout, census, limit + failed, scope, fleet)

    return fill


def _no_reason(real: Any) -> Any:
    return lambda *args: (real(*args)[0], "")


def _zero_is_all(real: Any) -> Any:
    def stages(self: Any, spec: Any, selection: Any) -> Any:
        zero = spec.concurrency is not None and spec.concurrency.value == 0
        return real(self, replace(spec, concurrency=None) if zero else spec, selection)

    return stages


def _silent_waits_for_ever(real: Any) -> Any:
    def unfinished(standing: Any, timing: Any, now: Any) -> Any:
        if standing.health is base.Health.SILENT:
            return Judgement(Phase.PROGRESSING)
        return real(standing, timing, now)

    return unfinished


def _any_generation(real: Any) -> Any:
    return lambda conditions, kind, generation: conditions.get(kind)


def _left_in_peace(real: Any) -> Any:
    return lambda self, terms, available, now: real(self, terms, lambda _: True, now)


def _of_this_version(real: Any) -> Any:
    return lambda replicaset: f"{real(replicaset)}-{replicaset.generation}"


def _carrying_is_selected(real: Any) -> Any:
    return lambda report: {**real(report), "desiredTotal": report.carrying}


def _soaked_when_found(real: Any) -> Any:
    return lambda *args: replace(real(*args), verdict=Verdict.SOAKED)


def _twice_the_deadline(real: Any) -> Any:
    def limit_of(touched: Any, timing: Any) -> Any:
        return None if timing.deadline is None else touched + timing.deadline / 2

    return limit_of


@contextmanager
def _failed_keeps_its_slot() -> Iterator[None]:
    with patch.object(base, "_HOLDS_SLOT", base._HOLDS_SLOT | {Phase.FAILED, Phase.SOAKED}):
        yield


@contextmanager
def _nobody_in_flight_before() -> Iterator[None]:
    """Clusters in flight on an older revision are not overwritten."""
    with (
        patch.object(ledger._Census, "outdated", lambda self: ()),
        patch.object(step.PlainCensus, "outdated", lambda self: ()),
    ):
        yield


@contextmanager
def _no_memory() -> Iterator[None]:
    """After a restart the record is not read, and works found are none of ours."""
    with (
        patch.object(LiveRollout, "restore", lambda self, record, now: None),
        patch.object(observations, "_rebuilt", lambda *args: None),
    ):
        yield


def _nothing_taken(real: Any) -> Any:
    return lambda self, ref, replicaset, around, taken, *rest: real(
        self, ref, replicaset, around, {}, *rest
    )


def _but_broken_watches(real: Any) -> Any:
    def take(self: Any, message: Any, now: Any) -> None:
        if not isinstance(message, Broken):
            real(self, message, now)

    return take


MUTANTS: tuple[Mutant, ...] = (
    Mutant("S1", "one more than the limit", _swap(step, "_fill", _one_more)),
    Mutant("S1", "a restart forgets who is in flight", _no_memory, seed=57),
    Mutant("S2", "zero means all", _swap(stages.Progressive, "stages", _zero_is_all), seed=8),
    Mutant("S3", "a breach halts nothing", _always(step, "_breach", None), seed=5),
    Mutant("S4", "tolerance is not strict", _always(step._Scope, "room", None), seed=19),
    Mutant("S5", "every gate is open", _always(step, "_passes", True), seed=1),
    Mutant("S6", "any generation counts", _swap(states, "_current", _any_generation)),
    Mutant("S7", "an unknown group holds nothing", _always(stages, "_absent", None), seed=14),
    Mutant("S8", "a pause is ignored", _always(_Pass, "_hold", None), seed=59),
    Mutant(
        "S9", "names follow the generation", _swap(documents, "work_name", _of_this_version), seed=5
    ),
    Mutant("S9", "both own what they share", _swap(Workload, "_share", _nothing_taken)),
    Mutant(
        "S11", "torn decisions are acted upon", _always(selections, "_contradiction", ""), seed=5
    ),
    Mutant("S11", "nothing is quiet", _always(selections, "_decided_here", True), seed=5),
    Mutant("S11", "no brake", _always(removals, "brake", None), seed=22),
    Mutant("S11", "no live read", _always(io, "_selected_live", frozenset()), seed=846),
    Mutant(
        "S12", "selected is what carries", _swap(status, "_share_summary", _carrying_is_selected)
    ),
    Mutant("S13", "success needs no soak", _always(judge, "_succeeded", Judgement(Phase.SOAKED))),
    Mutant("S13", "half a deadline", _swap(judge, "limit_of", _twice_the_deadline)),
    Mutant(
        "S13",
        "what is found has soaked",
        _swap(observations, "_rebuilt", _soaked_when_found),
        seed=7,
    ),
    Mutant("S16", "nobody is everybody", lambda: patch.object(step, "NO_TARGETS", None), seed=6),
    Mutant("S17", "the lost are not missed", _swap(LiveRollout, "agree", _left_in_peace), seed=19),
    Mutant("L1", "no timer", _always(ledger.Ledger, "next_due", None)),
    Mutant("L2", "whoever is done keeps its slot", _failed_keeps_its_slot, seed=5),
    Mutant(
        "L3", "silence has no end", _swap(judge, "_unfinished", _silent_waits_for_ever), seed=11
    ),
    Mutant(
        "L4",
        "a broken watch stays broken",
        _swap(engine.Engine, "_take", _but_broken_watches),
        kind="lossy",
    ),
    Mutant("L5", "old revisions block the fix", _nobody_in_flight_before, seed=23),
    Mutant("R1", "no record", _always(book.RecordBook, "writes", [])),
    Mutant(
        "R5",
        "the plain step goes from the back",
        _swap(step.PlainCensus, "waiting", lambda _: lambda self: reversed(self.untouched)),
    ),
    Mutant("R6", "each failure frees a slot", _swap(step, "_fill", _more_for_each_failure), seed=4),
    Mutant("R8", "one page for all", lambda: patch.object(book, "PAGE_SIZE", 10**9), kind="sizes"),
    Mutant("O1", "nobody says why", _swap(step, "_fill", _no_reason)),
)


def hunt(mutant: Mutant, most: int = 80) -> int | None:
    """The first seed, from the known one on, whose history shows the mutant; None if none does."""
    with mutant.patch():
        if mutant.kind == "sizes":
            found: list[str] = []
            measure(Counter(), lambda promise, _: found.append(promise))
            return 0 if mutant.promise in found else None
        for seed in range(mutant.seed, mutant.seed + most):
            if mutant.promise in broken_by(seed, mutant.kind):
                return seed
    return None


def broken_by(seed: int, kind: str, make: Make = History) -> set[str]:
    """The promises that this history breaks."""
    if kind == "lossy":
        found: set[str] = set()
        lossy_watch(seed, Counter(), lambda promise, _: found.add(promise))
        return found
    history = make(draw(seed))
    history.judge.plans.asking = 1.0
    history.run()
    return {violation.promise for violation in history.violations}
