"""Plans the delivery of a notification: at least once, until it is given up."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import ROLLOUT_NOTIFICATION, Obj
from rollout.model.notifications import Delivery, Notification
from rollout.model.writes import Deliver
from rollout.planning.plan import NOTHING, Plan

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
"""After a failed attempt; the pause doubles each time."""
GIVE_UP_AFTER = timedelta(hours=24)
"""So long after what it tells happened it is tried no more."""


class NotificationView(Protocol):
    """What the planner reads."""

    def notification(self, key: str) -> Notification | None: ...


class NotificationPlanner:
    """Plans the attempts to deliver one notification."""

    kind = ROLLOUT_NOTIFICATION

    def plan(self, key: str, view: NotificationView, now: datetime) -> Plan:
        """The attempt that is due; nothing where it is delivered or given up."""
        found = view.notification(key)
        if found is None or found.delivery.is_over:
            return NOTHING
        at = next_try(found.delivery)
        if at is not None and at > now:
            return Plan(recheck_at=at)
        return Plan(((Deliver(ref=found.ref, notification=found),),))


def next_try(delivery: Delivery) -> datetime | None:
    """When the next attempt is due; None: at once."""
    if delivery.last_try_at is None:
        return None
    doubled: int = 2 ** min(max(delivery.tries - 1, 0), 16)  # already longer than the longest
    return delivery.last_try_at + min(FIRST_PAUSE * doubled, LONGEST_PAUSE)


def tried(told: Notification, fault: str, now: datetime) -> Delivery:
    """How a notification stands after an attempt. ``fault``: why it failed, "" where it did not."""
    after = replace(told.delivery, tries=told.delivery.tries + 1, last_try_at=now, message=fault)
    if not fault:
        return replace(after, delivered_at=now)
    return replace(after, given_up_at=now) if now >= told.at + GIVE_UP_AFTER else after


def delivery_status(delivery: Delivery) -> Obj:
    """The status of a notification."""
    phase = "Pending"
    if delivery.is_over:
        phase = "Delivered" if delivery.delivered_at is not None else "GivenUp"
    instants = {
        "lastTryAt": delivery.last_try_at,
        "deliveredAt": delivery.delivered_at,
        "givenUpAt": delivery.given_up_at,
    }
    return {
        "phase": phase,
        "tries": delivery.tries,
        "message": delivery.message or None,
        **{key: rfc3339_micro(at) if at is not None else None for key, at in instants.items()},
    }
