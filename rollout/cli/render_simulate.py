"""How does a simulation read? Lines of text; nothing is worked out here that was not asked for."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from rollout.analysis.outcomes import Distribution, End, Outcome, Spread
from rollout.analysis.simulating import Simulated
from rollout.analysis.tracks import StageTimeline, Timeline
from rollout.cli.tables import Table, lines, widths
from rollout.cli.text import stopwatch
from rollout.strategies.base import Phase

WORDS = {
    End.DONE: "✔ done",
    End.TOLERATED: "⚠ done, with failures",
    End.HALTED: "✖ halted",
    End.HELD: "‖ held",
    End.STUCK: "◌ not done, and nothing more would happen",
}
_LEVELS = "▁▂▃▄▅▆▇█"
_TOUCHED = "░"
_NARROWEST = 20


def simulated_lines(found: Simulated, width: int) -> Iterator[str]:
    """One run: how it ends, and its timeline in ``width`` columns."""
    yield outcome_line(found.outcome)
    if found.whole_because:
        yield f"(full simulation, slower: {found.whole_because})"
    yield ""
    yield from gantt(found.timeline, width)


def outcome_line(outcome: Outcome) -> str:
    """``✔ done after 00:40:19: 310 of 310 clusters touched, 310 soaked, 0 failed (seed 1)``."""
    reason = outcome.reason if outcome.end is End.HELD else ""
    word = f"{WORDS[outcome.end]}{f' ({reason})' if reason else ''}"
    return (
        f"{word} after {stopwatch(outcome.lasted)}: {outcome.touched} of {outcome.clusters} "
        f"clusters touched, {outcome.soaked} soaked, {outcome.failed} failed (seed {outcome.seed})"
    )


def gantt(line: Timeline, width: int) -> Iterator[str]:
    """A row for each stage: how much of it has soaked, column by column; ``░`` touched, none soaked yet."""
    several = len({(stage.workload, stage.placement) for stage in line.stages}) > 1
    titles = [_title(stage, several) for stage in line.stages]
    left = max(map(len, titles), default=0) + 2
    columns = max(width - left - 18, _NARROWEST)
    ends = stopwatch(timedelta(0)), stopwatch(line.span)
    yield f"{'':{left}}{ends[0]}{'':{columns - len(ends[0]) - len(ends[1])}}{ends[1]}"
    for stage, title in zip(line.stages, titles, strict=True):
        row, soaked, failed = _row(stage, line, columns)
        told = f"{soaked}/{len(stage.rows)}" + (f" ✖ {failed}" if failed else "")
        yield f"{title:{left}}{row}  {told}"


def _title(stage: StageTimeline, several: bool) -> str:
    return f"{stage.workload} {stage.placement} {stage.title}" if several else stage.title


def _row(stage: StageTimeline, line: Timeline, columns: int) -> tuple[str, int, int]:
    """The bar, and how many have soaked and failed at its end."""
    begun, soaked = [0] * (columns + 1), [0] * (columns + 1)
    whole = line.span / columns if line.span else timedelta(seconds=1)
    for row in stage.rows:
        for bar in row.bars:
            first = min(int((bar.start - line.start) / whole), columns - 1)
            after = columns if bar.end >= line.end else int((bar.end - line.start) / whole)
            for counts in (begun, soaked) if bar.phase is Phase.SOAKED else (begun,):
                counts[first] += 1
                counts[after] -= 1
    cells: list[str] = []
    flying = done = 0
    for i in range(columns):
        flying, done = flying + begun[i], done + soaked[i]
        cells.append(_cell(flying, done, len(stage.rows)))
    ended = [sum(row.last is phase for row in stage.rows) for phase in (Phase.SOAKED, Phase.FAILED)]
    return "".join(cells), ended[0], ended[1]


def _cell(begun: int, done: int, members: int) -> str:
    if not done:
        return _TOUCHED if begun else " "
    return _LEVELS[min(done * len(_LEVELS) // max(members, 1), len(_LEVELS) - 1)]


def distribution_lines(found: Distribution, seeds: tuple[int, int]) -> Iterator[str]:
    """Many runs: how often each end, and the spreads."""
    yield f"{found.runs} runs of {found.clusters} clusters, seeds {seeds[0]} to {seeds[1]}"
    if found.whole_because:
        yield f"(full simulations, slower: {found.whole_because})"
    yield ""
    for end in found.ends:
        yield f"{100 * found.share(end):6.1f} %  {WORDS[end]}"
    yield ""
    header = ("", "least", "p50", "p90", "p99", "most")
    shown = Table(header, tuple(row for row in _spreads(found) if row))
    yield from lines(shown, widths(shown))


def _spreads(found: Distribution) -> list[tuple[str, ...]]:
    return [
        _spread("time to finish", found.finish, stopwatch),
        _spread("time to the halt", found.stop, stopwatch),
        _spread("clusters touched before it halts", found.blast, str),
        _spread("clusters touched", found.touched, str),
        _spread("clusters failed", found.failed, str),
    ]


def _spread(title: str, found: Spread[Any] | None, said: Callable[[Any], str]) -> tuple[str, ...]:
    if found is None:
        return ()
    values = (found.least, found.p50, found.p90, found.p99, found.most)
    return (title, *(said(value) for value in values))


def comparison_lines(names: Sequence[str], found: Sequence[Distribution]) -> list[str]:
    """Several questions side by side, a column each."""
    rows: list[tuple[str, ...]] = [("runs", *(str(each.runs) for each in found))]
    rows += [
        (WORDS[end], *(f"{100 * each.share(end):.1f} %" for each in found))
        for end in End
        if any(each.ends.get(end) for each in found)
    ]
    for title, pick, said in _COMPARED:
        spreads = [pick(each) for each in found]
        for rank in ("p50", "p90", "p99"):
            cells = [said(getattr(s, rank)) if s is not None else "-" for s in spreads]
            if any(s is not None for s in spreads):
                rows.append((f"{title}, {rank}", *cells))
    shown = Table(("", *names), tuple(rows))
    return lines(shown, widths(shown))


_COMPARED: tuple[
    tuple[str, Callable[[Distribution], Spread[Any] | None], Callable[[Any], str]], ...
] = (
    ("time to finish", lambda d: d.finish, stopwatch),
    ("touched before it halts", lambda d: d.blast, str),
    ("clusters failed", lambda d: d.failed, str),
)
