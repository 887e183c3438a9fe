"""Reads the clocks of the world from the files of the tz database, with code of its own.

A file (TZif, RFC 9636) lists the instants at which a clock changed; a line at its end (as POSIX writes TZ)
says how it goes on for ever. Instants and offsets are whole seconds.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.resources import files

DAY = 86_400
EPOCH = date(1970, 1, 1)
LAST_YEAR = 2050
"""Up to here a clock's last rule is followed."""

_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_TIME = r"[+-]?[0-9:]+"
_RULE = rf"M[0-9]+\.[0-9]\.[0-9](?:/{_TIME})?"
_FOOTER = re.compile(rf"{_NAME}({_TIME})(?:{_NAME}({_TIME})?,({_RULE}),({_RULE}))?")


@dataclass(frozen=True)
class LocalClock:
    """What a clock shows: from each of the instants ``since`` on, UTC and this offset."""

    since: list[int]
    offsets: list[int]

    def offset(self, at: int) -> int:
        return self.offsets[max(bisect_right(self.since, at) - 1, 0)]

    def changes(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """When its offset changes, and both offsets."""
        return [
            (at, before, after)
            for at, before, after in zip(
                self.since[1:], self.offsets, self.offsets[1:], strict=False
            )
            if start <= at < end and before != after
        ]


def names() -> list[str]:
    """All zones of the database, with their older names."""
    return sorted(files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


def content(name: str) -> bytes:
    return files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def clock(file: bytes) -> LocalClock:
    """The clock that a file describes."""
    body = file[_size(file, 4) :]  # the first half has 32 bits, and is for older programs
    *_, times, kinds, _ = struct.unpack(">6I", body[20:44])
    since = struct.unpack_from(f">{times}q", body, 44)
    indices = body[44 + 8 * times : 44 + 9 * times]
    at = 44 + 9 * times
    offsets = [struct.unpack_from(">i", body, at + 6 * i)[0] for i in range(kinds)]
    footer = body[_size(body, 8) :].decode("ascii").strip("\n")
    found = LocalClock([-(2**40), *since], [offsets[0], *(offsets[index] for index in indices)])
    for instant, offset in sorted(_for_ever(footer)):
        if instant > found.since[-1]:
            found.since.append(instant)
            found.offsets.append(offset)
    return found


def _size(part: bytes, width: int) -> int:
    """The length of one half, with its header."""
    utc, standard, leaps, times, kinds, letters = struct.unpack(">6I", part[20:44])
    return int(
        44 + times * (width + 1) + kinds * 6 + letters + leaps * (width + 4) + standard + utc
    )


def _for_ever(footer: str) -> Iterator[tuple[int, int]]:
    """From when on which offset holds by the last line of a file."""
    found = _FOOTER.fullmatch(footer)
    if found is None:
        raise ValueError(f"no rule for a clock: {footer!r}")
    standard = -_seconds(found[1])  # POSIX counts westwards
    if found[3] is None:
        return
    summer = -_seconds(found[2]) if found[2] else standard + 3600
    for year in range(1970, LAST_YEAR):
        yield _instant(found[3], year) - standard, summer
        yield _instant(found[4], year) - summer, standard


def _instant(rule: str, year: int) -> int:
    """The local second of a rule in a year."""
    day, _, time = rule.partition("/")
    return (_day(day, year) - EPOCH).days * DAY + (_seconds(time) if time else 2 * 3600)


def _day(text: str, year: int) -> date:
    """``M3.5.0``: the last Sunday in March."""
    month, week, weekday = map(int, text[1:].split("."))
    first = date(year, month, 1)
    found = first + timedelta(days=(weekday - first.isoweekday()) % 7 + 7 * (week - 1))
    return found if found.month == month else found - timedelta(days=7)


def _seconds(text: str) -> int:
    """``-1:30`` as seconds."""
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    total = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -total if text[0] == "-" else total
