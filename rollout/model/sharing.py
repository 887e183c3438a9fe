"""Keeps equal texts and maps once: a fleet says the same few things of every cluster.

What was seen lately is given out again; how much is remembered is bounded, so that nobody's inventions
fill the memory.
"""

from collections.abc import Mapping
from functools import lru_cache


@lru_cache(maxsize=16_384)
def shared_text(text: str) -> str:
    """The same object for equal texts."""
    return text


def shared_map(found: Mapping[str, str]) -> Mapping[str, str]:
    """The same object for equal maps, which nobody may alter."""
    return _map_of(tuple(found.items()))


@lru_cache(maxsize=4_096)
def _map_of(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return dict(items)
