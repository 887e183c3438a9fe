"""The functions of CEL's standard library.

Each is a row: name, parameter types, result type, and the Python function. From the same rows come
the table that the evaluator looks in and, for functions that the CEL library does not know, their
declarations. Source: cel-spec, "List of Standard Definitions".
"""

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from rollout.errors import ConfigError
from rollout.model.amounts import parse_digits
from rollout.model.instants import parse_instant, rfc3339_micro
from rollout.model.loose import go_duration, go_float
from rollout.placement.cel.bounds import bounded
from rollout.placement.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    TYPES,
    UINT_MAX,
    CelError,
    CelType,
    Optional,
    Uint,
    checked,
    checked_uint,
    shown,
    type_name,
)

ANY = "dyn"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_SPAN = timedelta(microseconds=INT_MAX // 1000)
_OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{1,2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Function:
    """One overload. ``params`` and ``result`` are CEL types; ``member``: called on its first."""

    name: str
    params: tuple[str, ...]
    result: str
    run: Callable[..., Any]
    _: KW_ONLY
    member: bool = True


Overloads = dict[tuple[type, ...] | None, Callable[..., Any]]
FunctionTable = dict[str, Overloads]
"""By name, then by the Python types of the arguments; None: whatever they are."""

PYTHON: dict[str, type] = {
    "null": type(None),
    **{name: kind for kind, name in TYPES.items()},
    "timestamp": datetime,
    "duration": timedelta,
    "optional": Optional,
}
"""Python's type of a CEL type, by the word before any parameters."""


def kind_of_value(name: str, kind: type) -> str:
    """Make a type of values known beside CEL's own. Returns: its name, for the rows of tables."""
    TYPES[kind] = name
    PYTHON[name] = kind
    return name


def table(rows: Iterable[Function]) -> FunctionTable:
    """The rows, for looking up."""
    found: FunctionTable = {}
    for row in rows:
        heads = [param.partition("(")[0] for param in row.params]
        kinds = None if ANY in heads else tuple(PYTHON[head] for head in heads)
        found.setdefault(row.name, {})[kinds] = row.run
    return found


def _divide(a: int, b: int) -> int:
    """Toward zero, as CEL divides; Python's own division rounds down."""
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return checked(quotient if (a < 0) == (b < 0) else -quotient)


def _modulo(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    return a - b * _divide(a, b) if (a, b) != (INT_MIN, -1) else 0


def _divide_float(a: float, b: float) -> float:
    if b == 0.0:
        return (
            math.nan
            if a == 0.0 or math.isnan(a)
            else math.copysign(math.inf, a) * math.copysign(1, b)
        )
    return a / b


def _uint_divide(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("division by zero")
    return Uint(a // b)


def _uint_modulo(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("modulus by zero")
    return Uint(a % b)


def _moved(at: datetime, by: timedelta) -> datetime:
    try:
        return at + by
    except OverflowError:
        raise CelError("timestamp overflow") from None


def _at_second(seconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise CelError("timestamp overflow") from None


def span(value: timedelta) -> timedelta:
    """The duration, where it fits in 64 bits of nanoseconds."""
    if not -_LONGEST_SPAN <= value <= _LONGEST_SPAN:
        raise CelError("duration overflow")
    return value


def _whole_number(text: str) -> int:
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not digits.isdecimal() or not digits.isascii():
        raise CelError(f"type conversion error from 'string' to 'int': {shown(text)}")
    found = parse_digits(digits.lstrip("0") or "0", most=19)
    if found is None:
        raise CelError("integer overflow")
    return checked(-found if sign == "-" else found)


def _unsigned(text: str) -> Uint:
    if not text.isdecimal() or not text.isascii():
        raise CelError(f"type conversion error from 'string' to 'uint': {shown(text)}")
    found = parse_digits(text.lstrip("0") or "0", most=20)
    if found is None:
        raise CelError("unsigned integer overflow")
    return checked_uint(found)


def _truncated(value: float) -> int:
    if not math.isfinite(value) or not INT_MIN < value < INT_MAX:
        raise CelError("integer overflow")
    return int(value)


def _truncated_unsigned(value: float) -> Uint:
    if not 0 <= value < UINT_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(int(value))


def _double(text: str) -> float:
    try:
        return go_float(text)
    except ConfigError:
        raise CelError(f"type conversion error from 'string' to 'double': {shown(text)}") from None


def double_text(value: float) -> str:
    """The shortest digits that give the number again, never with an exponent."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def timestamp(text: str) -> datetime:
    found = parse_instant(text) if "T" in text or "t" in text else None
    if found is None:
        raise CelError(f"type conversion error from 'string' to 'timestamp': {shown(text)}")
    return found


def timestamp_text(at: datetime) -> str:
    return rfc3339_micro(at).removesuffix("Z").rstrip("0").rstrip(".") + "Z"


def duration(text: str) -> timedelta:
    try:
        return timedelta(microseconds=go_duration(text) // 1000)
    except ConfigError:
        words = f"type conversion error from 'string' to 'duration': {shown(text)}"
        raise CelError(words) from None


def duration_text(value: timedelta) -> str:
    seconds = value / timedelta(seconds=1)
    return f"{double_text(seconds)}s"


def _text_of_bytes(value: bytes) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _bool(text: str) -> bool:
    match text:
        case "1" | "t" | "true" | "TRUE" | "True":
            return True
        case "0" | "f" | "false" | "FALSE" | "False":
            return False
    raise CelError(f"type conversion error from 'string' to 'bool': {shown(text)}")


def _zoned(at: datetime, zone: str) -> datetime:
    offset = _OFFSET.fullmatch(zone)
    try:
        if offset is None:
            return at.astimezone(ZoneInfo(zone))
        away = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return at.astimezone(timezone(-away if offset[1] == "-" else away))
    except OverflowError:
        raise CelError("timestamp overflow") from None
    except (KeyError, ValueError, OSError):
        raise CelError(f"unknown time zone {shown(zone)}") from None


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda t: t.year,
    "getMonth": lambda t: t.month - 1,
    "getDate": lambda t: t.day,
    "getDayOfMonth": lambda t: t.day - 1,
    "getDayOfWeek": lambda t: t.isoweekday() % 7,
    "getDayOfYear": lambda t: t.timetuple().tm_yday - 1,
    "getHours": lambda t: t.hour,
    "getMinutes": lambda t: t.minute,
    "getSeconds": lambda t: t.second,
    "getMilliseconds": lambda t: t.microsecond // 1000,
}


def _date_rows() -> Iterable[Function]:
    for name, part in _PARTS.items():
        yield Function(name, ("timestamp",), "int", lambda t, part=part: part(t.astimezone(UTC)))
        yield Function(
            name, ("timestamp", "string"), "int", lambda t, z, part=part: part(_zoned(t, z))
        )
    for name, unit in (
        ("getHours", timedelta(hours=1)),
        ("getMinutes", timedelta(minutes=1)),
        ("getSeconds", timedelta(seconds=1)),
        ("getMilliseconds", timedelta(milliseconds=1)),  # all of them, as cel-go says
    ):
        yield Function(name, ("duration",), "int", lambda d, unit=unit: int(d / unit))


def _arithmetic_rows() -> Iterable[Function]:
    for name, run in (("_+_", operator.add), ("_-_", operator.sub), ("_*_", operator.mul)):
        yield Function(name, ("int", "int"), "int", lambda a, b, run=run: checked(run(a, b)))
        yield Function(
            name, ("uint", "uint"), "uint", lambda a, b, run=run: checked_uint(run(int(a), int(b)))
        )
        yield Function(name, ("double", "double"), "double", run)
    yield Function("_/_", ("int", "int"), "int", _divide)
    yield Function("_/_", ("uint", "uint"), "uint", _uint_divide)
    yield Function("_/_", ("double", "double"), "double", _divide_float)
    yield Function("_%_", ("int", "int"), "int", _modulo)
    yield Function("_%_", ("uint", "uint"), "uint", _uint_modulo)
    yield Function("-_", ("int",), "int", lambda a: checked(-a))
    yield Function("-_", ("double",), "double", lambda a: -a)
    yield Function("!_", ("bool",), "bool", lambda a: not a)
    for kind in ("string", "bytes", "list"):
        yield Function("_+_", (kind, kind), kind, lambda a, b: bounded(a + b))
    yield Function("_+_", ("timestamp", "duration"), "timestamp", _moved)
    yield Function("_+_", ("duration", "timestamp"), "timestamp", lambda d, t: _moved(t, d))
    yield Function("_+_", ("duration", "duration"), "duration", lambda a, b: span(a + b))
    yield Function("_-_", ("timestamp", "duration"), "timestamp", lambda t, d: _moved(t, -d))
    yield Function("_-_", ("timestamp", "timestamp"), "duration", lambda a, b: span(a - b))
    yield Function("_-_", ("duration", "duration"), "duration", lambda a, b: span(a - b))


def _conversion_rows() -> Iterable[Function]:
    same: Callable[[Any], Any] = lambda value: value  # noqa: E731  # a row of a table
    for kind in ("int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration"):
        yield Function(kind, (kind,), kind, same)
    conversions: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
        ("int", "uint", lambda v: checked(int(v))),
        ("int", "double", _truncated),
        ("int", "string", _whole_number),
        ("int", "timestamp", lambda v: int(v.timestamp() // 1)),
        ("int", "duration", lambda v: checked(int(v / timedelta(microseconds=1)) * 1000)),
        ("uint", "int", checked_uint),
        ("uint", "double", _truncated_unsigned),
        ("uint", "string", _unsigned),
        ("double", "int", float),
        ("double", "uint", float),
        ("double", "string", _double),
        ("string", "int", str),
        ("string", "uint", lambda v: str(int(v))),
        ("string", "double", double_text),
        ("string", "bool", lambda v: "true" if v else "false"),
        ("string", "bytes", _text_of_bytes),
        ("string", "timestamp", timestamp_text),
        ("string", "duration", duration_text),
        ("bytes", "string", lambda v: v.encode()),
        ("bool", "string", _bool),
        ("timestamp", "string", timestamp),
        ("timestamp", "int", _at_second),
        ("duration", "string", duration),
        ("duration", "int", lambda v: timedelta(microseconds=v // 1000)),
    )
    for name, kind, run in conversions:
        yield Function(name, (kind,), name, run)
    yield Function("dyn", (ANY,), ANY, same)
    yield Function("type", (ANY,), "type", lambda v: CelType(type_name(v)))


def _rows() -> Iterable[Function]:
    yield from _arithmetic_rows()
    yield from _conversion_rows()
    yield from _date_rows()
    for kind in ("string", "bytes", "list", "map"):
        yield Function("size", (kind,), "int", len)
    yield Function("contains", ("string", "string"), "bool", lambda s, part: part in s)
    yield Function("startsWith", ("string", "string"), "bool", str.startswith)
    yield Function("endsWith", ("string", "string"), "bool", str.endswith)
    yield Function("optional.of", (ANY,), "optional", lambda v: Optional(True, v))
    yield Function("optional.none", (), "optional", lambda: NONE)
    yield Function(
        "optional.ofNonZeroValue", (ANY,), "optional", lambda v: Optional(True, v) if v else NONE
    )
    yield Function("hasValue", ("optional",), "bool", lambda o: o.present)
    yield Function("value", ("optional",), ANY, Optional.value)


STANDARD = tuple(_rows())
"""The CEL library knows these: they are not declared to it."""
