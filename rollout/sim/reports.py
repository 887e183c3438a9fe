"""The conditions that a simulated agent writes.

Reasons, messages and the rules of merging are OCM's (work agent spec 3.4, 4 and 4.3): Applied and
Available always, further conditions only where a condition rule defines them. A transition time
changes when the status changes, whatever the generation.
"""

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from rollout.api.fields import listed, mapping
from rollout.model.kinds import Obj
from rollout.model.names import APPLIED, AVAILABLE, DEGRADED, PROGRESSING
from rollout.sim.template import RuleFacts, WorkTemplate

DELETING = "Deleting"
AGGREGATED = "ConditionRulesAggregated"

Said = tuple[str, str, str, str]
"""type, status, reason, message."""


class AgentReport(Enum):
    """One report of an agent on a work; the values are kept in state files."""

    STALE = 0  # rules evaluated on the old object, stamped with the new generation
    APPLIED_STALE = 1  # applied now, the evaluation still the old one
    APPLYING = 2
    READY = 3
    DEGRADED = 4
    UNAVAILABLE = 5
    APPLY_FAILED = 6
    DELETING = 7
    REMOVE = 8  # the resources are gone: the finalizer goes
    APPLIED = 9  # applied now, not evaluated since


_APPLIED = (APPLIED, "True", "AppliedManifestWorkComplete", "Apply manifest work complete")
_FAILED = (APPLIED, "False", "AppliedManifestWorkFailed", "Failed to apply manifest work")
_APPLIED_MANIFEST = (
    APPLIED,
    "True",
    "AppliedManifestComplete",
    "Apply manifest complete",
)
_REFUSED_MANIFEST = (
    APPLIED,
    "False",
    "AppliedManifestFailed",
    "Failed to apply manifest: refused",
)
_AVAILABLE = (AVAILABLE, "True", "ResourcesAvailable", "All resources are available")
_DELETING = (DELETING, "True", "WorkDeleting", "ManifestWork is being deleted")
_PROGRESSING_IN = {AgentReport.APPLYING, AgentReport.DEGRADED, AgentReport.UNAVAILABLE}


def _rule(rule: RuleFacts, report: AgentReport) -> Said:
    match rule.condition:
        case "Progressing":
            is_true = report in _PROGRESSING_IN
        case "Degraded":
            is_true = report is AgentReport.DEGRADED
        case _:  # Complete and the like: reached when all is well
            is_true = report is AgentReport.READY
    return rule.condition, "True" if is_true else "False", AGGREGATED, rule.says(is_true)


@lru_cache(maxsize=1024)
def _stated(report: AgentReport, template: WorkTemplate) -> tuple[Said, ...]:
    """What a report states by itself; STALE and APPLIED_STALE repeat earlier conditions besides."""
    match report:
        case AgentReport.STALE:
            return ()
        case AgentReport.APPLIED | AgentReport.APPLIED_STALE:
            return (_APPLIED,)
        case AgentReport.APPLY_FAILED:
            return (_FAILED,)
        case AgentReport.DELETING | AgentReport.REMOVE:
            return (_DELETING,)
    rules = tuple(_rule(rule, report) for rule in template.rules)
    if report is AgentReport.APPLYING:
        return (_APPLIED, *rules)
    if report is AgentReport.UNAVAILABLE:
        total = max(len(template.metas), 1)
        message = f"1 of {total} resources are not available"
        return (_APPLIED, (AVAILABLE, "False", "ResourcesNotAvailable", message), *rules)
    return (_APPLIED, _AVAILABLE, *rules)


def trouble(template: WorkTemplate) -> AgentReport:
    """The report of a work that was ready and no longer is.

    Where feedback on its workloads is asked for, they exist and none of them is ready.
    """
    if DEGRADED in template.conditions or template.asked:
        return AgentReport.DEGRADED
    return AgentReport.APPLYING if PROGRESSING in template.conditions else AgentReport.UNAVAILABLE


@lru_cache(maxsize=16_384)
def condition(said: Said, generation: int, since: str) -> Obj:
    """A condition as it goes over the wire; equal ones are one object for the whole fleet."""
    kind, status, reason, message = said
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": since,
    }


def said_of(work: Obj) -> list[Obj]:
    """The conditions that a work carries."""
    found = listed(mapping(work.get("status")).get("conditions"))
    return [c for c in found if isinstance(c, dict)]


def conditions(
    old: Iterable[object],
    report: AgentReport,
    template: WorkTemplate,
    *,
    generation: int,
    now: str,
) -> list[Obj]:
    """The list to write over ``old``; ``now`` is the agent's own clock, RFC 3339.

    Conditions of others are kept; those of rules that are no longer there go.
    """
    known: dict[str, Obj] = {}
    rules = template.conditions
    for item in old:
        if not isinstance(item, dict):
            continue
        kind = item.get("type")
        if isinstance(kind, str) and (item.get("reason") != AGGREGATED or kind in rules):
            known[kind] = item
    for said in _statements(known, report, template, rules):
        kind, status, _, _ = said
        before = known.get(kind)
        since = now
        if before is not None and before.get("status") == status:
            since = _since(before) or now
        known[kind] = condition(said, generation, since)
    return list(known.values())


