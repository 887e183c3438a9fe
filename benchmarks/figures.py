"""One figure, and how it is taken."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. ``target`` None: shown for comparison only.

    ``target`` is the most it may be; where ``rising``, the least. ``reference``: what something
    else reached, to be read beside it.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    reference: float | None = None
    rising: bool = False

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.rising else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def fastest(action: Callable[[], object], times: int = 7) -> float:
    """The least wall time in seconds of several runs: what the work takes when nothing else does."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - began)
    return best


def calibrate() -> Figure:
    """A fixed loop of plain Python: the speed of this machine."""

    def loop() -> int:
        total = 0
        for i in range(1_000_000):
            total += i & 7
        return total

    return Figure("calibration", fastest(loop) * 1e3, "ms")
