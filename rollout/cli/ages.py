"""How does a person read a span of time? As kubectl prints ages, and as a stopwatch counts."""

from datetime import timedelta

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


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
    """Finer below a minute than an age: ``0.412s``, ``7.1s``; from a minute on, an age."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds >= _MINUTE:
        return age(span)
    return f"{seconds:.1f}s" if seconds >= 1 else f"{seconds:.3f}s"
