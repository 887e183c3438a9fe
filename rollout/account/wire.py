"""Turns values of this package into plain JSON objects with keys in camelCase."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from rollout.model.instants import rfc3339, rfc3339_micro

_SPAN = "Seconds"


def as_json(value: object) -> Any:
    """The value as JSON has it.

    A dataclass becomes an object of its fields. Instants are RFC 3339; a span of time is a number of
    seconds, under a key that ends in ``Seconds``. Fields whose name begins with ``_`` are left out.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return as_json(value.value)
        case datetime():
            return rfc3339_micro(value) if value.microsecond else rfc3339(value)
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {_key(key): as_json(item) for key, item in value.items()}
        case Set():
            return sorted(as_json(item) for item in value)
        case Sequence():
            return [as_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {
            _camel(field.name, getattr(value, field.name)): as_json(getattr(value, field.name))
            for field in fields(value)
            if not field.name.startswith("_")
        }
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _key(key: object) -> str:
    return str(key.value if isinstance(key, Enum) else key)


def _camel(name: str, value: object) -> str:
    first, *rest = name.split("_")
    word = first + "".join(part.capitalize() for part in rest)
    return word + _SPAN if isinstance(value, timedelta) else word
