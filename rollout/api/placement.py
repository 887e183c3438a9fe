"""The wire form of a Placement. Source: OCM placement spec 1.4, 2.6 to 2.8, 3.1."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from rollout.api.decisions import PlacementStatus
from rollout.api.fields import mapping, strings, text, texts, version_of, whole
from rollout.api.reading import read
from rollout.api.wire import (
    BLANK,
    INT32,
    LABEL_KEY,
    NOTHING,
    ClaimSelector,
    Count,
    IfBad,
    Int64,
    LabelKey,
    LabelSelector,
    MetadataShape,
    Name,
    RuledShape,
    Shape,
    TaintValue,
    WireObject,
    accepted,
    passing,
)
from rollout.model.amounts import Amount, parse_amount
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj
from rollout.model.placement import (
    Coordinate,
    NamedGroup,
    Placement,
    Predicate,
    SpreadConstraint,
    Toleration,
)
from rollout.model.problems import Problem
from rollout.model.selectors import EVERYTHING, is_label_key

BUILT_IN = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory")
LONGEST_NAME = 63

_RATE = re.compile(r"\A([0-9]{1,9})([hms])\Z", re.ASCII)
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def _is_group_size(value: object) -> bool:
    """The number 0 is unset, as typed Go clients write it."""
    found = parse_amount(value)
    return found is not None and (found.value > 0 or not found.written)


GroupSize = Annotated[
    int | str,
    passing(_is_group_size, ""),
    accepted('a whole number of 1 or more, or a percentage from "1%" to "100%"'),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "minimum": 0,
            "pattern": "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]{0,8})$",
        }
    ),
]
GroupName = Annotated[
    str,
    Field(pattern="^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"),
    accepted(
        "2 to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
    ),
]
Rate = Annotated[
    str,
    Field(pattern="^[0-9]{1,9}[hms]$"),
    accepted('a whole number and one of h, m, s, such as "1m"'),
]
TolerationKey = Annotated[
    str,
    Field(max_length=316, pattern=f"^$|{LABEL_KEY}"),
    passing(lambda key: key == "" or is_label_key(key), ""),
    accepted("a label key: [prefix/]name, at most 316 characters; empty for every key"),
]


class CelSelectorShape(Shape):
    """Expressions that must all be true of a cluster."""

    cel_expressions: list[str] | None = None


class RequiredClusterSelectorShape(Shape):
    """Labels, claims and expressions must all match."""

    label_selector: Annotated[LabelSelector | None, IfBad(NOTHING)] = None
    claim_selector: Annotated[ClaimSelector | None, IfBad(NOTHING)] = None
    cel_selector: CelSelectorShape | None = None

    def to_model(self) -> Predicate:
        """The predicate; what is not there matches everything."""
        cel = self.cel_selector.cel_expressions if self.cel_selector is not None else None
        return Predicate(
            self.label_selector or EVERYTHING, self.claim_selector or EVERYTHING, tuple(cel or ())
        )


class PredicateShape(Shape):
    """One of several ways for a cluster to qualify."""

    required_cluster_selector: RequiredClusterSelectorShape | None = None

    def to_model(self) -> Predicate:
        """The predicate; what is not there matches everything."""
        return (self.required_cluster_selector or RequiredClusterSelectorShape()).to_model()


class AddOnScoreShape(Shape):
    """A score in an AddOnPlacementScore."""

    resource_name: Annotated[Name, accepted("the name of an AddOnPlacementScore")]
    score_name: Annotated[Name, accepted("the name of a score in it")]


class ScoreCoordinateShape(Shape):
    """Which score is meant."""

    type: Annotated[Literal["BuiltIn", "AddOn"] | None, BLANK] = "BuiltIn"
    built_in: str | None = None
    add_on: AddOnScoreShape | None = None

    def to_model(self) -> Coordinate:
        """The name of the score."""
        if self.type == "AddOn" and self.add_on is not None:
            return Coordinate(
                "AddOn", resource=self.add_on.resource_name, score=self.add_on.score_name
            )
        return Coordinate("BuiltIn", self.built_in or "")


class PrioritizerShape(RuledShape):
    """A score and what it weighs."""

    counts_whole = True

    score_coordinate: ScoreCoordinateShape
    weight: (
        Annotated[int, Field(ge=-10, le=10), accepted("a whole number from -10 to 10")] | None
    ) = 1

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        """A score is named. Which one does not matter where it weighs nothing."""
        coordinate = written.get("scoreCoordinate")
        if not isinstance(coordinate, dict) or written.get("weight") == 0:
            return
        kind, name = coordinate.get("type") or "BuiltIn", coordinate.get("builtIn")
        if kind == "AddOn" and coordinate.get("addOn") is None:
            at = "scoreCoordinate.addOn"
            yield Problem(at, None, "resourceName and scoreName of an AddOnPlacementScore")
        if kind != "BuiltIn" or (isinstance(name, str) and (name in BUILT_IN or "/" in name)):
            return  # a qualified name (example.com/Name) is for a plugin to know
        if name is None or isinstance(name, str):
            yield Problem("scoreCoordinate.builtIn", name, f"one of {', '.join(BUILT_IN)}")


class PrioritizerPolicyShape(Shape):
    """How clusters that qualify are ranked."""

    mode: Literal["Additive", "Exact", ""] | None = "Additive"
    configurations: list[PrioritizerShape] | None = None

    def weights(self) -> Iterator[tuple[Coordinate, int]]:
        """The scores that are named, in the order written. Those that weigh nothing are left out."""
        for item in self.configurations or ():
            weight = 1 if item.weight is None else item.weight
            if weight:
                yield item.score_coordinate.to_model(), weight


class SpreadConstraintShape(Shape):
    """How evenly clusters are taken over the values of a label or claim."""

    counts_whole = True

    topology_key: LabelKey
    topology_key_type: Annotated[Literal["Label", "Claim"], BLANK]
    max_skew: (
        Annotated[int, Field(ge=1, le=INT32), accepted("a whole number of 1 or more")] | None
    ) = 1
    when_unsatisfiable: Annotated[Literal["DoNotSchedule", "ScheduleAnyway"] | None, BLANK] = (
        "ScheduleAnyway"
    )

    def to_model(self) -> SpreadConstraint:
        """The constraint."""
        return SpreadConstraint(
            self.topology_key,
            self.topology_key_type,
            self.max_skew or 1,
            self.when_unsatisfiable == "DoNotSchedule",
        )


class SpreadPolicyShape(Shape):
    """Spreads the selected clusters."""

    spread_constraints: Annotated[list[SpreadConstraintShape], Field(max_length=8)] | None = None


class TolerationShape(RuledShape):
    """A taint that does not keep this placement away."""

    counts_whole = True

    key: TolerationKey | None = None
    operator: Literal["Equal", "Exists", ""] | None = "Equal"
    value: TaintValue | None = None
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew", ""] | None = None
    toleration_seconds: Int64 | None = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        """Only Exists goes without a key, and it compares no value."""
        operator, value = written.get("operator"), written.get("value")
        if not written.get("key") and operator in (None, "", "Equal"):
            words = "Exists, since the key is empty (which stands for every key)"
            yield Problem("operator", operator, words)
        if operator == "Exists" and isinstance(value, str) and value:
            yield Problem("value", value, "no value with operator Exists")

    def to_model(self) -> Toleration:
        """The toleration."""
        return Toleration(
            key=self.key or "",
            operator=self.operator or "Equal",
            value=self.value or "",
            effect=self.effect or "",
            seconds=self.toleration_seconds,
        )


class GroupClusterSelectorShape(Shape):
    """Which selected clusters are in a decision group."""

    label_selector: Annotated[LabelSelector | None, IfBad(NOTHING)] = None
    claim_selector: Annotated[ClaimSelector | None, IfBad(NOTHING)] = None


class DecisionGroupShape(Shape):
    """A named group of the selected clusters."""

    group_name: GroupName
    group_cluster_selector: GroupClusterSelectorShape | None = None

    def to_model(self) -> NamedGroup:
        """The group; what is not there matches everything."""
        asked = self.group_cluster_selector or GroupClusterSelectorShape()
        return NamedGroup(
            self.group_name, asked.label_selector or EVERYTHING, asked.claim_selector or EVERYTHING
        )


class GroupStrategyShape(Shape):
    """How the selected clusters are cut into groups."""

    clusters_per_decision_group: GroupSize | None = "100%"
    decision_groups: list[DecisionGroupShape] | None = None

    def size(self) -> Amount | None:
        """clustersPerDecisionGroup; None where nobody set it."""
        if "clusters_per_decision_group" not in self.model_fields_set:
            return None
        found = parse_amount(self.clusters_per_decision_group)
        return found if found is not None and found.value else None


class DecisionStrategyShape(Shape):
    """How decisions are laid out."""

    group_strategy: GroupStrategyShape | None = None


class PlacementSpec(Shape):
    """Which clusters to select."""

    cluster_sets: list[str] | None = None
    number_of_clusters: Annotated[Count | None, IfBad(0)] = None
    predicates: list[PredicateShape] | None = None
    prioritizer_policy: PrioritizerPolicyShape | None = None
    spread_policy: SpreadPolicyShape | None = None
    tolerations: list[TolerationShape] | None = None
    decision_strategy: DecisionStrategyShape | None = None
    sort_by: Annotated[Literal["ClusterName", "Score"] | None, BLANK] = "ClusterName"
    score_rate_limit: Rate | None = "1m"

    def to_model(self, namespace: str, name: str, problems: tuple[Problem, ...] = ()) -> Placement:
        """The Placement that this is the spec of."""
        policy = self.prioritizer_policy or PrioritizerPolicyShape()
        spread = self.spread_policy.spread_constraints if self.spread_policy is not None else None
        decisions = self.decision_strategy or DecisionStrategyShape()
        groups = decisions.group_strategy or GroupStrategyShape()
        return Placement(
            namespace,
            name,
            cluster_sets=tuple(self.cluster_sets or ()),
            number=self.number_of_clusters,
            predicates=tuple(each.to_model() for each in self.predicates or ()),
            mode=policy.mode or "Additive",
            weights=tuple(policy.weights()),
            tolerations=tuple(each.to_model() for each in self.tolerations or ()),
            spread=tuple(each.to_model() for each in spread or ()),
            group_size=groups.size(),
            groups=tuple(each.to_model() for each in groups.decision_groups or ()),
            sort_by=self.sort_by or "ClusterName",
            score_rate_limit_seconds=_seconds(self.score_rate_limit),
            problems=problems,
        )


def _seconds(rate: str | None) -> int:
    match = _RATE.match(rate or "1m")
    return int(match[1]) * _SECONDS[match[2]] if match is not None else 60


class PlacementMetadata(MetadataShape):
    """Decisions carry the name of their Placement in a label."""

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        yield from super().broken_rules(written)
        yield from _too_long(written.get("name"), "name")


def _too_long(name: object, at: str) -> Iterator[Problem]:
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        accepted = f"at most {LONGEST_NAME} characters: decisions carry the name in a label"
        yield Problem(at, name, accepted)


class PlacementObject(WireObject):
    """Selects clusters from the sets bound to its namespace."""

    metadata: PlacementMetadata
    spec: PlacementSpec
    status: PlacementStatus | None = None


def decode_placement(obj: Obj, previous: Placement | None = None) -> Placement:
    """A Placement with every problem of its spec. A bad selector matches nothing.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. What was parsed of its spec is reused where
            uid and generation are equal.
    """
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    same = previous is not None and generation and uid and previous.uid == uid
    if previous is not None and same and previous.generation == generation:
        parsed = previous
    else:
        parsed = _parsed(obj.get("spec"), text(meta.get("namespace")), text(meta.get("name")))
    return dataclasses.replace(
        parsed,
        uid=uid,
        generation=generation,
        version=version_of(meta),
        deleting=meta.get("deletionTimestamp") is not None,
        annotations=strings(meta.get("annotations")),
        conditions=read_conditions(status.get("conditions")),
        status_groups=_status_groups(status.get("decisionGroups")),
        raw=obj,
    )


def _parsed(raw: object, namespace: str, name: str) -> Placement:
    spec, problems = read(PlacementSpec, raw, "spec")
    too_long = tuple(_too_long(name, "metadata.name"))
    return (spec or PlacementSpec()).to_model(namespace, name, (*too_long, *problems))


def _status_groups(raw: object) -> tuple[tuple[int, str, int, tuple[str, ...]], ...] | None:
    if not isinstance(raw, list):
        return None
    return tuple(
        (
            whole(item.get("decisionGroupIndex")),
            text(item.get("decisionGroupName")),
            whole(item.get("clusterCount")),
            texts(item.get("decisions")),
        )
        for item in raw
        if isinstance(item, dict)
    )
