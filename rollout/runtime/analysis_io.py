"""Carries out a `Measure`: from a plan to the status of the run.

The measurer answers on any thread. The rules of `rollout.measuring.verdicts` put the result into the status,
which is written as every other status is; the plan is told of that write.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from rollout.clock import Clock
from rollout.measuring.values import AnalysisRun, Measure, Sample, status_of
from rollout.measuring.verdicts import take
from rollout.model.writes import PatchStatus
from rollout.planning.plan import Write
from rollout.runtime.io import Done, Io, ReadBack, WriteOutcome, WriteResult


class Measurer(Protocol):
    """Asks providers."""

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        """Measure, and call ``done`` once, with a sample of each metric, at once or on another thread.

        What cannot be measured is a sample with an error; it raises nothing.
        """
        ...


class _NoProviders:
    """Measures nothing: every metric is an error."""

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        at = write.run.result.started_at
        assert at is not None, "only a run that has begun is measured"
        unread = Sample(started_at=at, finished_at=at, error="this process asks no providers")
        done(dict.fromkeys(write.metrics, unread))


NO_PROVIDERS: Measurer = _NoProviders()


class AnalysisIo:
    """An `Io` before another one, which measures what is to be measured.

    Args:
        counted: told of each attempt: ``measured``, ``failed`` or ``pending``.
    """

    def __init__(
        self,
        inner: Io,
        measurer: Measurer,
        clock: Clock,
        counted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._inner, self._measurer, self._clock = inner, measurer, clock
        self._counted = counted

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        mine = [write for write in writes if isinstance(write, Measure)]
        plain = [write for write in writes if not isinstance(write, Measure)] if mine else writes
        if plain:
            self._inner.send(plain, done, turn)
        for write in mine:
            self._measurer.measure(write, self._landing(write, done, turn))

    def _landing(
        self, write: Measure, done: Done, turn: str
    ) -> Callable[[Mapping[str, Sample]], None]:
        """What writes the samples into the status."""

        def told(_: Write, outcome: WriteOutcome) -> None:
            done(write, outcome)

        def land(samples: Mapping[str, Sample]) -> None:
            for sample in samples.values():
                self._counted(
                    "failed" if sample.error else "pending" if sample.is_pending else "measured"
                )
            try:
                status = self._status(write.run, samples)
            except Exception:  # a fault of ours must not keep the run busy for ever
                done(write, WriteOutcome(result=WriteResult.UNKNOWN, read_back=ReadBack.FAILED))
                raise
            self._inner.send([status], told, turn)

        return land

    def _status(self, run: AnalysisRun, samples: Mapping[str, Sample]) -> PatchStatus:
        result = take(run.metrics, run.result, samples, self._clock.now())
        return PatchStatus(run.ref, status_of(result), run.version or None)
