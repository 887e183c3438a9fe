"""How is a ManifestWorkReplicaSet written? Source: OCM ManifestWorkReplicaSet spec 2, rollout spec 1."""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.rollouts import DEADLINE_ACCEPTED, is_deadline
from rollout.api.shapes.base import (
    DURATION,
    AmountText,
    Conditions,
    Count,
    DurationText,
    Int32,
    Name,
    Resource,
    Shape,
    accepted,
    passing,
)
from rollout.api.shapes.work import WorkSpec

Deadline = Annotated[
    str,
    Field(pattern=rf"^(None|{DURATION})?$"),
    passing(is_deadline, DEADLINE_ACCEPTED),
    accepted(DEADLINE_ACCEPTED),
]


class RolloutConfig(Shape):
    """What every strategy heeds."""

    min_success_time: DurationText | None = "0"
    progress_deadline: Deadline | None = "None"
    max_failures: AmountText | None = 0


class MandatoryDecisionGroup(Shape):
    """A group that must succeed before others follow."""

    group_name: str | None = None
    group_index: Count | None = None


class Progressive(RolloutConfig):
    """Some clusters at a time."""

    mandatory_decision_groups: list[MandatoryDecisionGroup] | None = None
    max_concurrency: AmountText | None = None


class ProgressivePerGroup(RolloutConfig):
    """One decision group at a time."""

    mandatory_decision_groups: list[MandatoryDecisionGroup] | None = None


class RolloutStrategy(Shape):
    """How a change is brought to the clusters."""

    type: Literal["All", "Progressive", "ProgressivePerGroup"] | None = "All"
    all: RolloutConfig | None = None
    progressive: Progressive | None = None
    progressive_per_group: ProgressivePerGroup | None = None


class LocalPlacementRef(Shape):
    """A Placement in this namespace."""

    name: Name
    rollout_strategy: RolloutStrategy | None = Field(
        None, json_schema_extra={"default": {"type": "All", "all": {"progressDeadline": "None"}}}
    )


class ReplicaSetSpec(Shape):
    """What goes where, and how."""

    manifest_work_template: WorkSpec | None = None
    placement_refs: Annotated[list[LocalPlacementRef], Field(min_length=1)]
    cascade_deletion_policy: Literal["Background", "Foreground"] | None = "Background"


class Summary(Shape):
    """How many works are in which state."""

    total: Int32 | None = 0
    applied: Int32 | None = 0
    available: Int32 | None = 0
    progressing: Int32 | None = 0
    degraded: Int32 | None = 0
    desired_total: Int32 | None = 0
    updated: Int32 | None = 0


class PlacementSummary(Shape):
    """The works of one placement."""

    name: str
    available_decision_groups: str | None = None
    summary: Summary | None = None


class ReplicaSetStatus(Shape):
    """How the rollout stands."""

    conditions: Conditions | None = None
    summary: Summary | None = None
    placement_summary: list[PlacementSummary] | None = None
    current_revision: str | None = None
    """The revision that was last rolled out to its end."""
    update_revision: str | None = None
    """The revision of the present template."""


class ManifestWorkReplicaSet(Resource):
    """Brings one ManifestWork to every cluster that its placements select."""

    spec: ReplicaSetSpec
    status: ReplicaSetStatus | None = None
