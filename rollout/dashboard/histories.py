"""Tells what has happened to a rollout, and what changed with each revision."""

from datetime import timedelta

from starlette.responses import Response

from rollout.analysis.differences import manifest_diff
from rollout.analysis.histories import KeptRevision, TimelineEntry, happened, kept_pair
from rollout.clock import Clock
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import MASKS
from rollout.dashboard.view import HubReading
from rollout.errors import Denied, Gone, NotServed
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref
from rollout.runtime.events import EVENT
from rollout.runtime.reviews import RememberedAnswers

MOST_ENTRIES = 100
MOST_NAMESPACES = 64
GOOD_FOR = timedelta(seconds=5)


class Timelines:
    """What happened, newest first.

    Args:
        events: the server that is asked for Events, once in `GOOD_FOR` for those of a namespace, and by
            whoever looks: nobody else waits for it. None: what a state file keeps is shown.
    """

    def __init__(self, events: EmbeddedHub | None, clock: Clock) -> None:
        self._events = events
        self._kept = RememberedAnswers[list[TimelineEntry]](clock, GOOD_FOR, MOST_NAMESPACES)

    def of(self, asked: PageRequest, ref: Ref) -> list[TimelineEntry]:
        """The last entries about a workload; none where this person may not list Events."""
        if not asked.may("list", EVENT, ref.namespace):
            return []
        found = self._told(asked, ref.namespace)
        mine = [each for each in found if (each.kind, each.key) == (ref.kind.name, ref.key)]
        return mine[: -MOST_ENTRIES - 1 : -1]

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
