"""What does a rollout look like while it moves? A picture of a snapshot, for a terminal.

Pure: a snapshot in, something that rich can draw out. `rollout.cli.screen` puts it on a screen.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from rollout.cli.ages import age, stopwatch
from rollout.cli.figures import COLORS, Figures, Subject, figures, standing, subjects
from rollout.cli.saying import harmless
from rollout.cli.verdict import Code
from rollout.cli.views import NoteView, Snapshot, StageView
from rollout.model.kinds import Obj, key_of

BAR = 20  # cells of the progress bar
MOST_STAGES = 12  # of a workload; more would push the rest off the screen
MOST_NOTES = 5

_OPTIONS = ("maxConcurrency", "minSuccessTime", "progressDeadline", "maxFailures")


def picture(snapshot: Snapshot, now: datetime | None = None) -> RenderableType:
    """All workloads of a snapshot, one below the other.

    Args:
        now: where fleet time has gone on since the snapshot; it moves the clock and the countdown.
    """
    at = max(now or snapshot.now, snapshot.now)
    parts: list[RenderableType] = []
    for subject in subjects(snapshot):
        if parts:
            parts.append(Text())
        parts.append(_head(subject, snapshot, at))
        parts.append(Text())
        parts.append(_tree(subject))
        if subject.rollout is not None and subject.rollout.notes:
            parts += [Text(), _notes(subject.rollout.notes, snapshot.started)]
    return Group(*parts) if parts else Text("There is no workload to roll out.")


def _head(subject: Subject, snapshot: Snapshot, at: datetime) -> RenderableType:
    """Key and value, as Argo Rollouts begins its view."""
    facts = _facts(subject, snapshot, at)
    return Group(*columns([(Text(f"{key}:", style="bold"), value) for key, value in facts]))


def _facts(subject: Subject, snapshot: Snapshot, at: datetime) -> Iterator[tuple[str, Text]]:
    found = subject.found
    yield "Name", Text(subject.key)
    yield "Status", signed(found.sign, found.reason)
    if found.message:
        yield "Message", Text(found.message)
    yield "Strategy", Text(strategy_line(subject.obj))
    yield "Time", Text(stopwatch(at - snapshot.started))
    yield "Progress", progress(subject.figures)
    rollout = subject.rollout
    done = found.code in (Code.DONE, Code.TOLERATED)
    if rollout is not None and rollout.next_at is not None and not done:
        instant, left = stopwatch(rollout.next_at - snapshot.started), rollout.next_at - at
        what = f"  {rollout.next_what}" if rollout.next_what else ""
        yield "Next", Text(f"{instant}  (in {age(left)}){what}")


def strategy_line(obj: Obj) -> str:
    """The strategy of each placement reference with the options that are set, as they are written."""
    parts = []
    spec = obj.get("spec") or {}
    install = spec.get("installStrategy") or {}
    references = spec.get("placementRefs") or install.get("placements") or []
    for reference in references:
        strategy = reference.get("rolloutStrategy") or {}
        kind = strategy.get("type") or "All"
        member = strategy.get(kind[:1].lower() + kind[1:]) or {}
        said = [f"{each} {member[each]}" for each in _OPTIONS if member.get(each) is not None]
        name = key_of(reference.get("namespace") or "", str(reference.get("name")))
        prefix = f"{name}: " if len(references) > 1 else ""
        parts.append(prefix + ", ".join([kind, *said]))
    return "; ".join(parts)


def progress(found: Figures) -> Text:
    """A bar, and how many clusters are in each phase."""
    share = found.soaked / found.members if found.members else 0.0
    full = int(share * BAR)
    text = Text("█" * full + "░" * (BAR - full), style="green" if share == 1 else "")
    text.append(f"  {found.soaked}/{found.members}", style="none")
    for sign, count, word in found.counted():
        text.append("  ")
        text.append(f"{sign} {count} {word}", style=COLORS.get(sign, "none"))
    return text


def _tree(subject: Subject) -> RenderableType:
    found = subject.figures
    name, counts = f"⟳ {subject.key}", f"{found.soaked}/{found.members}"
    rows = [Row(name, signed(subject.found.sign, subject.found.reason), counts)]
    before, shown, after = window(subject.rollout.stages if subject.rollout else ())
    if before:
        rows.append(Row("├──…", Text(f"{before} more passed", style="dim")))
    for i, stage in enumerate(shown):
        last = i == len(shown) - 1 and not after
        rows.append(_row(stage, "└──" if last else "├──"))
    if after:
        rows.append(Row("└──…", Text(f"{after} more", style="dim")))
    return Group(*columns([Row.header(), *rows]))


class Row(NamedTuple):
    """One line of the tree."""

    name: str | Text
    status: Text
    counts: str | Text = ""
    info: str | Text = ""

    @staticmethod
    def header() -> "Row":
        return Row(*(Text(name, style="bold") for name in ("NAME", "STATUS", "CLUSTERS", "INFO")))


def columns(rows: Iterable[tuple[str | Text, ...]]) -> list[Text]:
    """Rows in columns two spaces apart; a line that is too long for the screen is cut at its end."""
    cells = [[_harmless(cell) for cell in row] for row in rows]
    sizes = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        line = Text(no_wrap=True, overflow="ellipsis")
        for cell, size in zip(row[:-1], sizes, strict=False):
            line.append_text(cell)
            line.append(" " * (size - cell.cell_len + 2))
        line.append_text(row[-1])
        line.rstrip()
        lines.append(line)
    return lines


def _harmless(cell: str | Text) -> Text:
    """The cell, as it may be put on a terminal; styles stay, for each sign becomes one sign."""
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.plain = harmless(text.plain)
    return text


def _row(stage: StageView, branch: str) -> Row:
    stands = standing(stage)
    return Row(
        f"{branch}□ {stage.title}",
        signed(stands.sign, stands.word),
        f"{figures((stage,)).soaked}/{stage.members}",
        stands.info,
    )


def window(stages: Sequence[StageView]) -> tuple[int, Sequence[StageView], int]:
    """How many passed stages are left out before, the stages to show, how many are left out after."""
    if len(stages) <= MOST_STAGES:
        return 0, stages, 0
    first_open = next((i for i, stage in enumerate(stages) if not stage.passed), len(stages))
    start = min(max(first_open - 2, 0), len(stages) - MOST_STAGES)
    end = start + MOST_STAGES
    return start, stages[start:end], len(stages) - end


def _notes(notes: Sequence[NoteView], started: datetime) -> RenderableType:
    rows = [
        (Text(stopwatch(note.at - started), style="dim"), note.reason, note.message)
        for note in notes[-MOST_NOTES:]
    ]
    return Group(*columns(rows))


def signed(sign: str, word: str) -> Text:
    """A sign and a word, in the colour of the sign."""
    return Text(f"{sign} {word}", style=COLORS.get(sign, ""))
