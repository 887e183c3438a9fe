"""Carries out a `Deliver`: from a plan to the status of the notification.

The deliverer answers on any thread. The result is written into the status, and the plan is told of that
write. A delivery is not a write to the hub, and delays none.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from rollout.clock import Clock
from rollout.errors import Fenced
from rollout.model.writes import Deliver, PatchStatus
from rollout.planning.deliveries import delivery_status, tried
from rollout.planning.plan import Write
from rollout.runtime.io import Done, Io, WriteOutcome, WriteResult

MOST_WAITING, MOST_OF_NAMESPACE, MOST_OF_CHANNEL = 1000, 250, 100
"""More notifications, in all, of one namespace and of one channel, do not wait for an attempt at once; the
others are planned again later."""
LATER = timedelta(seconds=30)


class Deliverer(Protocol):
    """Delivers notifications."""

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        """Try once, and call ``done`` once, at once or on another thread, with what went wrong.

        "": it was delivered. It raises nothing.
        """
        ...


class _Nobody:
    """Tells nobody, and says so."""

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        done("this process tells nobody")


NOBODY_TOLD: Deliverer = _Nobody()


def channel_of(write: Deliver) -> tuple[str, str]:
    """Namespace and name of the channel."""
    return write.ref.namespace, write.notification.channel


class NotificationIo:
    """An `Io` before another one, which delivers what is to be delivered.

    Args:
        counted: told of each attempt: ``delivered``, ``failed`` or ``given_up``.
    """

    def __init__(
        self,
        inner: Io,
        deliverer: Deliverer,
        clock: Clock,
        counted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._inner, self._deliverer, self._clock = inner, deliverer, clock
        self._counted = counted
        self._lock = threading.Lock()
        self._waiting: Counter[tuple[str, str]] = Counter()  # by namespace and channel

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        """``done`` of an attempt is called when its result is written."""
        mine = [write for write in writes if isinstance(write, Deliver)]
        plain = [write for write in writes if not isinstance(write, Deliver)] if mine else writes
        if plain:
            self._inner.send(plain, done, turn)
        for write in mine:
            if not self._stands_in_line(channel_of(write)):
                done(write, WriteOutcome(result=WriteResult.WAIT, after=LATER))
                continue
            self._deliverer.deliver(write, self._landing(write, done, turn))

    def _stands_in_line(self, channel: tuple[str, str]) -> bool:
        """Whether there was room for one more."""
        with self._lock:
            waiting = self._waiting
            of_namespace = sum(n for (space, _), n in waiting.items() if space == channel[0])
            if waiting.total() >= MOST_WAITING or of_namespace >= MOST_OF_NAMESPACE:
                return False
            if waiting[channel] >= MOST_OF_CHANNEL:
                return False
            waiting[channel] += 1
            return True

    def _landing(self, write: Deliver, done: Done, turn: str) -> Callable[[str], None]:
        """What writes the result into the status."""

        def told(_: Write, outcome: WriteOutcome) -> None:
            done(write, outcome)

        def land(fault: str) -> None:
            with self._lock:
                self._waiting[channel_of(write)] -= 1
                self._waiting += Counter()  # without those that nobody waits for
            delivery = tried(write.notification, fault, self._clock.now())
            word = "failed" if fault else "delivered"
            self._counted("given_up" if delivery.given_up_at is not None else word)
            version = write.notification.version or None
            status = PatchStatus(write.ref, delivery_status(delivery), version)
            try:
                self._inner.send([status], told, turn)
            except Fenced:  # another process leads, and delivers it again
                done(write, WriteOutcome(result=WriteResult.UNKNOWN))

        return land
