"""How does a workload stand, in one exit code and one sentence?

A condition counts only where it was written for the workload's present generation: right after an
apply the old ones still stand there, and they say nothing of the new template.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum

from rollout.analysis.standings import addon_standing, stopped
from rollout.model.conditions import read_conditions
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.names import PROGRESSING, READY
from rollout.model.waits import Grade

GRACE = timedelta(seconds=3)
"""Longer than an engine takes to hear of an annotation and to say what came of it: for so long an end
that stands there when somebody begins to wait is doubted."""


class Code(IntEnum):
    """Exit codes of `rollout status` and `rollout run`."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    PERSON = 4
    TOLERATED = 5


_CODES = {
    Grade.FAILED: Code.FAILED,
    Grade.PERSON: Code.PERSON,
    Grade.WAITING: Code.WAITING,
    Grade.TOLERATED: Code.TOLERATED,
    Grade.DONE: Code.DONE,
}
"""The worst first."""

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
        standing, grade = addon_standing(obj)
        return Verdict(_CODES[grade], standing.reason, standing.message)
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        said = read_conditions((obj.get("status") or {}).get("conditions")).get(PROGRESSING)
        waits = said is not None and said.reason == "Deleting"
        text = said.message if said and waits else "the workload is being deleted"
        return Verdict(Code.FAILED, "Deleting", text)
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
    still = progressing.status == "False"
    code = _CODES[stopped(progressing.reason)] if still else Code.WAITING
    return Verdict(code, progressing.reason, progressing.message)


def overall(codes: "list[Code]") -> Code:
    """One code for several workloads: the worst; failed, person, waiting, tolerated, done."""
    return next((code for code in _CODES.values() if code in codes), Code.DONE)
