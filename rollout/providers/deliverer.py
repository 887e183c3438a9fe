"""Delivers notifications: many channels at the same time, each channel in the order of its queue.

A channel that hangs takes one of its namespace's places for ten seconds, then its whole line rests.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping

from rollout.clock import Clock
from rollout.hub.base import Hub
from rollout.model.notifications import Notification
from rollout.model.wording import shortened
from rollout.model.writes import Deliver
from rollout.providers.hosts import HostPolicy
from rollout.providers.http import LONGEST_SECONDS, HttpClient, UnmeasuredError
from rollout.providers.secrets import UnreadSecretError, read_secret, without
from rollout.providers.sinks import Sink
from rollout.providers.workers import Blocking, Workers

log = logging.getLogger(__name__)

AT_ONCE, OF_ONE = 32, 8
"""So many channels are served at once, and so many of one namespace."""
LONGEST_MESSAGE = 512

ChannelKey = tuple[str, str]
"""Namespace and name."""
OnDelivered = Callable[[str], None]


class ChannelDeliverer:
    """Implements `rollout.runtime.notification_io.Deliverer`.

    Args:
        hub: where the Secrets of channels are; it is asked on threads of its own.
        sinks: by the type that a channel names.
    """

    def __init__(
        self, hub: Hub, clock: Clock, sinks: Mapping[str, Sink], policy: HostPolicy
    ) -> None:
        self._hub, self._clock, self._sinks = hub, clock, sinks
        self._http = HttpClient(policy)
        self._workers = Workers("telling", AT_ONCE, OF_ONE)
        self._asking = Blocking("telling-hub", AT_ONCE, OF_ONE)
        self._lines: dict[ChannelKey, deque[tuple[Notification, OnDelivered]]] = {}

    def close(self) -> None:
        """End: what is being delivered is given up, and told of no more."""
        self._workers.close(self._http.close)

    def deliver(self, write: Deliver, done: OnDelivered) -> None:
        told = write.notification
        key = (told.ref.namespace, told.channel)

        def stand_in_line() -> None:
            is_served = key in self._lines
            self._lines.setdefault(key, deque()).append((told, done))
            if not is_served:
                self._workers.begin(lambda: self._serve(key))

        self._workers.call(stand_in_line)

    async def _serve(self, key: ChannelKey) -> None:
        """Deliver what stands in one line, until nothing does or an attempt fails."""
        line = self._lines[key]
        while line:
            told, done = line.popleft()
            async with self._workers.places.taken(told.ref.namespace):
                fault = await self.attempt(told)
            if fault:
                log.info("%s was not delivered: %s", told.ref, fault)
            done(fault)
            while fault and line:
                line.popleft()[1](f"the channel failed just before: {fault}")
        del self._lines[key]

    async def attempt(self, told: Notification) -> str:
        """Try once; why it failed, "" where it did not. No Secret stands in that."""
        channel: dict[str, str] = {}
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                channel.update(
                    await read_secret(self._hub, self._asking, told.ref.namespace, told.channel)
                )
                await self._sink(channel).send(told, channel, self._http, self._clock.now())
        except TimeoutError:
            fault = f"no answer within {LONGEST_SECONDS:g} s"
        except (UnreadSecretError, UnmeasuredError) as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001  (a plugin may raise anything)
            fault = f"the sink failed: {type(error).__name__}: {error}"
        else:
            return ""
        kept = (value for entry, value in channel.items() if entry != "type")
        return shortened(without(kept, fault), LONGEST_MESSAGE)

    def _sink(self, channel: Mapping[str, str]) -> Sink:
        kind = channel.get("type", "")
        if kind not in self._sinks:
            known = ", ".join(sorted(self._sinks))
            raise UnmeasuredError(
                f"the Secret of the channel has type {kind!r}; there are: {known}"
            )
        return self._sinks[kind]
