"""Which word did they mean? The nearest of those that are known."""

import difflib
from collections.abc import Iterable

_ALIKE = 0.75  # of 1, as difflib counts: one or two letters of a word


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is written nearly so, upper case or lower; "" where none is."""
    by_case = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower(), by_case, n=1, cutoff=_ALIKE)
    return by_case[close[0]] if close else ""
