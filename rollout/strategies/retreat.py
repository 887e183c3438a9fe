"""Decides which clusters go back now, while a revision is taken back.

Only clusters that got the revision go back, newest first, each to the last revision that soaked there;
at most ``limit`` of them are on their way at once, and none goes any more once more than ``budget`` of
them failed on what they were given back. Skipped clusters are left out of all that; held ones go once
they are released. Source: semantics rows 27 and 32; safety contract S10.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from rollout.model.amounts import Amount
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase, Rollout, Shut, Standing
from rollout.strategies.judge import judge, unmeasured


@dataclass(frozen=True, slots=True)
class RetreatLimits:
    """How many clusters go back at once, and how many may fail; percentages are of those that are not held."""

    limit: Amount
    budget: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Retreat:
    """Who goes back now, and how a rollback stands.

    ``touch`` are pairs (cluster, revision that it gets), in order. ``total`` are all that go back, the
    held ones too. ``back`` have soaked, or have been given back before and are done; ``stuck`` got the
    revision and have nothing to go back to, ``held`` got it and go back once they are released, both by
    name. ``shut`` is what those wait for that could go now, where none of them may.
    """

    touch: tuple[tuple[str, str], ...] = ()
    total: int = 0
    waiting: int = 0
    in_flight: int = 0
    back: int = 0
    failed: int = 0
    limit: int = 0
    stuck: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    shut: Wait | None = None
    hold: Wait | None = None
    recheck_at: datetime | None = None

    @property
    def is_done(self) -> bool:
        """Whether nobody is left who could go back, held or not, and nobody is on the way."""
        return not self.waiting and not self.in_flight and not self.held


def retreat(
    rollout: Rollout,
    targets: Mapping[str, str],
    began: datetime,
    limits: RetreatLimits,
    now: datetime,
) -> Retreat:
    """The next step of taking ``rollout.revision`` back.

    Args:
        targets: the revision that each cluster can go back to; those without one stay.
        began: when the rollback began; what was touched with another revision since is on its way back.

    Cost: O(clusters).
    """
    waiting, held, stuck = _on_it(rollout, targets)
    counted, rechecks = _given_back(rollout, began, now)
    in_flight = sum(n for phase, n in counted.items() if phase.holds_slot)
    failed = sum(n for phase, n in counted.items() if phase.is_failure)
    total = len(waiting) + sum(counted.values())
    limit = limits.limit.of(total)
    hold = _hold(failed, limits.budget.of(total), limits) if waiting else None
    waiting.sort(key=lambda standing: standing.cluster)
    waiting.sort(key=lambda standing: standing.touched, reverse=True)
    free = 0 if hold else max(0, limit - in_flight)
    ready = _open_ones(waiting, rollout.shut_back, rechecks)
    return Retreat(
        touch=tuple((standing.cluster, targets[standing.cluster]) for standing in ready[:free]),
        total=total + len(held),
        waiting=len(waiting),
        in_flight=in_flight,
        back=sum(counted.values()) - in_flight - failed,
        failed=failed,
        limit=limit,
        stuck=tuple(sorted(stuck)),
        held=tuple(sorted(held)),
        shut=None if ready else _first_shut(waiting, rollout.shut_back),
        hold=hold,
        recheck_at=min(rechecks, default=None),
    )


def _on_it(
    rollout: Rollout, targets: Mapping[str, str]
) -> tuple[list[Standing], list[str], list[str]]:
    """The clusters that carry the revision that is rolled back: those that can go back, those of them that
    are held, and those that cannot go back.
    """
    waiting: list[Standing] = []
    held: list[str] = []
    stuck: list[str] = []
    for cluster, standing in rollout.standings.items():
        if not rollout.is_on_it(standing) or cluster in rollout.skipped:
            continue
        if cluster not in targets:
            stuck.append(cluster)
        elif cluster in rollout.held:
            held.append(cluster)
        else:
            waiting.append(standing)
    return waiting, held, stuck


def _open_ones(waiting: list[Standing], shut: Shut, rechecks: list[datetime]) -> list[Standing]:
    """Those at which no gate is shut; notes when the first of the others may open."""
    found = [standing for standing in waiting if standing.cluster not in shut.waits]
    if len(found) < len(waiting) and shut.until is not None:
        rechecks.append(shut.until)
    return found


def _first_shut(waiting: list[Standing], shut: Shut) -> Wait | None:
    """What the one waits for that may open first, of clusters that are all shut; None where there are none."""
    waits = [shut.waits[standing.cluster] for standing in waiting]
    timed = [(wait.until, wait.message, wait) for wait in waits if wait.until is not None]
    first = min(timed)[2] if timed else min(waits, key=lambda wait: wait.message, default=None)
    if first is None or all(wait.message == first.message for wait in waits):
        return first
    return replace(first, message=f"the first of them: {first.message}")


def _given_back(
    rollout: Rollout, began: datetime, now: datetime
) -> tuple[dict[Phase, int], list[datetime]]:
    """Who got another revision since and is not skipped, by phase, and when time alone changes one of these."""
    counted: dict[Phase, int] = {}
    rechecks: list[datetime] = []
    timing = unmeasured(rollout.timing)
    for standing in rollout.standings.values():
        if rollout.is_on_it(standing) or standing.touched < began:
            continue
        if standing.cluster in rollout.skipped:
            continue
        judged = judge(standing, standing.revision, timing, now)
        counted[judged.phase] = counted.get(judged.phase, 0) + 1
        if judged.until is not None:
            rechecks.append(judged.until)
    return counted, rechecks


def _hold(failed: int, budget: int, limits: RetreatLimits) -> Wait | None:
    if failed <= budget and limits.limit.value:
        return None
    if failed <= budget:
        text = "the rollback's max-concurrency is zero; raise it to go on"
        return Wait(Reason.ROLLBACK_HALTED, text)
    return Wait(
        Reason.ROLLBACK_HALTED,
        f"{failed} clusters failed on what they were given back, {budget} tolerated; look at them, "
        "then roll out a fix, skip them, or raise the rollback's max-failures",
    )
