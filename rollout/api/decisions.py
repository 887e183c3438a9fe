"""The wire form of decisions (Placement status, PlacementDecisions) and AddOnPlacementScores.

Machines write thousands of them, so they are read by hand. Source: OCM placement spec 1.5 and 1.6.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import Annotated, Any

from pydantic import Field

from rollout.api.fields import listed, mapping, strings, text, version_of
from rollout.api.wire import (
    Conditions,
    InstantText,
    Int32,
    Int64,
    Name,
    Shape,
    WireObject,
    accepted,
    list_map,
)
from rollout.model.amounts import parse_digits
from rollout.model.cluster import Score
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from rollout.model.placement import Decision

_EXPIRED = datetime(1, 1, 1, tzinfo=UTC)


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


class ClusterDecisionShape(Shape):
    """One selected cluster."""

    cluster_name: str
    reason: str
    score: Int64 | None = None


class DecisionStatus(Shape):
    """Up to 100 of the selected clusters."""

    decisions: list[ClusterDecisionShape]


class DecisionObject(WireObject):
    """A page of the clusters that a placement selected."""

    status: DecisionStatus | None = None


class ScoreShape(Shape):
    """One score by name."""

    name: Name
    value: Annotated[int, Field(ge=-100, le=100), accepted("a whole number from -100 to 100")]


class ScoreStatus(Shape):
    """The scores of one cluster, and until when they hold."""

    conditions: Conditions | None = None
    scores: Annotated[list[ScoreShape], Field(json_schema_extra=list_map("name"))] | None = None
    valid_until: InstantText | None = None


class ScoreObject(WireObject):
    """Scores that an add-on gives a cluster; the namespace is the cluster's name."""

    status: ScoreStatus | None = None


def decode_decision(obj: Obj) -> Decision:
    """A PlacementDecision. Entries without a cluster name are left out."""
    meta = mapping(obj.get("metadata"))
    labels = strings(meta.get("labels"))
    index = labels.get(GROUP_INDEX_LABEL, "")
    entries = listed(mapping(obj.get("status")).get("decisions"))
    return Decision(
        namespace=text(meta.get("namespace")),
        name=text(meta.get("name")),
        placement=labels.get(PLACEMENT_LABEL, ""),
        group_index=parse_digits(index),
        group_name=labels.get(GROUP_NAME_LABEL, ""),
        clusters=_same(
            tuple(
                intern(item["clusterName"])
                for item in entries
                if isinstance(item, dict) and isinstance(item.get("clusterName"), str)
            )
        ),
        version=version_of(meta),
        uid=text(meta.get("uid")),
        raw={"metadata": {key: meta[key] for key in ("labels", "ownerReferences") if key in meta}},
        scores=_scores(entries),
    )


def _scores(entries: Sequence[object]) -> tuple[int, ...] | None:
    """As `Decision.scores` has them."""
    found: list[int] = []
    for item in entries:
        if not isinstance(item, dict) or item.get("reason") != "" or "clusterName" not in item:
            return None
        score = item.get("score", 0)
        if type(score) is not int or len(item) != (3 if score else 2):
            return None
        found.append(_SHARED.get(score, score))
    return _same(tuple(found))


@lru_cache(maxsize=1_024)
def _same(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """One value for equal ones: a hundred placements name the same clusters, with the same scores."""
    return found


_SHARED = {score: score for score in range(-100, 101)}
"""Numbers that stand in many decisions are one object each."""


def decode_score(obj: Obj) -> Score:
    """An AddOnPlacementScore. A validUntil that cannot be read counts as long past."""
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    until = status.get("validUntil")
    return Score(
        text(meta.get("namespace")),
        text(meta.get("name")),
        {
            item["name"]: item["value"]
            for item in listed(status.get("scores"))
            if isinstance(item, dict)
            and isinstance(item.get("name"), str)
            and type(item.get("value")) is int
        },
        None if until is None else parse_instant(until) or _EXPIRED,
    )
