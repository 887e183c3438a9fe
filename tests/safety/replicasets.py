"""What is a ManifestWorkReplicaSet to the suite? Templates that say which revision they are."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache

from rollout.clock import Clock
from rollout.fleet import replicasets
from rollout.fleet.fleet import Fleet
from rollout.fleet.tracker import Tracker
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.planning.plan import Planner
from rollout.planning.replicasets import ReplicaSetPlanner
from rollout.runtime.planners import tracked
from tests.safety import objects
from tests.safety.subject import Carried, Controllers, Find, Said, Standing, stamp_of
from tests.safety.terms import Terms, terms_of
from tests.support import make

WORKLOAD = Ref(REPLICA_SET, "default/web")
OWNER = WORKLOAD.key.replace("/", ".")
NAME = f"{WORKLOAD.name}-{hashlib.sha256(WORKLOAD.key.encode()).hexdigest()[:10]}"
"""Of each of its works, whatever else an agent writes into them."""


def template(revision: str, rules: bool) -> Obj:
    """A template whose one ConfigMap names the revision."""
    config = {"name": "cm", "namespace": "default"}
    found: Obj = {
        "workload": {
            "manifests": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": config,
                    "data": {"v": revision},
                }
            ]
        }
    }
    if rules:
        never = {"type": "CEL", "celExpressions": ["false"]}
        found["manifestConfigs"] = [
            {
                "resourceIdentifier": {"group": "", "resource": "configmaps", **config},
                "conditionRules": [
                    {"condition": kind, **never} for kind in ("Progressing", "Degraded")
                ],
            }
        ]
    return found


@cache
def fingerprint(revision: str, *, rules: bool) -> str:
    """How people name the revision."""
    return hash_of_template(template(revision, rules))


def hash_of_template(whole: Obj) -> str:
    """The hash of what a template, which is altered, comes to: defaults filled in, what is empty left out."""
    for config in whole.get("manifestConfigs", ()):
        config["feedbackScrapeType"] = "Poll"
        del config["resourceIdentifier"]["group"]
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def revision_of(spec: Obj | None) -> str:
    """Which revision a template or a work's spec is, "" where it cannot be told."""
    try:
        return str(spec["workload"]["manifests"][0]["data"]["v"]) if spec else ""
    except (KeyError, IndexError, TypeError):
        return ""


def replica_set(
    revision: str, rules: bool, strategies: Mapping[str, Obj], annotations: Mapping[str, str]
) -> Obj:
    return {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {
            "name": WORKLOAD.name,
            "namespace": WORKLOAD.namespace,
            "annotations": dict(annotations),
        },
        "spec": {
            "cascadeDeletionPolicy": "Background",
            "manifestWorkTemplate": template(revision, rules),
            "placementRefs": refs(strategies),
        },
    }


def refs(strategies: Mapping[str, Obj]) -> list[Obj]:
    return [{"name": name, "rolloutStrategy": one} for name, one in strategies.items()]


