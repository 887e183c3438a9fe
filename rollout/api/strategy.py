"""The wire form of a rolloutStrategy.

Source: OCM rollout spec 1; semantics rows 3, 4, 6 and 26.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from rollout.api.reading import read
from rollout.api.wire import (
    BLANK,
    DURATION,
    AmountText,
    Count,
    DurationText,
    Shape,
    accepted,
    only_chosen,
    passing,
)
from rollout.model.amounts import Amount, parse_amount, parse_duration
from rollout.model.problems import Problem
from rollout.model.replicaset import SHORTEST_DEADLINE, GroupRef, RolloutSpec

MEMBERS = {
    "All": "all",
    "Progressive": "progressive",
    "ProgressivePerGroup": "progressivePerGroup",
}
"""The member that configures each type."""


def _is_deadline(value: object) -> bool:
    if value in ("", "None"):
        return True
    found = parse_duration(value)
    return found is not None and found >= SHORTEST_DEADLINE


_DEADLINE_ACCEPTED = 'a duration of 1 second or more such as "90s", "10m" or "1h30m", or "None"'
Deadline = Annotated[
    str,
    Field(pattern=rf"^(None|{DURATION})?$"),
    passing(_is_deadline, _DEADLINE_ACCEPTED),
    accepted(_DEADLINE_ACCEPTED),
]


class RolloutConfigShape(Shape):
    """What every strategy heeds."""

    min_success_time: DurationText | None = "0"
    progress_deadline: Deadline | None = "None"
    max_failures: AmountText | None = 0


class MandatoryGroupShape(Shape):
    """A group that must succeed before others follow."""

    group_name: str | None = None
    group_index: Count | None = None


class ProgressiveShape(RolloutConfigShape):
    """Some clusters at a time."""

    mandatory_decision_groups: list[MandatoryGroupShape] | None = None
    max_concurrency: AmountText | None = None


class ProgressivePerGroupShape(RolloutConfigShape):
    """One decision group at a time."""

    mandatory_decision_groups: list[MandatoryGroupShape] | None = None


class RolloutStrategyShape(Shape):
    """How a change is brought to the clusters."""

    type: Annotated[Literal["All", "Progressive", "ProgressivePerGroup"] | None, BLANK] = "All"
    all: RolloutConfigShape | None = None
    progressive: ProgressiveShape | None = None
    progressive_per_group: ProgressivePerGroupShape | None = None

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, value: Any, info: ValidationInfo) -> Any:
        """Only the member that belongs to the type counts, as the API says."""
        kind = value.get("type") if isinstance(value, dict) else None
        chosen = MEMBERS.get(kind or "All") if isinstance(kind, str | None) else None
        return only_chosen(value, info, set(MEMBERS.values()) - {chosen})

    def to_model(self) -> RolloutSpec:
        """The strategy. The number 0 as maxConcurrency is unset: typed Go clients write it for that."""
        members = (self.all, self.progressive, self.progressive_per_group)
        member = next((each for each in members if each is not None), RolloutConfigShape())
        groups = getattr(member, "mandatory_decision_groups", None) or ()
        slots = parse_amount(getattr(member, "max_concurrency", None))
        return RolloutSpec(
            type=self.type or "All",
            min_success_time=parse_duration(member.min_success_time) or timedelta(0),
            deadline=parse_duration(member.progress_deadline),
            max_failures=parse_amount(member.max_failures) or Amount(0),
            concurrency=slots if slots is not None and (slots.value or slots.written) else None,
            mandatory=tuple(
                GroupRef(each.group_name or "", each.group_index or 0) for each in groups
            ),
        )


def read_strategy(raw: object, at: str) -> tuple[RolloutSpec | None, tuple[Problem, ...]]:
    """A stored rolloutStrategy, or None and every reason why it cannot be honoured.

    Args:
        raw: as it is written; absent is ``{type: All}``.
        at: where it stands.
    """
    found, problems = read(RolloutStrategyShape, raw, at)
    return (None if found is None or problems else found.to_model()), problems
