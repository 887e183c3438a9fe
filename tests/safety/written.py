"""What of the model would a new process find in the record? Page by page, as they land on the hub."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import ROLLOUT_RECORD, Obj, Ref
from tests.safety.allowed import allow
from tests.safety.readings import Span
from tests.safety.told import Told
from tests.safety.tracks import Track

HEAD, CLUSTERS = "head.json", "clusters.json"


class WrittenDown:
    """The pages of the record, and what of the tracks they hold."""

    def __init__(self, told: Told, counts: Counter[str], blame: Callable[[str, str], None]) -> None:
        self._told, self._counts, self._blame = told, counts, blame
        self._pages: dict[Ref, Obj] = {}
        self._planned: list[tuple[str, str, Track, datetime]] = []  # placement, cluster, ..., since
        self._outages: list[Span] = []

    # -- reading -----------------------------------------------------------------------------------

    def of(self, placement: str) -> dict[str, Any]:
        """What the record says of each cluster."""
        found: dict[str, Any] = {}
        for page in self._pages_of(placement):
            found.update(_lines(page))
        return found

    def thought(self, placement: str) -> dict[str, Any]:
        """The same, with the pages that somebody removed, until the engine hears of that."""
        heard = self._told.known(ROLLOUT_RECORD) - self._pages.keys()
        pages = [self._told.objects[ref] for ref in heard]
        found: dict[str, Any] = {}
        for page in pages:
            if _placement_of(page) == self._told.subject.share_key(placement):
                allow(self._counts, "page_removed")
                found.update(_lines(page))
        return found | self.of(placement)

    def clusters(self) -> Mapping[str, Mapping[str, bool] | None]:
        """The clusters that the record of each placement has lines of, and whether each is lost; None where
        it has no head.
        """
        found: dict[str, Mapping[str, bool] | None] = {}
        for name in self._told.rollouts:
            found[name] = None
            if any(HEAD in page["data"] for page in self._pages_of(name)):
                found[name] = {c: bool(line.get("lostFrom")) for c, line in self.of(name).items()}
        return found

    def _pages_of(self, placement: str) -> list[Obj]:
        key = self._told.subject.share_key(placement)
        return [page for page in self._pages.values() if _placement_of(page) == key]

    # -- writing -----------------------------------------------------------------------------------

    def plan(self) -> None:
        """The engine has decided: the pages that are written now say what is known by now."""
        self._outages = self._told.unwritten_outages()
        self._planned = [
            (name, cluster, track, track.since)
            for name, rollout in self._told.rollouts.items()
            for cluster, track in rollout.tracks.items()
            if track.fresh
        ]

    def all(self) -> None:
        """All pages of the plan have landed."""
        for _, _, track, since in self._planned:
            _note(track, since)
        self._planned.clear()
        self._told.wrote_down(self._outages)

    def saw(self, event: Event, *, is_ours: bool) -> None:
        """A page has changed on the hub."""
        if event.change is Change.DELETED:
            self._pages.pop(event.ref, None)
            return
        if not self._is_owned(event.obj):
            self._pages.pop(event.ref, None)  # it says nothing to a new process
            return
        page = self._pages[event.ref] = event.obj
        if not is_ours:
            return
        self._saw_head(page)
        key, lines = _placement_of(page), _lines(page)
        for name, cluster, track, since in self._planned:
            if cluster in lines and self._told.subject.share_key(name) == key:
                _note(track, since)
        for rollout in self._told.rollouts.values():
            if self._told.subject.share_key(rollout.name) == key:
                for cluster in lines.keys() & rollout.tracks.keys():
                    said = lines[cluster].get("verdict")
                    rollout.tracks[cluster].soak_is_written = said == "Soaked"
        for cluster, line in lines.items():
            if line.get("touchedAt") and not line.get("cause"):
                self._blame("O1", f"the touch of {cluster} has no cause in the record: {line}")
            self._counts["O1.touches_with_cause"] += 1

    def _is_owned(self, page: Obj) -> bool:
        workload = self._told.workload()
        owners = {each["uid"] for each in page["metadata"].get("ownerReferences") or ()}
        return workload is None or workload["metadata"]["uid"] in owners

    def _saw_head(self, page: Obj) -> None:
        """For whom a waiver is in the record, a new process knows for which revision it is. A rollback is
        going on from when the record says so.
        """
        if HEAD not in page["data"]:
            return
        head = json.loads(page["data"][HEAD])
        back = head.get("rollback")
        for rollout in self._told.rollouts.values():
            if self._told.subject.share_key(rollout.name) != _placement_of(page):
                continue
            rollout.unwritten.difference_update(*(head.get("waived") or {}).values())
            if back and back["revision"] == rollout.fingerprint:
                rollout.taken_back(back["to"])


def _note(track: Track, since: datetime) -> None:
    """What was known of it then is written down."""
    if track.since == since:
        track.fresh, track.kept = False, track.known


def _lines(page: Obj) -> dict[str, Any]:
    """What a page says of clusters."""
    found: dict[str, Any] = json.loads(page["data"].get(CLUSTERS, "{}"))
    return found


def _placement_of(page: Obj) -> str:
    """The placement that a page is about."""
    return str((page["metadata"].get("annotations") or {}).get(names.RECORD_PLACEMENT, ""))
