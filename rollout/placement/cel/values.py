"""The values of CEL: types, equality, order and contents.

Most are Python's own: None, bool, int, float, str, bytes, list, dict, datetime, timedelta. The others
are here. Python takes True for 1 and compares anything with anything; CEL does neither.
Source: cel-spec, "Values", "Equality", "Ordering"; cel-go, optional types.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from rollout.model.wording import shortened

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class CelError(Exception):
    """An evaluation that has no value: a missing key, a wrong type, an overflow."""


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


class BoolKey(Enum):
    """true and false as maps hold them, since Python takes the keys True and 1 for the same."""

    FALSE = "false"
    TRUE = "true"

    def __str__(self) -> str:
        return self.value


def held(key: Any) -> Any:
    """The key as a map holds it."""
    return (BoolKey.FALSE, BoolKey.TRUE)[key] if key.__class__ is bool else key


def key_of(held_key: Any) -> Any:
    """The key that a map holds."""
    return held_key is BoolKey.TRUE if held_key.__class__ is BoolKey else held_key


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


def checked(value: int) -> int:
    """The int, where it fits in 64 bits."""
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= UINT_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def optional_at(value: Any, key: Any) -> Optional:
    """``value.?key`` and ``value[?key]``: what is there, or nothing. Never an error for a key."""
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.content
    if value.__class__ is dict:
        return Optional(True, value[held(key)]) if has_key(value, key) else NONE
    if value.__class__ is list and type(key) is int:
        return Optional(True, value[key]) if 0 <= key < len(value) else NONE
    raise no_overload("_[?_]", value, key)


def has_key(container: dict[Any, Any], key: Any) -> bool:
    """Whether the map has the key: a list, or whatever else cannot be one, is none of its keys."""
    try:
        return held(key) in container
    except TypeError:
        return False


def _shown_key(key: Any) -> str:
    """The key as an error names it: what is no plain key may be of any size."""
    if type(key) is str:
        return shortened(key, 80)
    return str(key) if type(key) in (bool, int, float) else f"a {type_name(key)}"


def element(value: Any, key: Any) -> Any:
    """``value[key]``. Raises: CelError."""
    if key.__class__ is str and value.__class__ is dict and key in value:
        return value[key]  # nearly every read is one of these
    if type(key) is float and key.is_integer():
        key = int(key)
    if value.__class__ is dict:
        try:
            return value[held(key)]
        except (KeyError, TypeError):  # a list, or whatever else cannot be a key, is none
            raise CelError(f"no such key: {_shown_key(key)}") from None
    if value.__class__ is list and type(key) in (int, float):
        if type(key) is int and 0 <= key < len(value):
            return value[key]
        raise CelError(f"index out of bounds: {key}")
    if value.__class__ is Optional:
        return optional_at(value, key)
    raise no_overload("_[_]", value, key)
