"""Reads a workload's stored status as one exit code, one reason and one sentence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Protocol

from rollout.model.conditions import Condition, read_condition, read_conditions
from rollout.model.intents import is_asked_for
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.names import (
    ADDON_LIFECYCLE,
    CALENDARS_FOLLOWED,
    PROGRESSING,
    READY,
    ROLLOUT_HALTED,
)
from rollout.model.waits import Grade, Reason, reason_of


class Code(IntEnum):
    """How a workload stands, as an exit code of `rollout status` and `rollout run`.

    2 is for a wrong call, so none of these is.
    """

    DONE = 0
    FAILED = 1
    WAITING = 3
    PERSON = 4
    TOLERATED = 5


_WORST_FIRST = tuple(Code(grade.exit_code) for grade in Grade)


def worst(codes: Iterable[Code]) -> Code:
    """The worst of some codes: failed, person, waiting, tolerated, done; done where there is none."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), Code.DONE)


def _code(reason: str) -> Code:
    """The code of something that stands still, or is done, for this reason."""
    known = reason_of(reason)
    return Code(known.grade.exit_code) if known is not None else Code.WAITING


@dataclass(frozen=True, slots=True)
class WorkloadState:
    """How a workload stands: the exit code, a reason in one CamelCase word, a sentence."""

    code: Code
    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason

    @property
    def is_final(self) -> bool:
        """Whether there is nothing to wait for: it is done, or only a person can change it."""
        return self.code is not Code.WAITING

    @property
    def is_done(self) -> bool:
        """Whether it is rolled out, perhaps with failures that are tolerated."""
        return self.code in (Code.DONE, Code.TOLERATED)


def state_of(obj: Obj) -> WorkloadState:
    """How a ManifestWorkReplicaSet or a ClusterManagementAddOn stands, as it is stored.

    A condition counts only where it was written for the workload's present generation: right after an
    apply the old ones still stand there, and they say nothing of the new template.
    """
    if obj.get("kind") == CLUSTER_MANAGEMENT_ADDON.name:
        return _addon_state(obj)
    meta = obj["metadata"]
    generation = meta.get("generation")
    stored = read_conditions((obj.get("status") or {}).get("conditions"))
    if meta.get("deletionTimestamp"):
        said = stored.get(PROGRESSING)
        known = said is not None and said.reason == Reason.DELETING
        text = said.message if said is not None and known else "the workload is being deleted"
        return WorkloadState(Code.FAILED, Reason.DELETING, text)
    current = {kind: c for kind, c in stored.items() if c.observed_generation == generation}
    ready, progressing = current.get(READY), current.get(PROGRESSING)
    if ready is not None and ready.is_true:
        is_whole = ready.reason != Reason.ROLLED_OUT_WITH_FAILURES
        code = Code.DONE if is_whole else Code.TOLERATED
        return WorkloadState(code, ready.reason, ready.message)
    if progressing is None:
        text = f"generation {generation} has not been looked at yet"
        return WorkloadState(Code.WAITING, Reason.WAITING, text)
    stands_still = progressing.status == "False"
    code = _code(progressing.reason) if stands_still else Code.WAITING
    return WorkloadState(code, progressing.reason, progressing.message)


class StageState(Enum):
    """How a stage stands: the worst that is going on in it, else how far it is."""

    PASSED = "Passed"
    HALTED = "Halted"
    HELD = "Held"
    PROGRESSING = "Progressing"
    FAILING = "Failing"
    SOAKING = "Soaking"
    SOAKED = "Soaked"  # all of it, and yet it has not passed
    WAITING = "Waiting"


class WriteTelling(Protocol):
    """A hub, as far as it tells whether anything is newer."""

    def written_since(self, version: int) -> bool | None: ...


def is_believed(hub: WriteTelling, obj: Obj) -> bool:
    """Whether the stored status of a workload is what an engine would leave now: it is an end, nobody
    has asked for anything, and nothing has been written since. On a server its controller sees to that.
    """
    meta = obj["metadata"]
    if not state_of(obj).is_final:
        return False
    newer = hub.written_since(int(meta["resourceVersion"]))
    return newer is None or not (newer or is_asked_for(meta.get("annotations") or {}))


# -- add-ons -----------------------------------------------------------------------------------


def _addon_state(obj: Obj) -> WorkloadState:
    """The worst of an add-on's placements; what no placement installs has nothing to wait for."""
    meta = obj["metadata"]
    install = (obj.get("spec") or {}).get("installStrategy") or {}
    if meta.get("deletionTimestamp"):
        return WorkloadState(Code.FAILED, Reason.DELETING, "the add-on is being deleted")
    if (meta.get("annotations") or {}).get(ADDON_LIFECYCLE) not in (None, "", "addon-manager"):
        text = f"annotation {ADDON_LIFECYCLE} says otherwise"
        return WorkloadState(Code.PERSON, Reason.NOT_MANAGED, text)
    if install.get("type") != "Placements":
        return WorkloadState(Code.DONE, Reason.MANUAL, "installed by hand, configured at once")
    told = {(p.get("namespace"), p.get("name")): p for p in _progressions(obj)}
    found = [
        _placement_state(told.get((p.get("namespace"), p.get("name"))) or {}, p, meta)
        for p in install.get("placements") or []
    ]
    if not found:
        text = "the install strategy has no placements"
        return WorkloadState(Code.PERSON, Reason.NO_TARGETS, text)
    return min(found, key=lambda each: _WORST_FIRST.index(each.code))


def _placement_state(progression: Obj, placement: Obj, meta: Obj) -> WorkloadState:
    conditions = read_conditions(progression.get("conditions"))
    halted, progressing = conditions.get(ROLLOUT_HALTED), conditions.get(PROGRESSING)
    where = f"placement {placement.get('namespace')}/{placement.get('name')}"
    if halted is None or halted.observed_generation != meta.get("generation"):
        return WorkloadState(Code.WAITING, Reason.WAITING, f"{where} has not been looked at yet")
    words = halted.message or (progressing.message if progressing else "")
    followed = conditions.get(CALENDARS_FOLLOWED)
    if followed is not None and not followed.is_true:
        words = f"{words}; {followed.message}"
    message = words if words.startswith(where) else f"{where}: {words}"
    return WorkloadState(_halted_code(halted), halted.reason, message)


def _halted_code(halted: Condition) -> Code:
    known = reason_of(halted.reason)
    is_over = halted.is_true or (known is not None and known.is_done)
    return _code(halted.reason) if is_over else Code.WAITING


def conditions_of(obj: Obj, reason: str | None = None) -> Iterator[tuple[str, Condition]]:
    """Every condition that is said of a workload, with the placement it is said of ("": all).

    Args:
        reason: only those that have it; None: all.
    """
    status = obj.get("status") or {}
    for found in _conditions(status, reason):
        yield "", found
    for progression in _progressions(obj):
        placement = f"{progression.get('namespace')}/{progression.get('name')}"
        for found in _conditions(progression, reason):
            yield placement, found


def _conditions(status: Obj, reason: str | None) -> Iterator[Condition]:
    for raw in status.get("conditions") or []:
        if reason is not None and (not isinstance(raw, dict) or raw.get("reason", "") != reason):
            continue
        if (found := read_condition(raw)) is not None:
            yield found


def _progressions(obj: Obj) -> list[Obj]:
    return (obj.get("status") or {}).get("installProgressions") or []
