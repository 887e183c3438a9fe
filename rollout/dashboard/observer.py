"""Owns the hub on one thread: reads it after each change, publishes a view, and answers questions.

A hub is made for one thread, so every question about it is asked here. What most pages need stands in
the published `DashboardView`, which takes no question.
"""

import logging
import queue
import threading
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from rollout.account.finish import Finish, finish_of
from rollout.account.states import Code, state_of
from rollout.account.tree import WorkloadAccount
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import Snapshot, snapshot_of
from rollout.clock import Clock, SystemClock
from rollout.dashboard.view import DashboardView, HubReading, WorkloadRow
from rollout.errors import RolloutError, Unavailable
from rollout.hub.base import EmbeddedHub, away_since
from rollout.hub.kube import KubeHub
from rollout.model.approvals import Freeze
from rollout.model.kinds import Ref

log = logging.getLogger(__name__)

T = TypeVar("T")

Open = Callable[[], AbstractContextManager[tuple[EmbeddedHub, Clock]]]
"""Opens the hub, on the thread that will use it."""
Listener = Callable[[DashboardView], object]

PAUSE_SECONDS = 0.1
"""Between two looks for news, also while question follows question."""
LONGEST = timedelta(seconds=5)
"""After so long without a change it is looked again: time alone moves deadlines and ages on."""
QUICK = timedelta(seconds=0.3)
"""A hub that is read in less is read anew for every view."""
REST = 20
"""Where reading takes longer, for so many times as long views follow events alone."""
RETRY_SECONDS = 2.0
ANSWER_SECONDS = 30.0
CLOSING_SECONDS = 30.0
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class _PendingQuestion(Generic[T]):
    ask: Callable[[HubReading], T]
    answer: "Future[T]"


