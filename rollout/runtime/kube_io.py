"""How do writes reach a Kubernetes API server? Many at once, each with its outcome.

What `rollout.runtime.io` does one after the other happens here side by side, on the thread of the hub's
event loop; this is the one module outside `rollout.hub` that speaks ``async``. Single writes go through
one window; what must be read before some of them, or after one that failed, goes through another, so
that a long list never keeps anybody's write waiting. The engine never waits for the network.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from rollout.errors import Gone, HubError, Throttled, Unavailable
from rollout.hub.kube import KubeHub
from rollout.hub.kube_calls import Calls
from rollout.hub.kube_crew import Job
from rollout.model.kinds import PLACEMENT_DECISION, Kind, Obj
from rollout.model.names import PLACEMENT_LABEL
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, RemoveFinalizer, Write
from rollout.runtime.io import Done, Outcome, ReadBack, Result, outcome_of, still_there

READ_BACK_SECONDS = 3.0
"""For so long reading back is repeated while the server cannot answer."""
OLDEST_SECONDS = 15.0
"""A write that has waited for so long is not sent: it rests on news of then. It is planned again."""
FRESH_SECONDS = 5.0
"""Nor is one that waited so long after it was read whether it may be done."""
TOGETHER = 50
"""So many finalizers share the read that lets them go."""
NOT_ALLOWED = Outcome(
    Result.WAIT, message="this process may not write any more", after=timedelta(seconds=1)
)


TOO_OLD = Outcome(
    Result.WAIT, message="the API server was too slow for this plan", after=timedelta(0)
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
    """

    def __init__(self, hub: KubeHub, allowed: Callable[[], bool] = lambda: True) -> None:
        self._calls, self._writes, self._reads = hub.calls, hub.crew, hub.reads
        self._allowed = allowed
        self._leaving: dict[tuple[Kind, str], deque[tuple[RemoveFinalizer, _Errand]]] = {}

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        errand = _Errand(done, turn, self._calls.session.elapsed() + OLDEST_SECONDS)
        single: list[Write] = []
        guarded: list[Delete] = []
        for write in writes:
            match write:
                case Delete(unless_selected_by=placements) if placements:
                    guarded.append(write)
                case RemoveFinalizer():
                    self._calls.session.post(partial(self._leave, write, errand))
                case _:
                    single.append(write)
        self._post(single, errand)
        if guarded:
            self._reads.post([Job(partial(self._look_for_decisions, guarded, errand))], turn)

    def _post(self, writes: Iterable[Write], errand: _Errand) -> None:
        jobs = [Job(partial(self._write, w, errand), (type(w), w.ref.kind)) for w in writes]
        self._writes.post(jobs, errand.turn)

    # -- single writes -------------------------------------------------------------------------

    async def _write(self, write: Write, errand: _Errand) -> None:
        if self._calls.session.elapsed() > errand.until:
            errand.done(write, TOO_OLD)
            return
        try:
            outcome = await self._perform(write) if self._allowed() else NOT_ALLOWED
        except HubError as error:
            self._answer(write, outcome_of(write, error), errand)
            _tell_the_window(error)
        else:
            self._answer(write, outcome, errand)

    async def _perform(self, write: Write) -> Outcome:
        calls = self._calls
        match write:
            case Create(ref, obj):
                stored = await calls.create(ref, obj)
            case Patch(ref, changes, version):
                stored = await calls.patch(ref, changes, version)
            case PatchStatus(ref, status, version):
                stored = await calls.patch_status(ref, {"status": status}, version)
            case RemoveFinalizer():
                stored = await calls.patch(write.ref, write.changes, write.version)
            case Delete(ref, uid):
                await calls.delete(ref, uid)
                return Outcome(Result.LANDED)
        return Outcome(Result.LANDED, stored)

    def _answer(self, write: Write, outcome: Outcome, errand: _Errand) -> None:
        """Tell what came of it; where that is not known, or others wrote, read first what is there."""
        if outcome.result in (Result.STALE, Result.UNKNOWN):
            job = Job(partial(self._read_back, write, outcome, errand))
            self._reads.post([job], errand.turn)
        else:
            errand.done(write, outcome)

    # -- reads in between ----------------------------------------------------------------------

    async def _look_for_decisions(self, deletes: Sequence[Delete], errand: _Errand) -> None:
        """Is nobody of these selected after all? Decisions are read once for those of a wave."""
        fresh = self._freshly(errand)
        selected: dict[str, frozenset[str]] = {}
        try:
            for placement in sorted({p for w in deletes for p in w.unless_selected_by}):
                selected[placement] = await selected_live(self._calls, placement)
        except HubError as error:
            for write in deletes:
                self._answer(write, outcome_of(write, error), errand)
            _tell_the_window(error)
            return
        going: list[Delete] = []
        for write in deletes:
            if any(write.cluster in selected[p] for p in write.unless_selected_by):
                told = f"{write.cluster} is selected after all"
                self._answer(write, Outcome(Result.STALE, message=told), errand)
            else:
                going.append(write)
        self._post(going, fresh)

    def _leave(self, write: RemoveFinalizer, errand: _Errand) -> None:
        """It waits for a read that shows nothing left; whoever waits for the same kind shares it."""
        place = write.kind, write.label[0]
        self._leaving.setdefault(place, deque()).append((write, errand))
        self._reads.post([Job(partial(self._look_for_what_is_left, *place))], errand.turn)

    async def _look_for_what_is_left(self, kind: Kind, label: str) -> None:
        queue = self._leaving[kind, label]
        waiting = [queue.popleft() for _ in range(min(TOGETHER, len(queue)))]
        if not waiting:
            return  # others' read answered these, too
        fresh = [self._freshly(errand) for _, errand in waiting]
        values = sorted({write.label[1] for write, _ in waiting})
        try:
            found = await self._calls.list_labelled(kind, label, values)
        except HubError as error:
            for write, errand in waiting:
                self._answer(write, outcome_of(write, error), errand)
            _tell_the_window(error)
            return
        for (write, _), errand in zip(waiting, fresh, strict=True):
            left = write.left_of(found)
            if left:
                told = Outcome(Result.STALE, message=still_there(write, left))
                self._answer(write, told, errand)
            else:
                self._post([write], errand)

    def _freshly(self, errand: _Errand) -> _Errand:
        """The same errand, for writes that rest on what is read from now on."""
        until = min(errand.until, self._calls.session.elapsed() + FRESH_SECONDS)
        return _Errand(errand.done, errand.turn, until)

    async def _read_back(self, write: Write, outcome: Outcome, errand: _Errand) -> None:
        """What is there now? Where that cannot be told, preconditions still guard the next write."""
        found: Obj | None = None
        how = ReadBack.DONE
        calls = self._calls
        fault: HubError | None = None
        try:
            found = await calls.patiently(partial(calls.get, write.ref), READ_BACK_SECONDS)
        except Gone:
            pass
        except HubError as error:
            how, fault = ReadBack.FAILED, error
        errand.done(write, Outcome(outcome.result, found, outcome.message, outcome.after, how))
        if fault is not None:
            _tell_the_window(fault)


def _tell_the_window(error: HubError) -> None:
    """Raises: the error, where it says something of the server's load."""
    if isinstance(error, Throttled | Unavailable):
        raise error


async def selected_live(calls: Calls, placement: str) -> frozenset[str]:
    """The clusters that a placement's decisions name at this moment."""
    namespace, _, name = placement.rpartition("/")
    listing = await calls.list(PLACEMENT_DECISION, namespace, {PLACEMENT_LABEL: name})
    return frozenset(
        str(decision.get("clusterName"))
        for obj in listing.items
        for decision in ((obj.get("status") or {}).get("decisions") or [])
    )
