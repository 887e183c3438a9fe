"""Writes names, spans of time and counts the same way in every view.

Messages, reasons and names are what others wrote: an escape sequence in them could wipe out or repaint
what a terminal shows, a line break could forge a line (as CVE-2021-25743 of kubectl), a direction mark
could turn a name around. `harmless` makes all of these visible.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rollout.model.instants import rfc3339

_REPLACEMENT = "�"
_STEERING = {
    **{code: chr(0x2400 + code) for code in range(0x20) if code != ord("\t")},
    0x7F: "␡",
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    **dict.fromkeys((0x2028, 0x2029), "␤"),  # line and paragraph separators
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),  # direction
}


def harmless(text: str) -> str:
    """The text with all that steers a terminal made visible: ESC is ``␛``, a line break ``␊``."""
    return text.translate(_STEERING)


# -- spans of time --------------------------------------------------------------------------------

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def away_words(since: datetime, now: datetime) -> str:
    """Since when no engine has been at work, and what would end that."""
    start = "`rollout run --state FILE`, or the controller"
    return (
        f"since {rfc3339(since)} ({age(now - since)} ago): nothing moves until one starts ({start})"
    )


def age(span: timedelta) -> str:
    """Two units at most, fewer the longer it is: ``95s``, ``4m30s``, ``3h5m``, ``2d4h``, ``3y12d``.

    A span up to two seconds below zero is ``0s`` (clocks differ), one further below ``<invalid>``.
    Source: kubectl's HumanDuration.
    """
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    for least, unit, sign, below, small in _SHAPES:
        if seconds < least:
            whole, rest = divmod(seconds, unit)
            return (
                f"{whole}{sign}{rest // below}{small}"
                if below and rest // below
                else f"{whole}{sign}"
            )
    return f"{seconds // _YEAR}y"


# Up to where, the unit shown and its sign, then the smaller unit and its sign (0: none is shown).
_SHAPES = (
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def stopwatch(span: timedelta) -> str:
    """``HH:MM:SS``, hours beyond 99 included; a fraction of a second is cut off."""
    seconds = max(int(span.total_seconds()), 0)
    return f"{seconds // _HOUR:02}:{seconds // _MINUTE % 60:02}:{seconds % 60:02}"


def brief(span: timedelta) -> str:
    """Finer below a minute than an age: ``0.412s``, ``7.1s``; from a minute on, an age; ``0s``."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds >= _MINUTE or not seconds:
        return age(span)
    return f"{seconds:.1f}s" if seconds >= 1 else f"{seconds:.3f}s"


# -- words ----------------------------------------------------------------------------------------

FEW = 4


def row_of(names: Sequence[str], *, whole: bool = False) -> str:
    """``a, b, c ... z``: the first three and the last, all where they are few or ``whole``."""
    if whole or len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[: FEW - 1])} ... {names[-1]}"


def many(count: int, word: str) -> str:
    """``1 cluster``, ``2 clusters``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def effective(asked: str, total: int, found: int) -> str:
    """``25% of 290 = 73``; just the number where nothing had to be worked out."""
    if not asked:
        return "all" if found >= total else str(found)
    return f"{asked} of {total} = {found}" if asked.endswith("%") else str(found)


def at_and_in(instant: datetime, now: datetime) -> str:
    """``2026-01-01T00:05:00Z (in 3m)``."""
    span = instant - now
    return f"{rfc3339(instant)} ({f'in {age(span)}' if instant > now else 'now'})"
