"""Keeps the notifications of each workload, and how they stand."""

from collections.abc import Mapping
from datetime import datetime

from rollout.api.decoding import decoder
from rollout.model.events import Change, Event
from rollout.model.kinds import Ref
from rollout.model.notifications import Notification


class Notifications:
    """Notifications, by workload."""

    def __init__(self) -> None:
        self._known: dict[str, Notification] = {}
        self._of: dict[Ref, dict[str, Notification]] = {}

    def take(self, event: Event, _now: datetime) -> set[Ref]:
        """Take in a notification; itself, to be delivered, and its workload once it is tried no more: then it
        goes with its revision, so that a revision that comes back is told anew.
        """
        before = self._known.pop(event.ref.key, None)
        if before is not None:
            mine = self._of[before.workload]
            del mine[event.ref.name]
            if not mine:
                del self._of[before.workload]
        if event.change is not Change.DELETED:
            after: Notification | None = decoder(event.ref.kind.name)(event.ref, event.obj)
            if after is not None:
                self._known[event.ref.key] = after
                self._of.setdefault(after.workload, {})[event.ref.name] = after
                if after.delivery.is_over and not (before and before.delivery.is_over):
                    return {event.ref, after.workload}
        return {event.ref}

    def of(self, workload: Ref) -> Mapping[str, Notification]:
        """Those of a workload, by their names."""
        return self._of.get(workload, {})

    def notification(self, key: str) -> Notification | None:
        return self._known.get(key)
