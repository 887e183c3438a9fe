"""Groups by key; an empty group is removed."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def drop(groups: dict[K, set[V]], key: K, member: V) -> None:
    """Take ``member`` out of its group, and an empty group out of ``groups``."""
    group = groups.get(key)
    if group is not None:
        group.discard(member)
        if not group:
            del groups[key]
