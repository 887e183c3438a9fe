"""The spans in which the hub was out of touch: deadlines and soaks do not run in them (rows 8,
20).
"""

from collections.abc import Hashable
from datetime import datetime, timedelta

_KEPT = 100  # of this process; what matters to a rollout is in its record


class Outages:
    """The spans (from, to) of this process, ascending and disjoint."""

    def __init__(self) -> None:
        self.spans: tuple[tuple[datetime, datetime], ...] = ()
        self.began_at: datetime | None = None
        """When this process had read everything, where no lease told when the one before it lived."""
        self.blind_since: datetime | None = None
        """Since when events may be missing; None while all of them arrive."""
        self._open: dict[Hashable, datetime] = {}

    def blind(self, what: Hashable, since: datetime | None) -> bool:
        """News of ``what`` may be missing since then (None: no more). Returns whether that is new."""
        before = self.blind_since
        if since is None:
            self._open.pop(what, None)
        else:
            self._open[what] = since
        self.blind_since = min(self._open.values(), default=None)
        return self.blind_since != before

    def stands_since(
        self, at: datetime, span: timedelta, lease: timedelta, now: datetime
    ) -> datetime:
        """The instant from which something that changed at ``at`` counts as unchanged, if it has to be
        unchanged for ``span``.

        Nobody knows what changed in an outage. While an outage lasts that began within the span, the span
        does not end; after it, the span lasts long enough for late news to arrive.
        """
        blind = self.blind_since
        if blind is not None and blind < at + span:
            return now
        for begin, until in self.spans:
            end = until - lease
            if begin < at + span and at < end:
                at = max(at, end + min(span, lease) - span)
        return at

    def note(self, begin: datetime, end: datetime, lease: timedelta) -> None:
        """The hub was out of touch from ``begin`` to ``end``.

        Each kind tells of its own: one that was away for long may be back after one that was away since.
        """
        since, until, apart = begin, end + lease, []
        for known in self.spans:
            if known[1] < since or until < known[0]:
                apart.append(known)
            else:
                since, until = min(since, known[0]), max(until, known[1])
        self.spans = tuple(sorted([*apart, (since, until)]))[-_KEPT:]
