"""What happened to works, and what is there at the end?"""

import difflib
import json
import re
from collections.abc import Set
from datetime import datetime, timedelta

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    ref_of,
)
from tests.kube.contract import Ear


class History:
    """Everything that happened to works, as a watch of its own saw it.

    An API server that was restarted has forgotten the past: then the list is read again.
    """

    def __init__(self, hub: KubeHub) -> None:
        self._hub, self._ear = hub, Ear()
        self._end = hub.watch(
            MANIFEST_WORK, hub.list(MANIFEST_WORK).version, self._ear, self._ear.expired.set
        )

    def catch_up(self) -> None:
        """Call now and then, on the test's thread."""
        if self._ear.expired.is_set():
            self._ear.expired.clear()
            listing = self._hub.list(MANIFEST_WORK)
            for obj in listing.items:
                version = int(obj["metadata"]["resourceVersion"])
                self._ear(Event(ref_of(MANIFEST_WORK, obj), Change.MODIFIED, obj, version))
            self._end = self._hub.watch(
                MANIFEST_WORK, listing.version, self._ear, self._ear.expired.set
            )

    def contents(self) -> dict[str, list[str]]:
        """Cluster to the revisions that its works brought, one after the other."""
        found: dict[str, list[str]] = {}
        for event in self._ear.events:
            meta = event.obj["metadata"]
            revision = meta["annotations"][names.REVISION]
            said = found.setdefault(meta["namespace"], [])
            if not said or said[-1] != revision:
                said.append(revision)
        return found

    def generations(self) -> set[int]:
        return {event.obj["metadata"]["generation"] for event in self._ear.events}

    def uids(self) -> set[str]:
        return {event.obj["metadata"]["uid"] for event in self._ear.events}

    def too_early(self, first: Set[str], most: int, soak: timedelta) -> list[str]:
        """Clusters that were touched before all of ``first``, and all others but fewer than ``most``, had
        been well for as long as ``soak``.

        By the API server's clock and that of the agents, which tell whole seconds: by less than two of them
        nothing is too early.
        """
        open_: dict[str, datetime | None] = {}
        found = []
        for event in self._ear.events:
            cluster = event.obj["metadata"]["namespace"]
            if event.change is Change.ADDED and cluster not in open_:
                made = _created(event.obj) + timedelta(seconds=1)
                waiting = {c for c, since in open_.items() if since is None or since + soak > made}
                if cluster not in first and (waiting & first or len(waiting) >= most):
                    found.append(f"{cluster}, beside {sorted(waiting)}")
            open_[cluster] = _well_since(event.obj)
        return found

    def soaked(self, first: Set[str]) -> tuple[datetime, datetime] | None:
        """From when all of ``first`` were well until another cluster was touched; None before that."""
        well: dict[str, datetime | None] = {}
        for event in self._ear.events:
            cluster = event.obj["metadata"]["namespace"]
            if cluster not in first:
                begun = [well.get(each) for each in first]
                assert None not in begun, f"{cluster} was touched before {sorted(first)} were well"
                return max(filter(None, begun)), _created(event.obj)
            well[cluster] = _well_since(event.obj)
        return None

    def misdated(self, off: timedelta) -> list[str]:
        """Works that say that they were begun so long before or after they were made."""
        return [
            f"{event.ref}: made {_created(event.obj)}, begun {begun}"
            for event in self._ear.events
            if (begun := parse_instant(event.obj["metadata"]["annotations"][names.STARTED_AT]))
            is None
            or abs(begun - _created(event.obj)) > off
        ]

    def close(self) -> None:
        self._end()


def _created(work: Obj) -> datetime:
    found = parse_instant(work["metadata"]["creationTimestamp"])
    assert found is not None
    return found


def _well_since(work: Obj) -> datetime | None:
    """Since when its agent says so of the present spec; None where it does not."""
    said = {c["type"]: c for c in (work.get("status") or {}).get("conditions") or ()}
    wanted = {names.APPLIED: "True", names.PROGRESSING: "False", names.DEGRADED: "False"}
    now = [
        said[kind] for kind, status in wanted.items() if said.get(kind, {}).get("status") == status
    ]
    if len(now) < len(wanted):
        return None
    return max(filter(None, (parse_instant(c["lastTransitionTime"]) for c in now)), default=None)


WRITTEN = (
    REPLICA_SET,
    PLACEMENT,
    PLACEMENT_DECISION,
    MANIFEST_WORK,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
)
"""What a controller writes, but for leases and events."""
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CHANCE = ("resourceVersion", "creationTimestamp", "managedFields", "uid")
"""Metadata that no two objects share."""


def left(hub: KubeHub) -> dict[str, str]:
    """Everything that controllers wrote, as text, but for what may differ after a restart.

    That is: instants; identities; scores of decisions, which are written anew once a minute; and of
    the record the number of its writes, the spans in which nobody looked, the hash of the instants
    that agents stamped, and why a cluster was touched: whoever finds a work there that the record does
    not know yet writes that it was found. Conditions are in no order.
    """
    return {str(ref_of(kind, obj)): _plain(obj) for kind in WRITTEN for obj in hub.list(kind).items}


def _plain(obj: Obj) -> str:
    found = json.loads(json.dumps(obj))
    for key in _CHANCE:
        found["metadata"].pop(key, None)
    status = found.get("status") or {}
    status.pop("lastScoreUpdateTime", None)
    for decision in status.get("decisions") or ():
        decision.pop("score", None)
    for said in status.values():
        if isinstance(said, list) and all("type" in one for one in said):
            said.sort(key=lambda condition: str(condition["type"]))
    if names.RECORD_LABEL in (found["metadata"].get("labels") or {}):
        found["data"] = {page: _remembered(json.loads(text)) for page, text in obj["data"].items()}
    if obj["kind"] == ROLLOUT_RECORD.name:
        del found["metadata"]["generation"]  # one for each write
    text = json.dumps(found, sort_keys=True, indent=1)
    return _UID.sub("UID", _INSTANT.sub("INSTANT", text))


def _remembered(page: Obj) -> Obj:
    page.pop("outages", None)
    for line in page.values():
        if isinstance(line, dict):
            line.pop("cause", None)
            line.pop("token", None)
    return page


def differences(found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """What is left that should not be, what is not, and what differs, line by line."""
    told = [f"{name} is left over" for name in sorted(found.keys() - wanted.keys())]
    told += [f"{name} is not there" for name in sorted(wanted.keys() - found.keys())]
    for name in sorted(found.keys() & wanted.keys()):
        lines = difflib.unified_diff(wanted[name].split("\n"), found[name].split("\n"), n=1)
        told += [f"{name}: {line}" for line in list(lines)[2:]]
    return told
