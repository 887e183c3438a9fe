"""What is an add-on to the suite? Configurations that say which revision they are.

A revision is written ``<object>/<value>``: which AddOnDeploymentConfig a placement asks for, and what
its content is. Source: OCM add-on spec 2.4, 2.5; semantics row 21.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from rollout.clock import Clock
from rollout.fleet.addons import AddOns as Tracked
from rollout.fleet.fleet import Fleet
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.tracker import Tracker
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    Obj,
    Ref,
    kind_by_resource,
    ref_of,
)
from rollout.planning.addons import AddOnPlanner
from rollout.planning.plan import Planner
from rollout.runtime.planners import tracked
from rollout.sim.addon_agents import AddOnManager
from tests.safety import objects
from tests.safety.replicasets import reported
from tests.safety.subject import Carried, Controllers, Find, Said, Standing, stamp_of
from tests.safety.terms import Terms, terms_of

NAME = "hello"
ADDON = Ref(CLUSTER_MANAGEMENT_ADDON, NAME)
TUNING = kind_by_resource("example.com", "tunings", namespaced=True)
BASE, OTHER = (
    "base",
    "other",
)  # AddOnDeploymentConfigs: the default, and what placements can ask for
OWN = Ref(TUNING, f"{objects.NAMESPACE}/own")
"""What single clusters are given besides."""
_values: dict[str, str] = {}  # hash of a configuration's content -> the value that it stands for


def content(value: str) -> Obj:
    """The spec of a configuration with this value."""
    spec: Obj = {"customizedVariables": [{"name": "IMAGE", "value": value}]}
    _values[_hash({"spec": spec})] = value
    return spec


def config_ref(name: str) -> Ref:
    return Ref(ADDON_DEPLOYMENT_CONFIG, f"{objects.NAMESPACE}/{name}")


def refer(ref: Ref) -> Obj:
    where = {"namespace": ref.namespace, "name": ref.name}
    return {"group": ref.kind.group, "resource": ref.kind.plural, **where}


def carrier(cluster: str) -> Ref:
    return Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")


def deployed(cluster: str) -> Ref:
    """The work that an add-on's own controller makes."""
    return Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-deploy-0")


def _hash(obj: Obj) -> str:
    told = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata", "status")}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def config_asked(placement: Obj) -> str:
    """The AddOnDeploymentConfig that a placement asks for."""
    asked = [str(config["name"]) for config in placement.get("configs") or ()]
    return asked[0] if asked else BASE


def fingerprint(name: str, spec_hash: str) -> str:
    """How people name the revision that consists of this configuration."""
    kind = ADDON_DEPLOYMENT_CONFIG
    listed = [[kind.group, kind.plural, objects.NAMESPACE, name, spec_hash]]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]


def hash_of(value: str) -> str:
    """Of the content of a configuration with this value."""
    return _hash({"spec": content(value)})


