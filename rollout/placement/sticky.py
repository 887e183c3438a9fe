"""How do groups and pages stay where they are when clusters come and go?

With annotation ``rollout-engine.io/decision-order: sticky`` a cluster stays in the group and on the
page it is on as long as its named group holds it there; newcomers fill what is free, in order of
name, and only then make new groups and pages. Without it groups are cut from a sorted list, and one
early name shifts every later one.
"""

from collections import deque
from collections.abc import Sequence

from rollout.model.amounts import parse_digits
from rollout.model.placement import Decision, Group
from rollout.placement.grouping import PAGE_SIZE, Bucket


def cut(buckets: Sequence[Bucket], length: int, before: Sequence[Decision]) -> tuple[Group, ...]:
    """Groups of at most ``length`` (0: no limit) that move as few clusters as they can.

    Args:
        buckets: who belongs to which named group, in order; see `rollout.placement.grouping.split`.
        before: the decisions as they are.

    Members of a group are in the order of their pages, so that pages keep theirs.
    """
    groups: list[Group] = []
    for name, members in buckets:
        limit = length or len(members) or 1
        kept = _kept(name, members, before, limit)
        placed = {cluster for group in kept for cluster in group}
        fresh = [cluster for cluster in members if cluster not in placed]
        for group in kept:
            room = limit - len(group)
            group.extend(fresh[:room])
            fresh = fresh[room:]
        kept += [fresh[at : at + limit] for at in range(0, len(fresh), limit)]
        for found in kept:
            if found:
                groups.append(Group(len(groups), name, tuple(_within_pages(found, before))))
    return tuple(groups)


def _kept(
    name: str, members: Sequence[str], before: Sequence[Decision], limit: int
) -> list[list[str]]:
    """The present groups of this name with those members that stay, at most ``limit`` of each."""
    wanted = set(members)
    found: dict[int, list[str]] = {}
    for page in sorted(before, key=_position):
        if page.group_name == name and page.group_index is not None:
            group = found.setdefault(page.group_index, [])
            for cluster in page.clusters:
                if cluster in wanted and len(group) < limit:
                    wanted.discard(cluster)
                    group.append(cluster)
    return [found[index] for index in sorted(found)]


def _position(page: Decision) -> tuple[int, int, str]:
    number = parse_digits(page.name.rpartition("-")[2])
    index = -1 if page.group_index is None else page.group_index
    return index, number or 0, page.name


def _within_pages(clusters: Sequence[str], before: Sequence[Decision]) -> list[str]:
    """The clusters by page: each page keeps its own, newcomers fill the gaps, then the last do.

    Moves at most as many clusters to another page as gaps are left.
    """
    page_of: dict[str, int] = {}
    for number, page in enumerate(sorted(before, key=_position)):
        for cluster in page.clusters:
            page_of.setdefault(cluster, number)
    by_page: dict[int, list[str]] = {}
    fresh: deque[str] = deque()
    for cluster in clusters:
        if cluster in page_of:
            by_page.setdefault(page_of[cluster], []).append(cluster)
        else:
            fresh.append(cluster)
    pages = [by_page[number] for number in sorted(by_page)]
    for at, members in enumerate(pages):
        while len(members) < PAGE_SIZE and fresh:
            members.append(fresh.popleft())
        while len(members) < PAGE_SIZE and at + 1 < len(pages):
            members.append(pages[-1].pop())
            if not pages[-1]:
                pages.pop()
    return [cluster for members in pages for cluster in members] + list(fresh)
