"""What does a rolloutStrategy ask for? Wire to `RolloutSpec`, every bad field named.

Source: OCM rollout spec 1; semantics rows 3, 4, 6 and 26.
"""

from collections.abc import Sequence
from datetime import timedelta

from rollout.api.fields import Reader
from rollout.model.amounts import (
    AMOUNT_ACCEPTED,
    DURATION_ACCEPTED,
    Amount,
    parse_amount,
    parse_duration,
)
from rollout.model.problems import Problem
from rollout.model.replicaset import SHORTEST_DEADLINE, GroupRef, RolloutSpec

TYPES = ("All", "Progressive", "ProgressivePerGroup")
DEADLINE_ACCEPTED = 'a duration of 1 second or more such as "90s", "10m" or "1h30m", or "None"'

_MEMBERS = {
    "All": "all",
    "Progressive": "progressive",
    "ProgressivePerGroup": "progressivePerGroup",
}


def parse_rollout(
    raw: object, path: str, types: Sequence[str] = TYPES
) -> tuple[RolloutSpec | None, tuple[Problem, ...]]:
    """A rolloutStrategy, or None and every reason why it cannot be honoured.

    Absent is ``{type: All}``. Only the member that belongs to the type is looked at, as the API
    says. The number 0 as maxConcurrency is unset: typed Go clients write it for that.

    Args:
        raw: the rolloutStrategy as written.
        path: where it stands.
        types: the names accepted as type; a plugin's own is configured by the member of that name
            with a small first letter.
    """
    problems: list[Problem] = []
    strategy = Reader(raw, path, problems)
    kind = strategy.one_of("type", types, "All")
    member = strategy.inner(_MEMBERS.get(kind, kind[:1].lower() + kind[1:]))
    spec = RolloutSpec(
        kind,
        _duration(member, "minSuccessTime"),
        _deadline(member),
        _amount(member, "maxFailures") or Amount(0),
        _concurrency(member),
        tuple(_group(group) for group in member.items("mandatoryDecisionGroups")),
    )
    return (None if problems else spec), tuple(problems)


def _duration(member: Reader, field: str) -> timedelta:
    if not member.has(field):
        return timedelta(0)
    found = parse_duration(member.obj[field])
    if found is None:
        member.refuse(field, DURATION_ACCEPTED)
    return found or timedelta(0)


def is_deadline(value: object) -> bool:
    """Whether the value is a progressDeadline: one we can keep, or "None"."""
    if value in ("", "None"):
        return True
    found = parse_duration(value)
    return found is not None and found >= SHORTEST_DEADLINE


def _deadline(member: Reader) -> timedelta | None:
    value = member.obj.get("progressDeadline")
    if value is None:
        return None
    if not is_deadline(value):
        member.refuse("progressDeadline", DEADLINE_ACCEPTED)
        return None
    return parse_duration(value)


def _amount(member: Reader, field: str) -> Amount | None:
    if not member.has(field):
        return None
    found = parse_amount(member.obj[field])
    if found is None:
        member.refuse(field, AMOUNT_ACCEPTED)
    return found


def _concurrency(member: Reader) -> Amount | None:
    found = _amount(member, "maxConcurrency")
    return None if found is None or (found.value == 0 and not found.written) else found


def _group(group: Reader) -> GroupRef:
    index = group.whole("groupIndex", 0, 0, 2**31 - 1)
    return GroupRef(group.text("groupName"), index or 0)
