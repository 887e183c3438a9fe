"""Finds the known word that somebody meant, shortens texts and lists, replaces half characters."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shortened(text: str, most: int) -> str:
    """The text. If it is longer than ``most`` characters: its beginning, and how many are left out."""
    if len(text) <= most:
        return text
    kept = max(most - len(f"... ({len(text)} characters more)"), 0)
    return f"{text[:kept]}... ({len(text) - kept} characters more)"


def first_of(
    items: Sequence[T], most: int, show: Callable[[T], str] = str, *, between: str = ", "
) -> str:
    """The first ``most`` of these, and how many others there are: ``a, b and 3 more``."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return between.join(map(show, items[:most])) + more


_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text, with U+FFFD for each half of a character, which JSON can hold and UTF-8 cannot."""
    return _SURROGATE.sub("\ufffd", text)


_ALIKE = 0.75  # of 1, as difflib counts: one or two letters of a word


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is written nearly so, upper case or lower; "" where none is."""
    by_case = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower(), by_case, n=1, cutoff=_ALIKE)
    return by_case[close[0]] if close else ""
