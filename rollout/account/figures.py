"""The signs, colours and words for phases, stages and workloads: one table for every view."""

import re
from collections.abc import Mapping

from rollout.account.states import Code, StageState, WorkloadState
from rollout.model.waits import Reason
from rollout.strategies.base import Phase
from rollout.strategies.states import HEALTH_UNVERIFIED

SIGNS: dict[Phase, str] = {
    Phase.SOAKED: "✔",
    Phase.SOAKING: "◷",
    Phase.PROGRESSING: "◌",
    Phase.OUTDATED: "◌",
    Phase.FAILING: "⚠",
    Phase.FAILED: "✖",
    Phase.LOST: "✖",
    Phase.SKIPPED: "•",
    Phase.HELD: "‖",
    Phase.UNRENDERED: "‖",
    Phase.WAITING: "•",
}
STATE_SIGNS: dict[StageState, str] = {
    StageState.PASSED: "✔",
    StageState.HALTED: "✖",
    StageState.HELD: "‖",
    StageState.PROGRESSING: "◌",
    StageState.FAILING: "⚠",
    StageState.SOAKING: "◷",
    StageState.SOAKED: "◷",
    StageState.WAITING: "•",
}
CODE_SIGNS: dict[Code, str] = {
    Code.DONE: "✔",
    Code.FAILED: "✖",
    Code.WAITING: "◌",
    Code.PERSON: "‖",
    Code.TOLERATED: "⚠",
}
COLORS = {"✔": "green", "◷": "cyan", "◌": "blue", "‖": "yellow", "⚠": "yellow", "✖": "red"}

_UNDONE = re.compile(r" was undone by (.+?) \(unverified\)")
_RESULTS = {
    Code.DONE: "done",
    Code.TOLERATED: "done, with failures",
    Code.FAILED: "failed",
    Code.PERSON: "needs a person",
    Code.WAITING: "not done",
}


def counted(phases: Mapping[Phase, int]) -> list[tuple[str, int, str]]:
    """(sign, count, word) of each phase that has clusters, in the order of the signs."""
    return [
        (sign, phases[phase], phase.value.lower())
        for phase, sign in SIGNS.items()
        if phases.get(phase, 0) > 0
    ]


def in_flight(phases: Mapping[Phase, int]) -> int:
    """Clusters that hold a slot."""
    return sum(n for phase, n in phases.items() if phase.holds_slot)


def result(state: WorkloadState) -> str:
    """How a rollout has ended, for a person: ``✔ done``, ``✔ done, HealthUnverified``,
    ``✖ failed: MaxFailuresExceeded``.
    """
    sign = CODE_SIGNS[state.code]
    if state.reason == Reason.DELETING:
        return f"{sign} being deleted"
    if state.reason == Reason.ROLLED_BACK and (undone := _UNDONE.search(state.message)):
        return f"{sign} undone by {undone[1]}"
    if state.is_done:
        doubt = f", {HEALTH_UNVERIFIED}" if HEALTH_UNVERIFIED in state.message else ""
        return f"{sign} {_RESULTS[state.code]}{doubt}"
    return f"{sign} {_RESULTS[state.code]}: {state.reason}"


def status_line(key: str, state: WorkloadState) -> str:
    """``✔ default/web: RolledOut: 20 clusters succeeded``."""
    return f"{CODE_SIGNS[state.code]} {key}: {state}"
