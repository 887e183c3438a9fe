"""Explains why a Placement selects some clusters and refuses others, by asking the scheduler."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime

from rollout.analysis.snapshot import Snapshot
from rollout.model.kinds import Obj
from rollout.placement.explain import ClusterEvaluation, debug_json
from rollout.planning.placements import find_candidates

NOT_A_CANDIDATE = "it is in no ManagedClusterSet that is bound to the namespace and asked for"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cluster that could be selected.

    ``refused`` says by whom and why, "" where it passed every filter; then ``scores`` are
    prioritizer -> (weight, score), ``rank`` counts from 1. ``until``: when time alone changes that.
    """

    cluster: str
    _: KW_ONLY
    selected: bool
    refused: str = ""
    until: datetime | None = None
    rank: int = 0
    total: int = 0
    scores: Mapping[str, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedPlacement:
    """One Placement. ``decided`` counts what its PlacementDecisions name now; the rest is what they should.

    ``competing`` counts all candidates, also where the account is of one cluster alone.

    ``sets`` are the sets that candidates come from; ``reasons`` counts refusals that say the same.
    ``debug`` is the document that OCM's debug server gives.
    """

    key: str
    now: datetime
    status: str
    message: str
    sets: tuple[str, ...]
    wanted: int | None
    selected: int
    decided: int
    competing: int
    candidates: tuple[Candidate, ...]
    reasons: Mapping[str, int]
    recheck_at: datetime | None
    debug: Obj

    def candidate(self, cluster: str) -> Candidate | None:
        """One cluster's account; None where it is no candidate."""
        return next((c for c in self.candidates if c.cluster == cluster), None)

    def of(self, cluster: str) -> "ExplainedPlacement":
        """The account of one cluster alone, candidate or not; the counts stay those of all."""
        found = self.candidate(cluster) or Candidate(
            cluster, selected=False, refused=NOT_A_CANDIDATE
        )
        return replace(self, candidates=(found,))


def explain_placement(snapshot: Snapshot, key: str) -> ExplainedPlacement | None:
    """Every candidate of a Placement, the selected ones by rank; None where it does not exist."""
    view = snapshot.fleet.clusters
    placement = view.placement(key)
    if placement is None:
        return None
    selection, found = snapshot.placements.explain(key, view, snapshot.now)
    decided = {cluster for d in view.decisions(key) for cluster in d.clusters}
    sets = find_candidates(placement, view, frozenset()).eligible
    candidates = tuple(_candidate(each) for each in found)
    return ExplainedPlacement(
        key=key,
        now=snapshot.now,
        status=selection.status.code.value,
        message=selection.status.message,
        sets=sets,
        wanted=placement.number,
        selected=len(selection.chosen),
        decided=len(decided),
        competing=len(candidates),
        candidates=candidates,
        reasons=Counter(c.refused for c in candidates if c.refused),
        recheck_at=selection.recheck_at,
        debug=debug_json(placement, selection),
    )


def why_not(snapshot: Snapshot, key: str, cluster: str) -> str:
    """Why a Placement does not select a cluster, in one sentence."""
    account = explain_placement(snapshot, key)
    if account is None:
        return "the Placement does not exist"
    found = account.candidate(cluster)
    if found is None:
        return NOT_A_CANDIDATE
    if found.refused:
        return found.refused
    if found.selected:
        return "it will be selected: the decisions do not say so yet"
    return f"rank {found.rank} of those that qualify: numberOfClusters is {account.wanted}"


def _candidate(found: ClusterEvaluation) -> Candidate:
    if found.rejection is not None:
        refused = f"{found.rejection.plugin}: {found.rejection.reason}"
        return Candidate(
            found.cluster, selected=False, refused=refused, until=found.rejection.until
        )
    scores = {name: (weight, score or 0) for name, weight, score in found.scores}
    return Candidate(
        found.cluster,
        selected=found.chosen,
        refused="",
        until=None,
        rank=found.rank,
        total=found.total,
        scores=scores,
    )
