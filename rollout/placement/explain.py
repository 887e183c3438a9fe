"""Says why each cluster was selected or not, from the inputs of the decision itself.

Source: OCM placement spec 5.1 for the debug JSON, to which status, reasons and selected are added.
"""

from dataclasses import KW_ONLY, dataclass

from rollout.model.kinds import Obj
from rollout.model.placement import Placement
from rollout.placement.framework import Cycle, PlacementSelection, Rejection
from rollout.placement.index import Pool
from rollout.placement.scheduler import DEFAULT_PLUGINS, Plugins


@dataclass(frozen=True, slots=True)
class ClusterEvaluation:
    """One cluster's way through an evaluation.

    ``rejection`` is the first thing that refused it; otherwise ``scores`` are (weight, score) by
    prioritizer, ``rank`` counts from 1 over all feasible clusters, and ``chosen`` says whether it
    was within the cut.
    """

    cluster: str
    rejection: Rejection | None = None
    _: KW_ONLY
    scores: tuple[tuple[str, int, int | None], ...] = ()
    total: int = 0
    rank: int = 0
    chosen: bool = False

    def __str__(self) -> str:
        if self.rejection is not None:
            return f"{self.cluster}: refused by {self.rejection.plugin}: {self.rejection.reason}"
        parts = ", ".join(f"{name} {score or 0} x {weight}" for name, weight, score in self.scores)
        verdict = (
            "selected"
            if self.chosen
            else "not selected: it ranks below the last cluster that numberOfClusters allows"
        )
        return f"{self.cluster}: {verdict}; rank {self.rank}, total {self.total} ({parts})"


def explain(
    cycle: Cycle, pool: Pool, selection: PlacementSelection, plugins: Plugins = DEFAULT_PLUGINS
) -> list[ClusterEvaluation]:
    """Every candidate, feasible ones by rank, then the refused by name.

    Cost: O(n log n) and one plain filter call for each refused cluster.
    """
    if selection.status.failed:
        plugin = selection.status.plugin or "Placement"
        failed = Rejection(plugin, f"the evaluation failed: {selection.status.message}")
        return [ClusterEvaluation(name, failed) for name in pool.names]
    chosen = frozenset(selection.chosen)
    order = sorted(range(len(selection.names)), key=lambda i: (-selection.totals[i], i))
    found = [
        ClusterEvaluation(
            selection.names[i],
            scores=tuple((r.name, r.weight, r.scores[i]) for r in selection.rankings),
            total=selection.totals[i],
            rank=rank,
            chosen=selection.names[i] in chosen,
        )
        for rank, i in enumerate(order, 1)
    ]
    feasible = selection.stages[-1].left.bits if selection.stages else pool.bits
    refused = pool.narrow(~feasible)
    return found + [_refused(cycle, name, refused, plugins) for name in refused.names]


def _refused(cycle: Cycle, name: str, pool: Pool, plugins: Plugins) -> ClusterEvaluation:
    cluster = pool.source.get(name)
    assert cluster is not None, "a pool names clusters of its index"
    for each in plugins.filters:
        rejection = each.admit(cycle, cluster)
        if rejection is not None:
            return ClusterEvaluation(name, rejection)
    return ClusterEvaluation(name, Rejection("Placement", "it was refused by a filter as a whole"))


def debug_json(placement: Placement, selection: PlacementSelection) -> Obj:
    """The debug document: keys are left out where they are empty."""
    meta = placement.raw.get("metadata", {})
    kept = ("name", "namespace", "labels", "annotations")
    totals = selection.total_by_cluster()
    document: Obj = {
        "placement": {
            "metadata": {key: meta[key] for key in kept if key in meta},
            "spec": placement.raw.get("spec", {}),
            "status": {},
        },
        "filteredPipelineResults": [
            {"name": stage.name, "filteredClusters": list(stage.left.names)}
            for stage in selection.stages
        ],
        "prioritizeResults": [
            {"name": r.name, "weight": r.weight, "scores": r.by_cluster(selection.names)}
            for r in selection.rankings
        ],
        "aggregatedScores": [
            {"clusterName": name, "score": total}
            for name, total in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
        ],
        "status": {
            "code": selection.status.code.value,
            "plugin": selection.status.plugin,
            "reasons": list(selection.status.reasons),
        },
        "selected": list(selection.chosen),
    }
    return {key: value for key, value in document.items() if value}
