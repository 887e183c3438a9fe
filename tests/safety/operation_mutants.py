"""Faults in what the engine does when people step in, which the suite must notice."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from rollout.analysis import forecast, waits
from rollout.analysis.waits import Wait
from rollout.fleet import live
from rollout.fleet.consents import Consents
from rollout.fleet.live import LiveRollout
from rollout.fleet.rollbacks import Soaked
from rollout.model.amounts import Amount
from rollout.model.approvals import Approval
from rollout.model.intents import RollbackMode
from rollout.planning import holds, record
from rollout.strategies import judge, retreat, step
from rollout.strategies.base import Phase, Verdict
from rollout.strategies.gates import Approved
from rollout.strategies.judge import Judgement
from rollout.strategies.retreat import RetreatLimits
from tests.safety.mutating import Mutant, always, swap

ALL = Amount(100, percent=True)


def _held_or_not(real: Any) -> Any:
    return lambda rollout, *rest: real(replace(rollout, held=frozenset()), *rest)


def _anything_kept(real: Any) -> Any:
    """What another cluster had will do."""

    def targets(self: Any, standings: Any, revision: str, to: str, kept: Any) -> dict[str, str]:
        others = sorted(each for each in kept if each != revision)
        return {c: others[0] for c, s in standings.items() if s.revision == revision and others}

    return targets


def _all_at_once(real: Any) -> Any:
    return lambda rollout, targets, began, limits, now: real(
        rollout, targets, began, RetreatLimits(ALL, limits.budget), now
    )


def _unasked(real: Any) -> Any:
    return lambda at, held, intents: real(
        at, held, replace(intents, rollback=RollbackMode.AUTOMATIC)
    )


def _of_any_revision(real: Any) -> Any:
    def check(self: Any, gate: Any, stage: Any, revision: str, now: Any) -> Any:
        given = tuple(replace(each, revision=revision) for each in self.approvals)
        return real(Approved(given), gate, stage, revision, now)

    return check


def _for_ever(real: Any) -> Any:
    return lambda self, revision, now: real(replace(self, expires=None), revision, now)


def _still_open(real: Any) -> Any:
    """What opened for one revision is open for the next."""

    def supersede(self: Any, revision: str) -> None:
        opened = self.head.opened
        real(self, revision)
        self.book.set_head(replace(self.head, opened=opened))

    return supersede


def _at_once(real: Any) -> Any:
    """Who is to be tried again keeps its slot, and needs none."""

    def judged(standing: Any, timing: Any, now: Any) -> Any:
        if standing.verdict is Verdict.RETRY:
            return Judgement(Phase.OUTDATED)
        return real(standing, timing, now)

    return judged


def _everybody(real: Any) -> Any:
    def stage(*args: Any) -> Any:
        found = real(*args)
        return replace(found, at_once=(*found.added, *found.updated))

    return stage


@contextmanager
def _rolls_forward() -> Iterator[None]:
    """When all are back, the revision is rolled out again."""

    def hold(real: Any) -> Any:
        def going_back(rollback: Any, found: Any, *more: Any) -> Any:
            return None if found.is_done else real(rollback, found, *more)

        return going_back

    with patch.object(live, "going_back", hold(holds.going_back)):
        yield


_OF_REPLICASETS: tuple[Mutant, ...] = (
    Mutant(
        "S1", "those tried again need no slot", swap(judge, "_on_its_revision", _at_once), seed=67
    ),
    Mutant("S8", "nobody looks whether it is frozen", always(Consents, "freeze", None), seed=10),
    Mutant("S8", "the held are overwritten", swap(step, "_fill", _held_or_not), seed=95),
    Mutant("S8", "nobody listens to who aborts", always(live, "revision_hold", None), seed=31),
    Mutant("S1", "nobody wrote it down: not back", always(live, "carried_over", {}), seed=93325),
    Mutant("S10", "any older revision will do", swap(Soaked, "targets", _anything_kept), seed=53),
    Mutant("S10", "all go back at once", swap(live, "retreat", _all_at_once), seed=18),
    Mutant(
        "S10", "failures on the way back do not count", always(retreat, "_hold", None), seed=501
    ),
    Mutant("S10", "the bar is forgotten", always(record, "_read_rollback", None), seed=18),
    Mutant("S10", "those that are back go forward", _rolls_forward, seed=18),
    Mutant("S10", "goes back unasked", swap(live, "why_back", _unasked)),
    Mutant(
        "S14", "an approval is of any revision", swap(Approved, "check", _of_any_revision), seed=53
    ),
    Mutant("S14", "an approval never ends", swap(Approval, "counts", _for_ever), seed=207),
    Mutant("S14", "a gate stays open", swap(LiveRollout, "_supersede", _still_open), seed=53),
    Mutant("S14", "a plan says all at once", swap(forecast, "_stage", _everybody), 2, "foreseen"),
    Mutant(
        "O1",
        "all wait for a slot",
        always(waits, "block_wait", Wait("SlotsFull", None, "x")),
        seed=39,
    ),
)

# Those that add-ons can have as well, each with a seed that shows it there.
_OF_ADDONS: Mapping[str, int] = {
    "those tried again need no slot": 81,
    "nobody looks whether it is frozen": 77,
    "the held are overwritten": 110,
    "nobody listens to who aborts": 31,
    "an approval is of any revision": 116,
    "an approval never ends": 281,
    "a gate stays open": 105,
}

OF_OPERATIONS: tuple[Mutant, ...] = (
    *_OF_REPLICASETS,
    *(
        replace(mutant, seed=_OF_ADDONS[mutant.name], kind="addon")
        for mutant in _OF_REPLICASETS
        if mutant.name in _OF_ADDONS
    ),
)
