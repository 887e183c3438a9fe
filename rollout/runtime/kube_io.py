"""Sends writes to a Kubernetes API server, many at once, each with its outcome.

The steps of each write are those of `rollout.runtime.io.Attempt`; here many are under way side by side,
on the thread of the hub's event loop. Writes go through one window; what must be read before some of
them, or after one that failed, goes through another, so that a long list never keeps anybody's write
waiting. The engine never waits for the network.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from rollout.errors import Gone, HubError, Throttled, Unavailable
from rollout.hub.kube import KubeHub
from rollout.hub.kube_window import Job
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.writes import PatchWork
from rollout.planning.plan import Write, precondition
from rollout.runtime.io import (
    Attempt,
    Done,
    ReadBack,
    ReadLabelled,
    ReadObject,
    ReadSelected,
    WriteOutcome,
    WriteResult,
    call,
)

READ_BACK_SECONDS = 3.0
"""For so long reading back is repeated while the server cannot answer."""
OLDEST_SECONDS = 15.0
"""A write that has waited this long is out of date: it is not sent, but planned again."""
FRESH_SECONDS = 5.0
"""Nor is one that waited so long after it was read whether it may be done."""
TOGETHER = 50
"""So many finalizers share the read that lets them go."""
NOT_ALLOWED = WriteOutcome(
    result=WriteResult.WAIT,
    message="this process may not write any more",
    after=timedelta(seconds=1),
)


TOO_OLD = WriteOutcome(
    result=WriteResult.WAIT, message="the API server was too slow for this plan", after=timedelta(0)
)


@dataclass(frozen=True, slots=True)
class _Errand:
    """Writes of one wave, on their way. ``until`` is on the loop's clock."""

    done: Done
    turn: str
    until: float


