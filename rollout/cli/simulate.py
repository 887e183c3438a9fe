"""`rollout simulate`: one run, or the distribution of many."""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from rollout.account.words import stopwatch
from rollout.analysis.outcomes import (
    END_WORDS,
    RANKS,
    Distribution,
    comparison_rows,
    outcome_line,
    spread_rows,
)
from rollout.analysis.pictures import svg
from rollout.analysis.simulating import (
    Question,
    Simulated,
    Tick,
    question,
    silent,
    simulate,
    simulate_many,
)
from rollout.analysis.tracks import StageTimeline, Timeline
from rollout.api.file_objects import FileObject
from rollout.cli.documents import good_documents
from rollout.cli.options import Options, Stop, options
from rollout.cli.patience import printing, reached
from rollout.cli.plan import applying
from rollout.cli.scenarios import ScenarioChoice, asked
from rollout.cli.store import open_hub, show
from rollout.cli.tables import Table, lines, widths
from rollout.cli.text import say
from rollout.hub.base import EmbeddedHub, StateKey
from rollout.model.kinds import WORKLOADS
from rollout.sim.scenario import Scenario
from rollout.strategies.base import Phase


def simulate_command(
    paths: tuple[str, ...],
    namespace: str,
    agents: Path | None,
    seed: int | None,
    runs: int,
    compare: tuple[Path, Path] | None,
    picture: Path | None,
    jobs: int | None,
    output: str,
) -> None:
    """Roll files out in virtual time, once or many times."""
    if not paths and not compare:
        raise click.UsageError("give -f PATH, or --compare A.yaml B.yaml")
    if picture is not None and compare:
        raise click.UsageError("--svg draws one run: leave out --compare")
    workers = jobs or os.cpu_count() or 1
    variants: list[list[tuple[str, ...]]] = [[paths, (str(each),)] for each in compare or ()]
    questions = [_question(each, namespace, agents, seed) for each in variants or [[paths]]]
    if compare:
        names = [variant.name for variant in compare]
        _compare(names, questions, runs, workers, output=output)
        return
    if runs == 1 or picture is not None:
        _once(questions[0], picture, output, shown=runs == 1)
    if runs > 1:
        _often(questions[0], runs, workers, output)


def _once(asked_for: Question, picture: Path | None, output: str, *, shown: bool) -> None:
    found = simulate(asked_for, reached=lambda span: reached(f"at {stopwatch(span)}"))
    if picture is not None:
        picture.write_text(svg(found.timeline, outcome_line(found.outcome)), encoding="utf-8")
    if shown:
        show(found, output, simulated_lines(found, shutil.get_terminal_size((100, 24)).columns))
        if picture is not None and output == "text":
            say()
            say(f"wrote the timeline to {picture}")


def _often(asked_for: Question, runs: int, workers: int, output: str) -> None:
    with ticking(options(), runs) as tick:
        found, outcomes = simulate_many(asked_for, runs, workers=workers, tick=tick)
    if output == "json":
        show({"distribution": found, "outcomes": outcomes}, output, ())
        return
    seeds = (asked_for.seed, asked_for.seed + runs - 1)
    show(found, output, distribution_lines(found, seeds))


def _compare(
    names: Sequence[str], questions: Sequence[Question], runs: int, workers: int, output: str
) -> None:
    found: list[Distribution] = []
    with ticking(options(), runs * len(questions)) as tick:
        for i, each in enumerate(questions):
            further = partial(_further, tick, i * runs)
            found.append(simulate_many(each, runs, workers=workers, tick=further)[0])
    if output == "json":
        show(dict(zip(names, found, strict=True)), output, ())
        return
    show(found, output, comparison_lines(names, found))


def _further(tick: Tick, before: int, done: int) -> None:
    tick(before + done)


def _question(
    layers: Sequence[Sequence[str]], namespace: str, agents: Path | None, seed: int | None
) -> Question:
    """The question that some files ask, of what is stored where a state file or server is named.

    Args:
        layers: files; an object of a later layer takes the place of an earlier one's.
    """
    found = [good_documents(layer, namespace, "simulated") for layer in layers if layer]
    documents = _newest([document for layer in found for document in layer])
    change, chosen = applying(documents, "simulated"), options()
    wanted = asked(agents, [path for layer in layers for path in layer], seed)
    if chosen.state or chosen.on_server:
        with open_hub(chosen) as (hub, clock):
            scenario = _as_before(hub, wanted)
            asked_for = question(change, scenario, hub=hub, now=clock.now())
    else:
        asked_for = question(change, wanted.scenario())
    if not any(ref.kind in WORKLOADS for ref, _ in asked_for.objects):
        kinds = " and no ".join(kind.name for kind in WORKLOADS)
        raise Stop(1, f"there is no {kinds} to roll out: name its file with -f")
    return asked_for


def _newest(documents: Sequence[FileObject]) -> list[FileObject]:
    """Each object as the last file that has it says."""
    return list({document.ref: document for document in documents}.values())


