"""What does a rollout look like in a log? One line for each change that a reader would act on.

A line a cluster would bury the others in a large fleet. So a stage is told of when it begins, passes,
is blocked for another reason or counts another failure, and at each tenth of its clusters (of few
clusters, at each five or more).
"""

from datetime import timedelta

from rollout.account.figures import CODE_SIGNS, counted, in_flight, result
from rollout.account.states import WorkloadState
from rollout.account.tree import FleetAccount, NoteAccount, StageAccount, WorkloadAccount
from rollout.account.words import brief, stopwatch
from rollout.cli.tables import text_table
from rollout.strategies.base import Phase

_MOST_PARTS = 10
_LEAST_PART = 5  # clusters; a stage smaller than two of them is told of only at its end


class Teller:
    """Turns accounts into lines; remembers what it has told."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str, str], tuple[object, ...]] = {}
        self._notes: dict[str, NoteAccount] = {}
        self._states: dict[str, WorkloadState] = {}

    def tell(self, fleet: FleetAccount) -> list[str]:
        """The lines for what is new in this account; often none."""
        several = len(fleet.workloads) > 1
        told: list[str] = []
        for workload in fleet.workloads:
            whose = f"{workload.key} " if several else ""
            told += self._of_notes(workload, fleet, whose)
            told += self._of_stages(workload, fleet, whose)
            told += self._of_state(workload, fleet)
        return told

    def _of_notes(self, workload: WorkloadAccount, fleet: FleetAccount, whose: str) -> list[str]:
        notes = workload.notes
        last = self._notes.get(workload.key)
        new = list(notes)
        for i in range(len(notes) - 1, -1, -1):
            if notes[i] is last or notes[i] == last:
                new = list(notes[i + 1 :])
                break
        if new:
            self._notes[workload.key] = new[-1]
        return [
            f"{stopwatch(note.at - fleet.started)} {whose}{note.reason}: {note.message}"
            for note in new
        ]

    def _of_stages(self, workload: WorkloadAccount, fleet: FleetAccount, whose: str) -> list[str]:
        at = stopwatch(fleet.now - fleet.started)
        told: list[str] = []
        for i, (title, stage) in enumerate(workload.stages):
            key, mark = (workload.key, f"{i} {title}"), _mark(stage)
            if self._stages.get(key) != mark:
                before, self._stages[key] = self._stages.get(key), mark
                if before is not None or mark != _UNTOUCHED:
                    told.append(f"{at} {whose}{stage_line(title, stage)}")
        return told

    def _of_state(self, workload: WorkloadAccount, fleet: FleetAccount) -> list[str]:
        """A line where the workload comes to a standstill, or goes on after one."""
        state = workload.state
        last = self._states.get(workload.key)
        self._states[workload.key] = state
        same = last is not None and (last.code, last.reason) == (state.code, state.reason)
        if same or (last is None and not state.is_final):
            return []
        at = stopwatch(fleet.now - fleet.started)
        return [f"{at} {workload.key} {CODE_SIGNS[state.code]} {state}"]


_UNTOUCHED = (False, "", 0, 0, False, False)


def _mark(stage: StageAccount) -> tuple[object, ...]:
    """What must differ for a stage to be told of again."""
    soaked, failures = stage.phases.get(Phase.SOAKED, 0), _failures(stage)
    begun = in_flight(stage.phases) + soaked + failures > 0
    parts = max(1, min(_MOST_PARTS, stage.members // _LEAST_PART))
    part = soaked * parts // stage.members if stage.members else 0
    over = begun and soaked + failures >= stage.members
    return (stage.passed, stage.blocked, failures, part, begun, over)


def _failures(stage: StageAccount) -> int:
    return sum(n for phase, n in stage.phases.items() if phase.is_failure)


def stage_line(title: str, stage: StageAccount) -> str:
    """``prod-canary-west #0: 10/10 soaked, passed``."""
    parts = [f"{stage.phases.get(Phase.SOAKED, 0)}/{stage.members} soaked"]
    parts += [f"{count} {word}" for _, count, word in counted(stage.phases) if word != "soaked"]
    if stage.passed:
        parts.append("passed")
    elif stage.blocked:
        parts.append(f"{stage.state.value.lower()}: {stage.blocked}")
    return f"{title}: {', '.join(parts)}"


def summary(last: FleetAccount, wall: timedelta) -> list[str]:
    """The table that a run ends with.

    Args:
        wall: how long the run took here; its duration in fleet time is in the account.
    """
    header = ("WORKLOAD", "RESULT", "CLUSTERS", "SOAKED", "FAILED", "FLEET TIME", "WALL TIME")
    return text_table(header, (_summed(workload, last, wall) for workload in last.workloads))


def _summed(workload: WorkloadAccount, last: FleetAccount, wall: timedelta) -> tuple[str, ...]:
    return (
        workload.key,
        result(workload.state),
        str(workload.members),
        str(workload.phases.get(Phase.SOAKED, 0)),
        str(workload.failed),
        brief(_lasted(workload, last)),
        brief(wall),
    )


def _lasted(workload: WorkloadAccount, last: FleetAccount) -> timedelta:
    """From the start of the run to when the workload came to its end, or to now."""
    ended = workload.wait.since if workload.state.is_final else None
    return max((ended or last.now) - last.started, timedelta(0))