def _statements(
    known: dict[str, Obj], report: AgentReport, template: WorkTemplate, rules: frozenset[str]
) -> Iterable[Said]:
    if report not in (AgentReport.STALE, AgentReport.APPLIED_STALE):
        return _stated(report, template)
    again = [
        (kind, str(c.get("status")), str(c.get("reason", "")), str(c.get("message", "")))
        for kind, c in known.items()
        if kind == AVAILABLE or kind in rules
    ]
    return [*_stated(report, template), *again]


class Statuses:
    """Patches of a work's status, each made once for all works with the same past and report.

    Most works of a fleet are alike, so this saves time and memory. Bounded.

    Args:
        with_manifests: write ``resourceStatus`` too; a work that asks for it gets it anyway.
    """

    _MOST = 2_048

    def __init__(self, *, with_manifests: bool) -> None:
        self._with_manifests = with_manifests
        self._known: dict[tuple[object, ...], tuple[Obj, object]] = {}

    def of(
        self, old: object, report: AgentReport, template: WorkTemplate, *, generation: int, now: str
    ) -> Obj:
        """The merge patch of a status that was ``old``."""
        past = old if isinstance(old, dict) else {}
        said = listed(past.get("conditions"))
        entries = mapping(past.get("resourceStatus")).get("manifests")
        # By identity: an entry of ours is one object for the fleet. What is remembered stays alive.
        key = (report.value, id(template), generation, now, id(entries), *map(id, said))
        known = self._known.get(key)
        if known is not None:
            return known[0]
        status: Obj = {
            "conditions": conditions(said, report, template, generation=generation, now=now)
        }
        tells = self._with_manifests or template.asked
        if tells and report is not AgentReport.DELETING:
            told = manifest_status(entries, report, template, generation=generation, now=now)
            status["resourceStatus"] = {"manifests": told}
        if len(self._known) >= self._MOST:
            self._known.clear()
        changes = {"status": status}
        self._known[key] = (changes, (template, entries, tuple(said)))
        return changes


def holds(
    report: AgentReport, template: WorkTemplate, current: Iterable[Obj], generation: int
) -> bool:
    """Whether a work already has all conditions of a report, at this generation."""
    found = {
        (c.get("type"), c.get("status"))
        for c in current
        if c.get("observedGeneration") == generation
    }
    stated = _stated(report, template)
    return bool(stated) and all((kind, status) in found for kind, status, _, _ in stated)


def manifest_status(
    old: object, report: AgentReport, template: WorkTemplate, *, generation: int, now: str
) -> list[Obj]:
    """``status.resourceStatus.manifests``: per manifest its identity, Applied and, once it is, Available.

    Applied has a new transition time for every generation; condition rules appear only on the work
    itself.
    """
    before = [mapping(entry) for entry in old] if isinstance(old, list) else []
    found: list[Obj] = []
    for meta in template.metas:
        past: Obj = next((each for each in before if each.get("resourceMeta") == meta), {})
        entry = {"resourceMeta": meta, "conditions": _entry(past, report, generation, now)}
        asked = template.asked.get(meta["ordinal"])
        feedback = _feedback(*asked, report) if asked else None
        feedback = feedback or past.get("statusFeedback")
        found.append({**entry, "statusFeedback": feedback} if feedback else entry)
    return found


def _feedback(kind: str, replicas: int, report: AgentReport) -> Obj | None:
    """The well-known status of a workload; None where this report does not change it."""
    if report not in (AgentReport.READY, AgentReport.DEGRADED):
        return None
    is_well = report is AgentReport.READY
    if kind == "Job":
        value = {"type": "String", "string": "True" if is_well else "False"}
        return {"values": [{"name": "JobComplete", "fieldValue": value}]}
    words = {
        "Deployment": ("Replicas", "ReadyReplicas"),
        "DaemonSet": ("DesiredNumberScheduled", "NumberReady"),
    }.get(kind)
    if words is None:
        return None
    counts = (replicas, replicas if is_well else 0)
    return {
        "values": [
            {"name": name, "fieldValue": {"type": "Integer", "integer": count}}
            for name, count in zip(words, counts, strict=True)
        ]
    }


def _since(condition: Obj) -> str:
    """When a condition came to be so, "" where it does not say: anybody may have written it."""
    since = condition.get("lastTransitionTime")
    return since if isinstance(since, str) else ""


def _entry(before: Obj, report: AgentReport, generation: int, now: str) -> list[Obj]:
    told = [mapping(each) for each in listed(before.get("conditions"))]
    known = {kind: each for each in told if isinstance(kind := each.get("type"), str)}
    if report is not AgentReport.STALE:
        said = _REFUSED_MANIFEST if report is AgentReport.APPLY_FAILED else _APPLIED_MANIFEST
        old = known.get(APPLIED, {})
        same = old.get("observedGeneration") == generation and old.get("status") == said[1]
        known[APPLIED] = condition(said, generation, (_since(old) if same else "") or now)
    if report in (AgentReport.READY, AgentReport.DEGRADED, AgentReport.UNAVAILABLE):
        is_there = report is not AgentReport.UNAVAILABLE
        old = known.get(AVAILABLE, {})
        status = "True" if is_there else "False"
        known[AVAILABLE] = {
            "type": AVAILABLE,
            "status": status,
            "reason": "ResourceAvailable" if is_there else "ResourceNotAvailable",
            "message": f"Resource is {'' if is_there else 'not '}available",
            "lastTransitionTime": (_since(old) if old.get("status") == status else "") or now,
        }
    return list(known.values())
