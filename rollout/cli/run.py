"""How does a rollout run on one machine, from files to its end? `rollout run`, `rollout demo`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click

from rollout.account.states import Code, worst
from rollout.cli.apply import apply_documents
from rollout.cli.clocks import CLOCK_ACCEPTED, ClockMode, clock_for, parse_mode, resume
from rollout.cli.documents import Document, read_documents
from rollout.cli.lines import summary
from rollout.cli.options import (
    Options,
    Stop,
    complain,
    duration,
    files_option,
    namespace_option,
    options,
    shared,
    was_typed,
)
from rollout.cli.scenarios import Asked, asked, settled
from rollout.cli.screen import OnChange, shown
from rollout.cli.shipped import copy
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.clock import Clock, SystemClock
from rollout.hub.base import EmbeddedHub
from rollout.model.amounts import DURATION_ACCEPTED
from rollout.model.kinds import WORKLOADS
from rollout.placement.grouping import Profile
from rollout.runtime.decisions import DecisionLog
from rollout.shipped import shipped
from rollout.sim.local import LocalRun, RunResult
from rollout.sim.scenario import Scenario

RUN_HELP = """Apply files and run their rollouts, here.

The hub is our own and the clusters' agents are simulated. With --state everything is kept in that
file: killed at any moment and started again, the run goes on where it was (-f may then be left out).

\b
Exit codes: the worst of all workloads, as `rollout status` gives them
  0  all rolled out
  1  one failed or halted
  3  one is not done, and nothing more would happen
  4  one waits for a person
  5  rolled out, with failures within the budget
"""
INTERRUPTED = 130


Run = Callable[[OnChange], RunResult]
"""Runs to the end, and tells of each change; a KeyboardInterrupt ends it in good order."""
Engine = Callable[[EmbeddedHub, Clock, float | None, Scenario], Run]
"""Makes a run: the engine, the simulated agents of a scenario, and the time they live in."""


def _mode(ctx: click.Context, param: click.Parameter, value: str) -> ClockMode:
    found = parse_mode(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not {CLOCK_ACCEPTED}", ctx, param)
    return found


def _span(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    found = duration(ctx, param, value)
    if found == timedelta(0):
        raise click.BadParameter(f"{value!r} is over at once: {DURATION_ACCEPTED}", ctx, param)
    return found


@click.command(help=RUN_HELP)
@files_option(required=False)
@namespace_option
@click.option(
    "--agents",
    metavar="SCENARIO.yaml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How the simulated agents behave; without it, as a scenario among the files says, else all"
    " are healthy.",
)
@click.option(
    "--clock",
    "mode",
    default="real",
    metavar="real|virtual|xN",
    callback=_mode,
    help="How fast time goes; virtual jumps from event to event.  [default: real]",
)
@click.option(
    "--for",
    "lasts",
    metavar="SPAN",
    callback=_span,
    help="Stop after so much of its time (10m), done or not; run it again to go on.",
)
@click.option("--seed", type=int, help="Seed of all chance, instead of the scenario's.")
@click.option(
    "--profile",
    "--semantics",
    "profile",
    type=click.Choice(["strict", "ocm"]),
    help="Who decides where an object does not say: the safe rules, or OCM's own.  [default: that of"
    " the last run on the state file, else strict]",
)
@click.option(
    "--decision-log",
    "log",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every decision down; `rollout replay FILE` makes them again.",
)
@shared
def run(
    paths: tuple[str, ...],
    namespace: str,
    agents: Path | None,
    mode: ClockMode,
    lasts: timedelta | None,
    seed: int | None,
    profile: Profile | None,
    log: Path | None,
) -> int:
    """Apply files to a hub of one's own and run their rollouts there."""
    if not paths and not options().state:
        raise click.UsageError("give -f PATH, or --state FILE to go on with an earlier run")
    wanted = asked(agents, paths, seed)
    decisions = DecisionLog(log) if log is not None else None
    engine = _engine(options(), profile, lasts, decisions)
    try:
        return execute(options(), read_documents(paths, namespace), mode, wanted, engine)
    finally:
        if decisions is not None:
            decisions.close()


@click.command()
@click.option(
    "--files",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Run nothing: write the example's files into FOLDER, a new one, to look at and to edit.",
)
@shared
def demo(folder: Path | None) -> int:
    """Run the example with 310 clusters, at once.

    It is examples/canary on virtual time: two canary groups, then the rest, 25% at a time. Nothing is
    kept, unless --state is given with this command; ROLLOUT_STATE does not count here.
    """
    example = shipped("examples/canary")
    if folder is not None:
        copy(example, folder)
        say(f"rollout run -f {folder} --clock virtual")
        return 0
    paths = (str(example),)
    chosen = options() if was_typed("state") else replace(options(), state="")
    wanted = asked(None, paths, None)
    return execute(chosen, read_documents(paths), ClockMode(None), wanted, _engine(chosen))


def _engine(
    chosen: Options,
    profile: Profile | None = None,
    lasts: timedelta | None = None,
    log: DecisionLog | None = None,
) -> Engine:
    """The engine of this package; where nothing outlives the process, it need not keep its state."""

    def prepared(hub: EmbeddedHub, clock: Clock, speed: float | None, scenario: Scenario) -> Run:
        keep = bool(chosen.state)
        run = LocalRun(
            hub, clock, speed, scenario, keep=keep, profile=profile, lasts=lasts, witness=log
        )
        return run.run

    return prepared


def execute(
    chosen: Options,
    documents: list[Document],
    mode: ClockMode,
    wanted: Asked,
    engine: Engine,
) -> int:
    """Apply the documents, run to the end, show it. Returns: the exit code.

    Nothing is run where a document is bad: a rollout of half of what was meant is no rollout.
    """
    bad = [fault for document in documents for fault in document.complaints]
    if bad:
        raise Stop(Code.FAILED, *bad, "nothing was run: correct the files first")
    wall = SystemClock()
    began = wall.now()
    clock = clock_for(mode)
    with open_hub(chosen, clock, create=True, runner=True) as (hub, _):
        resume(clock, hub)
        refused = [outcome.line for outcome in apply_documents(hub, documents) if outcome.failed]
        if refused:
            raise Stop(Code.FAILED, *refused, "nothing was run: correct the files first")
        if not any(hub.list(kind).items for kind in WORKLOADS):
            kinds = " and no ".join(kind.name for kind in WORKLOADS)
            raise Stop(Code.FAILED, f"there is no {kinds} to roll out")
        scenario = settled(hub, wanted).scenario()
        result = _watched(chosen, engine(hub, clock, mode.speed, scenario), mode, clock)
    say()
    for line in summary(result.last, wall.now() - began):
        say(line)
    if result.interrupted:
        complain("stopped before the end" + ("; run it again to go on" if chosen.state else ""))
        return INTERRUPTED
    return worst(each.code for each in result.last.workloads)


def _watched(chosen: Options, running: Run, mode: ClockMode, clock: Clock) -> RunResult:
    """The run's result; while it runs, it is shown."""
    with shown(chosen, None if mode.speed is None else clock) as show:
        result = running(show)
        show(result.last)
    return result
