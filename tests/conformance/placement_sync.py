"""Suite ``placement_sync``: a whole pass over one Placement, in profile ``strict``.

Compared: which clusters every PlacementDecision group names afterwards, labels, counts, groups, and
type, status and reason of the conditions; applied to our own plan's writes.
"""

from datetime import datetime

from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.model.instants import parse_instant
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    Kind,
    key_of,
)
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL
from rollout.model.writes import Create, Delete, Patch, PatchStatus
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Plan
from tests.conformance.placement_excuses import EXCUSES
from tests.conformance.suite import Json, Vector, unlike


def store_of(given: Json) -> ClusterStore:
    store = ClusterStore()

    def put(kind: Kind, obj: Json) -> None:
        meta = obj["metadata"]
        store.put(kind, key_of(meta.get("namespace", ""), meta["name"]), decode(kind, obj))  # type: ignore[arg-type]  # the suite feeds placement kinds only

    for kind, field in (
        (CLUSTER_SET, "clusterSets"),
        (CLUSTER_SET_BINDING, "clusterSetBindings"),
        (MANAGED_CLUSTER, "clusters"),
        (PLACEMENT_DECISION, "placementDecisions"),
    ):
        for obj in given.get(field) or ():
            put(kind, obj)
    put(PLACEMENT, given["placement"])
    return store


def after(given: Json, plan: Plan) -> tuple[dict[str, Json], Json]:
    """PlacementDecisions by key and the Placement's status once all writes have landed."""
    pages = {
        key_of(d["metadata"]["namespace"], d["metadata"]["name"]): d
        for d in given["placementDecisions"] or ()
    }
    status = dict(given["placement"].get("status") or {})
    for write in plan.writes:
        key = write.ref.key
        match write:
            case Create(obj=obj):
                pages[key] = obj
            case Delete():
                del pages[key]
            case PatchStatus(status=changes) if write.ref.kind == PLACEMENT:
                status |= changes
            case PatchStatus(status=changes):
                pages[key] = {**pages[key], "status": changes}
            case Patch(changes=changes):
                meta = pages[key]["metadata"]
                labels = {**(meta.get("labels") or {}), **changes["metadata"].get("labels", {})}
                pages[key] = {**pages[key], "metadata": {**meta, "labels": labels}}
    return pages, status


def outcome(pages: Json, status: Json) -> Json:
    """What is compared. Labels are not: a page that exists gets them one pass later from OCM."""
    return {
        "decisions": sorted([p["namespace"], p["name"], p["clusters"]] for p in pages),
        "conditions": [
            {key: c[key] for key in ("type", "status", "reason")}
            for c in sorted(status.get("conditions") or (), key=lambda c: c["type"])
        ],
        "numberOfSelectedClusters": status.get("numberOfSelectedClusters") or 0,
        "decisionGroups": status.get("decisionGroups") or [],
    }


def _flat(answer: Json) -> Json:
    """Each type of condition as a field of its own."""
    said = {f"conditions.{c['type']}": c for c in answer["conditions"]}
    return {**{key: value for key, value in answer.items() if key != "conditions"}, **said}


def labelled_as_grouped(pages: Json, status: Json, namespace: str) -> bool:
    """Whether every page of the status's groups carries the labels of its group."""
    found = {page["name"]: page["labels"] for page in pages if page["namespace"] == namespace}
    return all(
        found[name].get(GROUP_INDEX_LABEL) == str(group["decisionGroupIndex"])
        and found[name].get(GROUP_NAME_LABEL) == group["decisionGroupName"]
        for group in status.get("decisionGroups") or ()
        for name in group["decisions"]
        if name in found
    )


def instant(text: str) -> datetime:
    found = parse_instant(text)
    assert found is not None
    return found


def _statuses(plan: Plan) -> Json:
    """The fields that the plan writes to the Placement's status."""
    return next(
        (w.status for w in plan.writes if isinstance(w, PatchStatus) and w.ref.kind == PLACEMENT),
        {},
    )


class PlacementSyncSuite:
    name = "placement_sync"
    exceptions = EXCUSES

    def run(self, given: Json) -> Json:
        store = store_of(given)
        meta = given["placement"]["metadata"]
        now = instant(given["now"])
        plan = PlacementPlanner().plan(f"{meta['namespace']}/{meta['name']}", store, now)
        pages, status = after(given, plan)
        listed = [
            {
                "namespace": page["metadata"]["namespace"],
                "name": page["metadata"]["name"],
                "labels": page["metadata"].get("labels") or {},
                "clusters": [
                    d["clusterName"] for d in (page.get("status") or {}).get("decisions") or ()
                ],
            }
            for page in pages.values()
        ]
        if "decisionGroups" in _statuses(plan) and not labelled_as_grouped(
            listed, status, meta["namespace"]
        ):
            raise AssertionError("labels and status tell of different groups")
        return outcome(listed, status)

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        theirs = outcome(expected["placementDecisions"], expected["status"])
        return unlike(_flat(theirs), _flat(got))
