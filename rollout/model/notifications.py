"""Notifications: their event, their channel, and the state of delivery."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rollout.model.kinds import Ref


class Trigger(StrEnum):
    """What people are told of, in the words of the annotation."""

    ROLLOUT_STARTED = "on-rollout-started"
    STAGE_PASSED = "on-stage-passed"
    APPROVAL_NEEDED = "on-approval-needed"
    HALTED = "on-halted"
    ROLLED_BACK = "on-rolled-back"
    COMPLETED = "on-completed"
    WINDOW_CLOSED = "on-window-closed"
    ANALYSIS_FAILED = "on-analysis-failed"
    TEST = "test"
    """Nothing happened: somebody tries a channel. No annotation names it."""


EVENTS = tuple(each for each in Trigger if each is not Trigger.TEST)
"""What annotations can name."""
CHANNELS_ACCEPTED = (
    "CHANNEL or CHANNEL=TRIGGER,TRIGGER, separated by semicolons, each channel once; the triggers are "
    + ", ".join(EVENTS)
)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that a workload names: a Secret in its namespace, and what is told there."""

    name: str
    triggers: frozenset[Trigger] = frozenset(EVENTS)


_NAME = re.compile(r"\A[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z", re.ASCII)


def parse_channel(text: str) -> Channel | None:
    """Reads one channel as people write it; None if the text is no channel."""
    name, has_triggers, listed = text.partition("=")
    if not _NAME.match(name.strip()):
        return None
    if not has_triggers:
        return Channel(name.strip())
    asked = frozenset(each.strip() for each in listed.split(","))
    triggers = frozenset(each for each in EVENTS if each in asked)
    return Channel(name.strip(), triggers) if len(triggers) == len(asked) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What came of the attempts to deliver a notification. ``message`` is why the last one failed."""

    tries: int = 0
    last_try_at: datetime | None = None
    delivered_at: datetime | None = None
    given_up_at: datetime | None = None
    message: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it is tried no more."""
        return self.delivered_at is not None or self.given_up_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One thing that people are told on one channel.

    ``about`` tells notifications of one trigger and revision apart. ``id`` is the same on every
    attempt, and unique to the event. ``advice`` are the commands that somebody may want next.
    """

    ref: Ref
    uid: str
    version: int
    workload: Ref
    revision: str
    trigger: Trigger
    channel: str
    id: str
    at: datetime
    message: str
    placement: str = ""
    about: str = ""
    advice: tuple[str, ...] = ()
    delivery: Delivery = Delivery()
