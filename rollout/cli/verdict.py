"""How does a workload stand, in one exit code and one sentence?

A condition counts only where it was written for the workload's present generation: right after an
apply the old ones still stand there, and they say nothing of the new template.
"""

from dataclasses import dataclass
from enum import IntEnum

from rollout.model.conditions import Condition, read_conditions
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.names import ADDON_LIFECYCLE, PROGRESSING, READY, ROLLOUT_HALTED


class Code(IntEnum):
    """Exit codes of `rollout status` and `rollout run`."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    PERSON = 4
    TOLERATED = 5


FAILED_REASONS = frozenset({"MaxFailuresExceeded", "Misconfigured"})
PERSON_REASONS = frozenset(
    {
        "Paused",
        "UnknownDecisionGroup",
        "MandatoryGroupEmptied",
        "ConcurrencyZero",
        "RemovalBrake",
        "NoTargets",
        "PlacementNotFound",
        "ConfigNotFound",
    }
)
"""Reasons for standing still that only a person can end. Any other may end by itself."""

_SIGNS = {
    Code.DONE: "✔",
    Code.FAILED: "✖",
    Code.WAITING: "◌",
    Code.PERSON: "॥",
    Code.TOLERATED: "⚠",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a workload stands: the code, a reason in one word, a sentence."""

    code: Code
    reason: str
    message: str = ""

    @property
    def sign(self) -> str:
        return _SIGNS[self.code]

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason

    @property
    def is_final(self) -> bool:
        """Whether there is nothing to wait for: it is done, or only a person can change it."""
        return self.code is not Code.WAITING


def verdict(obj: Obj) -> Verdict:
    """The verdict on a ManifestWorkReplicaSet, or a ClusterManagementAddOn, as it is stored."""
    if obj.get("kind") == CLUSTER_MANAGEMENT_ADDON.name:
        return _addon_verdict(obj)
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        return Verdict(Code.FAILED, "Deleting", "the workload is being deleted")
    generation = meta.get("generation")
    conditions = {
        kind: condition
        for kind, condition in read_conditions((obj.get("status") or {}).get("conditions")).items()
        if condition.observed_generation == generation
    }
    ready, progressing = conditions.get(READY), conditions.get(PROGRESSING)
    if ready is not None and ready.is_true:
        code = Code.TOLERATED if ready.reason == "RolledOutWithFailures" else Code.DONE
        return Verdict(code, ready.reason, ready.message)
    if progressing is None:
        return Verdict(
            Code.WAITING, "Waiting", f"generation {generation} has not been looked at yet"
        )
    return Verdict(_code(progressing), progressing.reason, progressing.message)


def _code(progressing: Condition) -> Code:
    return Code.WAITING if progressing.status != "False" else _stopped(progressing.reason)


def _stopped(reason: str) -> Code:
    if reason in FAILED_REASONS:
        return Code.FAILED
    return Code.PERSON if reason in PERSON_REASONS else Code.WAITING


def _addon_verdict(obj: Obj) -> Verdict:
    """The worst of its placements; an add-on that no placement installs has nothing to wait for."""
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        return Verdict(Code.FAILED, "Deleting", "the add-on is being deleted")
    if (meta.get("annotations") or {}).get(ADDON_LIFECYCLE) not in (None, "", "addon-manager"):
        return Verdict(Code.PERSON, "NotManaged", f"annotation {ADDON_LIFECYCLE} says otherwise")
    install = (obj.get("spec") or {}).get("installStrategy") or {}
    if install.get("type") != "Placements":
        return Verdict(Code.DONE, "Manual", "installed by hand, configured at once")
    told = {
        (p.get("namespace"), p.get("name")): p
        for p in (obj.get("status") or {}).get("installProgressions") or []
    }
    found = [
        _placement_verdict(told.get((p.get("namespace"), p.get("name"))) or {}, p, meta)
        for p in install.get("placements") or []
    ]
    if not found:
        return Verdict(Code.PERSON, "NoTargets", "the install strategy has no placements")
    worst = overall([each.code for each in found])
    return next(each for each in found if each.code is worst)


def _placement_verdict(progression: Obj, placement: Obj, meta: Obj) -> Verdict:
    conditions = read_conditions(progression.get("conditions"))
    halted, progressing = conditions.get(ROLLOUT_HALTED), conditions.get(PROGRESSING)
    where = f"placement {placement.get('namespace')}/{placement.get('name')}"
    if halted is None or halted.observed_generation != meta.get("generation"):
        return Verdict(Code.WAITING, "Waiting", f"{where} has not been looked at yet")
    words = halted.message or (progressing.message if progressing else "")
    message = words if words.startswith(where) else f"{where}: {words}"
    if halted.is_true:
        return Verdict(_stopped(halted.reason), halted.reason, message)
    code = {"Complete": Code.DONE, "CompleteWithFailures": Code.TOLERATED}.get(halted.reason)
    return Verdict(Code.WAITING if code is None else code, halted.reason, message)


_WORST_FIRST = (Code.FAILED, Code.PERSON, Code.WAITING, Code.TOLERATED)


def overall(codes: "list[Code]") -> Code:
    """One code for several workloads: the worst; failed, person, waiting, tolerated, done."""
    return next((code for code in _WORST_FIRST if code in codes), Code.DONE)
