"""What was measured, written so that it can be read and drawn later: a receipt, and its ratios.

A receipt has all that was taken; ratios follow from it. Times of one machine say little about another
one, so two controllers are compared by turns on one machine: A B B A, in which a machine that becomes
steadily slower or faster treats both alike.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import Figure

FORMAT = 1
"""Of the receipt; another number where a reader has to know of a change."""
A, B = "A", "B"
"""The sides: the controller that is measured, and the one it is measured against."""
CALIBRATION = "calibration"


def turns(rounds: int) -> str:
    """Whose turn it is, in order."""
    return (A + B + B + A) * rounds


@dataclass(kw_only=True)
class Run:
    """One controller on one server of its own. It is filled while it goes on."""

    side: str
    clusters: int
    began_at: str = ""  # UTC
    seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)
    requests: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    """Line -> verb and resource -> how many, in all its repetitions."""
    taken: Counter[str] = field(default_factory=Counter)
    """Line -> how often it was taken, where that is more than once."""
    calibration: dict[str, float] = field(default_factory=dict)
    """ms of a fixed loop, ``before`` and ``after`` the run."""
    others: float | None = None
    """Cores that programs of others kept busy; more than a few hundredths: the times are of no use."""

    def asked(self) -> dict[str, dict[tuple[str, str], float]]:
        """Line -> verb and resource -> how many, in one repetition: the mean."""
        return {
            line: {what: n / max(1, self.taken[line]) for what, n in counts.items()}
            for line, counts in self.requests.items()
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "side": self.side,
            "clusters": self.clusters,
            "beganAt": self.began_at,
            "seconds": self.seconds,
            "calibrationMs": self.calibration,
            "coresOfOthers": self.others,
            "figures": [figure.as_json() for figure in self.figures],
            "requests": {
                line: {f"{verb} {what}": n for (verb, what), n in sorted(counts.items())}
                for line, counts in self.asked().items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One line over all turns of one side, or over all repetitions in one turn."""

    mean: float
    least: float
    most: float

    @property
    def spread(self) -> float:
        """From the least to the most, as a share of the mean."""
        return (self.most - self.least) / self.mean if self.mean else 0.0

    def as_json(self) -> dict[str, float]:
        return {"mean": self.mean, "least": self.least, "most": self.most, "spread": self.spread}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One line on both sides."""

    name: str
    unit: str
    a: Taken
    b: Taken

    @property
    def value(self) -> float | None:
        """A over B; None where B took nothing."""
        return self.a.mean / self.b.mean if self.b.mean else None

    def as_json(self) -> dict[str, Any]:
        sides = {A: self.a.as_json(), B: self.b.as_json()}
        return {"name": self.name, "unit": self.unit, "ratio": self.value, **sides}


def ratios(runs: Iterable[Run]) -> list[Ratio]:
    """Of all lines that both sides have, in the order in which they were taken."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for run in runs:
        for figure in run.figures:
            if figure.name != CALIBRATION:
                sides = values.setdefault((figure.name, figure.unit), {A: [], B: []})
                sides[run.side].append(figure.value)
    return [
        Ratio(name=name, unit=unit, a=over(sides[A]), b=over(sides[B]))
        for (name, unit), sides in values.items()
        if sides[A] and sides[B]
    ]


def over(values: Sequence[float]) -> Taken:
    """One line in all its turns, or repetitions."""
    return Taken(mean=statistics.fmean(values), least=min(values), most=max(values))


def receipt(
    runs: Sequence[Run],
    sides: dict[str, str],
    hardware: dict[str, Any],
    versions: dict[str, str],
) -> dict[str, Any]:
    """As JSON. ``sides``: the command of each."""
    return {
        "format": FORMAT,
        "hardware": hardware,
        "versions": versions,
        "sides": sides,
        "runs": [run.as_json() for run in runs],
        "ratios": [ratio.as_json() for ratio in ratios(runs)],
    }
