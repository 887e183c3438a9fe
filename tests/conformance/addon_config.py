"""One pass over a ClusterManagementAddOn, in profile strict, compared on what matters.

Compared: which add-ons get which configurations in this pass; which are told that they are configured;
reason of each progression's Progressing condition. We carry no twin of OCM's controllers: where strict
answers otherwise on purpose, `tests.conformance.addon_excuses` says for which inputs, and which row
rules it.

OCM keeps hashes in the status of the ClusterManagementAddOn and of each ManagedClusterAddOn; the
configuration objects themselves are no part of the input, so what is known of them is read from there.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from rollout.fleet.addons import AddOns
from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.addon import ConfigRef, Resource
from rollout.model.events import Change, Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    PLACEMENT,
    PLACEMENT_DECISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.policy import Policy
from rollout.planning.plan import Plan
from rollout.rollouts.addon_configs import Known
from rollout.runtime.planners import plan_now, planners
from tests.conformance.addon_excuses import EXCUSES
from tests.conformance.suite import Excuse, Json, Vector, unlike

KINDS: tuple[tuple[str, Kind], ...] = (
    ("placements", PLACEMENT),
    ("placementDecisions", PLACEMENT_DECISION),
    ("managedClusterAddOns", MANAGED_CLUSTER_ADDON),
)
LONG_AGO = timedelta(hours=1)


class AddOnConfigSuite:
    """`addon_config`."""

    name = "addon_config"
    exceptions: Sequence[Excuse] = EXCUSES

    def run(self, given: Json) -> Json:
        now = parse_instant(given["now"])
        assert now is not None
        fleet = Fleet(Policy(schedules_here=False), trackers=(AddOns,))
        (tracker,) = fleet.trackers
        assert isinstance(tracker, AddOns)
        tracker.known.update(known_configs(given))
        objects = [(kind, obj) for field, kind in KINDS for obj in given.get(field) or []]
        objects.append((CLUSTER_MANAGEMENT_ADDON, given["clusterManagementAddOn"]))
        for number, (kind, obj) in enumerate(objects, 1):
            stored = _stored(obj, number)
            event = Event(ref_of(kind, stored), Change.ADDED, stored, number)
            fleet.apply(event, now - LONG_AGO)
        plan = plan_now(
            planners(rolls_addons=True)[CLUSTER_MANAGEMENT_ADDON],
            fleet,
            Ref(CLUSTER_MANAGEMENT_ADDON, "app"),
            now,
        )
        return _normal(plan, given)

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        theirs = said_by_ocm(expected, vector.input)
        found = unlike(theirs, got) - {"progressing"}
        for placement in theirs["progressing"].keys() | got["progressing"].keys():
            said = [each["progressing"].get(placement, []) for each in (theirs, got)]
            found |= _unlike_conditions(*said)
        return found


def _unlike_conditions(theirs: list[list[str]], ours: list[list[str]]) -> set[str]:
    """In what the conditions of one placement differ: whether there is one, or what it says."""
    if len(theirs) != len(ours):
        return {"progressing"}
    words = ("progressing.status", "progressing.reason", "progressing.message")
    pairs = (zip(words, *each, strict=True) for each in zip(theirs, ours, strict=True))
    return {word for pair in pairs for word, one, other in pair if one != other}


OWNER = {"metadata": {"uid": "uid-of-app", "ownerReferences": [{"uid": "uid-of-app"}]}}


def _stored(obj: Obj, number: int) -> Obj:
    """As an API server would hand it out, with a version; that it is owned is seen to already."""
    meta = {**OWNER["metadata"], **obj["metadata"], "resourceVersion": str(number)}
    return {**obj, "metadata": meta}


def known_configs(given: Json) -> dict[ConfigRef, Known]:
    """Configuration objects whose hash some status tells; the add-on's own status comes first."""
    found: dict[ConfigRef, Known] = {}
    for reference in (*_of_addon(given), *_of_clusters(given)):
        desired = reference.get("desiredConfig") or {}
        resource = Resource(reference.get("group", ""), reference["resource"])
        ref = ConfigRef(resource, desired.get("namespace", ""), desired.get("name", ""))
        spec_hash = desired.get("specHash", "")
        if spec_hash:
            found.setdefault(ref, Known(spec_hash, reference.get("lastObservedGeneration", 0)))
    return found