class Observer:
    """Publishes views while it is entered: to be used in a ``with``, which ends its thread.

    Args:
        open: the hub to look at, and its clock.
        wall: the time on which pauses are measured.
    """

    def __init__(self, open: Open, wall: Clock | None = None) -> None:  # noqa: A002  (what it does)
        self._open, self.wall = open, wall or SystemClock()
        self._questions: queue.SimpleQueue[_PendingQuestion[Any]] = queue.SimpleQueue()
        self._listeners: set[Listener] = set()
        self._closing = threading.Event()
        self._first = threading.Event()
        self._kept: dict[object, Any] = {}
        self._kept_of: DashboardView | None = None
        at = self.wall.now()
        self.view = DashboardView(number=0, now=at, read=at, fault="the hub has not been read yet")
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def __enter__(self) -> Self:
        """Begin, and wait for the first view, or for the reason why there is none."""
        self._thread.start()
        self._first.wait(ANSWER_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread. A question that is being answered is waited for."""
        self._closing.set()
        self._thread.join(CLOSING_SECONDS)
        if self._thread.is_alive():
            log.warning("the thread that looks at the hub does not end")

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every view that is another one. Returns: how to end that.

        It is called on the observer's thread.
        """
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def ask(self, question: Callable[[HubReading], T], key: object = None) -> T:
        """Ask the hub's thread.

        Args:
            key: where it is not None, the answer is kept under it until the hub is looked at again.

        Raises: what the question raises; Unavailable where the hub cannot be read, or is busy for so
            long that the question is given up.
        """
        kept = self._kept.get(key) if key is not None and self._kept_of is self.view else None
        if kept is not None:
            return kept  # type: ignore[no-any-return]  # kept under the key of this very question
        answer: Future[T] = Future()

        def asked(reading: HubReading) -> T:
            found = question(reading)
            if key is not None:
                self._keep(key, found, reading.view)
            return found

        self._questions.put(_PendingQuestion(asked, answer))
        return self._awaited(answer)

    def _awaited(self, answer: "Future[T]") -> T:
        """The answer; a question whose turn has not come in time is not answered later either."""
        try:
            return answer.result(ANSWER_SECONDS)
        except TimeoutError:
            if answer.cancel():
                raise Unavailable(
                    "it was busy for too long, and nothing was done: try again"
                ) from None
        try:
            return answer.result(ANSWER_SECONDS)
        except TimeoutError:
            if answer.done():
                raise
            raise Unavailable(
                "it takes very long and goes on: look at what has come of it before you try again"
            ) from None

    def _keep(self, key: object, found: object, view: DashboardView) -> None:
        if self._kept_of is not view or len(self._kept) >= _MOST_KEPT:
            self._kept, self._kept_of = {}, view
        self._kept[key] = found

    # -- on the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with self._open() as (hub, clock), closing(Lookout(hub)) as lookout:
                    self._observe(hub, clock, lookout)
            except RolloutError as fault:
                self._fail(str(fault))
            except Exception:
                log.exception("looking at the hub failed")
                self._fail("it could not be read; the log of the dashboard says more")
            self._refuse(RETRY_SECONDS)

    def _observe(self, hub: EmbeddedHub, clock: Clock, lookout: Lookout) -> None:
        """Look, publish and answer until it is closed. Raises: HubError."""
        snapshot, again = None, self.wall.now()
        while not self._closing.is_set():
            began, now = self.wall.now(), clock.now()
            gone = away_since(hub, now)
            events = lookout.taken()
            if snapshot is None or events is None or began >= again or gone is not None:
                snapshot = None  # two of a large hub need not fit into memory
                snapshot = snapshot_of(lookout, now, away_since=gone)
                lookout.taken()
                view = self._view_of(snapshot, gone, hub, {})
                took = self.wall.now() - began
                again = began if took < QUICK else self.wall.now() + took * REST
            else:
                concerned = snapshot.advance(events, now)
                if snapshot.goes_back(concerned):
                    snapshot = None
                    continue
                view = self._view_of(snapshot, gone, hub, self._unchanged(snapshot, concerned))
            if events == () and _tells_the_same(view, self.view):
                view = replace(view, number=self.view.number)
            self._publish(view)
            reading = HubReading(
                hub=hub, clock=clock, objects=lookout, snapshot=snapshot, view=view
            )
            self._answer(reading, lookout)

    def _view_of(
        self,
        snapshot: Snapshot,
        gone: datetime | None,
        hub: EmbeddedHub,
        known: Mapping[Ref, WorkloadRow],
    ) -> DashboardView:
        """What there is now; ``known`` are rows that need not be worked out again."""
        found = (known.get(ref) or _listed(snapshot, ref, gone) for ref in snapshot.workloads())
        rows = tuple(row for row in found if row is not None)
        freeze = snapshot.fleet.freeze(snapshot.now)
        return DashboardView(
            number=self.view.number + 1,
            now=snapshot.now,
            read=self.wall.now(),
            rows=rows,
            is_known=True,
            fault="" if _in_touch(hub) else "the API server does not answer",
            frozen=_frozen(freeze) if freeze is not None else "",
            away_since=gone,
            by_ref={row.account.ref: row for row in rows},
        )

    def _unchanged(self, snapshot: Snapshot, concerned: Container[Ref]) -> dict[Ref, WorkloadRow]:
        """The rows that neither an event concerns nor time alone changes."""
        kept: dict[Ref, WorkloadRow] = {}
        for ref, row in self.view.by_ref.items():
            due = (row.account.wait.until, row.account.next.at if row.account.next else None)
            if any(at is not None and self.view.now < at <= snapshot.now for at in due):
                snapshot.expire((ref,))
            elif ref not in concerned:
                kept[ref] = row
        return kept

    def _answer(self, reading: HubReading, lookout: Lookout) -> None:
        """Answer questions until something on the hub has changed, which no number of them puts off."""
        now, pause = self.wall.now(), timedelta(seconds=PAUSE_SECONDS)
        end, look = now + LONGEST, now + pause
        while not self._closing.is_set():
            try:
                _reply(self._questions.get(timeout=PAUSE_SECONDS), reading)
            except queue.Empty:
                look = now
            now = self.wall.now()
            if now >= look:
                if lookout.changed() or now >= end:
                    return
                look = now + pause

    def _refuse(self, seconds: float) -> None:
        """Answer questions with why the hub cannot be read, for so long."""
        end = self.wall.now() + timedelta(seconds=seconds)
        while not self._closing.is_set() and self.wall.now() < end:
            try:
                question = self._questions.get(timeout=PAUSE_SECONDS)
            except queue.Empty:
                continue
            self._turn_away(question)

    def _turn_away(self, question: _PendingQuestion[T]) -> None:
        if question.answer.set_running_or_notify_cancel():
            question.answer.set_exception(Unavailable(self.view.fault))

    def _fail(self, fault: str) -> None:
        if fault != self.view.fault:
            self._publish(replace(self.view, number=self.view.number + 1, fault=fault))
        self._first.set()

    def _publish(self, view: DashboardView) -> None:
        """Show it; listeners hear of it where it tells something else than the last one."""
        is_new, self.view = view.number != self.view.number, view
        self._first.set()
        for listener in tuple(self._listeners) if is_new else ():
            listener(view)


def _tells_the_same(new: DashboardView, old: DashboardView) -> bool:
    """Whether two views differ in nothing but their times: then pages stay as they are."""
    told = ("fault", "is_known", "frozen", "away_since")
    return (
        all(getattr(new, name) == getattr(old, name) for name in told)
        and len(new.rows) == len(old.rows)
        and all(_is_same(*pair) for pair in zip(new.rows, old.rows, strict=True))
    )


def _is_same(new: WorkloadRow, old: WorkloadRow) -> bool:
    return new is old or (
        new.labels == old.labels and replace(new.account, now=old.account.now) == old.account
    )


def account_of(
    snapshot: Snapshot,
    ref: Ref,
    gone: datetime | None = None,
    most: int | None = None,
    finish: Finish | None = None,
) -> WorkloadAccount | None:
    """A workload's account as the pages show it: an end that is stored is believed.

    Args:
        most: clusters of a group that are named; None: none is looked at.
        finish: the earliest one, where it is known.
    """
    workload = snapshot.workload(ref)
    if workload is None or workload.raw is None:
        return None
    return snapshot.account(
        ref,
        as_stored=state_of(workload.raw).is_final,
        detail=most is not None,
        most=most,
        away_since=gone,
        finish=finish,
    )


def _listed(snapshot: Snapshot, ref: Ref, gone: datetime | None) -> WorkloadRow | None:
    """One workload of the list; how long it takes is worked out where it goes on."""
    account, workload = account_of(snapshot, ref, gone), snapshot.workload(ref)
    if account is None or workload is None:
        return None
    if account.code is Code.WAITING:
        account = replace(account, finish=finish_of(workload, snapshot.now, snapshot.fleet))
    return WorkloadRow(account, dict(snapshot.object_of(ref)["metadata"].get("labels") or {}))


def _reply(question: _PendingQuestion[T], reading: HubReading) -> None:
    if not question.answer.set_running_or_notify_cancel():
        return
    try:
        question.answer.set_result(question.ask(reading))
    except Exception as fault:  # noqa: BLE001  (whoever asked gets it, whatever it is)
        question.answer.set_exception(fault)


def _in_touch(hub: EmbeddedHub) -> bool:
    """Whether what is shown is what there is: watches of a server have a connection each."""
    return not isinstance(hub, KubeHub) or hub.is_watching()


def _frozen(freeze: Freeze) -> str:
    by = f" by {freeze.actor} (unverified)" if freeze.actor else ""
    return f"frozen{by}{': ' if freeze.reason else ''}{freeze.reason}"