def _as_before(hub: EmbeddedHub, wanted: ScenarioChoice) -> Scenario:
    """What is asked for; where that says nothing of agents, as the last run on this hub."""
    kept = hub.get_state(StateKey.SCENARIO)
    if wanted.text or not kept:
        return wanted.scenario()
    before = ScenarioChoice(**json.loads(kept))
    return ScenarioChoice(
        before.text, before.seed if wanted.seed is None else wanted.seed
    ).scenario()


@contextmanager
def ticking(chosen: Options, total: int) -> Iterator[Tick]:
    """A progress bar on stderr, where that is a terminal."""
    if not sys.stderr.isatty() or chosen.verbose:
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415  (50 ms, for nothing where nobody watches)
    from rich.progress import Progress  # noqa: PLC0415  (as above)

    printing()
    with Progress(console=Console(stderr=True, no_color=not chosen.color), transient=True) as bar:
        task = bar.add_task("simulating", total=total)

        def tick(done: int) -> None:
            bar.update(task, completed=done)

        yield tick


# -- in words ------------------------------------------------------------------------------------


_LEVELS = "▁▂▃▄▅▆▇█"
_TOUCHED = "░"
_NARROWEST = 20
_CLOSED = "  closed"


def simulated_lines(found: Simulated, width: int) -> Iterator[str]:
    """One run: how it ends, and its timeline in ``width`` columns."""
    yield outcome_line(found.outcome)
    if found.whole_because:
        yield f"(full simulation, slower: {found.whole_because})"
    yield from _assumed(found.assumed)
    yield ""
    yield from gantt(found.timeline, width)


def _assumed(metrics: Sequence[str]) -> Iterator[str]:
    if metrics:
        yield f"(assumed: good where the scenario's measurements say nothing: {', '.join(metrics)})"


def gantt(line: Timeline, width: int) -> Iterator[str]:
    """A row for each stage: how much of it has soaked, column by column; ``░`` touched, none soaked yet.

    Where calendars close clusters of it, a second row says when: ``─`` some of them, ``═`` all.
    """
    titles = [line.title_of(stage) for stage in line.stages]
    is_closed = any(row.closed for stage in line.stages for row in stage.rows)
    left = max(map(len, [*titles, _CLOSED if is_closed else ""]), default=0) + 2
    columns = max(width - left - 18, _NARROWEST)
    ends = stopwatch(timedelta(0)), stopwatch(line.span)
    yield f"{'':{left}}{ends[0]}{'':{columns - len(ends[0]) - len(ends[1])}}{ends[1]}"
    for stage, title in zip(line.stages, titles, strict=True):
        row, soaked, failed = _row(stage, line, columns)
        told = f"{soaked}/{len(stage.rows)}" + (f" ✖ {failed}" if failed else "")
        yield f"{title:{left}}{row}  {told}"
        if any(cluster.closed for cluster in stage.rows):
            yield f"{_CLOSED:{left}}{_closed(stage, line, columns)}  ─ some, ═ all"


def _row(stage: StageTimeline, line: Timeline, columns: int) -> tuple[str, int, int]:
    """The bar, and how many have soaked and failed at its end."""
    begun, soaked = [0] * (columns + 1), [0] * (columns + 1)
    whole = line.span / columns if line.span else timedelta(seconds=1)
    for row in stage.rows:
        if row.last is Phase.SOAKED and not row.bars:  # it had soaked before
            soaked[0] += 1
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
    ends = [row.last for row in stage.rows if row.last is not None]
    failed = sum(last.is_failure for last in ends)
    return "".join(cells), ends.count(Phase.SOAKED), failed


def _closed(stage: StageTimeline, line: Timeline, columns: int) -> str:
    """When clusters of the stage may not be touched: in the middle of each column."""
    counts = Counter(cluster.closed for cluster in stage.rows)
    cells: list[str] = []
    for i in range(columns):
        at = line.start + line.span * (i + 0.5) / columns
        shut = sum(n for spans, n in counts.items() if any(a <= at < b for a, b in spans))
        cells.append("═" if shut == len(stage.rows) else "─" if shut else " ")
    return "".join(cells)


def _cell(begun: int, done: int, members: int) -> str:
    if not done:
        return _TOUCHED if begun else " "
    return _LEVELS[min(done * len(_LEVELS) // max(members, 1), len(_LEVELS) - 1)]


def distribution_lines(found: Distribution, seeds: tuple[int, int]) -> Iterator[str]:
    """The result of many runs: how many ended in which way, and how the figures spread."""
    yield f"{found.runs} runs of {found.clusters} clusters, seeds {seeds[0]} to {seeds[1]}"
    if found.whole_because:
        yield f"(full simulations, slower: {found.whole_because})"
    yield from _assumed(found.assumed)
    yield ""
    for end in found.ends:
        yield f"{100 * found.share(end):6.1f} %  {END_WORDS[end]}"
    yield ""
    shown = Table(("", *RANKS), tuple(spread_rows(found)))
    yield from lines(shown, widths(shown))


def comparison_lines(names: Sequence[str], found: Sequence[Distribution]) -> list[str]:
    """Several questions side by side, a column each."""
    shown = Table(("", *names), tuple(comparison_rows(found)))
    assumed = sorted({metric for each in found for metric in each.assumed})
    return [*_assumed(assumed), *lines(shown, widths(shown))]
