"""Reads single values of JSON of any shape; a value of another type counts as missing."""

from collections.abc import Mapping
from typing import Any

from rollout.model.amounts import parse_digits
from rollout.model.kinds import Obj


def mapping(value: object) -> Obj:
    """The object, or an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The string, or ""."""
    return value if isinstance(value, str) else ""


def whole(value: object) -> int:
    """The number, or 0. A bool is no number."""
    return value if type(value) is int else 0


def listed(value: object) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def strings(value: object) -> Mapping[str, str]:
    """A map of strings (labels, annotations); shared with its input where all of it is."""
    if not isinstance(value, dict):
        return {}
    for item in value.values():
        if item.__class__ is not str:
            return {k: v for k, v in value.items() if isinstance(v, str)}
    return value


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list."""
    return tuple(item for item in listed(value) if isinstance(item, str))


def version_of(meta: Obj) -> int:
    """metadata.resourceVersion as a number; 0 where it is none."""
    found = meta.get("resourceVersion")
    return number_of(found) if isinstance(found, str) else whole(found)


def number_of(version: str) -> int:
    """A resourceVersion as a number; 0 where it is none, or is longer than any server's."""
    return parse_digits(version, most=19) or 0
