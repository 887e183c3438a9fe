"""Lists what happened to a rollout, and the changes of each revision."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from starlette.responses import Response

from rollout.analysis.differences import manifest_diff
from rollout.analysis.histories import KeptRevision, TimelineEntry, happened, kept_pair
from rollout.clock import Clock
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import MASKS
from rollout.dashboard.replay_pages import ReplayPages, replay_path
from rollout.dashboard.tables import PagedTable, TablePage
from rollout.dashboard.view import HubReading
from rollout.errors import Denied, Gone, NotServed
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref
from rollout.runtime.events import EVENT
from rollout.runtime.reviews import RememberedAnswers

MOST_NAMESPACES = 64
GOOD_FOR = timedelta(seconds=5)
TIMELINE = PagedTable[Any](name="timeline", size=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLine:
    """One line of a timeline. ``path``: where more of it is shown; "" where nowhere."""

    at: datetime
    title: str
    message: str
    times: int = 1
    path: str = ""


class Timelines:
    """What happened and what was decided, newest first.

    Args:
        replays: what was decided.
        events: the server that is asked for Events, once in `GOOD_FOR` for those of a namespace, and by
            whoever looks: nobody else waits for it. None: what a state file keeps is shown.
    """

    def __init__(self, replays: ReplayPages, events: EmbeddedHub | None, clock: Clock) -> None:
        self._replays, self._events = replays, events
        self._kept = RememberedAnswers[list[TimelineEntry]](clock, GOOD_FOR, MOST_NAMESPACES)

    @property
    def has_decisions(self) -> bool:
        """Whether there is a log of decisions."""
        return self._replays.has_log

    def of(self, asked: PageRequest, ref: Ref) -> TablePage[TimelineLine]:
        """What is told about a workload; without what is told only to who may list Events."""
        found = [*self._decided(ref), *self._happened(asked, ref)]
        found.sort(key=lambda each: each.at, reverse=True)
        return TIMELINE.page(found, asked.request.query_params)

    def _happened(self, asked: PageRequest, ref: Ref) -> list[TimelineLine]:
        if not asked.may("list", EVENT, ref.namespace):
            return []
        return [
            TimelineLine(at=each.at, title=each.reason, message=each.message, times=each.times)
            for each in reversed(self._told(asked, ref.namespace))
            if (each.kind, each.key) == (ref.kind.name, ref.key)
        ]

    def _decided(self, ref: Ref) -> list[TimelineLine]:
        try:
            decisions = self._replays.decisions(ref)
        except Gone:
            return []  # page Replay says why
        base = replay_path(ref)
        return [
            TimelineLine(
                at=each.at, title=f"decision {i + 1}", message=each.said, path=f"{base}?at={i}"
            )
            for i, each in reversed(list(enumerate(decisions)))
        ]

    def _told(self, asked: PageRequest, namespace: str) -> list[TimelineEntry]:
        if self._events is None:
            return asked.office.observer.ask(
                lambda reading: happened(reading.hub, None, namespace, on_server=False),
                ("timeline", namespace),
            )
        found = self._kept.find(namespace)
        if found is None:
            try:
                found = happened(self._events, None, namespace, on_server=True)
            except (Denied, NotServed):
                found = []
            self._kept.keep(namespace, found)
        return found


def revision(asked: PageRequest) -> Response:
    """One recorded revision, and what it changed. Raises: Gone."""
    ref, word = asked.workload(), str(asked.request.path_params["number"])
    new, old = asked.office.observer.ask(
        lambda reading: _pair(reading, ref, word), ("revision", ref, word)
    )
    before = f"revision {old.number}" if old is not None else "nothing"
    diff = manifest_diff(
        old.whole if old is not None else None,
        new.whole,
        (before, f"revision {new.number}"),
        MASKS,
    )
    return asked.page("revision.html", ref=ref, new=new, old=old, diff=diff)


def _pair(reading: HubReading, ref: Ref, word: str) -> tuple[KeptRevision, KeptRevision | None]:
    new, old = kept_pair(reading.objects, ref, word)
    if new is None:
        raise Gone(f"there is no revision {word[:40]} of {ref.key}")
    return new, old
