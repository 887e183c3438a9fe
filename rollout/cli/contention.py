"""Checks of `rollout doctor`: other controllers on the hub, and leftovers of our own."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.cli.diagnosis import CheckResult, Level, Send, ask
from rollout.cli.leases import leader
from rollout.errors import Gone
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.instants import parse_instant
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    LEASE,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    WORKLOADS,
    Kind,
    Obj,
    key_of,
)
from rollout.model.wording import first_of
from rollout.rollouts.record import CLUSTERS, HEAD

OURS = "rollout"
"""How an API server calls us in managedFields: our User-Agent up to its first slash."""
RECENT = timedelta(minutes=10)
SAMPLE = 200
"""So many objects of a kind are looked at."""
MANAGER_PATH = "/apis/operator.open-cluster-management.io/v1/clustermanagers"
OCM_LOCKS = ("placement-lock",)


# -- who else writes -----------------------------------------------------------------------------


def check_leases(send: Send, namespace: str, name: str, now: datetime) -> Iterator[CheckResult]:
    """Does one of us lead, and is one of OCM's controllers of the same objects alive?"""
    found = False
    for lease in ask(send, path_of(LEASE)).get("items") or ():
        meta, spec = lease["metadata"], lease.get("spec") or {}
        where = f"{meta['namespace']}/{meta['name']}"
        holder = leader(lease, now)
        if meta["name"] in OCM_LOCKS and holder:
            yield CheckResult(
                "second controller",
                Level.PROBLEM,
                f"OCM's placement controller is alive: {holder} holds the Lease {where}",
                "let only one of the two decide: run ours with --no-schedule-placements, or switch"
                " OCM's off (docs/kubernetes.md, Takeover)",
            )
        if (meta["namespace"], meta["name"]) == (namespace, name):
            if holder:
                yield CheckResult("leader", Level.OK, f"{holder} leads")
            else:
                yield CheckResult(
                    "leader",
                    Level.PROBLEM,
                    f"nobody leads: the Lease {where} was last renewed at {spec.get('renewTime')}",
                    "look at the pods of the controller and at their logs",
                )
            found = True
    if not found:
        what = f"no controller has led here yet: there is no Lease {key_of(namespace, name)}"
        fix = "start one, or give the -n and --lease-name of the one that runs"
        yield CheckResult("leader", Level.NOTE, what, fix)


@dataclass(frozen=True, slots=True)
class _FeatureGate:
    """A feature gate of a ClusterManager that switches a controller of OCM's on."""

    part: str  # of its spec
    feature: str
    by_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _ContestedPart:
    """A part of a kind that is ours alone, and what of OCM's writes it too where both run."""

    kind: Kind
    part: str
    rival: str
    gate: _FeatureGate | None = None  # None: a ClusterManager cannot switch it off
    option: str = ""  # of ours, that leaves the part to the rival
    of_addons: bool = False

    @property
    def switch(self) -> str:
        """What is to be switched off: ours or theirs."""
        how = f": the feature gate {self.gate.feature} of the ClusterManager" if self.gate else ""
        return f"{self.option}, or {self.rival}{how}" if self.option else f"{self.rival}{how}"


_WORKLOADS = _FeatureGate("workConfiguration", "ManifestWorkReplicaSet", by_default=False)
_ADDONS = _FeatureGate("addOnManagerConfiguration", "AddonManagement", by_default=True)
_WORK_CONTROLLER = "OCM's ManifestWorkReplicaSet controller"
CONTESTED = (
    _ContestedPart(
        kind=PLACEMENT_DECISION,
        part="f:status",
        rival="OCM's placement controller",
        option="--no-schedule-placements",
    ),
    _ContestedPart(kind=REPLICA_SET, part="f:status", rival=_WORK_CONTROLLER, gate=_WORKLOADS),
    _ContestedPart(kind=MANIFEST_WORK, part="f:spec", rival=_WORK_CONTROLLER, gate=_WORKLOADS),
    _ContestedPart(
        kind=CLUSTER_MANAGEMENT_ADDON,
        part="f:status",
        rival="OCM's add-on manager",
        gate=_ADDONS,
        option="--no-roll-addons",
        of_addons=True,
    ),
)
"""The one list of these; the checks of writers and of feature gates both follow from it."""


def _contested(*, addons: bool) -> Iterator[_ContestedPart]:
    """What others may write too; of add-ons only where we roll them out."""
    return (each for each in CONTESTED if addons or not each.of_addons)


