"""Evaluates a JSONPath on an answer, within bounds: users of the hub write the path and choose the server.

Bounds count steps and never time, as those of CEL do (`rollout.placement.cel.bounds`): a step for each value
that is looked at, more where the path is long. So no path holds up the loop on which all others are measured.
Source: RFC 9535, and RFC 9485 for the regular expressions in it, which RE2 evaluates.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import jsonpath_rfc9535
from iregexp_check import check
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction

from rollout.model.wording import shortened
from rollout.placement.cel.text import MATCHES, price_of_pattern, price_of_search
from rollout.placement.cel.values import CelError
from rollout.providers.http import UnmeasuredError

BUDGET = 30_000
"""Steps of one evaluation: some tenths of a second at most."""
LONGEST_PATH = 1_024
"""Characters of a path, and of a regular expression in it or in the answer."""
CHARACTERS_PER_STEP = 16
"""Each value costs a step more for so many characters of the path."""
PARTS_PER_STEP = 16
"""To compare lists or objects costs a step for so many values in one of them."""


class _ExhaustedError(Exception):
    """The path looks at more than it may."""


class _Meter:
    """The steps that are left, and the lists and objects that have been looked at, each once."""

    def __init__(self, path: str) -> None:
        self._left, self._price = BUDGET, 1 + len(path) // CHARACTERS_PER_STEP
        self._known: dict[int, _Object | _Array] = {}

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _ExhaustedError

    def look_at(self, value: Any) -> Any:
        """The value, paid for; a list or an object in the form in which looking into it is paid for."""
        self.spend(self._price)
        kind = value.__class__
        if kind is not dict and kind is not list:
            return value
        if id(value) not in self._known:
            self._known[id(value)] = _Object(value, self) if kind is dict else _Array(value, self)
        return self._known[id(value)]

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values are equal, paid for by what is in one of them."""
        one, other = _plain(one), _plain(other)
        if one.__class__ is not other.__class__ or len(one) != len(other):
            return False
        waiting, parts = [one], 0
        while waiting:
            each = waiting.pop()
            if isinstance(each, dict | list):
                waiting += each.values() if isinstance(each, dict) else each
            parts += 1
            self.spend(parts % PARTS_PER_STEP == 0)
        return bool(one == other)


class _Object(dict[str, Any]):
    """An object that is paid for as it is looked into. As a dict it is empty: only what stands here is asked."""

    __slots__ = ("meter", "plain")
    __hash__ = None

    def __init__(self, plain: dict[str, Any], meter: _Meter) -> None:
        self.plain, self.meter = plain, meter

    def __len__(self) -> int:
        return len(self.plain)

    def __getitem__(self, key: str) -> Any:
        return self.meter.look_at(self.plain[key])

    def items(self) -> Any:
        return ((key, self.meter.look_at(value)) for key, value in self.plain.items())

    def __eq__(self, other: object) -> bool:
        return self.meter.same(self, other)


class _Array(list[Any]):
    """The same of a list."""

    __slots__ = ("meter", "plain")
    __hash__ = None

    def __init__(self, plain: list[Any], meter: _Meter) -> None:
        self.plain, self.meter = plain, meter

    def __len__(self) -> int:
        return len(self.plain)

    def __getitem__(self, at: Any) -> Any:
        found = self.plain[at]
        return (
            list(map(self.meter.look_at, found))
            if isinstance(at, slice)
            else self.meter.look_at(found)
        )

    def __iter__(self) -> Iterator[Any]:
        return map(self.meter.look_at, self.plain)

    def __eq__(self, other: object) -> bool:
        return self.meter.same(self, other)


def _plain(value: Any) -> Any:
    return value.plain if isinstance(value, _Object | _Array) else value


class _Pattern(FilterFunction):
    """``match`` (the whole text) and ``search`` (some part of it)."""

    arg_types: ClassVar = [ExpressionType.VALUE, ExpressionType.VALUE]
    return_type = ExpressionType.LOGICAL

    def __init__(self, meter: _Meter, *, is_whole: bool) -> None:
        self._meter, self._is_whole = meter, is_whole
        self._seen: set[str] = set()

    def __call__(self, text: object, pattern: object) -> bool:
        if not isinstance(text, str) or not isinstance(pattern, str):
            return False
        if len(pattern) > LONGEST_PATH:
            raise _ExhaustedError
        if pattern not in self._seen:
            self._meter.spend(price_of_pattern(pattern))
            self._seen.add(pattern)
        if not check(pattern):
            return False
        used = _of_re2(pattern)
        if self._is_whole:
            used = rf"\A(?:{used})\z"
        self._meter.spend(price_of_search(text, used))
        try:
            return bool(MATCHES.run(text, used))
        except CelError:
            return False


def _of_re2(pattern: str) -> str:
    """The pattern with a dot that is no line break, as RFC 9485 has it."""
    parts: list[str] = []
    is_escaped = in_class = False
    for each in pattern:
        parts.append(r"[^\n\r]" if each == "." and not is_escaped and not in_class else each)
        in_class = (in_class or each == "[") and each != "]" if not is_escaped else in_class
        is_escaped = each == "\\" and not is_escaped
    return "".join(parts)


def _compiled(path: str, meter: _Meter) -> jsonpath_rfc9535.JSONPathQuery:
    environment = jsonpath_rfc9535.JSONPathEnvironment()
    for name, is_whole in (("match", True), ("search", False)):
        environment.function_extensions[name] = _Pattern(meter, is_whole=is_whole)
    return environment.compile(path)


def found_at(path: str, value: Any) -> object:
    """What a JSONPath finds: one value where it can find no more, else all.

    Raises: UnmeasuredError for a path that is none, or that looks at too much, and where a path to one
        value finds nothing.
    """
    bare = path.strip()
    if bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1].strip()
    if not bare.startswith("$"):
        bare = "$" + bare if bare.startswith((".", "[")) else f"$.{bare}"
    if len(bare) > LONGEST_PATH:
        raise UnmeasuredError(f"jsonPath has more than {LONGEST_PATH} characters")
    meter, told = _Meter(bare), f"jsonPath {shortened(path, 80)}"
    try:
        query = _compiled(bare, meter)
        found = [_plain(each) for each in query.find(meter.look_at(value)).values()]
    except jsonpath_rfc9535.JSONPathError as error:
        raise UnmeasuredError(f"{told}: {error}") from error
    except RecursionError as error:
        raise UnmeasuredError(f"{told} is nested too deeply") from error
    except _ExhaustedError as error:
        said = f"{told} looks at more of the answer than it may: it takes over {BUDGET} steps"
        raise UnmeasuredError(said) from error
    if not query.singular_query():
        return found
    if not found:
        raise UnmeasuredError(f"{told} finds nothing")
    return found[0]
