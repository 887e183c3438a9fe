"""Simulates files: one run with its timeline, or many runs with their distribution.

The same question and the same seed give the same answer, however many processes work at it: run
number ``n`` (from 0) has the seed ``seed + n``, and its outcome depends on nothing else.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from rollout.analysis.changes import concerned
from rollout.analysis.copies import TrialChange, changed, holding
from rollout.analysis.full_run import FullRun
from rollout.analysis.outcomes import Distribution, End, Outcome, distribution, ending
from rollout.analysis.rehearsal import Rehearsal
from rollout.analysis.setting import Setting, setting_of
from rollout.analysis.tracks import Reached, Timeline, Track, nowhere, timeline
from rollout.clock import VirtualClock
from rollout.errors import RolloutError
from rollout.hub.base import EmbeddedHub, StateKey, profile_of
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import Obj, Ref
from rollout.placement.grouping import Profile
from rollout.sim.scenario import Scenario
from rollout.sim.work import kept_agents
from rollout.strategies.base import Verdict

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When a simulation of files alone begins."""
CHUNK = 8  # runs that a process is given at once, at most
PARTS = 16  # a process is given its share in so many parts at least, so that somebody sees it go on
AHEAD = 2  # parts that wait for each process
FEW = 8  # runs that are not worth a second process

Tick = Callable[[int], None]
"""Told how many runs have ended."""


