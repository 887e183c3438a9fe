"""Reads an agent's report on a ManifestWork as a health of the revision it carries.

A condition counts only at the work's own generation (semantics row 10); that the work carries the
revision is checked by content, elsewhere. Source: semantics rows 9, 10, 23.

| at this generation | with a Progressing rule | without |
|---|---|---|
| Applied missing, Unknown, stale | Silent | Silent |
| Applied=False | Failed | Failed |
| Degraded=True | Failed | Failed (where a rule can set it) |
| Degraded by rule, missing or stale | Progressing | Progressing |
| Progressing True, Unknown, missing, stale | Progressing | - |
| Progressing=False | Succeeded | - |
| Available=True / else | - | Succeeded / Progressing |

An agent applies nothing more to a work that is ``Complete``: where that, or Applied beside it, is of
an older generation, the work is frozen: Failed, ``CompletedWorkFrozen``.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from rollout.model import names
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.conditions import Condition
from rollout.model.work import Work
from rollout.strategies.base import Health


class Report(NamedTuple):
    """An agent's report, read. ``reason`` is set for failures; ``token`` is what success or failure is
    stamped with, "" where the agent stamps nothing.
    """

    health: Health
    reason: str = ""
    token: str = ""


def read_report(work: Work, rules: frozenset[str]) -> Report:
    """Read a work's conditions. ``rules``: the condition types its template's rules can set."""
    applied = _current(work.conditions, names.APPLIED, work.generation)
    if applied is None or applied.status == "Unknown":
        if _is_frozen(work):
            return Report(Health.FAILED, ClusterReason.COMPLETED_WORK_FROZEN.value)
        return Report(Health.SILENT)
    if not applied.is_true:
        return Report(Health.FAILED, ClusterReason.APPLY_FAILED.value, token_of(applied))
    if names.DEGRADED in rules:
        degraded = _current(work.conditions, names.DEGRADED, work.generation)
        if degraded is None:
            return Report(Health.PROGRESSING)
        if degraded.is_true:
            return Report(Health.FAILED, ClusterReason.DEGRADED.value, token_of(degraded, applied))
    judged_by = names.PROGRESSING if names.PROGRESSING in rules else names.AVAILABLE
    condition = _current(work.conditions, judged_by, work.generation)
    if condition is None:
        return Report(Health.PROGRESSING)
    done = "False" if judged_by == names.PROGRESSING else "True"
    if condition.status != done:
        return Report(Health.PROGRESSING)
    degraded = work.conditions.get(names.DEGRADED) if names.DEGRADED in rules else None
    return Report(Health.SUCCEEDED, token=token_of(condition, applied, degraded))


def token_of(decisive: Condition | None, *others: Condition | None) -> str:
    """A digest of the transition times of the conditions that a health follows from, to be compared.

    Where any of them changed and changed back, it is another one. "" where the decisive condition has
    no transition time.
    """
    if decisive is None or decisive.since is None:
        return ""
    return _digest(tuple(c.since if c is not None else None for c in (decisive, *others)))


@lru_cache(maxsize=16_384)
def _digest(stamps: tuple[datetime | None, ...]) -> str:
    """The digest is cached: the agents of a fleet report at the same few instants."""
    return hashlib.blake2b("/".join(map(str, stamps)).encode(), digest_size=6).hexdigest()


HEALTH_UNVERIFIED = "HealthUnverified"
"""What is said of a success that was not looked at."""


def is_verified(rules: frozenset[str]) -> bool:
    """Whether success means more than that the objects exist (row 23: HealthUnverified)."""
    return names.PROGRESSING in rules


def _current(conditions: Mapping[str, Condition], kind: str, generation: int) -> Condition | None:
    condition = conditions.get(kind)
    if condition is None or condition.observed_generation != generation:
        return None
    return condition


def _is_frozen(work: Work) -> bool:
    """Whether the agent will not apply this generation: it is done with an earlier one.

    Agents go on judging the old object and stamp Complete anew, so Applied tells too. A stamp that
    only comes early is taken back within the failure grace.
    """
    complete, applied = work.conditions.get(names.COMPLETE), work.conditions.get(names.APPLIED)
    if complete is None or not complete.is_true:
        return False
    was_applied = applied is not None and _is_older(applied, work.generation)
    return was_applied or _is_older(complete, work.generation)


def _is_older(condition: Condition, generation: int) -> bool:
    return condition.observed_generation is not None and condition.observed_generation < generation
