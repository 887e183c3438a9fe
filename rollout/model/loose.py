"""Reads numbers as loosely as Go's parsers do, as OCM's controllers read them.

For profile ``ocm`` only; what people write is otherwise read by `rollout.model.amounts`. Refusals
are `ConfigError` with the words that the Go library would use.
"""

import math
import re

from rollout.errors import ConfigError

LONGEST = 2**63 - 1
"""The longest Go duration, in nanoseconds; OCM's mark for "no deadline" as well."""

_DIGITS = r"[0-9](?:_?[0-9])*"
_HEX = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_FLOAT = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
    r"|[+-]?inf(?:inity)?|nan",
    re.ASCII | re.IGNORECASE,
)
_HEX_FLOAT = re.compile(
    rf"[+-]?0[xX]_?(?:{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}", re.ASCII
)


def go_float(text: str) -> float:
    """A number as ``strconv.ParseFloat`` reads it: exponents, hexadecimal and NaN included."""
    try:
        if _HEX_FLOAT.fullmatch(text):
            return float.fromhex(text.replace("_", ""))
        if not _FLOAT.fullmatch(text):
            raise ConfigError(f"strconv.ParseFloat: parsing {_quoted(text)}: invalid syntax")
        number = float(text)
    except OverflowError:
        number = math.inf
    if math.isinf(number) and "inf" not in text.lower():
        raise ConfigError(f"strconv.ParseFloat: parsing {_quoted(text)}: value out of range")
    return number


def share(percent: float, total: int) -> int:
    """``percent`` of ``total``, rounded up in binary floating point: 7 % of 100 is 8.

    0 where the result is no whole number (infinite, not a number): callers take that as unset.
    """
    portion = percent / 100 * total
    return math.ceil(portion) if math.isfinite(portion) else 0


_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)", re.ASCII)


def go_duration(text: str) -> int:
    """Nanoseconds of a duration as ``time.ParseDuration`` reads it; negative ones included."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    invalid = ConfigError(f"time: invalid duration {_quoted(text)}")
    total, at = 0, 0
    while at < len(rest) or not rest:
        whole, fraction, unit = _PART.match(rest, at).groups("")  # type: ignore[union-attr]  # every group may be empty: it always matches
        at += len(whole) + len(fraction) + len(unit)
        if not (whole or fraction[1:]) or len(whole.lstrip("0")) > 19:
            raise invalid
        if not unit:
            raise ConfigError(f"time: missing unit in duration {_quoted(text)}")
        if unit not in _UNITS:
            raise ConfigError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        total += int(whole or "0") * _UNITS[unit] + _fraction(fraction[1:], _UNITS[unit])
        if total > LONGEST + (sign < 0):
            raise invalid
    return sign * total


def _fraction(digits: str, unit: int) -> int:
    """Nanoseconds of ``.digits`` units, in the floating point that Go uses for it."""
    kept = digits[:18]  # more does not fit in Go's 64 bits, and is dropped there too
    return int(float(int(kept)) * (unit / 10.0 ** len(kept))) if kept else 0


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
