"""The way of a measurement from a plan to the status of its run, where something goes wrong on it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.measuring.values import Measure, Sample
from rollout.runtime.analysis_io import AnalysisIo
from rollout.runtime.io import InlineIo, ReadBack, WriteOutcome, WriteResult
from tests.unit.providers.test_providers import run_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Wordless:
    """A value that cannot be written down."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Told:
    """A measurer that has measured already."""

    def __init__(self, value: object) -> None:
        self._value = value

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        sample = Sample(started_at=T0, finished_at=T0, value=self._value)
        done(dict.fromkeys(write.metrics, sample))


def test_a_sample_that_cannot_be_taken_in_is_answered() -> None:
    """Or the run would be busy for ever, and a stop would never let the lease go."""
    clock = VirtualClock(T0)
    io = AnalysisIo(InlineIo(MemoryHub(clock)), Told(Wordless()), clock)
    run = run_of({"web": {"url": "http://here"}})
    measure = Measure(ref=run.ref, run=replace(run, uid="u"), metrics=("m",))
    came: list[WriteOutcome] = []

    with pytest.raises(RuntimeError, match="no words"):
        io.send([measure], lambda _, outcome: came.append(outcome))

    assert came == [WriteOutcome(result=WriteResult.UNKNOWN, read_back=ReadBack.FAILED)]
