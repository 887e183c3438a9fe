"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

A mutant is a patch of the engine's own code. ``seed`` is a history (or ``kind`` of run) that is known to
show it; the search goes on from there when the engine has changed meanwhile.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from rollout.fleet import book, observations, selections
from rollout.fleet.live import LiveRollout
from rollout.fleet.workloads import Workload
from rollout.planning import documents, record, removals, status
from rollout.planning.replicasets import _Pass
from rollout.runtime import engine, io
from rollout.runtime.messages import Broken
from rollout.strategies import base, judge, ledger, stages, states, step
from rollout.strategies.base import Phase, Verdict
from rollout.strategies.judge import Judgement
from tests.safety.addon_mutants import OF_ADDONS
from tests.safety.foreseen import foreseen
from tests.safety.mutating import Mutant, always, swap
from tests.safety.operation_mutants import OF_OPERATIONS
from tests.safety.pairs import Make, lossy_watch
from tests.safety.setting import draw
from tests.safety.sizes import measure
from tests.safety.world import History


def _one_more(real: Any) -> Any:
    return lambda rollout, census, limit, scope, fleet: real(
        rollout, census, limit + 1, scope, fleet
    )


def _more_for_failures(real: Any) -> Any:
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


def _silence(real: Any) -> Any:
    def unfinished(standing: Any, timing: Any, now: Any) -> Any:
        if standing.health is base.Health.SILENT:
            return Judgement(Phase.PROGRESSING)
        return real(standing, timing, now)

    return unfinished


def _any_generation(real: Any) -> Any:
    return lambda conditions, kind, generation: conditions.get(kind)


def _in_peace(real: Any) -> Any:
    return lambda self, terms, available, now: real(self, terms, lambda _: True, now)


def _of_this_version(real: Any) -> Any:
    return lambda replicaset: f"{real(replicaset)}-{replicaset.generation}"


def _carrying_is_selected(real: Any) -> Any:
    return lambda report: {**real(report), "desiredTotal": report.carrying}


def _found(real: Any) -> Any:
    return lambda *args: replace(real(*args), verdict=Verdict.SOAKED)


def _twice_the_deadline(real: Any) -> Any:
    def limit_of(touched: Any, timing: Any) -> Any:
        return None if timing.deadline is None else touched + timing.deadline / 2

    return limit_of


def _no_verdicts(real: Any) -> Any:
    def restore(self: Any, record: Any, now: Any) -> None:
        lines = {
            cluster: replace(line, standing=replace(line.standing, verdict=None))
            for cluster, line in record.lines.items()
            if line.standing is not None
        }
        real(self, replace(record, lines={**record.lines, **lines}), now)

    return restore


def _everybody() -> AbstractContextManager[Any]:
    return patch.object(step, "NO_TARGETS", None)


_SOAKED = Judgement(Phase.SOAKED)


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
        patch.object(observations, "rebuilt", lambda *args: None),
    ):
        yield


def _nothing_taken(real: Any) -> Any:
    return lambda self, ref, replicaset, around, taken, *rest: real(
        self, ref, replicaset, around, {}, *rest
    )


def _empty_is_proof(real: Any) -> Any:
    def absent(ref: Any, has_group: bool, selection: Any) -> Any:
        hold = real(ref, has_group, selection)
        return hold if hold is None or hold.reason != "MandatoryGroupEmpty" else None

    return absent


def _waived_for_ever(real: Any) -> Any:
    return lambda self, waivers: frozenset(waivers)


def _but_broken_watches(real: Any) -> Any:
    def take(self: Any, message: Any, now: Any) -> None:
        if not isinstance(message, Broken):
            real(self, message, now)

    return take


