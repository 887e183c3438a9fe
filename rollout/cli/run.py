"""`rollout run` and `rollout demo`: a rollout on one machine, from files to its end."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click

from rollout.account.states import Code, worst
from rollout.api.file_objects import FileObject
from rollout.cli.clocks import ClockMode, clock_for, resume
from rollout.cli.documents import nothing_in, read_documents
from rollout.cli.options import Options, Stop, complain, options, was_typed
from rollout.cli.scenarios import ScenarioChoice, asked, settled
from rollout.cli.screen import OnChange, shown, summary
from rollout.cli.shipped import copy
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.clock import Clock, SystemClock
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import WORKLOADS
from rollout.model.policy import DEFAULT
from rollout.operate.applying import apply_documents
from rollout.placement.grouping import Profile
from rollout.runtime.decisions import DecisionLog
from rollout.shipped import shipped
from rollout.sim.local import LocalRun, RunResult
from rollout.sim.scenario import Scenario

INTERRUPTED = 130


PreparedRun = Callable[[OnChange], RunResult]
"""Runs to the end, and tells of each change; a KeyboardInterrupt ends it in good order."""
RunMaker = Callable[[EmbeddedHub, Clock, float | None, Scenario], PreparedRun]
"""Makes a run: the engine, the simulated agents of a scenario, and the time they live in."""


def run(
    paths: tuple[str, ...],
    namespace: str,
    agents: Path | None,
    mode: ClockMode,
    lasts: timedelta | None,
    seed: int | None,
    profile: Profile | None,
    values_settle: float | None,
    log: Path | None,
) -> int:
    """Apply files to a hub of one's own and run their rollouts there."""
    if not paths and not options().state:
        raise click.UsageError("give -f PATH, or --state FILE to go on with an earlier run")
    wanted = asked(agents, paths, seed)
    decisions = DecisionLog(log) if log is not None else None
    engine = _engine(options(), profile, lasts, decisions, values_settle=values_settle)
    documents = read_documents(paths, namespace)
    if paths and not documents:
        raise nothing_in(paths)
    try:
        return execute(options(), documents, mode, wanted, engine=engine)
    finally:
        if decisions is not None:
            decisions.close()


def demo(folder: Path | None) -> int:
    """Run the example with 310 clusters, at once.

    It is examples/canary on virtual time: two canary groups, then the rest, 25% at a time. Nothing is
    kept, unless --state is given with this command; ROLLOUT_STATE does not count here.
    """
    example = shipped("examples/canary")
    if folder is not None:
        copy(example, folder)
        say(f"wrote {folder}; next: rollout run -f {folder} --clock virtual")
        return 0
    paths = (str(example),)
    chosen = options() if was_typed("state") else replace(options(), state="")
    wanted = asked(None, paths, None)
    return execute(chosen, read_documents(paths), ClockMode(None), wanted, engine=_engine(chosen))


def _engine(
    chosen: Options,
    profile: Profile | None = None,
    lasts: timedelta | None = None,
    log: DecisionLog | None = None,
    *,
    values_settle: float | None = None,
) -> RunMaker:
    """The engine of this package; where nothing outlives the process, it need not keep its state.

    Args:
        values_settle: in seconds, see `Policy.values_settle`; None: its default.
    """
    policy = DEFAULT
    if values_settle is not None:
        policy = replace(policy, values_settle=timedelta(seconds=values_settle))

    def prepared(
        hub: EmbeddedHub, clock: Clock, speed: float | None, scenario: Scenario
    ) -> PreparedRun:
        run = LocalRun(
            hub,
            clock,
            speed,
            scenario,
            keep=bool(chosen.state),
            policy=policy,
            profile=profile,
            lasts=lasts,
            witness=log,
        )
        return lambda tell: run.run(lambda moment: tell(moment.account()))

    return prepared


def execute(
    chosen: Options,
    documents: list[FileObject],
    mode: ClockMode,
    wanted: ScenarioChoice,
    engine: RunMaker,
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
        start = clock.now()
        result = _watched(chosen, engine(hub, clock, mode.speed, scenario), mode, clock)
    say()
    for line in summary(result.last, start, wall.now() - began):
        say(line)
    if result.interrupted:
        complain("stopped before the end" + ("; run it again to go on" if chosen.state else ""))
        return INTERRUPTED
    return worst(each.code for each in result.last.workloads)


def _watched(chosen: Options, running: PreparedRun, mode: ClockMode, clock: Clock) -> RunResult:
    """The run's result; while it runs, it is shown."""
    with shown(chosen, None if mode.speed is None else clock) as show:
        result = running(show)
        show(result.last)
    return result