class KubeIo:
    """Implements `rollout.runtime.io.Io`. ``done`` is called on the hub's thread.

    Args:
        allowed: asked on the hub's thread right before each request that writes; where it says no
            nothing is sent, and the outcome says so (fencing).
        version_of: the version at which an object was last heard of, 0 where it never was; asked on
            the hub's thread too. What is heard of already is not read after a conflict.
    """

    def __init__(
        self,
        hub: KubeHub,
        allowed: Callable[[], bool] = lambda: True,
        version_of: Callable[[Ref], int] = lambda _: 0,
    ) -> None:
        self._calls, self._writes, self._reads = hub.calls, hub.writes, hub.reads
        self._allowed, self._version_of = allowed, version_of
        self._leaving: dict[tuple[Kind, str], deque[tuple[Attempt, str, _Errand]]] = {}

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        errand = _Errand(done, turn, self._calls.session.elapsed() + OLDEST_SECONDS)
        single: list[Attempt] = []
        guarded: list[Attempt] = []
        for attempt in map(Attempt, writes):
            match attempt.request:
                case ReadSelected():
                    guarded.append(attempt)
                case ReadLabelled() as request:
                    self._calls.session.post(partial(self._leave, attempt, request, errand))
                case _:
                    single.append(attempt)
        self._go_on(single, errand)
        if guarded:
            self._reads.post([Job(partial(self._look_for_decisions, guarded, errand))], turn)

    def _go_on(self, attempts: Iterable[Attempt], errand: _Errand) -> None:
        """Post the writes that these ask for; tell of those that have come to their end."""
        jobs: list[Job] = []
        for attempt in attempts:
            match attempt.request:
                case None:
                    self._tell(attempt, errand)
                case ReadObject(ref):
                    job = Job(partial(self._look_again, attempt, ref, errand))
                    self._reads.post([job], errand.turn)
                case ReadSelected() | ReadLabelled():
                    raise TypeError(f"{attempt.request} is read for many writes at once")
                case request:
                    what = (type(request), request.ref.kind)
                    jobs.append(Job(partial(self._write, attempt, request, errand), what))
        self._writes.post(jobs, errand.turn)

    # -- single writes -------------------------------------------------------------------------

    async def _write(self, attempt: Attempt, request: Write, errand: _Errand) -> None:
        if self._calls.session.elapsed() > errand.until:
            errand.done(attempt.write, TOO_OLD)
        elif not self._allowed():
            errand.done(attempt.write, NOT_ALLOWED)
        else:
            try:
                stored = await call(self._calls, request)
            except Exception as error:  # noqa: BLE001  (whatever it is, the write is answered)
                attempt.failed(_of_hub(error))
                self._go_on([attempt], errand)
                _raise_on(error)
            else:
                attempt.answered(stored)
                self._go_on([attempt], errand)

    def _tell(self, attempt: Attempt, errand: _Errand) -> None:
        """Report the outcome. If it is unknown, or others wrote, the object is read first."""
        if self._is_overtaken(attempt):
            errand.done(attempt.write, replace(attempt.outcome, read_back=ReadBack.HEARD))
        elif attempt.outcome.read_back is ReadBack.LEFT and attempt.outcome.result in (
            WriteResult.STALE,
            WriteResult.UNKNOWN,
        ):
            job = Job(partial(self._read_back, attempt, errand))
            self._reads.post([job], errand.turn)
        else:
            errand.done(attempt.write, attempt.outcome)

    def _is_overtaken(self, attempt: Attempt) -> bool:
        """Whether others wrote first, and the watch has told of that meanwhile."""
        if attempt.outcome.result is not WriteResult.STALE:
            return False
        if isinstance(attempt.write, PatchWork):
            return False  # it may rest on what was read since
        rested_on = precondition(attempt.write)
        return rested_on is not None and self._version_of(attempt.write.ref) > rested_on

    # -- reads in between ----------------------------------------------------------------------

    async def _look_for_decisions(self, attempts: Sequence[Attempt], errand: _Errand) -> None:
        """Decisions are read once for all deletes of a wave, which rest on what was read then."""
        fresh = self._freshly(errand)
        selected: dict[ReadSelected, frozenset[str]] = {}
        fault: Exception | None = None
        for attempt in attempts:
            while isinstance(request := attempt.request, ReadSelected):
                try:
                    if fault is None and request not in selected:
                        selected[request] = request.answer(await self._calls.list(*request.where))
                except Exception as error:  # noqa: BLE001  (whatever it is, each write is answered)
                    fault = error
                if request in selected:
                    attempt.answered(selected[request])
                elif fault is not None:  # the server is not asked once more for each delete
                    attempt.failed(_of_hub(fault))
        self._go_on(attempts, fresh)
        if fault is not None:
            _raise_on(fault)

    def _leave(self, attempt: Attempt, request: ReadLabelled, errand: _Errand) -> None:
        """It waits for a read that shows nothing left; writes that wait for the same kind share this read."""
        place = request.kind, request.label[0]
        self._leaving.setdefault(place, deque()).append((attempt, request.label[1], errand))
        self._reads.post([Job(partial(self._look_for_what_is_left, *place))], errand.turn)

    async def _look_for_what_is_left(self, kind: Kind, label: str) -> None:
        queue = self._leaving[kind, label]
        waiting = [queue.popleft() for _ in range(min(TOGETHER, len(queue)))]
        if not waiting:
            return  # others' read answered these, too
        fresh = [self._freshly(errand) for _, _, errand in waiting]
        values = sorted({value for _, value, _ in waiting})
        fault: Exception | None = None
        found: Sequence[Obj] = ()
        try:
            found = await self._calls.list_labelled(kind, label, values)
        except Exception as error:  # noqa: BLE001  (whatever it is, each write is answered)
            fault = error
        for (attempt, _, _), errand in zip(waiting, fresh, strict=True):
            if fault is None:
                attempt.answered(found)
            else:
                attempt.failed(_of_hub(fault))
            self._go_on([attempt], errand)
        if fault is not None:
            _raise_on(fault)

    def _freshly(self, errand: _Errand) -> _Errand:
        """The same errand, for writes that rest on what is read from now on."""
        until = min(errand.until, self._calls.session.elapsed() + FRESH_SECONDS)
        return _Errand(errand.done, errand.turn, until)

    async def _look_again(self, attempt: Attempt, ref: Ref, errand: _Errand) -> None:
        """What is there after a conflict, for a write that may go on all the same."""
        fault: Exception | None = None
        try:
            attempt.answered(await self._calls.get(ref))
        except Exception as error:  # noqa: BLE001  (whatever it is, the write is answered)
            fault = error
            if attempt.request is not None:
                attempt.failed(_of_hub(error))
        self._go_on([attempt], errand)
        if fault is not None:
            _raise_on(fault)

    async def _read_back(self, attempt: Attempt, errand: _Errand) -> None:
        """What is there now? Where that cannot be told, preconditions still guard the next write."""
        found: Obj | None = None
        how = ReadBack.DONE
        calls, ref = self._calls, attempt.write.ref
        fault: Exception | None = None
        try:
            found = await calls.patiently(partial(calls.get, ref), READ_BACK_SECONDS)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001  (whatever it is, the write is answered)
            how, fault = ReadBack.FAILED, error
        errand.done(attempt.write, replace(attempt.outcome, obj=found, read_back=how))
        if fault is not None:
            _raise_on(fault)


def _of_hub(error: Exception) -> HubError:
    """What a write is told of an error. After a fault of ours nobody knows whether it was done."""
    return error if isinstance(error, HubError) else HubError(f"{type(error).__name__}: {error}")


def _raise_on(error: Exception) -> None:
    """Raises: the error, where it says something of the server's load, or is a fault of ours (and is
    logged then).
    """
    if isinstance(error, Throttled | Unavailable) or not isinstance(error, HubError):
        raise error