# Faults of what all kinds of workloads share, each with a seed that shows it for either kind.
_SHARED: tuple[tuple[Mutant, int], ...] = (
    (Mutant("S1", "one more than the limit", swap(step, "_fill", _one_more)), 0),
    (Mutant("S1", "a restart forgets who is in flight", _no_memory, seed=57), 3),
    (Mutant("S2", "zero means all", swap(stages.Progressive, "stages", _zero_is_all), seed=8), 8),
    (Mutant("S3", "a breach halts nothing", always(step, "_breach", None), seed=5), 5),
    (Mutant("S4", "tolerance is not strict", always(step._Scope, "room", None), seed=19), 19),
    (Mutant("S5", "every gate is open", always(step, "_passes", True), seed=1), 1),
    (Mutant("S7", "an unknown group holds nothing", always(stages, "_absent", None), seed=14), 14),
    (Mutant("S11", "torn decisions are used", always(selections, "_contradiction", ""), seed=5), 5),
    (Mutant("S11", "nothing is quiet", always(selections, "_decided_here", True), seed=5), 6),
    (Mutant("S11", "no live read", always(io, "_selected_live", frozenset()), seed=846), 26),
    (Mutant("S13", "success needs no soak", always(judge, "_succeeded", _SOAKED)), 0),
    (Mutant("S13", "half a deadline", swap(judge, "limit_of", _twice_the_deadline)), 0),
    (
        Mutant("S13", "what is found has soaked", swap(observations, "rebuilt", _found), seed=7),
        7,
    ),
    (Mutant("S17", "the lost are not missed", swap(LiveRollout, "agree", _in_peace), seed=19), 19),
    (Mutant("S19", "an empty group is passed", swap(stages, "_absent", _empty_is_proof), 8), 8),
    (Mutant("S19", "every decision counts", always(selections.Reading, "unsettled", None), 3), 3),
    (Mutant("S20", "a waiver is for ever", swap(record.Head, "skipped", _waived_for_ever), 34), 10),
    (Mutant("L1", "no timer", always(ledger.Ledger, "next_due", None), seed=5), 0),
    (Mutant("L2", "whoever is done keeps its slot", _failed_keeps_its_slot, seed=5), 5),
    (Mutant("L3", "silence has no end", swap(judge, "_unfinished", _silence), seed=11), 11),
    (
        Mutant(
            "L4",
            "a broken watch stays broken",
            swap(engine.Engine, "_take", _but_broken_watches),
            look="lossy",
        ),
        0,
    ),
    (Mutant("L5", "old revisions block the fix", _nobody_in_flight_before, seed=23), 23),
    (Mutant("R1", "no record", always(book.RecordBook, "writes", [])), 1),
    (Mutant("R5", "verdicts are not read back", swap(LiveRollout, "restore", _no_verdicts)), 0),
    (
        Mutant(
            "R5",
            "the plain step goes from the back",
            swap(step.PlainCensus, "waiting", lambda _: lambda self: reversed(self.untouched)),
        ),
        0,
    ),
    (Mutant("R6", "each failure frees a slot", swap(step, "_fill", _more_for_failures), seed=4), 4),
    (Mutant("O1", "nobody says why", swap(step, "_fill", _no_reason)), 0),
)

_OF_REPLICASETS: tuple[Mutant, ...] = (
    Mutant("S16", "nobody is everybody", _everybody, seed=9),
    Mutant("S6", "any generation counts", swap(states, "_current", _any_generation)),
    Mutant("S8", "a pause is ignored", always(_Pass, "held", None), seed=77),
    Mutant(
        "S9", "names follow the generation", swap(documents, "work_name", _of_this_version), seed=5
    ),
    Mutant("S9", "both own what they share", swap(Workload, "_share", _nothing_taken)),
    Mutant("S11", "no brake", always(removals, "brake", None), seed=22),
    Mutant(
        "S12", "selected is what carries", swap(status, "_share_summary", _carrying_is_selected)
    ),
    Mutant("R8", "one page for all", lambda: patch.object(book, "PAGE_SIZE", 10**9), look="sizes"),
)

MUTANTS: tuple[Mutant, ...] = (
    *(mutant for mutant, _ in _SHARED),
    *_OF_REPLICASETS,
    *(replace(mutant, seed=seed, kind="addon") for mutant, seed in _SHARED),
    *OF_ADDONS,
    *OF_OPERATIONS,
)


def hunt(mutant: Mutant, most: int = 80) -> int | None:
    """The first seed, from the known one on, whose history shows the mutant; None if none does."""
    with mutant.patch():
        if mutant.look == "sizes":
            found: list[str] = []
            measure(mutant.kind, Counter(), lambda promise, _: found.append(promise))
            return 0 if mutant.promise in found else None
        for seed in range(mutant.seed, mutant.seed + most):
            if mutant.promise in broken_by(seed, mutant.look, mutant.kind):
                return seed
    return None


_TWO_RUNS = {"lossy": lossy_watch, "foreseen": foreseen}


def broken_by(seed: int, look: str, kind: str, make: Make = History) -> set[str]:
    """The promises that this history breaks."""
    found: set[str] = set()
    if look in _TWO_RUNS:
        _TWO_RUNS[look](kind, seed, Counter(), lambda promise, _: found.add(promise))
        return found
    history = make(draw(seed, kind))
    history.judge.plans.asking = 1.0
    history.run()
    return {violation.promise for violation in history.violations}
