"""Draws a rollout as a tree, down to its clusters, for a terminal or a file.

Pure: an account in, text out. As many clusters are named as there is room for; the others are counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from rich.console import Console, Group, RenderableType
from rich.text import Text

from rollout.account.figures import CODE_SIGNS, COLORS, SIGNS, STATE_SIGNS, counted
from rollout.account.groups import INTEREST, MOST_CLUSTERS
from rollout.account.sentences import (
    budget_line,
    finish_line,
    next_timer_line,
    revision_line,
    since_line,
    stage_info,
)
from rollout.account.tree import (
    ClusterAccount,
    FleetAccount,
    GroupAccount,
    NoteAccount,
    StageAccount,
    WorkloadAccount,
)
from rollout.account.words import age, away_words, harmless, many, stopwatch
from rollout.cli.text import in_ascii
from rollout.model.cluster_reasons import ClusterReason
from rollout.strategies.base import Phase

T = TypeVar("T")

WIDE = 400
"""Columns of a picture that goes to no terminal: its lines are neither cut nor wrapped."""
BAR = 20  # cells of the progress bar
MOST_STAGES = 12  # of a workload; more would push the rest off the screen
MOST_NOTES = 5


def fleet_picture(
    account: FleetAccount,
    now: datetime | None = None,
    *,
    plain: bool = False,
    width: int = WIDE,
) -> RenderableType:
    """All workloads of a run, one below the other.

    Args:
        now: where fleet time has gone on since the account; it moves the clock and the countdown.
        plain: in ASCII.
        width: of the screen.
    """
    at = max(now or account.now, account.now)
    lines: list[Text] = []
    for workload in account.workloads:
        if lines:
            lines.append(Text())
        lines += workload_picture(workload, at, started=account.started, width=width)
    return drawn(lines or [Text("There is no workload to roll out.")], plain=plain)


def workload_picture(
    account: WorkloadAccount,
    now: datetime,
    *,
    most: int = MOST_CLUSTERS,
    started: datetime | None = None,
    width: int = WIDE,
) -> list[Text]:
    """The lines of one workload.

    Args:
        now: it moves the countdowns.
        most: so many clusters of a group are named.
        width: a fact that is longer stands on several lines; other lines are cut by the screen.
        started: of a run; then instants are told as time since then, and the notes are shown.
    """
    facts = [
        (Text(f"{key}:", style="bold"), text) for key, text in _facts(account, now, started) if text
    ]
    lines = [
        *_wrapped(facts, width),
        Text(),
        *columns([TreeRow.header(), *_rows(account, now, most)]),
    ]
    if started is not None and account.notes:
        lines += [Text(), *_notes(account.notes, started)]
    return lines


def fitting(account: WorkloadAccount, now: datetime, height: int, width: int = WIDE) -> list[Text]:
    """The lines of one workload, with as many clusters as a screen of this size has room for."""
    for most in range(MOST_CLUSTERS, -1, -1):
        lines = workload_picture(account, now, most=most, width=width)
        if len(lines) <= height:
            break
    return lines[:height]


def drawn(lines: Sequence[Text], *, plain: bool = False) -> RenderableType:
    """Lines as rich prints them; ``plain``: in ASCII."""
    return Group(*(_in_ascii(line) for line in lines) if plain else lines)


def _in_ascii(line: Text) -> Text:
    copy = line.copy()
    copy.plain = in_ascii(line.plain)
    return copy


# -- key and value, as Argo Rollouts begins its view ---------------------------------------------


def _facts(
    account: WorkloadAccount, now: datetime, started: datetime | None
) -> Iterator[tuple[str, Text]]:
    yield "Name", Text(account.key)
    yield "Status", signed(CODE_SIGNS[account.code], account.reason)
    if started is None:
        yield "Since", Text(since_line(account, now))
    yield "Message", Text(account.message)
    yield "Strategy", Text(account.strategy)
    yield "Revision", Text(revision_line(account, now))
    if started is not None:
        yield "Time", Text(stopwatch(now - started))
    yield "Progress", progress(account)
    yield "Budget", Text(budget_line(account))
    if not account.done:
        yield "Waiting for", Text(account.wait.ends if started is None else "")
        yield "Next timer", Text(next_timer_line(account, now, started))
        yield "Finish", Text(finish_line(account, now))
    if account.away_since is not None:
        text = f"none runs here {away_words(account.away_since, now)}"
        yield "Engine", Text(text, style="yellow")


def progress(account: WorkloadAccount) -> Text:
    """A bar, and how many clusters are in each phase."""
    soaked = account.phases.get(Phase.SOAKED, 0)
    share = soaked / account.members if account.members else 0.0
    full = int(share * BAR)
    text = Text("█" * full + "░" * (BAR - full), style="green" if share == 1 else "")
    text.append(f"  {soaked}/{account.members}", style="none")
    for sign, count, word in counted(account.phases):
        text.append("  ")
        text.append(f"{sign} {count} {word}", style=COLORS.get(sign, "none"))
    return text


# -- stages, groups, clusters ----------------------------------------------------------------------


class TreeRow(NamedTuple):
    """One line of the tree."""

    name: str | Text
    status: Text
    counts: str | Text = ""
    info: str | Text = ""

    @staticmethod
    def header() -> "TreeRow":
        return TreeRow(
            *(Text(name, style="bold") for name in ("NAME", "STATUS", "CLUSTERS", "INFO"))
        )


def _rows(account: WorkloadAccount, now: datetime, most: int) -> Iterator[TreeRow]:
    status = signed(CODE_SIGNS[account.code], account.reason)
    yield TreeRow(f"⟳ {account.key}", status, _counts(account.phases, account.members))
    before, shown, after = window(account.stages, lambda each: each[1].passed)
    if before:
        yield TreeRow("├──…", Text(f"{before} more passed", style="dim"))
    for i, (title, stage) in enumerate(shown):
        is_last = i == len(shown) - 1 and not after
        branch, below = ("└──", "   ") if is_last else ("├──", "│  ")
        sign, counts = STATE_SIGNS[stage.state], _counts(stage.phases, stage.members)
        info = stage_info(stage)
        yield TreeRow(f"{branch}□ {title}", signed(sign, stage.state.value), counts, info)
        yield from _inside(stage, below, now, most)
    if after:
        yield TreeRow("└──…", Text(f"{after} more", style="dim"))


def window(items: Sequence[T], is_passed: Callable[[T], bool]) -> tuple[int, Sequence[T], int]:
    """How many passed stages are left out before, the stages to show, how many are left out after."""
    if len(items) <= MOST_STAGES:
        return 0, items, 0
    first_open = next((i for i, item in enumerate(items) if not is_passed(item)), len(items))
    start = min(max(first_open - 2, 0), len(items) - MOST_STAGES)
    end = start + MOST_STAGES
    return start, items[start:end], len(items) - end


def _counts(phases: Mapping[Phase, int], members: int) -> str:
    return f"{phases.get(Phase.SOAKED, 0)}/{members}"


def _inside(stage: StageAccount, below: str, now: datetime, most: int) -> Iterator[TreeRow]:
    """The groups of a stage, or straight its clusters where it is one group."""
    if len(stage.groups) == 1:
        yield from _clusters(stage.groups[0], below, now, most)
        return
    shown = [group for group in stage.groups if group.clusters]
    left_out = len(stage.groups) - len(shown)
    for i, group in enumerate(shown):
        is_last = i == len(shown) - 1 and not left_out
        branch, deeper = ("└──", "   ") if is_last else ("├──", "│  ")
        counts = _counts(group.phases, group.members)
        yield TreeRow(f"{below}{branch}▫ {group.title}", _worst(group), counts)
        yield from _clusters(group, below + deeper, now, most)
    if left_out and shown:
        yield TreeRow(f"{below}└──…", Text(f"{many(left_out, 'more group')}", style="dim"))


_TROUBLE_FIRST = (*(p for p in INTEREST if p is not Phase.HELD), Phase.SOAKED, Phase.SKIPPED)


def _worst(group: GroupAccount) -> Text:
    """The phase that one looks at first: trouble, else what is going on."""
    phase = next((phase for phase in _TROUBLE_FIRST if group.phases.get(phase)), Phase.SOAKED)
    return signed(SIGNS[phase], phase.value)


def _clusters(group: GroupAccount, below: str, now: datetime, most: int) -> Iterator[TreeRow]:
    shown = group.clusters[:most] if most < MOST_CLUSTERS else group.clusters
    left: dict[Phase, int] = dict(group.phases)
    for cluster in shown:
        left[cluster.phase] -= 1
    rest = "  ".join(f"{sign} {count} {word}" for sign, count, word in counted(left))
    for i, cluster in enumerate(shown):
        branch = "└──" if i == len(shown) - 1 and not rest else "├──"
        status = signed(SIGNS[cluster.phase], cluster.phase.value)
        yield TreeRow(f"{below}{branch} {cluster.name}", status, "", _cluster_info(cluster, now))
    if rest and shown:
        yield TreeRow(f"{below}└──…", Text(), "", Text(rest, style="dim"))


def _cluster_info(cluster: ClusterAccount, now: datetime) -> str:
    wait = cluster.wait
    if wait is None:
        return ""
    is_plain = wait.reason in (
        cluster.phase.value,
        ClusterReason.SOAKING,
        ClusterReason.PROGRESSING,
    )
    lasts = wait.lasts(now)
    held = f"for {age(lasts)}" if lasts is not None else ""
    told = " ".join(part for part in ("" if is_plain else wait.reason, held) if part)
    left = f"{age(max(wait.until - now, timedelta(0)))} left" if wait.until is not None else ""
    return ", ".join(part for part in (told, left) if part)


def _notes(notes: Sequence[NoteAccount], started: datetime) -> list[Text]:
    return columns(
        (Text(stopwatch(note.at - started), style="dim"), note.reason, note.message)
        for note in notes[-MOST_NOTES:]
    )


# -- cells ---------------------------------------------------------------------------------------


def signed(sign: str, word: str) -> Text:
    """A sign and a word, in the colour of the sign."""
    return Text(f"{sign} {word}", style=COLORS.get(sign, ""))


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


def _wrapped(facts: Sequence[tuple[Text, Text]], width: int) -> list[Text]:
    """Keys and texts in two columns; a text that is too long for the screen goes on below itself."""
    console = Console(width=width)
    lead = max(key.cell_len for key, _ in facts) + 2
    rows: list[tuple[str | Text, ...]] = []
    for key, text in facts:
        first, *rest = _harmless(text).wrap(console, max(width - lead, 1))
        rows += [(key, first), *((Text(), line) for line in rest)]
    return columns(rows)


def _harmless(cell: str | Text) -> Text:
    """The cell, as it may be put on a terminal; styles stay, for each sign becomes one sign."""
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.plain = harmless(text.plain)
    return text
