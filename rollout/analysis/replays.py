"""Reads from a decision log how a rollout stood when each decision was made.

The log of a large fleet is long, so where its lines stand is looked up once, and only the lines of one
workload are read again.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from rollout.account.build import stage_account
from rollout.account.tree import StageAccount
from rollout.errors import ConfigError
from rollout.model.kinds import KINDS, Ref
from rollout.model.wording import first_of
from rollout.rollouts.line import Line
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.record import Record
from rollout.runtime.decisions import DecisionLine, Redecision, decided_again, folded
from rollout.strategies.base import Closed, Rollout, Step

MOST_NAMED = 3
_decode = msgspec.json.Decoder(DecisionLine).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDecision:
    """One decision: its line in the file, where that begins, and what was decided in a few words."""

    number: int
    offset: int
    at: datetime
    placement: str
    what: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRollout:
    """A workload as it stood at a decision: its rollouts by placement, with what was decided there.

    ``again`` is the decision, made once more with the code that is installed.
    """

    ref: Ref
    at: datetime
    lives: tuple[LiveRollout, ...]
    stages: tuple[tuple[str, StageAccount], ...]
    again: Redecision


class DecisionLogIndex:
    """Where the decisions of a file stand, by workload. For one thread.

    Raises: ConfigError for a line that is none, OSError where the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = (0, 0)  # inode, bytes that are known
        self._lines = 0
        self._found: dict[str, list[LoggedDecision]] = {}

    def workloads(self) -> list[str]:
        """What the log has decisions of, as ``Kind namespace/name``."""
        self._refresh()
        return sorted(name for name, lines in self._found.items() if _decisions(lines))

    def decisions(self, workload: str) -> list[LoggedDecision]:
        """The decisions of one workload in order; none where the log has none."""
        self._refresh()
        return _decisions(self._found.get(workload, []))

    def as_of(self, workload: str, number: int) -> ReplayedRollout | None:
        """How a workload stood at line ``number``; None where that is no decision of it."""
        steps: dict[str, tuple[DecisionLine, Rollout | None]] = {}
        again: Redecision | None = None
        for each, line, rollout in folded(self._read(workload, number)):
            if line.step is not None:
                steps[line.placement] = (line, rollout)
            elif line.placement in steps and rollout is not None:
                steps[line.placement] = (steps[line.placement][0], rollout)
            if each == number and line.what != "snapshot":
                again = decided_again(each, line, rollout)
        if again is None:
            return None
        kind, _, key = workload.partition(" ")
        ref, at = Ref(KINDS[kind], key), again.line.at
        lives = tuple(
            _live(ref, name, rollout, step=line.step, at=at)
            for name, (line, rollout) in steps.items()
            if line.step is not None
        )
        return ReplayedRollout(ref=ref, at=at, lives=lives, stages=_stages(lives), again=again)

    def _read(self, workload: str, last: int) -> Iterator[tuple[int, DecisionLine]]:
        with self._path.open("rb") as file:
            for each in self._found.get(workload, []):
                if each.number > last:
                    return
                file.seek(each.offset)
                yield each.number, _decode(file.readline())

    def _refresh(self) -> None:
        """Look up what was written since; all of it where the file is another one."""
        now = self._path.stat()
        inode, known = self._file
        if now.st_ino != inode or now.st_size < known:
            known, self._lines, self._found = 0, 0, {}
        with self._path.open("rb") as file:
            file.seek(known, os.SEEK_SET)
            while (text := file.readline()).endswith(b"\n"):
                self._lines += 1
                self._add(text, known)
                known += len(text)
        self._file = (now.st_ino, known)

    def _add(self, text: bytes, offset: int) -> None:
        try:
            line = _decode(text)
        except msgspec.DecodeError as error:
            where = f"{self._path}:{self._lines}"
            raise ConfigError(f"{where}: is not a line of a decision log: {error}") from None
        self._found.setdefault(line.workload, []).append(
            LoggedDecision(
                number=self._lines,
                offset=offset,
                at=line.at,
                placement=line.placement,
                what=line.what,
                said=decision_line(line),
            )
        )


def _decisions(lines: list[LoggedDecision]) -> list[LoggedDecision]:
    return [line for line in lines if line.what != "snapshot"]


def _live(
    ref: Ref, placement: str, rollout: Rollout | None, *, step: Step, at: datetime
) -> LiveRollout:
    live = LiveRollout(ref, placement, "", at, namespace=ref.namespace)
    if rollout is not None:
        lost = {c: Line(cluster=c, lost_from=stage) for c, stage in rollout.lost.items()}
        live.restore(Record(lines=lost), at)
        live.ledger.reset(rollout, at)
        live.closed = Closed(touch=rollout.shut)
    live.last = step
    return live


def _stages(lives: tuple[LiveRollout, ...]) -> tuple[tuple[str, StageAccount], ...]:
    several = len(lives) > 1
    return tuple(
        (
            f"{live.placement} {report.title}" if several else report.title,
            stage_account(live, report, stages.get(report.key)),
        )
        for live in lives
        for stages in [{stage.key: stage for stage in live.ledger.rollout.staging.stages}]
        for report in live.last.stages
    )


def decision_line(line: DecisionLine) -> str:
    """``touch c01, c02, c03 and 7 more; stage canary passes``: what a decision said to do."""
    if line.retreat is not None:
        back = [cluster for cluster, _ in line.retreat.touch]
        return f"give back {first_of(back, MOST_NAMED)}" if back else "give back nobody now"
    if line.step is None:
        return ""
    step = line.step
    parts = [f"touch {first_of(step.touch, MOST_NAMED)}"] if step.touch else []
    parts += [f"stage {key} passes" for key in step.passed]
    parts += [f"gate {key} opens" for key in step.opened]
    parts += [
        f"{each.cluster} is {each.verdict.value.lower()}" for each in step.settled[:MOST_NAMED]
    ]
    for wait in (step.halt, step.hold, step.gate):
        if wait is not None:
            parts.append(f"{wait.reason}: {wait.message}")
    return "; ".join(parts) or ("all is done" if step.complete else "touch nobody now")
