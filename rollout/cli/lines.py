"""What does a rollout look like in a log? One line for each change that a reader would act on.

A line a cluster would bury the others in a large fleet. So a stage is told of when it begins, passes,
is blocked for another reason or counts another failure, and at each tenth of its clusters (of few
clusters, at each five or more).
"""

from collections.abc import Sequence
from datetime import timedelta

from rollout.cli.ages import brief, stopwatch
from rollout.cli.figures import Subject, figures, hindrance, result, standing, subjects
from rollout.cli.tables import Table, lines, widths
from rollout.cli.verdict import Verdict
from rollout.cli.views import NoteView, Snapshot, StageView
from rollout.model.instants import parse_instant

_MOST_PARTS = 10
_LEAST_PART = 5  # clusters; a stage smaller than two of them is told of only at its end


class Teller:
    """Turns snapshots into lines; remembers what it has told."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str, str], tuple[object, ...]] = {}
        self._notes: dict[str, NoteView] = {}
        self._verdicts: dict[str, Verdict] = {}

    def tell(self, snapshot: Snapshot) -> list[str]:
        """The lines for what is new in this snapshot; often none."""
        found = subjects(snapshot)
        several = len(found) > 1
        told: list[str] = []
        for subject in found:
            whose = f"{subject.key} " if several else ""
            if subject.rollout is not None:
                told += self._of_notes(subject, snapshot, whose)
                told += self._of_stages(subject, snapshot, whose)
            told += self._of_verdict(subject, snapshot)
        return told

    def _of_notes(self, subject: Subject, snapshot: Snapshot, whose: str) -> list[str]:
        notes: Sequence[NoteView] = subject.rollout.notes if subject.rollout else ()
        last = self._notes.get(subject.key)
        new = list(notes)
        for i in range(len(notes) - 1, -1, -1):
            if notes[i] is last or notes[i] == last:
                new = list(notes[i + 1 :])
                break
        if new:
            self._notes[subject.key] = new[-1]
        return [
            f"{stopwatch(note.at - snapshot.started)} {whose}{note.reason}: {note.message}"
            for note in new
        ]

    def _of_stages(self, subject: Subject, snapshot: Snapshot, whose: str) -> list[str]:
        at = stopwatch(snapshot.now - snapshot.started)
        told: list[str] = []
        for i, stage in enumerate(subject.rollout.stages if subject.rollout else ()):
            key, mark = (subject.key, f"{i} {stage.title}"), _mark(stage)
            if self._stages.get(key) != mark:
                before, self._stages[key] = self._stages.get(key), mark
                if before is not None or mark != _UNTOUCHED:
                    told.append(f"{at} {whose}{stage_line(stage)}")
        return told

    def _of_verdict(self, subject: Subject, snapshot: Snapshot) -> list[str]:
        """A line where the workload comes to a standstill, or goes on after one."""
        last = self._verdicts.get(subject.key)
        self._verdicts[subject.key] = subject.found
        same = last is not None and (last.code, last.reason) == (
            subject.found.code,
            subject.found.reason,
        )
        if same or (last is None and not subject.found.is_final):
            return []
        at = stopwatch(snapshot.now - snapshot.started)
        return [f"{at} {subject.key} {subject.found.sign} {subject.found}"]


_UNTOUCHED = (False, "", 0, 0, False, False)


def _mark(stage: StageView) -> tuple[object, ...]:
    """What must differ for a stage to be told of again."""
    found = figures((stage,))
    begun = found.in_flight + found.soaked + found.failures > 0
    parts = max(1, min(_MOST_PARTS, stage.members // _LEAST_PART))
    part = found.soaked * parts // stage.members if stage.members else 0
    over = begun and found.soaked + found.failures >= stage.members
    return (stage.passed, hindrance(stage), found.failures, part, begun, over)


def stage_line(stage: StageView) -> str:
    """``prod-canary-west #0: 10/10 soaked, passed``."""
    found, stands = figures((stage,)), standing(stage)
    parts = [f"{found.soaked}/{stage.members} soaked"]
    parts += [f"{count} {word}" for _, count, word in found.counted() if word != "soaked"]
    if stage.passed:
        parts.append("passed")
    elif hindrance(stage):
        parts.append(f"{stands.word.lower()}: {stage.blocked}")
    return f"{stage.title}: {', '.join(parts)}"


def summary(last: Snapshot, wall: timedelta) -> list[str]:
    """The table that a run ends with.

    Args:
        wall: how long the run took here; its duration in fleet time is in the snapshot.
    """
    rows = tuple(_summed(subject, last, wall) for subject in subjects(last))
    header = ("WORKLOAD", "RESULT", "CLUSTERS", "SOAKED", "FAILED", "FLEET TIME", "WALL TIME")
    table = Table(header, rows)
    return lines(table, widths(table))


def _summed(subject: Subject, last: Snapshot, wall: timedelta) -> tuple[str, ...]:
    found = subject.figures
    return (
        subject.key,
        result(subject.found),
        str(found.members),
        str(found.soaked),
        str(found.failures),
        brief(_lasted(subject, last)),
        brief(wall),
    )


def _lasted(subject: Subject, last: Snapshot) -> timedelta:
    """From the start of the run to when the workload came to its verdict, or to now."""
    if subject.found.is_final:
        conditions = (subject.obj.get("status") or {}).get("conditions") or []
        moments = [
            moment
            for condition in conditions
            if condition.get("type") in ("Ready", "Progressing")
            and (moment := parse_instant(condition.get("lastTransitionTime"))) is not None
        ]
        if moments:
            return max(max(moments) - last.started, timedelta(0))
    return last.now - last.started