def silent(_done: int) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be simulated: objects on a hub at an instant, and agents.

    Made by `question`; values, so that other processes can be asked too. ``about`` are the workloads
    whose clusters are counted: others roll on beside them. ``agents`` is what those of the last run had
    pending.
    """

    objects: tuple[tuple[Ref, Obj], ...]
    start: datetime
    scenario: Scenario
    seed: int
    about: frozenset[Ref]
    profile: Profile = "strict"
    agents: bytes = b""

    def hub(self) -> tuple[MemoryHub, VirtualClock]:
        """A hub of its own for one run."""
        hub, clock = holding(dict(self.objects), self.start, self.profile)
        if self.agents:
            hub.put_state(StateKey.AGENTS, self.agents)
        return hub, clock


def question(
    change: TrialChange,
    scenario: Scenario | None = None,
    seed: int | None = None,
    *,
    hub: EmbeddedHub | None = None,
    now: datetime = START,
) -> Question:
    """Ask how it would go after a change.

    Args:
        change: what is done first.
        scenario: how agents behave; all healthy where there is none.
        seed: instead of the scenario's.
        hub, now: what there is already, and its present instant; nothing by default. Agents go on
            from where they were in the last run there.

    Raises: what the change raises.
    """
    old, objects = changed(hub, change, now)
    behaviour = scenario or Scenario()
    return Question(
        objects=tuple(objects.items()),
        start=now,
        scenario=behaviour,
        seed=behaviour.spec.seed if seed is None else seed,
        about=concerned(old, objects),
        profile=profile_of(hub) if hub is not None else "strict",
        agents=kept_agents(hub) if hub is not None else b"",
    )


@dataclass(frozen=True, slots=True)
class Simulated:
    """One run. ``whole_because`` says why it took the whole simulation ("": a rehearsal did).

    ``assumed``: metrics, as ``template/metric``, that were taken to be good where the scenario says nothing.
    """

    outcome: Outcome
    timeline: Timeline
    whole_because: str = ""
    assumed: tuple[str, ...] = ()


def simulate(asked: Question, *, whole: bool = False, reached: Reached = nowhere) -> Simulated:
    """One run, from the start to the end, with what became of each cluster.

    Args:
        whole: take the whole simulation in any case.
        reached: is told how far it is.
    """
    setting = _setting(asked)
    tracks: dict[tuple[str, str], Track] = {}
    why = setting.why_whole or ("it was asked for" if whole else "")
    run: FullRun | Rehearsal
    if why:
        run = FullRun(*asked.hub(), asked.scenario, asked.seed, about=asked.about, reached=reached)
        tracks = run.tracks
    else:
        run = Rehearsal(setting, asked.seed, tracks, about=asked.about, reached=reached)
    run.run()
    end = run.done_at or run.changed_at
    closed = {
        live.workload.key: setting.closed(live.workload, run.start, end) for live in run.lives
    }
    found = sorted(tracks.items(), key=lambda pair: pair[0][0])
    line = timeline(found, run.start, end, closed)
    return Simulated(_outcome(run, asked.seed), line, why, setting.assumed)


def _setting(asked: Question) -> Setting:
    return setting_of(*asked.hub(), asked.scenario)


def _outcome(run: FullRun | Rehearsal, seed: int) -> Outcome:
    lives = run.counted
    end, reason = ending(lives, run.done_at is not None)
    stopped = run.done_at or run.changed_at
    if end is End.HALTED and run.halted_at is not None:
        stopped = run.halted_at
    touched, failed = _met(run, stopped)
    soaked = {
        s.cluster
        for live in lives
        for s in live.ledger.standings.values()
        if s.of_revision == live.revision and s.touched >= run.start and s.verdict is Verdict.SOAKED
    }
    members = {
        cluster
        for live in lives
        for stage in live.ledger.rollout.staging.stages
        for group in stage.groups
        for cluster in group.clusters
    }
    return Outcome(
        seed=seed,
        end=end,
        reason=reason,
        lasted=stopped - run.start,
        clusters=len(members),
        touched=len(touched),
        soaked=len(soaked),
        failed=len(failed),
    )


def _met(run: FullRun | Rehearsal, end: datetime) -> tuple[set[str], set[str]]:
    """The clusters that a revision reached in the run, and those on which it failed.

    Those that still carry it at the end count as they stand then; those from which it was taken back
    count as failed where it failed at any time. Nothing is taken back in a rehearsal.
    """
    touched: set[str] = set()
    failed: set[str] = set()
    if isinstance(run, FullRun):
        for live in run.counted:
            track = run.tracks[live.workload.key, live.placement]
            revision = track.rollout.revision
            touched |= track.reached(revision)
            failed |= track.failed(revision, end) - track.carriers(revision)
    for live in run.counted:
        for s in live.ledger.standings.values():
            if s.of_revision != live.revision:
                continue
            if s.touched >= run.start:
                touched.add(s.cluster)
            if live.judgement(s.cluster).phase.is_failure:
                failed.add(s.cluster)
        failed |= live.lost.keys() - live.ledger.rollout.skipped
    return touched, failed


@dataclass(slots=True)
class SimulationRunner:
    """What one process needs for any run of a question, one after the other."""

    asked: Question
    setting: Setting = field(init=False)

    def __post_init__(self) -> None:
        self.setting = _setting(self.asked)

    def run(self, seed: int) -> Outcome:
        """The run with this seed."""
        run: FullRun | Rehearsal
        if self.setting.why_whole:
            run = FullRun(*self.asked.hub(), self.asked.scenario, seed, about=self.asked.about)
        else:
            run = Rehearsal(self.setting, seed, about=self.asked.about)
        run.run()
        return _outcome(run, seed)


_runner: list[SimulationRunner] = []  # of a worker process


def _begin(path: str) -> None:
    with Path(path).open("rb") as file:
        _runner[:] = [SimulationRunner(pickle.load(file))]  # noqa: S301  (written by our own parent)


def _work(seeds: Sequence[int]) -> list[Outcome]:
    return [_runner[0].run(seed) for seed in seeds]


def simulate_many(
    asked: Question, runs: int, *, workers: int = 1, tick: Tick = silent
) -> tuple[Distribution, tuple[Outcome, ...]]:
    """Many runs of one question: their distribution, and every outcome by seed.

    Args:
        workers: processes at work; the answer does not depend on it.
        tick: called now and then, on this thread.
    """
    runner = SimulationRunner(asked)
    seeds = range(asked.seed, asked.seed + runs)
    found: list[Outcome] = []
    if workers <= 1 or runs <= FEW:
        for seed in seeds:
            found.append(runner.run(seed))
            tick(len(found))
    else:
        for outcomes in _shared_out(asked, seeds, workers):
            found += outcomes
            tick(len(found))
    setting = runner.setting
    return distribution(found, setting.why_whole, setting.assumed), tuple(found)


def _shared_out(asked: Question, seeds: range, workers: int) -> Iterator[list[Outcome]]:
    """The outcomes in the order of the seeds. Raises: RolloutError where processes cannot be started."""
    size = max(1, min(CHUNK, len(seeds) // (workers * PARTS)))
    chunks = (seeds[i : i + size] for i in range(0, len(seeds), size))
    processes = min(workers, len(seeds))
    with TemporaryDirectory() as place:
        # A file, since a process that fails to start would never empty a pipe.
        path = Path(place, "question")
        path.write_bytes(pickle.dumps(asked))
        # Spawned: a process that was forked would inherit locks of threads that it does not have.
        pool = ProcessPoolExecutor(
            processes, get_context("spawn"), initializer=_begin, initargs=(str(path),)
        )
        with pool:
            waiting = deque(pool.submit(_work, each) for each in islice(chunks, AHEAD * processes))
            try:
                while waiting:
                    yield waiting.popleft().result()
                    waiting.extend(pool.submit(_work, each) for each in islice(chunks, 1))
            except BrokenProcessPool:
                raise RolloutError(
                    "the processes that share the runs ended early; try again with one (--jobs 1)"
                ) from None
