"""What are the values of CEL, when are two of them equal, and which is less?

Most are Python's own: None, bool, int, float, str, bytes, list, dict, datetime, timedelta. The others
are here. Python takes True for 1 and compares anything with anything; CEL does neither.
Source: cel-spec, "Values", "Equality", "Ordering".
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rollout.model.wording import shortened

LONGEST = 1_000_000
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class CelError(Exception):
    """An evaluation that has no value: a missing key, a wrong type, an overflow."""


class Exhausted(CelError):
    """The evaluation took more iterations than it may. No operator absorbs this error."""


class Uint(int):
    """An unsigned 64-bit integer: a type of its own in CEL."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CelType:
    """The type of a value, itself a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """``optional.of(value)``, or ``optional.none()`` where nothing is present."""

    present: bool = False
    content: Any = None

    def value(self) -> Any:
        if not self.present:
            raise CelError("optional.none() dereference")
        return self.content


NONE = Optional()

TYPES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    CelType: "type",
    Optional: "optional_type",
}
"""Python's type of each CEL type; libraries add theirs."""

_NUMBERS = (int, Uint, float)
_ORDERED = (bool, str, bytes, datetime, timedelta)


def type_name(value: Any) -> str:
    return TYPES.get(type(value), type(value).__name__)


def no_overload(function: str, *args: Any) -> CelError:
    return CelError(f"no such overload: {function}({', '.join(type_name(a) for a in args)})")


def equal(one: Any, other: Any) -> bool:
    """Numbers by value whatever their type; everything else only with its own type."""
    kind = type(one)
    if kind is not type(other):
        return kind in _NUMBERS and type(other) in _NUMBERS and bool(one == other)
    if kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is dict:
        return len(one) == len(other) and all(
            key in other and equal(value, other[key]) for key, value in one.items()
        )
    if kind is Optional:
        return one.present == other.present and equal(one.content, other.content)
    return bool(one == other)


def compare(function: str, one: Any, other: Any) -> int:
    """-1, 0 or 1. Raises: CelError for what has no order."""
    same = type(one) is type(other) and type(one) in _ORDERED
    if not same and not (type(one) in _NUMBERS and type(other) in _NUMBERS):
        raise no_overload(function, one, other)
    if one != one or other != other:  # noqa: PLR0124  # a NaN has no order
        raise CelError("NaN values cannot be ordered")
    return bool(one > other) - bool(one < other)


def shown(text: str) -> str:
    """The text in quotes, as an error names it: what is very long is cut."""
    return repr(shortened(text, 80))


def bounded(value: Any) -> Any:
    """A string, list or bytes made by an expression, where it is not absurdly long."""
    if len(value) > LONGEST:
        raise CelError(f"a value grew beyond {LONGEST} elements")
    return value


def checked(value: int) -> int:
    """The int, where it fits in 64 bits."""
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= UINT_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(value)
