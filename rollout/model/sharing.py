"""Keeps equal texts and maps once: a fleet says the same few things of every cluster.

What was seen lately is given out again; how much is remembered is bounded, so that nobody's inventions
fill the memory, and little stays of workloads that are gone. Names of clusters are kept apart: a fleet has
many, each occurs on all works of its cluster, and they stay.
"""

from collections.abc import Mapping
from functools import lru_cache


@lru_cache(maxsize=16_384)
def shared_cluster(name: str) -> str:
    """The same object for the equal names of a cluster."""
    return name


@lru_cache(maxsize=2_048)
def shared_text(text: str) -> str:
    """The same object for equal texts."""
    return text


def shared_map(found: Mapping[str, str]) -> Mapping[str, str]:
    """The same object for equal maps, which nobody may alter."""
    return _map_of(tuple(found.items()))


@lru_cache(maxsize=1_024)
def _map_of(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return dict(items)