class ReplicaSets:
    """Implements `tests.safety.subject.Subject`."""

    name = "replicaset"
    ref = WORKLOAD
    carrier = MANIFEST_WORK
    later_wins = False
    keeps_revisions = True
    trackers: Sequence[Callable[[Fleet], Tracker]] = (replicasets.ReplicaSets,)

    def planner(self) -> Planner[Fleet]:
        return tracked(replicasets.ReplicaSets, ReplicaSetPlanner).planner()

    def controllers(self, hub: Hub, clock: Clock) -> Sequence[Controllers]:
        return ()

    def fingerprint(self, workload: Obj, placement: Obj, find: Find) -> str:
        asked = workload["spec"]["manifestWorkTemplate"]
        return fingerprint(revision_of(asked), rules=bool(asked.get("manifestConfigs")))

    def share_key(self, placement: str) -> str:
        return placement

    # -- reading -------------------------------------------------------------------------------

    def placements(self, workload: Obj) -> list[Obj]:
        return list(workload["spec"]["placementRefs"])

    def terms_of(self, workload: Obj, placement: Obj, find: Find) -> Terms:
        asked = workload["spec"]["manifestWorkTemplate"]
        return terms_of(
            revision_of(asked),
            placement.get("rolloutStrategy") or {},
            workload["metadata"].get("annotations") or {},
            verified=bool(asked.get("manifestConfigs")),
            placement=placement["name"],
        )

    def is_ours(self, obj: Obj) -> bool:
        is_named = obj["metadata"]["name"] == NAME
        return (
            is_named or (obj["metadata"].get("labels") or {}).get(names.WORK_OWNER_LABEL) == OWNER
        )

    def affects(self, ref: Ref) -> bool:
        return False

    def carried(self, obj: Obj, find: Find) -> Carried | None:
        decisive = "Progressing" if obj["spec"].get("manifestConfigs") else "Available"
        status = obj.get("status") or {}
        health = health_of(obj)
        kinds: tuple[str, ...] = (decisive, "Applied", "Degraded")
        if health == "failed":  # what was not applied is not well, whatever else becomes of it
            kinds = kinds[1:] if _is_applied(status) else ("Applied",)
        return Carried(revision_of(obj["spec"]), health, stamp_of(status, *kinds))

    def reported(self, cluster: str, well: bool, hub: Hub, now: datetime) -> Mapping[Ref, Obj]:
        return {
            Ref(MANIFEST_WORK, f"{cluster}/{work['metadata']['name']}"): reported(work, well, now)
            for work in hub.list(MANIFEST_WORK, cluster).items
            if self.is_ours(work)
        }

    def brought(self, before: Obj | None, changes: Obj, find: Find) -> str:
        if "spec" not in changes:
            return ""
        return revision_of(changes["spec"]) or revision_of((before or {}).get("spec"))

    def said(self, status: Obj, placement: str, generation: int, skipped: int) -> Said:
        conditions = {c["type"]: c for c in status["conditions"]}
        progressing = conditions["Progressing"]
        shares = {s["name"]: s["summary"]["desiredTotal"] for s in status["placementSummary"]}
        done = any(conditions[k]["status"] == "True" for k in ("Ready", "PlacementRolledOut"))
        return Said(
            shares.get(placement, 0),  # what could not be evaluated and selects none has no entry
            None,
            done,
            "" if done or progressing["status"] != "False" else progressing["reason"],
            any(c["observedGeneration"] != generation for c in conditions.values()),
            conditions["PlacementRolledOut"]["status"] == "True",
            next((s["summary"] for s in status["placementSummary"] if s["name"] == placement), {}),
        )

    def counted(self, workload: Obj, standing: Standing, find: Find) -> Mapping[str, int]:
        asked = revision_of(workload["spec"]["manifestWorkTemplate"])
        mine = {c: o for c, o in standing.carriers.items() if revision_of(o["spec"]) == asked}
        updated = (mine.keys() | standing.given) - standing.taken
        true = [_true(work) for work in mine.values()]
        return {
            "total": len(updated),
            "updated": len(updated),
            "applied": sum("Applied" in each for each in true),
            "available": sum("Available" in each for each in true),
            "progressing": sum("Progressing" in each for each in true),
            "degraded": sum("Degraded" in each for each in true),
        }

    def kept(self, revisions: Sequence[Obj]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for obj in revisions:
            asked = obj.get("template") or {}
            revision, rules = revision_of(asked), bool(asked.get("manifestConfigs"))
            name = fingerprint(revision, rules=rules)
            said = (obj["metadata"].get("annotations") or {}).get(names.REVISION)
            if said == name and obj["metadata"]["name"].endswith(f"-{name}"):
                found[name] = revision
        return found

    def disowned(self, workload: Obj, carrier: Obj, placement: str) -> str:
        labels = carrier["metadata"].get("labels") or {}
        notes = carrier["metadata"].get("annotations") or {}
        wanted = {names.WORK_OWNER_LABEL: OWNER, names.WORK_PLACEMENT_LABEL: placement}
        wrong = {key for key, value in wanted.items() if labels.get(key) != value}
        if carrier["metadata"]["name"] == NAME and notes.get(names.OWNER) != WORKLOAD.key:
            wrong.add(names.OWNER)
        return ", ".join(sorted(wrong))

    def is_done(self, status: Obj, generation: int, revision: str) -> bool:
        return any(
            c["type"] == "Ready" and c["status"] == "True" and c["observedGeneration"] == generation
            for c in status.get("conditions") or []
        )

    # -- judging -------------------------------------------------------------------------------

    def lacks(self, carrier: Obj, find: Find) -> bool:
        return False

    def for_nobody(self, workload: Obj, carrier: Obj, find: Find) -> str:
        return ""

    def may_not_go(self, carrier: Obj) -> str:
        return ""

    def false_success(self, before: Obj, changes: Obj, find: Find) -> str:
        return ""


def reported(work: Obj, well: bool, now: datetime) -> Obj:
    """A work of which its agent says so now."""
    said = {"Applied": well, "Available": well, "Progressing": False, "Degraded": not well}
    conditions = [
        make.condition(
            kind,
            str(is_true),
            work["metadata"]["generation"],
            since=objects.wire(now),
        )
        for kind, is_true in said.items()
    ]
    return {**work, "status": {**(work.get("status") or {}), "conditions": conditions}}


def _true(work: Obj) -> set[str]:
    """The conditions that are true of the work at its present generation."""
    return {
        c["type"]
        for c in (work.get("status") or {}).get("conditions") or []
        if c["status"] == "True" and c.get("observedGeneration") == work["metadata"]["generation"]
    }


def health_of(work: Obj) -> str:
    """What the agent says at the present generation."""
    generation = work["metadata"]["generation"]
    said = {
        c["type"]: c["status"]
        for c in (work.get("status") or {}).get("conditions") or []
        if c.get("observedGeneration") == generation
    }
    if said.get("Applied", "Unknown") == "Unknown":
        return "silent"
    if said["Applied"] == "False":
        return "failed"
    if work["spec"].get("manifestConfigs"):  # both rules, in every template of ours that has any
        if said.get("Degraded") == "True":
            return "failed"
        done = said.get("Progressing") == "False" and "Degraded" in said
        return "succeeded" if done else "progressing"
    return "succeeded" if said.get("Available") == "True" else "progressing"


def _is_applied(status: Obj) -> bool:
    found = (c.get("status") for c in status.get("conditions") or [] if c["type"] == "Applied")
    return next(found, "") == "True"