def _of_addon(given: Json) -> Iterator[Obj]:
    status = given["clusterManagementAddOn"].get("status") or {}
    yield from status.get("defaultConfigReferences") or ()
    for progression in status.get("installProgressions") or ():
        yield from progression.get("configReferences") or ()


def _of_clusters(given: Json) -> Iterator[Obj]:
    """The hash of a cluster's own configuration is in its own status, and nowhere else."""
    for addon in given.get("managedClusterAddOns") or ():
        own = {
            (c.get("group", ""), c["resource"], c.get("namespace", ""), c["name"])
            for c in (addon.get("spec") or {}).get("configs") or ()
        }
        for reference in (addon.get("status") or {}).get("configReferences") or ():
            desired = reference.get("desiredConfig") or {}
            key = (reference.get("group", ""), reference["resource"])
            if (*key, desired.get("namespace", ""), desired.get("name")) in own:
                yield reference


def _normal(plan: Plan, given: Json) -> Json:
    statuses = {
        a["metadata"]["namespace"]: a.get("status") or {} for a in given["managedClusterAddOns"]
    }
    progressions = (given["clusterManagementAddOn"].get("status") or {}).get("installProgressions")
    for write in plan.writes:
        status = getattr(write, "status", None)
        if status is None:
            continue
        if write.ref.kind is MANAGED_CLUSTER_ADDON:
            cluster = write.ref.namespace
            statuses[cluster] = {**statuses[cluster], **status}
        elif write.ref.kind is CLUSTER_MANAGEMENT_ADDON:
            progressions = status.get("installProgressions", progressions)
    clusters = {
        cluster: (status.get("configReferences") or [], status.get("conditions") or [])
        for cluster, status in statuses.items()
    }
    return _normalised(clusters, progressions or [])


def said_by_ocm(expected: Json, given: Json) -> Json:
    """What OCM answered, in the same normal form."""
    clusters = {
        addon["cluster"]: (addon["configReferences"] or [], addon["configured"] or [])
        for addon in expected["managedClusterAddOns"] or []
    }
    return _normalised(clusters, expected["installProgressions"] or [])


def carried(given: Json) -> dict[str, list[list[str]]]:
    """What each cluster carries before the pass, in the same normal form."""
    return {
        addon["metadata"]["namespace"]: _configs(
            (addon.get("status") or {}).get("configReferences") or []
        )
        for addon in given["managedClusterAddOns"]
    }


def _normalised(clusters: dict[str, tuple[list[Obj], list[Obj]]], progressions: list[Obj]) -> Json:
    return {
        "configs": {c: _configs(references) for c, (references, _) in clusters.items()},
        "configured": {
            c: [x["status"] for x in conditions if x["type"] == names.CONFIGURED]
            for c, (_, conditions) in clusters.items()
        },
        "progressing": {
            f"{p['namespace']}/{p['name']}": [
                [x["status"], x["reason"], x["message"]]
                for x in p.get("conditions") or []
                if x["type"] == names.PROGRESSING
            ]
            for p in progressions
        },
    }


def _configs(references: list[Obj]) -> list[list[str]]:
    """By resource; within one the order counts."""
    found = [
        [
            r.get("group", ""),
            r["resource"],
            (r.get("desiredConfig") or {}).get("namespace", ""),
            (r.get("desiredConfig") or {}).get("name", ""),
            (r.get("desiredConfig") or {}).get("specHash", ""),
        ]
        for r in references
    ]
    return sorted(found, key=lambda config: config[:2])
