"""Keeps what placements decided, and when that last changed.

Takes in Placements, their decisions, and what else belongs to placing; says which workloads are to look
at their placements anew.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.model.events import Change, Event
from rollout.model.kinds import PLACEMENT, Ref
from rollout.model.placement import Decision
from rollout.rollouts.selections import named_in, selects


class Placings:
    """The placing side of a fleet, on top of its store of clusters.

    Args:
        follow: which workloads refer to the placement with this key; their terms may have changed.
    """

    def __init__(self, clusters: ClusterStore, follow: Callable[[str], Iterable[Ref]]) -> None:
        self._clusters, self._follow = clusters, follow
        self._changed_at: dict[str, datetime] = {}  # placement key -> last change of its decisions

    def changed_at(self, key: str, now: datetime) -> datetime:
        """When a placement or any of its decisions last changed, as far as was seen; else ``now``."""
        return self._changed_at.get(key, now)

    def assume_still(self, quiet: timedelta) -> None:
        """Take all decisions to have stood for so long."""
        self._changed_at = {key: at - quiet for key, at in self._changed_at.items()}

    def take_other(self, event: Event, now: datetime) -> set[Ref]:
        """Take in a set, a binding, or a score."""
        gone = event.change is Change.DELETED
        return self._store(event, None if gone else decode(event.ref.kind, event.obj))

    def take_placement(self, event: Event, now: datetime) -> set[Ref]:
        key = event.ref.key
        before = self._clusters.placement(key)
        gone = event.change is Change.DELETED
        found = self._store(event, None if gone else decode(PLACEMENT, event.obj, before))
        after = self._clusters.placement(key)
        if before is None or after is None or selects(before) != selects(after):
            self._changed_at[key] = now
            found.update(self._follow(key))
        if after is None:
            self._changed_at.pop(key, None)
        return found

    def take_decision(self, event: Event, now: datetime) -> set[Ref]:
        before = self._clusters.decision(event.ref.key)
        found = self.take_other(event, now)
        after = self._clusters.decision(event.ref.key)
        if before is not None and after is not None and _is_still(before, after):
            return found
        for touched in {d.placement for d in (before, after) if d is not None} - {""}:
            key = f"{event.ref.namespace}/{touched}"
            self._changed_at[key] = now
            found.update(self._follow(key))
            if self._clusters.placement(key) is None and not self._clusters.decisions(key):
                del self._changed_at[key]  # all of it is gone
        return found

    def _store(self, event: Event, value: Any) -> set[Ref]:
        if event.change is Change.DELETED:
            return self._clusters.remove(event.ref.kind, event.ref.key)
        return self._clusters.put(event.ref.kind, event.ref.key, value)


def _is_still(before: Decision, after: Decision) -> bool:
    """Whether somebody wrote scores alone, or nothing.

    A page that reads as before in another version was changed and changed back while nobody watched:
    whoever writes it is still at work.
    """
    if named_in(before) != named_in(after):
        return False
    return before.scores != after.scores or before.version == after.version
