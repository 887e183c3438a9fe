"""Shows a run while it goes on, as pictures on a terminal or line by line.

In a terminal a thread of rich's draws the newest account some ten times a second, however many there
are in between; elsewhere each line is written as it is told.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from rollout.account.figures import CODE_SIGNS, counted, in_flight, result
from rollout.account.states import Code, WorkloadState
from rollout.account.tree import FleetAccount, NoteAccount, StageAccount, WorkloadAccount
from rollout.account.words import brief, stopwatch
from rollout.cli.options import Options
from rollout.cli.patience import printing
from rollout.cli.tables import text_table
from rollout.cli.text import is_ascii, say
from rollout.clock import Clock
from rollout.strategies.base import Phase

FRAMES_PER_SECOND = 10

OnChange = Callable[[FleetAccount], None]


@contextmanager
def shown(options: Options, clock: Clock | None = None) -> Iterator[OnChange]:
    """What to hand each account to.

    Args:
        clock: fleet time, where it goes on between accounts.
    """
    if options.live:
        with _live(options, clock) as take:
            yield take
    else:
        teller = Teller()

        def tell(fleet: FleetAccount) -> None:
            for line in teller.tell(fleet):
                say(line)

        yield tell


@contextmanager
def _live(options: Options, clock: Clock | None) -> Iterator[OnChange]:
    from rich.console import Console  # noqa: PLC0415  # 50 ms, for nothing where output is piped
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from rollout.cli.picture import fleet_picture  # noqa: PLC0415

    newest: list[FleetAccount] = []
    plain = is_ascii(sys.stdout)

    def frame() -> object:
        if not newest:
            return Text("starting")
        now = clock.now() if clock is not None else None
        return fleet_picture(newest[0], now, plain=plain, width=console.width)

    def take(fleet: FleetAccount) -> None:
        newest[:] = [fleet]

    printing()
    console = Console(no_color=not options.color, highlight=False)
    with Live(
        get_renderable=frame,  # type: ignore[arg-type]  # whatever the picture gives
        console=console,
        refresh_per_second=FRAMES_PER_SECOND,
    ):
        yield take


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
                over = before is None and stage.passed and not workload.notes  # by an earlier run
                if (before is not None or mark != _UNTOUCHED) and not over:
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


def summary(last: FleetAccount, began: datetime, wall: timedelta) -> list[str]:
    """The table that a run ends with.

    Args:
        began: when this run began, in fleet time; an earlier one on the state file does not count.
        wall: how long this run took here.
    """
    header = ("WORKLOAD", "RESULT", "CLUSTERS", "SOAKED", "FAILED", "FLEET TIME", "WALL TIME")
    rows = (
        _summed(workload, _lasted(workload, began, last.now), wall) for workload in last.workloads
    )
    return text_table(header, rows)


def _summed(workload: WorkloadAccount, lasted: timedelta, wall: timedelta) -> tuple[str, ...]:
    return (
        workload.key,
        result(workload.state),
        str(workload.members),
        str(workload.phases.get(Phase.SOAKED, 0)),
        str(workload.failed),
        brief(lasted),
        brief(wall),
    )


def _lasted(workload: WorkloadAccount, began: datetime, now: datetime) -> timedelta:
    """From the start of the run to the end of the workload; to now where it waits, be it for a person."""
    if workload.code in (Code.WAITING, Code.PERSON):
        return now - began
    told = (note.at for note in workload.notes[-1:])
    return max(began, workload.wait.since or began, *told) - began
