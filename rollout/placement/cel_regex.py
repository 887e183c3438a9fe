"""Does this text match a regular expression, and what may that take? The one module that asks RE2.

RE2 is linear in the text, but every character can cost as much as the program of the pattern is long,
and a short pattern can have a long program. Both are paid for in steps.
"""

from functools import lru_cache
from typing import Any

import re2

from rollout.placement.cel_functions import Function
from rollout.placement.cel_values import CelError, shown

_MEMORY = 1 << 17
"""Bytes that a compiled pattern may take: compiling it is a matter of a millisecond then."""

_STEP_WORK = 2048
"""So many instructions, each over one character, are a step."""

_SEARCH = 2
"""Steps for beginning a search."""

_STEP_PROGRAM = 16
"""So many instructions of a pattern are a step of a search: it may have to be compiled again."""

_NO_PATTERN = 250
"""Steps for a pattern that cannot be compiled."""

_NEW_PATTERN = 500
"""Steps for a pattern that the expression makes: it may have to be compiled each time."""

_STEP_PATTERN = 4


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """The pattern, or in words why it is none: that too takes time to find out."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        return f"invalid regular expression {shown(pattern)}: {error}"


def _regex(pattern: str) -> Any:
    found = _compiled(pattern)
    if isinstance(found, str):
        raise CelError(found)
    return found


def price_of_pattern(pattern: Any) -> int:
    """The steps for a pattern that is made while the expression is evaluated."""
    return _NEW_PATTERN + len(pattern) // _STEP_PATTERN if type(pattern) is str else 0


def price_of_search(text: Any, pattern: Any, *_: Any) -> int:
    """The steps for going through the text once."""
    if type(text) is not str or type(pattern) is not str:
        return 0
    found = _compiled(pattern)
    if isinstance(found, str):
        return _NO_PATTERN
    size = int(found.programsize)
    return _SEARCH + size // _STEP_PROGRAM + len(text) * size // _STEP_WORK


def _find(text: str, pattern: str) -> str:
    found = _regex(pattern).search(text)
    return "" if found is None else str(found.group(0))


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [m.group(0) for m in _regex(pattern).finditer(text)]
    return found if most < 0 else found[:most]


REGEX = (
    Function("matches", ("string", "string"), "bool", lambda s, p: _regex(p).search(s) is not None),
)
"""Known to the CEL checker already."""

REGEX_KUBERNETES = (
    Function("find", ("string", "string"), "string", _find),
    Function("findAll", ("string", "string"), "list(string)", _find_all),
    Function("findAll", ("string", "string", "int"), "list(string)", _find_all),
)
"""To be declared to the CEL checker."""

SEARCHES = frozenset(row.name for row in (*REGEX, *REGEX_KUBERNETES))
