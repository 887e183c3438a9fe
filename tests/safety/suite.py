"""How are many histories run, and what came of them together?"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import NamedTuple

from tests.safety.focus import draw, focus_of
from tests.safety.focus_asked import ASKED
from tests.safety.foreseen import foreseen
from tests.safety.pairs import crash_everywhere, lossy_watch
from tests.safety.purity import impurities
from tests.safety.seeds import repeats
from tests.safety.silence import silence
from tests.safety.sizes import measure
from tests.safety.world import History

CRASHES_EVERY = {"replicaset": 50, "addon": 100}  # seeds
LOSSY_EVERY = {"replicaset": 25, "addon": 50}
PLANNED_EVERY = {"replicaset": 10}
CURIOUS_EVERY = 50
_RARE, _FIRST_RARE, _RARE_HISTORIES = "windows", 1_000, 8


class Broken(NamedTuple):
    """A promise that was broken, and in which history. ``about``: the rare state it was asked for, if any."""

    seed: int
    promise: str
    message: str
    about: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of guarded states, and what was broken, of one kind of workload."""

    kind: str = "replicaset"
    histories: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.histories += other.histories
        self.counts.update(other.counts)
        self.broken += other.broken

    def blame(self, seed: int, promise: str, message: str, about: str = "") -> None:
        """Note it, and say it at once: a long run is not waited for to learn of its first break."""
        self.broken.append(Broken(seed, promise, message, about))
        print(f"{promise} broken: {repeats(self.kind, seed, about)}", file=sys.stderr, flush=True)

    def again(self, only: str = "") -> list[str]:
        """What was broken (of ``only`` one promise), each with the command that runs its history again."""
        return [
            f"{repeats(self.kind, each.seed, each.about)}: {each.promise}: {each.message}"
            for each in self.broken
            if only in ("", each.promise)
        ]


def run(seeds: Iterable[int], kind: str = "replicaset") -> Tally:
    """One history for each seed; for some of them the promises about two runs as well."""
    tally = Tally(kind)
    with silence():
        for seed in seeds:
            _run_one(seed, tally)
    return tally


def run_asked(
    seeds: Sequence[int], kind: str, about: Iterable[str] = tuple(sorted(ASKED))
) -> Tally:
    """A history for each seed about each rare state that no seed has for its own. They count for no minimum."""
    tally = Tally(kind)
    with silence():
        for state in about:
            for seed in seeds:
                for violation in History(draw(seed, kind, state)).run().violations:
                    tally.blame(seed, violation.promise, str(violation), state)
    return tally


def _run_one(seed: int, tally: Tally) -> None:
    history = History(draw(seed, tally.kind)).run()
    tally.histories += 1
    tally.counts.update(history.counts)
    for violation in history.violations:
        tally.blame(seed, violation.promise, str(violation))

    def blame(promise: str, message: str) -> None:
        tally.blame(seed, promise, message)

    if seed % CRASHES_EVERY[tally.kind] == 0:
        crash_everywhere(tally.kind, seed, tally.counts, blame)
    if seed % LOSSY_EVERY[tally.kind] == 0:
        lossy_watch(tally.kind, seed, tally.counts, blame)
    if tally.kind in PLANNED_EVERY and seed % PLANNED_EVERY[tally.kind] == 0:
        foreseen(tally.kind, seed, tally.counts, blame)
    if seed % CURIOUS_EVERY == 0:
        for words in impurities(seed, tally.kind):
            blame("R5", words)
        tally.counts["R5.curious"] += 1


def run_all(
    first: int, histories: int, jobs: int, kind: str = "replicaset", *, alone: bool = True
) -> Tally:
    """Histories ``first`` and following, on several processors. ``alone``: with the promises that no
    history is needed for, and some histories about calendars, of which there are few among the others.
    """
    tally = Tally(kind)
    if alone:
        with silence():
            measure(kind, tally.counts, lambda promise, message: tally.blame(-1, promise, message))
        about = (seed for seed in count(_FIRST_RARE) if focus_of(seed) == _RARE)
        rare = run(islice(about, _RARE_HISTORIES), kind)
        rare.histories = 0  # minima are for each hundred of the others
        tally.add(rare)
    chunk = max(1, min(250, histories // jobs))
    spans = [
        range(start, min(start + chunk, first + histories))
        for start in range(first, first + histories, chunk)
    ]
    if jobs == 1:
        for span in spans:
            tally.add(run(span, kind))
            _progress(tally)
        return tally
    with ProcessPoolExecutor(jobs) as pool:
        for part in pool.map(partial(run, kind=kind), spans):
            tally.add(part)
            _progress(tally)
    return tally


def _progress(tally: Tally) -> None:
    """A line on standard error, so that the table on standard output can be kept."""
    print(f"kind {tally.kind}: {tally.histories} histories run", file=sys.stderr, flush=True)
