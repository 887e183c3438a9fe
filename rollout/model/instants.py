"""Instants on the wire: RFC 3339, UTC."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from rollout.errors import ConfigError

_RFC3339 = re.compile(
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})\Z"
)


def aware(field: str, at: datetime) -> None:
    """Raises: ConfigError for no time, or one without a timezone: nobody can say when that is."""
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise ConfigError(f"{field}: {at!r} is not valid: a time with a timezone, as tzinfo=UTC")


@lru_cache(maxsize=4_096)
def rfc3339(at: datetime) -> str:
    """Whole seconds, as Kubernetes writes its own timestamps (a fraction is cut off)."""
    return at.isoformat(timespec="seconds")[:19] + "Z"


@lru_cache(maxsize=4_096)
def rfc3339_micro(at: datetime) -> str:
    """With microseconds: for instants that a timing rule will be measured from."""
    return at.isoformat(timespec="microseconds")[:26] + "Z"


@lru_cache(maxsize=16_384)
def _parse(text: str) -> datetime | None:
    if not _RFC3339.match(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or before year 1 or after 9999 in UTC
        return None


def parse_instant(value: object) -> datetime | None:
    """An aware UTC instant, or None where the value is absent or is not RFC 3339."""
    return _parse(value) if isinstance(value, str) else None


def earliest(*instants: datetime | None) -> datetime | None:
    """The first of the instants that there are; None where there is none."""
    first = None
    for at in instants:
        if at is not None and (first is None or at < first):
            first = at
    return first
