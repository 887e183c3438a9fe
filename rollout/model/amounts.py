"""Counts, shares and durations as people write them: ``3``, ``"25%"``, ``"1h30m"``.

Percentages are integers and round up, in integer arithmetic: ceil(p * total / 100).
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Amount:
    """A count or a percentage. ``written`` tells the string "0" from the number 0."""

    value: int
    percent: bool = False
    written: bool = False

    def of(self, total: int) -> int:
        """Resolved against ``total`` (clusters): at least 0, at most ``total``."""
        wanted = -(-self.value * total // 100) if self.percent else self.value
        return max(0, min(wanted, total))

    @property
    def is_explicit_zero(self) -> bool:
        return self.value == 0 and self.written

    def __str__(self) -> str:
        return f"{self.value}%" if self.percent else str(self.value)


AMOUNT_ACCEPTED = 'a whole number of 0 or more, or a percentage from "0%" to "100%"'
_AMOUNT = re.compile(r"\A(?:(100|[0-9]{1,2})%|([0-9]{1,9}))\Z", re.ASCII)


def parse_amount(value: object) -> Amount | None:
    """An int-or-string field; None where it is neither a count nor a percentage."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Amount(value) if 0 <= value < 2**31 else None
    match = _AMOUNT.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    if match[1] is not None:
        return Amount(int(match[1]), percent=True, written=True)
    return Amount(int(match[2]), written=True)


def parse_digits(text: str, most: int = 9) -> int | None:
    """The number that these ASCII digits write; None if the text is not digits, or has more than ``most``.

    Python's own `int` also takes blanks, underscores, signs and the digits of other scripts, and
    raises for more than 4300 of them.
    """
    return int(text) if len(text) <= most and text.isascii() and text.isdecimal() else None


DURATION_ACCEPTED = 'a duration of 0 or more such as "90s", "10m" or "1h30m"'
_UNITS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),  # U+00B5, micro
    "μs": Fraction(1),  # U+03BC, Greek mu
    "ms": Fraction(1000),
    "s": Fraction(10**6),
    "m": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST = 2**63 // 1000  # microseconds: Go's int64 of nanoseconds


def parse_duration(value: object) -> timedelta | None:
    """A Go duration of 0 or more; None where it is not one. Resolution is a microsecond."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    if value == "0":
        return timedelta(0)
    total, at = Fraction(0), 0
    for part in _PART.finditer(value):
        if part.start() != at:
            return None
        total += Fraction(part[1]) * _UNITS[part[2]]
        at = part.end()
    if at == 0 or at != len(value) or total > _LONGEST:
        return None
    return timedelta(microseconds=int(total))
