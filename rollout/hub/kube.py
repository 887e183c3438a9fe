"""A Kubernetes API server as a hub.

Synchronous outside, asynchronous inside: each method has the loop's thread do the work and waits, with
a time-out. Events of watches are told on that thread, in the order of their versions. An object's
versions are its resourceVersions; ``managedFields`` are left out of what is read.
"""

from collections import deque
from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from rollout.hub.base import EventSink, Expire, Listing
from rollout.hub.kube_access import Access
from rollout.hub.kube_calls import Calls
from rollout.hub.kube_reflector import Reflector, State
from rollout.hub.kube_session import Heard, Session, Times
from rollout.hub.kube_window import JobQueue
from rollout.model.kinds import Kind, Obj, Ref

T = TypeVar("T")

LIST_SECONDS, GET_SECONDS = 60.0, 5.0
"""For so long a read is repeated while the server cannot answer."""
_SPARE_SECONDS = 60.0
_LISTS_AHEAD = 2


class KubeHub:
    """Implements `rollout.hub.base.Hub`.

    Differs from an embedded hub where a network does: a watch tells of the past after `watch` has
    returned, and a version that is too old is found out then, by ``expired``.

    Args:
        only: kinds of which lists and watches of all namespaces show only what the label selector
            names.
        patience: seconds for which a list is repeated while the server cannot answer. One of a kind
            that is not ours is not, since others serve it, if anybody does; neither is one of a kind that
            was listed whole since `expect`: who lists it again has other things to do meanwhile.
        heard: is told what time the server says it is.
        compressed: whether the server may compress its answers, see `Session`.

    Raises: ConfigError where the configuration cannot be used. No connection is made yet.
    """

    def __init__(
        self,
        access: Access | None = None,
        *,
        only: Mapping[Kind, str] | None = None,
        times: Times | None = None,
        patience: float = LIST_SECONDS,
        heard: Heard | None = None,
        compressed: bool = True,
    ) -> None:
        self.session = Session(access, times, heard, compressed=compressed)
        self.calls = Calls(self.session, only or {})
        self.writes, self.reads = JobQueue(self.calls), JobQueue(self.calls)
        """For writes, and for what must be read in between: a read takes no write's place."""
        self._patience = patience
        self._reflectors: set[Reflector] = set()  # those that were not ended
        self._expected: deque[Kind] = deque()
        self._begun: dict[Kind, Future[Listing]] = {}  # lists that nobody has asked for yet
        self._listed: set[Kind] | None = None  # whole, since `expect`; None: nobody called that

    def get(self, ref: Ref) -> Obj:
        calls = self.calls
        return self._wait(
            calls.patiently(lambda: calls.get(ref), min(GET_SECONDS, self._patience)),
            self._patience,
        )

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        begun = self._begun.pop(kind, None) if namespace is None and not labels else None
        work = begun or self.session.begin(self._listing(kind, namespace, labels))
        self._begin_next()
        return self.session.wait(work, self._seconds(self._patience * 4))

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Two lists are on their way while a third one is taken in: more would be held in memory."""
        for work in self._begun.values():
            work.cancel()
        self._begun.clear()
        self._listed = set()
        self._expected = deque(kinds)
        self._begin_next()

    def _begin_next(self) -> None:
        while self._expected and len(self._begun) < _LISTS_AHEAD:
            kind = self._expected.popleft()
            self._begun[kind] = self.session.begin(self._listing(kind))

    async def _listing(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        is_whole = namespace is None and not labels
        is_again = is_whole and self._listed is not None and kind in self._listed
        calls, patience = self.calls, 0.0 if is_again or not kind.version else self._patience
        found = await calls.patiently(lambda: calls.list(kind, namespace, labels), patience)
        if is_whole and self._listed is not None:
            self._listed.add(kind)
        return found

    def create(self, ref: Ref, obj: Obj) -> Obj:
        return self._wait(self.calls.create(ref, obj))

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._wait(self.calls.patch(ref, changes, version))

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._wait(self.calls.patch_status(ref, changes, version))

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._wait(self.calls.delete(ref, uid, version))

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        reflector = Reflector(self.calls, kind, since, sink, expired=expired)
        self._reflectors.add(reflector)
        cancel = self.session.spawn(reflector.run())

        def end() -> None:
            self._reflectors.discard(reflector)
            cancel()

        return end

    def send(self, method: str, path: str, obj: Obj | None = None) -> bytes:
        """Any other request. Returns: the body of the answer. Raises: HubError."""
        return self._wait(self.calls.send(method, path, obj))

    def is_watching(self, kinds: Container[Kind] | None = None) -> bool:
        """Whether there are watches (of these kinds; None: of any), and each has a connection."""
        reflectors = [r for r in tuple(self._reflectors) if kinds is None or r.kind in kinds]
        return bool(reflectors) and all(r.state is State.WATCHING for r in reflectors)

    def close(self) -> None:
        self.session.close()

    def _wait(self, work: Coroutine[Any, Any, T], spare: float = 0.0) -> T:
        return self.session.run(work, self._seconds(spare))

    def _seconds(self, spare: float) -> float:
        """The time-outs of the requests inside end a wait; this one is for when they do not."""
        return self.session.times.read + spare + _SPARE_SECONDS