def check_writers(send: Send, now: datetime, *, addons: bool = False) -> Iterator[CheckResult]:
    """Who has written, lately, what only we should write? Told by managedFields."""
    for contested in _contested(addons=addons):
        kind, part = contested.kind, contested.part
        writers: dict[str, tuple[datetime, str]] = {}
        query = f"?limit={SAMPLE}"
        if kind is MANIFEST_WORK:
            query += f"&labelSelector={names.WORK_OWNER_LABEL}"
        try:
            items = ask(send, path_of(kind) + query).get("items") or ()
        except Gone:
            if not contested.of_addons:
                raise
            continue  # a hub may do without add-ons
        for obj in items:
            for manager, at in writers_of(obj, part):
                if manager != OURS and at >= writers.get(manager, (at, ""))[0]:
                    meta = obj["metadata"]
                    writers[manager] = (at, key_of(meta.get("namespace", ""), meta["name"]))
        fresh = {m: said for m, said in writers.items() if now < said[0] + RECENT}
        yield from _writer_findings(contested, fresh, old=set(writers) - set(fresh))


def writers_of(obj: Obj, part: str) -> Iterator[tuple[str, datetime]]:
    """Who wrote a part of an object, and when last."""
    for entry in obj["metadata"].get("managedFields") or ():
        at = parse_instant(entry.get("time"))
        if at is not None and part in (entry.get("fieldsV1") or {}):
            yield str(entry.get("manager")), at


def _writer_findings(
    contested: _ContestedPart, fresh: Mapping[str, tuple[datetime, str]], old: set[str]
) -> Iterator[CheckResult]:
    kind, word = contested.kind, contested.part.removeprefix("f:")
    for manager, (at, key) in sorted(fresh.items()):
        yield CheckResult(
            "second controller",
            Level.PROBLEM,
            f"{manager} wrote the {word} of a {kind.name} at {at.isoformat()} ({key})",
            f"two controllers of the same objects undo each other's work; switch one off:"
            f" {contested.switch}",
        )
    if old:
        yield CheckResult(
            "second controller",
            Level.NOTE,
            f"{', '.join(sorted(old))} once wrote the {word} of {kind.plural}, not lately",
            "nothing is to be done: these were taken over",
        )
    if not fresh:
        yield CheckResult(
            "second controller", Level.OK, f"nobody else writes the {word} of {kind.plural}"
        )


def check_feature_gates(send: Send, *, addons: bool = False) -> Iterator[CheckResult]:
    """Does a ClusterManager switch a controller on that does what ours does?"""
    rivals = {each.gate: each.rival for each in _contested(addons=addons) if each.gate}
    try:
        managers = ask(send, MANAGER_PATH).get("items") or ()
    except Gone:
        return
    for manager in managers:
        for feature_gate, rival in rivals.items():
            if not _is_on(feature_gate, manager.get("spec") or {}):
                continue
            name = manager["metadata"]["name"]
            yield CheckResult(
                "second controller",
                Level.PROBLEM,
                f"the ClusterManager {name} enables {rival}",
                f"set the mode of the feature gate {feature_gate.feature} in"
                f" spec.{feature_gate.part}.featureGates to Disable; what it made stays"
                " as it is, and ours goes on from there",
            )


def _is_on(feature_gate: _FeatureGate, spec: Obj) -> bool:
    said = (spec.get(feature_gate.part) or {}).get("featureGates") or ()
    modes = {each.get("feature"): each.get("mode") for each in said}
    unsaid = "Enable" if feature_gate.by_default else ""
    return bool(modes.get(feature_gate.feature, unsaid) == "Enable")


# -- what we keep --------------------------------------------------------------------------------


def check_records(send: Send) -> Iterator[CheckResult]:
    """Can every record be read, and does the workload that it is about still exist?"""
    workloads = {key for kind in WORKLOADS for key in _keys(send, kind)}
    pages = ask(send, path_of(ROLLOUT_RECORD)).get("items") or ()
    bad: list[str] = []
    left: list[str] = []
    for page in pages:
        meta = page["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        if not _is_readable(page.get("data") or {}):
            bad.append(where)
        if (meta.get("annotations") or {}).get(names.OWNER) not in workloads:
            left.append(where)
    if bad:
        yield CheckResult(
            "records",
            Level.PROBLEM,
            f"cannot be read: {first_of(sorted(bad), 5)}",
            "delete these RolloutRecords: the records are rebuilt from the works, soaks start again",
        )
    if left:
        yield CheckResult(
            "records",
            Level.NOTE,
            f"of workloads that are gone: {first_of(sorted(left), 5)}",
            "they can be deleted; a garbage collector does so where there is one",
        )
    if not bad:
        yield CheckResult("records", Level.OK, f"{len(pages)} pages, all readable")


def _keys(send: Send, kind: Kind) -> Iterator[str]:
    """Keys of all workloads of a kind; a hub may do without some."""
    try:
        items = ask(send, path_of(kind)).get("items") or ()
    except Gone:
        return
    for obj in items:
        yield key_of(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _is_readable(data: Mapping[str, object]) -> bool:
    for field in (HEAD, CLUSTERS):
        text = data.get(field)
        if text is None:
            continue
        try:
            if not isinstance(json.loads(str(text)), dict):
                return False
        except ValueError:
            return False
    return CLUSTERS in data or HEAD in data
