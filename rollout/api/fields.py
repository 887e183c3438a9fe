"""What does this object say, whatever shape it has? Readers of JSON that never raise.

Anything may have got into an API server that checks less than we do. A reader takes what it can,
and notes each field that it cannot honour as a `Problem`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.selectors import Requirement, Selector, parse_selector

NOTHING = Selector((Requirement("never", "In"),))
"""Matches no labels: stands for a selector that could not be read in full.

Leaving out only the bad requirement would match more than anybody asked for.
"""


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


def number_of(text: str) -> int:
    """A number in quotes, as a resourceVersion is; 0 where it is none, or has 20 digits or more."""
    return int(text) if len(text) < 20 and text.isascii() and text.isdecimal() else 0


class Reader:
    """Reads one object of a spec; what it cannot honour goes to ``problems``."""

    __slots__ = ("at", "obj", "problems")

    def __init__(self, obj: object, at: str, problems: list[Problem]) -> None:
        self.at = at
        self.problems = problems
        self.obj: Obj = obj if isinstance(obj, dict) else {}
        if obj is not None and not isinstance(obj, dict):
            problems.append(Problem(at, obj, "an object"))

    def path(self, field: str) -> str:
        return f"{self.at}.{field}" if self.at else field

    def refuse(self, field: str, accepted: str) -> None:
        """Note that the value of ``field`` cannot be honoured."""
        self.problems.append(Problem(self.path(field), self.obj.get(field), accepted))

    def has(self, field: str) -> bool:
        return self.obj.get(field) is not None

    def text(self, field: str, default: str = "", most: int = 0) -> str:
        """A string; ``most`` bounds its length where it is not 0."""
        value = self.obj.get(field)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(field, "a string")
            return default
        if most and len(value) > most:
            self.refuse(field, f"at most {most} characters")
            return default
        return value

    def one_of(self, field: str, choices: Sequence[str], default: str) -> str:
        """One of ``choices``; null and "" stand for ``default``."""
        value = self.obj.get(field)
        if value is None or value == "":
            return default
        if value in choices:
            return str(value)
        self.refuse(field, f"one of {', '.join(choices)}")
        return default

    def whole(self, field: str, default: int | None, least: int, most: int) -> int | None:
        """A whole number from ``least`` to ``most``."""
        value = self.obj.get(field)
        if value is None:
            return default
        if type(value) is int and least <= value <= most:
            return value
        self.refuse(field, bounds(least, most))
        return default

    def texts(self, field: str) -> tuple[str, ...]:
        value = self.obj.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.refuse(field, "a list of strings")
            return ()
        for i, item in enumerate(value):
            if not isinstance(item, str):
                self.problems.append(Problem(f"{self.path(field)}[{i}]", item, "a string"))
        return texts(value)

    def inner(self, field: str) -> "Reader":
        """The object in ``field``; an empty one where it is absent or no object."""
        return Reader(self.obj.get(field), self.path(field), self.problems)

    def items(self, field: str) -> Iterator["Reader"]:
        """A reader for each object in the list ``field``."""
        value = self.obj.get(field)
        if value is not None and not isinstance(value, list):
            self.refuse(field, "a list")
        for i, item in enumerate(listed(value)):
            if isinstance(item, dict):
                yield Reader(item, f"{self.path(field)}[{i}]", self.problems)
            else:
                self.problems.append(Problem(f"{self.path(field)}[{i}]", item, "an object"))

    def selector(self, field: str, *, plain: bool = False) -> Selector:
        """A selector; `NOTHING` where any part of it is bad."""
        found, bad = parse_selector(self.obj.get(field), self.path(field), plain=plain)
        self.problems += bad
        return NOTHING if bad else found


def bounds(least: int, most: int) -> str:
    """The accepted range in words."""
    if least < -(2**31):
        return "a whole number"
    if most >= 2**31 - 1:
        return f"a whole number of {least} or more"
    return f"a whole number from {least} to {most}"
