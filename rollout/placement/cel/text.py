"""The string functions of CEL's extension library, and regular expressions.

Positions count characters, not bytes. Patterns are RE2's: it is linear in the text, but every
character can cost as much as the program of the pattern is long, and a short pattern can have a long
program. Both are paid for in steps, and the size of a pattern is bounded.
Source: cel-go, extension library ``strings``; the Kubernetes documentation, regex library.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import re2

from rollout.placement.cel import bounds
from rollout.placement.cel.bounds import bounded
from rollout.placement.cel.standard import Function, double_text, duration_text, timestamp_text
from rollout.placement.cel.values import CelError, CelType, Uint, no_overload, shown

# What Unicode calls white space, as Go has it. Python strips four control characters besides.
_SPACE = "".join(c for c in map(chr, range(0x3001)) if c.isspace() and not "\x1c" <= c <= "\x1f")
_LOWER = str.maketrans({chr(c): chr(c + 32) for c in range(65, 91)})
_QUOTED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    | {"\v": "\\v", "\\": "\\\\", '"': '\\"'}
)
_UPPER = str.maketrans({chr(c): chr(c - 32) for c in range(97, 123)})


def _at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise CelError(f"index out of range: {position}")
    return text[position : position + 1]


def _index(text: str, part: str, start: int = 0) -> int:
    if part == "":
        return start
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_before(text: str, part: str, last: int) -> int:
    if part == "":
        return last
    if not 0 <= last <= len(text):
        raise CelError(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise CelError(f"invalid substring range: {start} to {end}")
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if limit == 1:
        return [text]
    if separator == "":
        letters = list(text)
        return letters if limit < 0 else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    if len(text) * max(len(new), 1) > bounds.LONGEST_VALUE:
        raise CelError(f"a value grew beyond {bounds.LONGEST_VALUE} elements")
    return text.replace(old, new, limit if limit >= 0 else -1)


def _join(parts: Sequence[Any], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise no_overload("join", part)
    return str(bounded(separator.join(parts)))


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _shown(value: Any) -> str:
    """As ``%s`` shows it, inside of lists and maps too."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case datetime():
            return timestamp_text(value)
        case timedelta():
            return duration_text(value)
        case CelType():
            return value.name
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            pairs = sorted((_shown(k), _shown(v)) for k, v in value.items())
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return str(value)


def _hexadecimal(value: Any) -> str:
    if type(value) in (int, Uint):
        return f"{value:x}"
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    raise no_overload("format %x", value)


def _number(kinds: tuple[type, ...], form: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        if type(value) not in kinds:
            raise no_overload("format", value)
        return format(value, form)

    return write


_PRECISION = re.compile(r"\.([0-9]*)", re.ASCII)

_VERBS: dict[str, Callable[[Any], str]] = {
    "s": _shown,
    "d": _number((int, Uint), "d"),
    "b": _number((int, Uint, bool), "b"),
    "o": _number((int, Uint), "o"),
    "x": _hexadecimal,
    "X": lambda value: _hexadecimal(value).upper(),
}


def _format(pattern: str, args: Sequence[Any]) -> str:
    if len(pattern) > bounds.LONGEST_FORMAT:
        raise CelError(f"a format string has at most {bounds.LONGEST_FORMAT} characters")
    found, at, used = [], 0, 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter != "%":
            found.append(letter)
            continue
        precision, at = _precision(pattern, at)
        if at >= len(pattern):
            raise CelError("unexpected end of format string")
        verb = pattern[at]
        at += 1
        if verb == "%":
            found.append("%")
            continue
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        found.append(_formatted(verb, precision, args[used]))
        used += 1
    return str(bounded("".join(found)))


def _precision(pattern: str, at: int) -> tuple[int, int]:
    found = _PRECISION.match(pattern, at)
    if found is None:
        return 6, at
    digits = found[1].lstrip("0")
    return (
        min(int(digits or 0), bounds.FINEST_FORMAT) if len(digits) <= 4 else bounds.FINEST_FORMAT
    ), found.end()


def _formatted(verb: str, precision: int, value: Any) -> str:
    if verb in "fe":
        if type(value) not in (float, int, Uint):
            raise no_overload(f"format %{verb}", value)
        return format(float(value), f".{precision}{verb}")
    if verb not in _VERBS:
        raise CelError(f"unrecognized formatting clause {verb!r}")
    return _VERBS[verb](value)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """The pattern, or in words why it is none: that too takes time to find out."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = bounds.PATTERN_MEMORY
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        why = error.args[0] if error.args else ""
        told = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        return f"invalid regular expression {shown(pattern)}: {told}"


def _regex(pattern: str) -> Any:
    found = _compiled(pattern)
    if isinstance(found, str):
        raise CelError(found)
    return found


def price_of_pattern(pattern: str) -> int:
    """The steps for a pattern that is made while the expression is evaluated."""
    return bounds.NEW_PATTERN_STEPS + len(pattern) // bounds.PATTERN_CHARACTERS_PER_STEP


def price_of_search(text: str, pattern: str) -> int:
    """The steps for going through the text once."""
    found = _compiled(pattern)
    if isinstance(found, str):
        return bounds.BAD_PATTERN_STEPS
    size = int(found.programsize)
    work = len(text) * size // bounds.WORK_PER_STEP
    return bounds.SEARCH_STEPS + size // bounds.INSTRUCTIONS_PER_STEP + work


def _matches(text: str, pattern: str) -> bool:
    return _regex(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = _regex(pattern).search(text)
    return "" if found is None else str(found.group(0))


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [m.group(0) for m in _regex(pattern).finditer(text)]
    return found if most < 0 else found[:most]


MATCHES = Function("matches", ("string", "string"), "bool", _matches)
"""The CEL library knows this one."""

SEARCHES = frozenset({"matches", "find", "findAll"})
"""Functions whose second argument is a pattern."""

TEXT = (
    Function("charAt", ("string", "int"), "string", _at),
    Function("indexOf", ("string", "string"), "int", _index),
    Function("indexOf", ("string", "string", "int"), "int", _index),
    Function("lastIndexOf", ("string", "string"), "int", _last_index),
    Function("lastIndexOf", ("string", "string", "int"), "int", _last_index_before),
    Function("lowerAscii", ("string",), "string", lambda s: s.translate(_LOWER)),
    Function("upperAscii", ("string",), "string", lambda s: s.translate(_UPPER)),
    Function("replace", ("string", "string", "string"), "string", _replace),
    Function("replace", ("string", "string", "string", "int"), "string", _replace),
    Function("split", ("string", "string"), "list(string)", _split),
    Function("split", ("string", "string", "int"), "list(string)", _split),
    Function("substring", ("string", "int"), "string", _substring),
    Function("substring", ("string", "int", "int"), "string", _substring),
    Function("trim", ("string",), "string", lambda s: s.strip(_SPACE)),
    Function("join", ("list(string)",), "string", _join),
    Function("join", ("list(string)", "string"), "string", _join),
    Function("format", ("string", "list(dyn)"), "string", _format),
    Function("reverse", ("string",), "string", lambda s: s[::-1]),
    Function("strings.quote", ("string",), "string", _quote, member=False),
    Function("find", ("string", "string"), "string", _find),
    Function("findAll", ("string", "string"), "list(string)", _find_all),
    Function("findAll", ("string", "string", "int"), "list(string)", _find_all),
)
"""Declared to the CEL library: its own extension lacks some of them and cannot be added to."""
