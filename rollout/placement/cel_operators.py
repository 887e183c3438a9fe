"""What do CEL's operators say of two values: comparisons, membership, and what is at a key?

Source: cel-spec, "List of Standard Definitions"; cel-go, optional types.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rollout.model.wording import shortened
from rollout.placement.cel_frame import Frame, Run
from rollout.placement.cel_values import (
    NONE,
    CelError,
    Optional,
    compare,
    equal,
    no_overload,
    type_name,
)


def optional_at(value: Any, key: Any) -> Optional:
    """``value.?key`` and ``value[?key]``: what is there, or nothing. Never an error for a key."""
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.content
    if value.__class__ is dict:
        return Optional(True, value[key]) if _has(value, key) else NONE
    if value.__class__ is list and type(key) is int:
        return Optional(True, value[key]) if 0 <= key < len(value) else NONE
    raise no_overload("_[?_]", value, key)


def _has(container: dict[Any, Any], key: Any) -> bool:
    """Whether the map has the key: a list, or whatever else cannot be one, is none of its keys."""
    try:
        return key in container and type(key) is not bool
    except TypeError:
        return False


def _said(key: Any) -> str:
    """The key as an error names it: what is no plain key may be of any size."""
    if type(key) is str:
        return shortened(key, 80)
    return str(key) if type(key) in (bool, int, float) else f"a {type_name(key)}"


def _index(value: Any, key: Any) -> Any:
    if type(key) is float and key.is_integer():
        key = int(key)
    if value.__class__ is dict:
        if _has(value, key):
            return value[key]
        raise CelError(f"no such key: {_said(key)}")
    if value.__class__ is list and type(key) in (int, float):
        if type(key) is int and 0 <= key < len(value):
            return value[key]
        raise CelError(f"index out of bounds: {key}")
    if value.__class__ is Optional:
        return optional_at(value, key)
    raise no_overload("_[_]", value, key)


_ELEMENTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "_[_]": _index,
    "_?._": optional_at,
    "_[?_]": optional_at,
}
"""These read one element, however many there are: nothing is paid for the others."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "_<_": lambda a, b: compare("_<_", a, b) < 0,
    "_<=_": lambda a, b: compare("_<=_", a, b) <= 0,
    "_>_": lambda a, b: compare("_>_", a, b) > 0,
    "_>=_": lambda a, b: compare("_>=_", a, b) >= 0,
}


def operator(function: str, one: Run, other: Run) -> Run | None:
    """The operator of this name, applied to what the two give; None where there is none."""
    if function == "_==_":
        return _equality(one, other)
    if function == "_!=_":
        same = _equality(one, other)
        return lambda frame: not same(frame)
    if function in ("@in", "in", "_in_"):
        return _membership(one, other)
    element = _ELEMENTS.get(function)
    if element is not None:
        return lambda frame: element(one(frame), other(frame))
    comparison = _COMPARISONS.get(function)
    if comparison is not None:
        return lambda frame: comparison(frame.paid(one(frame)), frame.paid(other(frame)))
    return None


def _equality(one: Run, other: Run) -> Run:
    def run(frame: Frame) -> bool:
        a, b = one(frame), other(frame)
        kind = a.__class__
        if kind is b.__class__ and _may_be_equal(kind, a, b):
            frame.paid_deep(a)  # no more of b is looked at than there is of a
        return equal(a, b)

    return run


def _may_be_equal(kind: type, a: Any, b: Any) -> bool:
    """Whether what is in them has to be looked at."""
    return kind is Optional or (kind in (list, dict) and len(a) == len(b))


def _membership(one: Run, other: Run) -> Run:
    def run(frame: Frame) -> bool:
        item, container = one(frame), other(frame)
        if container.__class__ is dict:
            return _has(frame.paid(container), frame.paid(item))
        if container.__class__ is not list:
            raise no_overload("@in", item, container)
        frame.paid_deep(container)
        return any(equal(item, each) for each in container)

    return run