class AddOns:
    """Implements `tests.safety.subject.Subject`."""

    name = "addon"
    ref = ADDON
    carrier = MANAGED_CLUSTER_ADDON
    later_wins = True
    keeps_revisions = False
    trackers: Sequence[Callable[[Fleet], Tracker]] = (ReplicaSets, Tracked)

    def planner(self) -> Planner[Fleet]:
        return tracked(Tracked, AddOnPlanner).planner()

    def controllers(self, hub: Hub, clock: Clock) -> Sequence[Controllers]:
        return (AddOnManager(hub, clock),)

    def fingerprint(self, workload: Obj, placement: Obj, find: Find) -> str:
        name = config_asked(placement)
        there = find(config_ref(name))
        return fingerprint(name, _hash(there)) if there else ""

    def share_key(self, placement: str) -> str:
        return f"{objects.NAMESPACE}/{placement}"

    # -- reading -------------------------------------------------------------------------------

    def placements(self, workload: Obj) -> list[Obj]:
        return list(workload["spec"]["installStrategy"]["placements"])

    def terms_of(self, workload: Obj, placement: Obj, find: Find) -> Terms:
        revision = self._asked(config_asked(placement), find)
        notes = workload["metadata"].get("annotations") or {}
        where = find(Ref(PLACEMENT, self.share_key(placement["name"])))
        strategy = where["spec"]["decisionStrategy"]["groupStrategy"] if where else {}
        return terms_of(
            revision,
            placement.get("rolloutStrategy") or {},
            notes,
            verified=names.HEALTH_GATE in notes,
            placement=placement["name"],
            unset_limit=strategy.get("clustersPerDecisionGroup"),
            hold="" if revision else "ConfigNotFound",
        )

    @staticmethod
    def _asked(name: str, find: Find) -> str:
        there = find(config_ref(name))
        return f"{name}/{_values[_hash(there)]}" if there else ""

    def is_ours(self, obj: Obj) -> bool:
        return bool(obj["metadata"]["name"] == NAME)

    def affects(self, ref: Ref) -> bool:
        return ref.kind is TUNING

    def carried(self, obj: Obj, find: Find) -> Carried | None:
        status = obj.get("status") or {}
        listed = status.get("configReferences") or []
        if not listed:
            return None
        notes = (find(ADDON) or {"metadata": {}})["metadata"].get("annotations") or {}
        health = _health(status, is_gated=names.HEALTH_GATE in notes)
        own = [r["desiredConfig"] for r in listed if r["resource"] == TUNING.plural]
        revision = "+".join(
            f"{(at := r['desiredConfig'])['name']}/{_values.get(at['specHash'], '?')}"
            for r in listed
            if r["resource"] != TUNING.plural
        )
        if own != _wanted(obj, find):
            revision += " with something else of its own"
        stamp = stamp_of(status, "Progressing", "ManifestApplied", "Degraded", "Available")
        return Carried(revision, health, stamp)

    def reported(self, cluster: str, well: bool, hub: Hub, now: datetime) -> Mapping[Ref, Obj]:
        return {
            ref_of(MANIFEST_WORK, work): reported(work, well, now)
            for work in hub.list(MANIFEST_WORK, cluster).items
            if ref_of(MANIFEST_WORK, work) == deployed(cluster)
        }

    def brought(self, before: Obj | None, changes: Obj, find: Find) -> str:
        if "configReferences" not in changes.get("status", {}):
            return ""
        known = before or {"metadata": {}}
        after = {**known, "status": {**(known.get("status") or {}), **changes["status"]}}
        if _desired(after) == _desired(known):
            return ""
        found = self.carried(after, find)
        return found.revision if found else ""

    def said(self, status: Obj, placement: str, generation: int, skipped: int) -> Said:
        entry = next(p for p in status["installProgressions"] if p["name"] == placement)
        told = {c["type"]: c for c in entry["conditions"]}
        halted, progressing = told[names.ROLLOUT_HALTED], told[names.PROGRESSING]
        counted = _MESSAGE.fullmatch(progressing["message"])
        assert counted is not None, progressing
        total, wanted = (int(counted[n]) for n in (1, 2))
        return Said(
            wanted + skipped,
            total,
            progressing["status"] == "False" or halted["reason"].startswith("Complete"),
            halted["reason"] if halted["status"] == "True" else "",
            halted["observedGeneration"] != generation,
            halted["reason"] == "Complete",
            {},
        )

    def counted(self, workload: Obj, standing: Standing, find: Find) -> Mapping[str, int]:
        return {}

    def kept(self, revisions: Sequence[Obj]) -> Mapping[str, str]:
        return {}

    def disowned(self, workload: Obj, carrier: Obj, placement: str) -> str:
        """One that carries the mark of this very add-on has it among its owners."""
        meta, uid = carrier["metadata"], workload["metadata"]["uid"]
        owners = {owner["uid"] for owner in meta.get("ownerReferences") or ()}
        mark = (meta.get("annotations") or {}).get(names.INSTALLED_BY)
        return "ownerReferences" if mark == uid and uid not in owners else ""

    def is_done(self, status: Obj, generation: int, revision: str) -> bool:
        progressions = status.get("installProgressions") or []
        asked = {
            _values.get(r["desiredConfig"]["specHash"])
            for p in progressions
            for r in p["configReferences"]
        }
        said = (self.said(status, p["name"], generation, 0) for p in progressions)
        return asked == {revision} and all(s.done and not s.stopped and not s.late for s in said)

    # -- judging -------------------------------------------------------------------------------

    def lacks(self, carrier: Obj, find: Find) -> bool:
        return any(not each["specHash"] for each in _wanted(carrier, find))

    def for_nobody(self, workload: Obj, carrier: Obj, find: Find) -> str:
        """What a person installed has the defaults, where no placement selects the cluster."""
        return "" if _is_installed(carrier) else self._asked(BASE, find)

    def may_not_go(self, carrier: Obj) -> str:
        return "" if _is_installed(carrier) else "a person installed it"

    def false_success(self, before: Obj, changes: Obj, find: Find) -> str:
        after = {**(before.get("status") or {}), **changes.get("status", {})}
        listed = after.get("configReferences") or []
        reasons = {c["reason"] for c in after.get("conditions") or [] if c["type"] == "Progressing"}
        if reasons != {"Completed"}:
            return ""
        work = find(deployed(before["metadata"]["namespace"]))
        if work is None:
            return "nothing is deployed"
        said = json.loads((work["metadata"].get("annotations") or {})[names.CONFIG_SPEC_HASH])
        wanted = [r["desiredConfig"]["specHash"] for r in listed]
        if sorted(said.values()) != sorted(wanted):
            return f"what is deployed is of {said}"
        true = {
            c["type"]
            for c in (work.get("status") or {}).get("conditions") or []
            if c["status"] == "True"
            and c.get("observedGeneration") == work["metadata"]["generation"]
        }
        return "" if {"Applied", "Available"} <= true else f"its work says only {sorted(true)}"


