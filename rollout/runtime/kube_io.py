"""How do writes reach a Kubernetes API server? Many at once, each with its outcome.

What `rollout.runtime.io` does one after the other happens here side by side, on the thread of the hub's
event loop; this is the one module outside `rollout.hub` that speaks ``async``. A write that failed, or
may have failed, is read back there too, so that the engine never waits for the network.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

from rollout.errors import (
    Gone,
    HubError,
    Throttled,
    Unavailable,
)
from rollout.hub.kube import KubeHub
from rollout.hub.kube_calls import Calls, Shared
from rollout.model.kinds import PLACEMENT_DECISION, Obj
from rollout.model.names import PLACEMENT_LABEL
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, RemoveFinalizer, Write
from rollout.runtime.io import Done, Outcome, ReadBack, Result, outcome_of

READ_BACK_SECONDS = 3.0
"""For so long reading back is repeated while the server cannot answer."""
OLDEST_SECONDS = 15.0
"""A write that has waited for so long is not sent: it rests on news of then. It is planned again."""
NOT_ALLOWED = Outcome(
    Result.WAIT, message="this process may not write any more", after=timedelta(seconds=1)
)


TOO_OLD = Outcome(
    Result.WAIT, message="the API server was too slow for this plan", after=timedelta(0)
)


class KubeIo:
    """Implements `rollout.runtime.io.Io`. ``done`` is called on the hub's thread.

    Args:
        allowed: asked on the hub's thread right before each request that writes; where it says no
            nothing is sent, and the outcome says so (fencing).
    """

    def __init__(self, hub: KubeHub, allowed: Callable[[], bool] = lambda: True) -> None:
        self._calls, self._crew = hub.calls, hub.crew
        self._allowed = allowed

    def send(self, writes: Sequence[Write], done: Done) -> None:
        live: Shared[frozenset[str]] = (
            Shared()
        )  # decisions read live, once for the writes of one wave
        until = self._calls.session.elapsed() + OLDEST_SECONDS
        self._crew.post([partial(self._job, write, live, until, done) for write in writes])

    async def _job(
        self, write: Write, live: Shared[frozenset[str]], until: float, done: Done
    ) -> None:
        if self._calls.session.elapsed() > until:
            done(write, TOO_OLD)
            return
        fault: HubError | None = None
        try:
            outcome = await self._perform(write, live)
        except HubError as error:
            outcome, fault = outcome_of(write, error), error
        if outcome.result in (Result.STALE, Result.UNKNOWN):
            outcome = await self._read_back(write, outcome)
        done(write, outcome)
        if isinstance(fault, Throttled | Unavailable):
            raise fault  # for the window

    async def _perform(self, write: Write, live: Shared[frozenset[str]]) -> Outcome:
        calls = self._calls
        match write:
            case Delete(ref, uid, placements, cluster):
                for placement in placements:
                    names = await live.of(placement, partial(selected_live, calls, placement))
                    if cluster in names:
                        return Outcome(Result.STALE, message=f"{cluster} is selected after all")
                if not self._allowed():
                    return NOT_ALLOWED
                await calls.delete(ref, uid)
                return Outcome(Result.LANDED)
            case RemoveFinalizer():
                return await self._release(write)
        if not self._allowed():
            return NOT_ALLOWED
        match write:
            case Create(ref, obj):
                stored = await calls.create(ref, obj)
            case Patch(ref, changes, version):
                stored = await calls.patch(ref, changes, version)
            case PatchStatus(ref, status, version):
                stored = await calls.patch_status(ref, {"status": status}, version)
        return Outcome(Result.LANDED, stored)

    async def _release(self, write: RemoveFinalizer) -> Outcome:
        calls = self._calls
        listing = await calls.list(write.kind, None, dict(write.labels))
        left = [
            obj
            for obj in listing.items
            if not (write.deleting_is_gone and obj["metadata"].get("deletionTimestamp"))
        ]
        if left:
            return Outcome(Result.STALE, message=f"{len(left)} {write.kind.plural} are left")
        stored = await calls.get(write.ref)
        finalizers = stored["metadata"].get("finalizers") or []
        kept = [name for name in finalizers if name != write.finalizer]
        if not self._allowed():
            return NOT_ALLOWED
        changes: Obj = {"metadata": {"finalizers": kept or None}}
        return Outcome(Result.LANDED, await calls.patch(write.ref, changes, write.version))

    async def _read_back(self, write: Write, outcome: Outcome) -> Outcome:
        """What is there now? Where that cannot be told, preconditions still guard the next write."""
        found: Obj | None = None
        how = ReadBack.DONE
        calls = self._calls
        try:
            found = await calls.patiently(partial(calls.get, write.ref), READ_BACK_SECONDS)
        except Gone:
            pass
        except HubError:
            how = ReadBack.FAILED
        return Outcome(outcome.result, found, outcome.message, outcome.after, how)


async def selected_live(calls: Calls, placement: str) -> frozenset[str]:
    """The clusters that a placement's decisions name at this moment."""
    namespace, _, name = placement.rpartition("/")
    listing = await calls.list(PLACEMENT_DECISION, namespace, {PLACEMENT_LABEL: name})
    return frozenset(
        str(decision.get("clusterName"))
        for obj in listing.items
        for decision in ((obj.get("status") or {}).get("decisions") or [])
    )
