"""How are placements and their decisions written? Source: OCM placement spec 1.4 and 1.5."""

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from rollout.api.placement import GROUP_NAME_ACCEPTED, GROUP_SIZE_ACCEPTED, RATE_ACCEPTED
from rollout.api.shapes.base import (
    INT32,
    LABEL_KEY,
    ClaimSelector,
    Conditions,
    Count,
    InstantText,
    Int32,
    Int64,
    LabelKey,
    LabelSelector,
    Name,
    Resource,
    Shape,
    accepted,
    passing,
)
from rollout.api.shapes.cluster import Value
from rollout.model.amounts import parse_amount

GROUP_NAME = "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"


def _is_group_size(value: object) -> bool:
    found = parse_amount(value)
    return found is not None and (found.value > 0 or not found.written)


GroupSize = Annotated[
    int | str,
    passing(_is_group_size, GROUP_SIZE_ACCEPTED),
    accepted(GROUP_SIZE_ACCEPTED),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "minimum": 0,
            "pattern": "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]{0,8})$",
        }
    ),
]


TolerationKey = Annotated[
    str,
    Field(max_length=316, pattern=f"^$|{LABEL_KEY}"),
    accepted("a label key: [prefix/]name, at most 316 characters; empty for every key"),
]


class CelSelector(Shape):
    """Expressions that must all be true of a cluster."""

    cel_expressions: list[str] | None = None


class RequiredClusterSelector(Shape):
    """Labels, claims and expressions must all match."""

    label_selector: LabelSelector | None = None
    claim_selector: ClaimSelector | None = None
    cel_selector: CelSelector | None = None


class PredicateShape(Shape):
    """One of several ways for a cluster to qualify."""

    required_cluster_selector: RequiredClusterSelector | None = None


class AddOnScore(Shape):
    """A score in an AddOnPlacementScore."""

    resource_name: Name
    score_name: Name


class ScoreCoordinate(Shape):
    """Which score is meant."""

    type: Literal["BuiltIn", "AddOn"] | None = "BuiltIn"
    built_in: str | None = None
    add_on: AddOnScore | None = None


class PrioritizerConfig(Shape):
    """A score and what it weighs."""

    score_coordinate: ScoreCoordinate
    weight: (
        Annotated[int, Field(ge=-10, le=10), accepted("a whole number from -10 to 10")] | None
    ) = 1


class PrioritizerPolicy(Shape):
    """How clusters that qualify are ranked."""

    mode: Literal["Additive", "Exact", ""] | None = "Additive"
    configurations: list[PrioritizerConfig] | None = None


class SpreadConstraintShape(Shape):
    """How evenly clusters are taken over the values of a label or claim."""

    topology_key: LabelKey
    topology_key_type: Literal["Label", "Claim"]
    max_skew: (
        Annotated[int, Field(ge=1, le=INT32), accepted("a whole number of 1 or more")] | None
    ) = 1
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] | None = "ScheduleAnyway"


class SpreadPolicy(Shape):
    """Spreads the selected clusters."""

    spread_constraints: Annotated[list[SpreadConstraintShape], Field(max_length=8)] | None = None


class TolerationShape(Shape):
    """A taint that does not keep this placement away."""

    key: TolerationKey | None = None
    operator: Literal["Equal", "Exists", ""] | None = "Equal"
    value: Value | None = None
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew", ""] | None = None
    toleration_seconds: Int64 | None = None


class GroupClusterSelector(Shape):
    """Which selected clusters are in a decision group."""

    label_selector: LabelSelector | None = None
    claim_selector: ClaimSelector | None = None


class DecisionGroup(Shape):
    """A named group of the selected clusters."""

    group_name: Annotated[str, Field(pattern=GROUP_NAME), accepted(GROUP_NAME_ACCEPTED)]
    group_cluster_selector: GroupClusterSelector | None = None


class GroupStrategy(Shape):
    """How the selected clusters are cut into groups."""

    clusters_per_decision_group: GroupSize | None = "100%"
    decision_groups: list[DecisionGroup] | None = None


class DecisionStrategy(Shape):
    """How decisions are laid out."""

    group_strategy: GroupStrategy | None = None


class PlacementSpec(Shape):
    """Which clusters to select."""

    cluster_sets: list[str] | None = None
    number_of_clusters: Count | None = None
    predicates: list[PredicateShape] | None = None
    prioritizer_policy: PrioritizerPolicy | None = None
    spread_policy: SpreadPolicy | None = None
    tolerations: list[TolerationShape] | None = None
    decision_strategy: DecisionStrategy | None = None
    sort_by: Literal["ClusterName", "Score"] | None = "ClusterName"
    score_rate_limit: (
        Annotated[str, Field(pattern="^[0-9]{1,9}[hms]$"), accepted(RATE_ACCEPTED)] | None
    ) = "1m"


class DecisionGroupStatus(Shape):
    """A decision group as it was decided."""

    decision_group_index: Int32 | None = None
    decision_group_name: str | None = None
    decisions: list[str] | None = None
    cluster_count: Int32 | None = 0


class PlacementStatus(Shape):
    """What was decided, and whether that is what was asked for."""

    number_of_selected_clusters: Int32 | None = None
    decision_groups: list[DecisionGroupStatus] | None = None
    conditions: Conditions | None = None
    last_score_update_time: InstantText | None = None


class Placement(Resource):
    """Selects clusters from the sets bound to its namespace."""

    spec: PlacementSpec
    status: PlacementStatus | None = None


class ClusterDecision(Shape):
    """One selected cluster."""

    cluster_name: str
    reason: str
    score: Int64 | None = None


class PlacementDecisionStatus(Shape):
    """Up to 100 of the selected clusters."""

    decisions: list[ClusterDecision]


class PlacementDecision(Resource):
    """A page of the clusters that a placement selected."""

    status: PlacementDecisionStatus | None = None
