"""One pass over a ManifestWorkReplicaSet, in profile strict, compared on what matters.

Compared: which clusters get a work created, updated, deleted; type, status and reason of OCM's three
conditions; the counts; the finalizers. We carry no twin of OCM's controller: where strict answers
otherwise on purpose, `tests.conformance.mwrs_excuses` says for which inputs, and which row rules it.

OCM ends a pass once it has written the finalizer; of our plan only that first wave is compared then.
OCM also deletes what is being deleted already, which changes nothing and is not compared. It removes
the finalizer in the pass that deletes; ours is removed once the deletes were seen, in a pass of its
own, which is made here too.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeGuard

from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
    key_of,
    ref_of,
)
from rollout.model.writes import Create, Delete, Patch, PatchStatus, PatchWork, RemoveFinalizer
from rollout.planning.plan import Plan, Write
from rollout.runtime.planners import plan_now, planners
from tests.conformance.mwrs_excuses import EXCUSES
from tests.conformance.suite import Excuse, Json, Vector, unlike

KINDS: tuple[tuple[str, Kind], ...] = (
    ("placements", PLACEMENT),
    ("placementDecisions", PLACEMENT_DECISION),
    ("manifestWorks", MANIFEST_WORK),
)
COUNTS = ("total", "applied", "available", "degraded", "progressing")
LONG_AGO = timedelta(hours=1)


class MwrsSyncSuite:
    """`mwrs_sync`."""

    name = "mwrs_sync"
    exceptions: Sequence[Excuse] = EXCUSES

    def run(self, given: Json) -> Json:
        now = parse_instant(given["now"])
        assert now is not None
        fleet = Fleet()
        objects = [(kind, obj) for field, kind in KINDS for obj in given.get(field) or []]
        objects.append((REPLICA_SET, given["manifestWorkReplicaSet"]))
        for number, (kind, obj) in enumerate(objects, 1):
            stored = _stored(obj, number)
            event = Event(ref_of(kind, stored), Change.ADDED, stored, number)
            fleet.apply(event, now - LONG_AGO)
        meta = given["manifestWorkReplicaSet"]["metadata"]
        key = key_of(meta["namespace"], meta["name"])
        plan = plan_now(planners()[REPLICA_SET], fleet, Ref(REPLICA_SET, key), now)
        if plan.writes and all(isinstance(write, Delete) for write in plan.writes):
            for number, work in enumerate(given.get("manifestWorks") or [], len(objects) + 1):
                going = _stored(_deleting(work), number)
                fleet.apply(
                    Event(ref_of(MANIFEST_WORK, going), Change.MODIFIED, going, number), now
                )
            plan = Plan(
                plan.waves
                + plan_now(planners()[REPLICA_SET], fleet, Ref(REPLICA_SET, key), now).waves
            )
        return _normal(plan, given["manifestWorkReplicaSet"])

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(_flat(said_by_ocm(expected, vector.input)), _flat(got))


def _flat(answer: Json) -> Json:
    """Each action, count and type of condition as a field of its own."""
    return {
        **{f"actions.{verb}": found for verb, found in answer["actions"].items()},
        **{f"conditions.{kind}": said for kind, *said in answer["conditions"]},
        **{f"counts.{key}": count for key, count in answer["counts"].items()},
        "finalizers": answer["finalizers"],
    }


def _stored(obj: Obj, number: int) -> Obj:
    """As an API server would hand it out: with a version and a uid."""
    meta = {"uid": f"uid-{number}", **obj["metadata"], "resourceVersion": str(number)}
    return {**obj, "metadata": meta}


def _deleting(work: Obj) -> Obj:
    """As it looks when its deletion has begun and an agent has still to let it go."""
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**work, "metadata": {**work["metadata"], **gone}}


VERBS: dict[type[Write], str] = {
    Create: "create",
    Patch: "update",
    PatchWork: "update",
    Delete: "delete",
}


def _normal(plan: Plan, replicaset: Obj) -> Json:
    made: dict[str, set[str]] = {verb: set() for verb in VERBS.values()}
    status: Obj = replicaset.get("status") or {}
    finalizers = replicaset["metadata"].get("finalizers") or []
    for write in _one_pass(plan):
        if isinstance(write, PatchStatus):
            status = {**status, **write.status}
        elif isinstance(write, RemoveFinalizer):
            finalizers = list(write.kept)
        elif write.ref.kind is MANIFEST_WORK:
            made[VERBS[type(write)]].add(write.ref.namespace)
        elif _is_finalizer(write):
            finalizers = write.changes["metadata"]["finalizers"]
    return _normalised(made, status, finalizers)


def _one_pass(plan: Plan) -> Sequence[Write]:
    first = plan.waves[0] if plan.waves else ()
    return first if first and _is_finalizer(first[0]) else plan.writes


def _is_finalizer(write: Write) -> TypeGuard[Patch]:
    return (
        isinstance(write, Patch)
        and write.ref.kind is REPLICA_SET
        and "finalizers" in write.changes.get("metadata", {})
    )


def said_by_ocm(expected: Json, given: Json) -> Json:
    """What OCM answered, in the same normal form."""
    going = {
        (work["metadata"]["namespace"], work["metadata"]["name"])
        for work in given.get("manifestWorks") or ()
        if work["metadata"].get("deletionTimestamp")
    }
    made: dict[str, set[str]] = {verb: set() for verb in VERBS.values()}
    for action in expected["actions"]:
        if action["verb"] != "delete" or (action["cluster"], action["name"]) not in going:
            made[action["verb"]].add(action["cluster"])
    return _normalised(made, expected["status"] or {}, expected["finalizers"] or [])


OURS = (names.PLACEMENT_VERIFIED, names.PLACEMENT_ROLLED_OUT, names.MANIFESTWORK_APPLIED)


def _normalised(made: dict[str, set[str]], status: Obj, finalizers: Sequence[str]) -> Json:
    summary = status.get("summary") or {}
    return {
        "actions": {verb: sorted(found) for verb, found in made.items()},
        "conditions": sorted(
            (c["type"], c["status"], c["reason"])
            for c in status.get("conditions") or []
            if c["type"] in OURS
        ),
        "counts": {key: summary.get(key, 0) for key in COUNTS},
        "finalizers": sorted(finalizers),
    }
