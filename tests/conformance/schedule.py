"""Suite ``schedule``: filtering, scoring and selection, in profile ``ocm``."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from rollout.api.decoding import decode
from rollout.model.cluster import Cluster, Score
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, SCORE
from rollout.model.names import PLACEMENT_LABEL
from rollout.model.placement import Placement
from rollout.placement import ocm
from rollout.placement.framework import Cycle
from rollout.placement.index import ClusterIndex
from tests.conformance.placement_sync import instant
from tests.conformance.suite import Excuse, Json, Vector

FOREIGN_WORDS = ("values", "key", "compilation failed", "[values", "name")
"""How messages begin that come from Kubernetes' validation and from cel-go; compared by code."""


def clusters_of(given: Json) -> list[Cluster]:
    """The clusters; a claim without a value has the default of its Go type, as the vectors say."""
    found = []
    for obj in given or ():
        cluster = decode(MANAGED_CLUSTER, obj)
        assert isinstance(cluster, Cluster)
        listed = (obj.get("status") or {}).get("clusterClaims") or ()
        claims = {claim["name"]: claim.get("value", "") for claim in listed}
        found.append(replace(cluster, claims=claims))
    return found


def cycle_of(given: Json) -> Cycle:
    placement = decode(PLACEMENT, given["placement"])
    assert isinstance(placement, Placement)
    own: set[str] = set()
    counts: Counter[str] = Counter()
    for page in given["placementDecisions"] or ():
        meta = page["metadata"]
        names = [d["clusterName"] for d in (page.get("status") or {}).get("decisions") or ()]
        labelled = (meta.get("labels") or {}).get(PLACEMENT_LABEL)
        if (meta["namespace"], labelled) == (placement.namespace, placement.name):
            own.update(names)
        else:
            counts.update(names)
    scores: dict[str, dict[str, Score]] = {}
    for obj in given["addOnPlacementScores"] or ():
        score = decode(SCORE, obj)
        assert isinstance(score, Score)
        scores.setdefault(score.name, {})[score.cluster] = score
    return Cycle(
        placement,
        instant(given["now"]),
        previous=frozenset(own),
        counts=counts,
        scores=lambda name: scores.get(name, {}),
    )


class ScheduleSuite:
    name = "schedule"
    exceptions: tuple[Excuse, ...] = ()

    def run(self, given: Json) -> Json:
        candidates = clusters_of(given["clusters"])
        index = ClusterIndex([*candidates, *clusters_of(given["otherClusters"])])
        pool = index.pool(index.bits(c.name for c in candidates))
        cycle = cycle_of(given)
        found = ocm.select(cycle, pool, candidates)
        results = [
            {"name": r.name, "weight": r.weight, "scores": r.by_cluster(found.names)}
            for r in found.rankings
        ]
        return {
            "filterResults": [
                {"name": s.name, "clusters": list(s.left.names)} for s in found.stages
            ],
            "prioritizerResults": sorted(results, key=lambda r: (r["name"], r["weight"])),
            "scores": found.total_by_cluster(),
            "decisions": list(found.chosen),
            "numOfUnscheduled": found.unmet,
            "requeueAfter": found.recheck_at
            and (found.recheck_at - cycle.now) / timedelta(seconds=1),
            "status": {
                "code": found.status.code.value,
                "message": found.status.message,
                "plugin": found.status.plugin,
            },
        }

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        statuses = expected.get("statusOneOf") or [expected["status"]]
        found = {key for key in got if key != "status" and got[key] != expected[key]}
        is_same = any(_same(status, got["status"]) for status in statuses)
        return found if is_same else {*found, "status"}


def _same(expected: Json, got: Json) -> bool:
    if expected["message"].startswith(FOREIGN_WORDS):
        return bool((expected["code"], expected["plugin"]) == (got["code"], got["plugin"]))
    return bool(expected == got)
