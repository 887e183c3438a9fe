"""Lists the notification channels of a workload, and the state of the last deliveries."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rollout.account.words import age
from rollout.model.notifications import EVENTS, Channel, Notification, Trigger
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload

if TYPE_CHECKING:
    from rollout.fleet.fleet import Fleet

CHANNEL_HEAD = ("Channel", "Told of", "Delivered", "Not yet", "Given up", "Last fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAccount:
    """A channel on which people are told.

    ``triggers`` are what it is told of. ``delivered`` counts what arrived, the last of it at
    ``delivered_at`` (None: nothing has). ``undelivered`` counts what failed and is tried again,
    ``given_up`` what failed and is not. ``message`` is why the last attempt failed; "" where none did.
    """

    name: str
    triggers: tuple[Trigger, ...] = EVENTS
    delivered: int = 0
    delivered_at: datetime | None = None
    undelivered: int = 0
    given_up: int = 0
    message: str = ""

    @property
    def fails(self) -> bool:
        """Whether people could not be told something."""
        return bool(self.undelivered or self.given_up)

    def __str__(self) -> str:
        """What fails, and why."""
        counts = [f"{self.undelivered} not delivered yet"] if self.undelivered else []
        counts += [f"{self.given_up} given up"] if self.given_up else []
        return f"{self.name} fails, {', '.join(counts)}: {self.message}"

    def cells(self, now: datetime) -> tuple[str, ...]:
        """The channel as a row below `CHANNEL_HEAD`."""
        last = f", the last {age(now - self.delivered_at)} ago" if self.delivered_at else ""
        told = "everything" if self.triggers == EVENTS else ", ".join(self.triggers)
        counts = (f"{self.delivered}{last}", str(self.undelivered), str(self.given_up))
        return (self.name, told, *counts, self.message)


def channels(fleet: "Fleet", workload: Workload[PlacementShare]) -> tuple[ChannelAccount, ...]:
    """The channels that a workload names, in its order."""
    there = fleet.notifications.of(workload.ref).values()
    return tuple(
        _account(channel, [each for each in there if each.channel == channel.name])
        for channel in workload.intents.notify
    )


def _account(channel: Channel, there: list[Notification]) -> ChannelAccount:
    arrived = [at for each in there if (at := each.delivery.delivered_at) is not None]
    failed = [each for each in there if each.delivery.tries and each.delivery.delivered_at is None]
    given_up = sum(each.delivery.is_over for each in failed)
    last = max(
        failed, key=lambda each: (each.delivery.last_try_at or each.at, each.ref.name), default=None
    )
    return ChannelAccount(
        name=channel.name,
        triggers=tuple(each for each in EVENTS if each in channel.triggers),
        delivered=len(arrived),
        delivered_at=max(arrived, default=None),
        undelivered=len(failed) - given_up,
        given_up=given_up,
        message=last.delivery.message if last is not None else "",
    )
