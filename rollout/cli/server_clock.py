"""The time of an API server, for commands: the server's time decides when a request begins and ends."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from rollout.clock import CLOCK_TOLERANCE, HubClock, SystemClock
from rollout.errors import HubError

VERSION_PATH = "/version"
"""Everybody may ask a server for it."""


class ServerClock:
    """The time of this machine where it agrees with the server's; else what the server's answers say.

    Answers tell whole seconds, so a clock that agrees is the finer one: two verbs that follow each
    other keep their order.

    Args:
        ask: makes a request, whose answer `heard` is told of; called once, where the time is wanted
            before any answer came. What it raises of `HubError` leaves this machine's time.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._told, self._wall, self._ask = HubClock(), SystemClock(), ask
        self._asked = False
        self.heard = self._told.heard
        self.own_error = self._told.own_error

    def now(self) -> datetime:
        error = self.own_error()
        if error is None and not self._asked:
            self._asked = True
            with suppress(HubError):  # whatever is asked for next will say so
                self._ask()
            error = self.own_error()
        agrees = error is None or abs(error) <= CLOCK_TOLERANCE
        return self._wall.now() if agrees else self._told.now()
