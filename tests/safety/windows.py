"""Reads which clusters calendars close, by what the engine has been told, counted minute by minute.

Clocks are read by `tests.support.zone_files`, windows by `tests.support.calendar_oracle`: neither is the engine's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from rollout.model.kinds import Obj, Ref
from tests.safety.instants import instant
from tests.support import zone_files
from tests.support.calendar_oracle import Minutes, count_open

UNREADABLE = "at night"
"""A schedule that nobody can read."""
ZONES = ("UTC", "Asia.Tokyo", "America.New_York", "Asia.Kolkata")
NO_ZONE = "Mars.Base"
LONGEST_OVERRIDE = timedelta(hours=24)
_BEFORE, _COUNT = 24 * 60, 48 * 60
_MINUTE = 60


def zone_label(cluster: str) -> str:
    """The zone that a cluster's label names, by its number; of a few it is none."""
    number = int("".join(filter(str.isdigit, cluster)))
    return NO_ZONE if number % 11 == 10 else ZONES[number % len(ZONES)]


@dataclass(frozen=True, slots=True)
class _Decides:
    """The spec that decides (None: none could ever be read); ``since``: when the written one broke."""

    spec: Obj | None
    since: datetime | None = None


class Windows:
    """The calendars that the engine knows of."""

    def __init__(self) -> None:
        self._known: dict[Ref, _Decides] = {}

    def hear(self, ref: Ref, obj: Obj | None, now: datetime) -> None:
        if obj is None:
            self._known.pop(ref, None)
        elif _is_readable(obj["spec"]):
            self._known[ref] = _Decides(obj["spec"])
        else:
            self._known[ref] = _broken(self._known.get(ref), obj.get("status") or {}, now)

    def restart(self) -> None:
        self._known.clear()

    @property
    def are_all_read(self) -> bool:
        return all(each.since is None for each in self._known.values())

    def closed(
        self, block: str, clusters: Mapping[str, Mapping[str, str]], now: datetime
    ) -> frozenset[str]:
        """The clusters (name -> labels) that any calendar closes for what ``block`` names."""
        return frozenset(
            cluster
            for each in self._known.values()
            for cluster, labels in clusters.items()
            if _closes(each, block, labels, now)
        )


def is_past(notes: Mapping[str, str], annotation: str, now: datetime) -> bool:
    """Whether a person lets the workload past all calendars."""
    until = instant(notes.get(annotation))
    return until is not None and now < until <= now + LONGEST_OVERRIDE


def _is_readable(spec: Obj) -> bool:
    return all(window.get("schedule") != UNREADABLE for window in spec["windows"])


def _broken(before: _Decides | None, status: Obj, now: datetime) -> _Decides:
    """A calendar that cannot be read: as it was before, and for a new process as its status says."""
    if before is not None:
        return _Decides(before.spec, before.since or now)
    since = instant(status.get("unreadableSince")) or now
    kept = status.get("lastReadable")
    return _Decides(json.loads(kept) if kept else None, since)


def _closes(each: _Decides, block: str, labels: Mapping[str, str], now: datetime) -> bool:
    spec = each.spec or {"windows": []}
    if block not in spec.get("blocks", ("Touch", "Removal")):
        return False
    if each.spec is None:
        return True
    wanted = spec.get("clusters", {}).get("labelSelector", {}).get("matchExpressions", [])
    if any(labels.get(one["key"]) not in one["values"] for one in wanted):
        return False
    zone = _zone(spec, labels)
    return zone is None or not _is_open(json.dumps(spec["windows"]), zone, each.since or now)


def _zone(spec: Obj, labels: Mapping[str, str]) -> str | None:
    source = spec.get("timeZoneFrom")
    if source is None:
        return str(spec.get("timeZone", "UTC"))
    named = labels.get(source["label"])
    if named is None:
        return spec.get("timeZone")
    return None if named == NO_ZONE else named.replace(".", "/")


def _is_open(windows: str, zone: str, at: datetime) -> bool:
    """Dated windows of histories are instants; those with a schedule are counted."""
    found: list[Obj] = json.loads(windows)
    recurring = [each for each in found if "schedule" in each]
    dated = [each for each in found if "from" in each]
    if any(_covers(each, at) for each in dated if each["action"] == "Deny"):
        return False
    minute = int(at.timestamp()) // _MINUTE
    allows = [each for each in recurring if each["action"] == "Allow"]
    denies = [each for each in recurring if each["action"] == "Deny"]
    if denies and not _counted(json.dumps(denies), zone, minute):
        return False
    is_allowed = bool(allows) and _counted(json.dumps(allows), zone, minute)
    once = [each for each in dated if each["action"] == "Allow"]
    return is_allowed or any(_covers(each, at) for each in once) or not (allows or once)


def _covers(window: Obj, at: datetime) -> bool:
    start, end = instant(window["from"]), instant(window["until"])
    assert start is not None
    assert end is not None
    return start <= at.replace(microsecond=0) < end


def _counted(windows: str, zone: str, minute: int) -> bool:
    day = minute // (24 * 60) * 24 * 60
    return _day(windows, zone, day)[minute - day + _BEFORE]


@lru_cache(maxsize=512)
def _day(windows: str, zone: str, day: int) -> list[bool]:
    clock = zone_files.clock(zone_files.content(zone))
    return count_open(Minutes.of(clock, day - _BEFORE, _COUNT), json.loads(windows))
