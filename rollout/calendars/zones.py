"""Converts local times to instants by the IANA zones of the package `tzdata`.

The system's own zone files are not used: two machines that read different releases of them would
decide differently. Instants and local times are whole seconds: since 1970 in UTC, and since
1970-01-01T00:00 on the local clock.
"""

from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata

_FILES = Path(tzdata.__file__).parent
_LOCAL_ZERO = datetime(1970, 1, 1)  # noqa: DTZ001  # the zero of the local clock has no zone
_ORDINAL_ZERO = date(1970, 1, 1).toordinal()
DAY = 86_400


@cache
def zone_names() -> frozenset[str]:
    """The names of all zones and of their older names."""
    return frozenset((_FILES / "zones").read_text(encoding="ascii").split())


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of this name; None where there is none. Upper and lower case matter."""
    return _read(name) if name in zone_names() else None


@cache
def _read(name: str) -> ZoneInfo:
    with (_FILES / "zoneinfo" / name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def seconds(at: datetime) -> int:
    """An aware instant as whole seconds; a fraction is cut off.

    Nothing opens or closes within a second, so an instant is where its second begins.
    """
    return int(at.timestamp() // 1)


def instant(at: int) -> datetime:
    """The inverse of `seconds`, in UTC."""
    return datetime.fromtimestamp(at, UTC)


def local_seconds(at: datetime) -> int:
    """A local time without a zone as whole seconds."""
    return (at - _LOCAL_ZERO) // timedelta(seconds=1)


def local_day(at: int, zone: ZoneInfo) -> int:
    """The ordinal of the local day on which this instant falls."""
    return datetime.fromtimestamp(at, zone).toordinal()


def midnight(day: int, zone: ZoneInfo) -> int | None:
    """The instant from which the times of a local day are counted; None where its clock changes."""
    local = (day - _ORDINAL_ZERO) * DAY
    offset = _offset(local, 0, zone)
    return local - offset if offset == _offset(local + DAY, 0, zone) else None


def start_on(day: int, time: int, zone: ZoneInfo) -> int:
    """The instant of a time of a local day (in seconds after midnight), as `first_instant` has it."""
    return first_instant((day - _ORDINAL_ZERO) * DAY + time, zone)


def first_instant(local: int, zone: ZoneInfo) -> int:
    """The first instant at which the local clock shows this time or, if it skips it, a later one."""
    before, after = _offset(local, 0, zone), _offset(local, 1, zone)
    if before >= after:  # an ordinary time, or the first of two
        return local - before
    return _end_of_gap(local, zone)


def last_instant(local: int, zone: ZoneInfo) -> int:
    """As `first_instant`, but of a time that comes twice the second."""
    before, after = _offset(local, 0, zone), _offset(local, 1, zone)
    if before >= after:
        return local - after
    return _end_of_gap(local, zone)


@lru_cache(maxsize=65_536)
def _offset(local: int, fold: int, zone: ZoneInfo) -> int:
    """The zone's offset from UTC at a local time; `fold` as in PEP 495."""
    found = (_LOCAL_ZERO + timedelta(seconds=local)).replace(tzinfo=zone, fold=fold).utcoffset()
    assert found is not None
    return found // timedelta(seconds=1)


@lru_cache(maxsize=4_096)
def _end_of_gap(local: int, zone: ZoneInfo) -> int:
    """The instant at which the clock skipped this local time."""
    low = local - _offset(local, 1, zone)  # with the later offset: still before the change
    high = local - _offset(local, 0, zone)  # with the earlier offset: already after it
    while high - low > 1:
        middle = (low + high) // 2
        shown = local_seconds(datetime.fromtimestamp(middle, zone).replace(tzinfo=None))
        low, high = (middle, high) if shown < local else (low, middle)
    return high