_MESSAGE = re.compile(r"selected clusters (\d+)\. configured addons \d+/(\d+) .*")


def _is_installed(carrier: Obj) -> bool:
    """Whether an install strategy made it."""
    return names.INSTALLED_BY in (carrier["metadata"].get("annotations") or {})


def _desired(obj: Obj) -> list[Obj]:
    status = obj.get("status") or {}
    return [r["desiredConfig"] for r in status.get("configReferences") or []]


def _wanted(obj: Obj, find: Find) -> list[Obj]:
    """What a cluster is to have of its own, by what there is now."""
    found: list[Obj] = []
    for config in (obj.get("spec") or {}).get("configs") or []:
        there = find(Ref(TUNING, f"{config['namespace']}/{config['name']}"))
        where = {"namespace": config["namespace"], "name": config["name"]}
        found.append({**where, "specHash": _hash(there) if there else ""})
    return found


def _is_applied(listed: Sequence[Obj]) -> bool:
    return all(r.get("lastAppliedConfig") == r["desiredConfig"] for r in listed)


def _health(status: Obj, *, is_gated: bool) -> str:
    said = {c["type"]: c for c in status.get("conditions") or []}
    told = {kind: condition["status"] for kind, condition in said.items()}
    reason, message = (said.get("Progressing", {}).get(field) for field in ("reason", "message"))
    if _is_applied(status["configReferences"]) and reason != "Progressing":
        well = told.get("Available", "Unknown") if is_gated else "True"
        return {"True": "succeeded", "False": "failed"}.get(well, "progressing")
    if reason == "ConfigurationUnsupported":
        return "failed"
    if reason != "Progressing" or message != "progressing... work is not ready":
        return "silent"
    return "failed" if told.get("ManifestApplied") == "False" else "progressing"
