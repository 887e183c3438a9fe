"""Chooses the scores that decisions carry, and that order groups with `sortBy: Score`.

A change of scores alone changes the decisions at most once per ``scoreRateLimit``: until then scores,
and the order that follows from them, are those that the pages tell. Who is selected, and what the
Placement asks for, is no matter of the limit: where one of them has changed, the latest scores count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.model.instants import parse_instant
from rollout.model.names import PLACEMENT_SATISFIED
from rollout.model.placement import Decision, Placement
from rollout.placement.framework import FOREVER, PlacementSelection, later


@dataclass(frozen=True, slots=True)
class ToldScores:
    """Scores by cluster. ``held``: they are those of the pages, since it is too early for others.

    ``due``: when others may be told; None for never.
    """

    by_cluster: Mapping[str, int]
    held: bool = False
    due: datetime | None = None


def told_scores(
    placement: Placement, selection: PlacementSelection, own: Sequence[Decision], now: datetime
) -> ToldScores:
    """The scores that the decisions on this selection tell, where ``own`` are those there are."""
    # Told of only where somebody asks for them: OCM writes none, and pages change with each score.
    by_score = placement.sort_by == "Score"
    latest = selection.total_by_cluster() if by_score else {}
    due = _due(placement, now)
    pages = {cluster for page in own for cluster in page.clusters}
    if now >= due or pages != set(selection.chosen) or _is_edited(placement):
        return ToldScores(latest)
    told = {
        cluster: score
        for page in own
        for cluster, score in zip(page.clusters, page.scores or (), strict=False)
    }
    if all(told.get(cluster) == latest.get(cluster, 0) for cluster in pages):
        return ToldScores(latest, held=True)
    kept = {**latest, **told} if by_score else latest
    return ToldScores(kept, held=True, due=None if due == FOREVER else due)


def _due(placement: Placement, now: datetime) -> datetime:
    status = placement.raw.get("status") or {}
    last = parse_instant(status.get("lastScoreUpdateTime"))
    limit = timedelta(seconds=placement.score_rate_limit_seconds)
    return now if last is None else later(last, limit)


def _is_edited(placement: Placement) -> bool:
    """Whether the spec is another than the one that was decided last."""
    known = placement.conditions.get(PLACEMENT_SATISFIED)
    return known is None or known.observed_generation != placement.generation
