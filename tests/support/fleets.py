"""What do small fleets look like in tests? Instants, standings and rollouts in a few characters.

A fleet in short is one letter a cluster, named ``a``, ``b``, ... in that order (`LETTERS`).
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache

from msgspec import structs

from rollout.model.amounts import Amount, parse_amount
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.strategies.base import (
    Health,
    Phase,
    Rollout,
    Staging,
    Standing,
    Step,
    Timing,
    Verdict,
    select,
)
from rollout.strategies.stages import BUILT_IN, soak_of

T0 = datetime(2026, 6, 1, 12, tzinfo=UTC)
SEC, MIN, US = timedelta(seconds=1), timedelta(minutes=1), timedelta(microseconds=1)
NEW, OLD = "new", "old"

SOAK, DEADLINE, GRACE = 5 * MIN, 10 * MIN, MIN
TIMING = Timing(soak=SOAK, deadline=DEADLINE, grace=GRACE)

SILENT, PROGRESSING = Health.SILENT, Health.PROGRESSING
SUCCEEDED, FAILED = Health.SUCCEEDED, Health.FAILED


def standing(
    cluster: str,
    health: Health = SILENT,
    touched: datetime = T0,
    since: datetime | None = None,
    verdict: Verdict | None = None,
    revision: str = NEW,
    reason: str = "",
) -> Standing:
    """A cluster touched with ``revision``; its health has stood since the touch, unless said."""
    return Standing(
        cluster=cluster,
        revision=revision,
        touched=touched,
        health=health,
        since=since or touched,
        verdict=verdict,
        reason=reason,
    )


LETTERS = {
    ".": Phase.WAITING,
    "P": Phase.PROGRESSING,
    "I": Phase.PROGRESSING,  # failed, within its grace
    "F": Phase.FAILING,
    "T": Phase.FAILED,
    "S": Phase.SOAKING,
    "D": Phase.SOAKED,
    "O": Phase.OUTDATED,
    "K": Phase.SKIPPED,
    "H": Phase.HELD,
}
FAILURES = "IFT"


@cache
def lettered(letter: str, cluster: str, now: datetime = T0) -> Standing | None:
    """A standing that is judged as the letter says, at ``now`` and under `TIMING`."""
    match letter:
        case "P":
            return standing(cluster, PROGRESSING, now - MIN)
        case "I":
            return standing(cluster, FAILED, now - MIN, now - GRACE / 2)
        case "F":
            return standing(cluster, FAILED, now - 3 * MIN, now - 2 * GRACE)
        case "T":
            return standing(cluster, PROGRESSING, now - 2 * DEADLINE)
        case "S":
            return standing(cluster, SUCCEEDED, now - 2 * MIN, now - MIN)
        case "D":
            return standing(cluster, SUCCEEDED, now - DEADLINE, verdict=Verdict.SOAKED)
        case "O":
            return standing(cluster, PROGRESSING, now - MIN, revision=OLD)
        case _:
            return None


def spec_of(
    kind: str = "Progressive",
    *,
    limit: int | str | None = None,
    budget: int | str = 0,
    mandatory: Iterable[str | int] = (),
    soak: timedelta = SOAK,
    deadline: timedelta | None = DEADLINE,
) -> RolloutSpec:
    """A rolloutStrategy; mandatory groups by name or by index."""
    return RolloutSpec(
        kind,
        min_success_time=soak,
        deadline=deadline,
        max_failures=amount(budget),
        concurrency=None if limit is None else amount(limit),
        mandatory=tuple(GroupRef(m) if isinstance(m, str) else GroupRef("", m) for m in mandatory),
    )


def amount(value: int | str) -> Amount:
    found = parse_amount(value)
    assert found is not None, value
    return found


@cache
def _staging(spec: RolloutSpec, groups: tuple[Group, ...], named: tuple[str, ...]) -> Staging:
    return BUILT_IN[spec.type].stages(spec, select(groups, named))


def rollout_in(
    spec: RolloutSpec,
    groups: Iterable[Group],
    standings: Iterable[Standing] = (),
    *,
    passed: Iterable[str] = (),
    skipped: Iterable[str] = (),
    lost: dict[str, str] | None = None,
    strict_tolerance: bool = False,
    grace: timedelta = GRACE,
    named: Iterable[str] = (),
    held: Iterable[str] = (),
) -> Rollout:
    return Rollout(
        revision=NEW,
        staging=_staging(spec, tuple(groups), tuple(named)),
        standings={s.cluster: s for s in standings},
        timing=Timing(soak=soak_of(spec, timedelta(0)), deadline=spec.deadline, grace=grace),
        passed=frozenset(passed),
        skipped=frozenset(skipped),
        lost=dict(lost or {}),
        hold=None,
        strict_tolerance=strict_tolerance,
        held=frozenset(held),
    )


def fleet(
    letters: str,
    spec: RolloutSpec,
    *,
    groups: Iterable[Group] | None = None,
    strict_tolerance: bool = False,
) -> Rollout:
    """A fleet in short, at `T0`; without ``groups`` all clusters are in one."""
    names = "abcdefghijklmnop"[: len(letters)]
    found = [lettered(letter, name) for letter, name in zip(letters, names, strict=True)]
    return rollout_in(
        spec,
        groups if groups is not None else [Group(0, "", tuple(names))],
        [s for s in found if s is not None],
        skipped=[name for letter, name in zip(letters, names, strict=True) if letter == "K"],
        held=[name for letter, name in zip(letters, names, strict=True) if letter == "H"],
        strict_tolerance=strict_tolerance,
    )


def applied(rollout: Rollout, step: Step, now: datetime) -> Rollout:
    """The rollout after all that the step says has been done, at the same instant."""
    standings = dict(rollout.standings)
    for settled in step.settled:
        before = standings[settled.cluster]
        verdict, reason = settled.verdict, settled.reason
        standings[settled.cluster] = structs.replace(before, verdict=verdict, reason=reason)
    for cluster in step.touch:
        standings[cluster] = standing(cluster, SILENT, now, revision=rollout.revision)
    return structs.replace(
        rollout,
        standings=standings,
        passed=rollout.passed | set(step.passed),
        checkpoints=tuple(c for c in rollout.checkpoints if c.key not in step.opened),
    )
