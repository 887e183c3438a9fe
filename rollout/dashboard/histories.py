"""What has happened to a rollout, and what changed with each revision?"""

from datetime import datetime, timedelta

from starlette.responses import Response

from rollout.analysis.differences import manifest_diff
from rollout.analysis.histories import KeptRevision, TimelineEntry, happened, kept_revision
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import MASKS
from rollout.dashboard.view import HubReading
from rollout.errors import Denied, Gone, NotServed
from rollout.hub.kube import KubeHub
from rollout.model.kinds import Ref
from rollout.runtime.events import EVENT

MOST_ENTRIES = 100
GOOD_FOR = timedelta(seconds=5)


class Timelines:
    """What happened, newest first. A server is asked for the Events of a namespace once in `GOOD_FOR`."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[datetime, list[TimelineEntry]]] = {}

    def of(self, asked: PageRequest, ref: Ref) -> list[TimelineEntry]:
        """The last entries about a workload; none where this person may not list Events."""
        if not asked.may("list", EVENT, ref.namespace):
            return []
        wall = asked.office.wall.now()
        found = asked.office.observer.ask(
            lambda reading: self._told(reading, ref.namespace, wall), ("timeline", ref.namespace)
        )
        mine = [each for each in found if (each.kind, each.key) == (ref.kind.name, ref.key)]
        return mine[: -MOST_ENTRIES - 1 : -1]

    def _told(self, reading: HubReading, namespace: str, wall: datetime) -> list[TimelineEntry]:
        on_server = isinstance(reading.hub, KubeHub)
        at, found = self._kept.get(namespace, (None, []))
        if on_server and at is not None and wall < at + GOOD_FOR:
            return found
        try:
            found = happened(reading.hub, None, namespace, on_server=on_server)
        except (Denied, NotServed):
            found = []
        self._kept = {**self._kept, namespace: (wall, found)} if on_server else {}
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
    """A revision, and the one that was recorded before it."""
    new = kept_revision(reading.objects, ref, word)
    if new is None:
        raise Gone(f"there is no revision {word} of {ref.key}")
    numbers = range(new.number - 1, 0, -1)
    earlier = (kept_revision(reading.objects, ref, str(number)) for number in numbers)
    return new, next((each for each in earlier if each is not None), None)
