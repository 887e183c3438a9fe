"""Keeps clusters in the decision group and on the page they are on.

With annotation ``rollout-engine.io/decision-order: sticky`` a cluster stays as long as its named group
holds it there; newcomers fill what is free, in order of name, and only then make new groups and pages.

The group of a page is the one that the status tells of, which is written when all pages are; until
then a page that the status does not name says nothing about who was where. So a group that gets
another index gets other pages: a page that the status names is never given to another group, and a
change of groups that stops half way begins again from the groups before it.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rollout.model.amounts import parse_digits
from rollout.model.placement import Decision, Group, Placement

Bucket = tuple[str, Sequence[str]]
"""A name ("" for the rest) and the ordered clusters that share it, before cutting."""

Sheet = tuple[str, tuple[str, ...]]
"""A page's name ("" for one that is to be made) and its clusters."""

_EarlierPages = Mapping[tuple[int, str], Sequence[Decision]]


@dataclass(frozen=True, slots=True)
class Regrouped:
    """A group and its pages in order, at least one."""

    group: Group
    sheets: tuple[Sheet, ...]


def told_pages(placement: Placement, own: Sequence[Decision]) -> tuple[Decision, ...]:
    """The pages that the status names, in the groups that it has them in.

    If it names none of them: all pages, in the groups that they name themselves.
    """
    groups = {
        page: (index, name)
        for index, name, _, pages in placement.status_groups or ()
        for page in pages
    }
    told = [_in_group(page, *groups[page.name]) for page in own if page.name in groups]
    return tuple(told or own)


def _in_group(page: Decision, index: int, name: str) -> Decision:
    if (page.group_index, page.group_name) == (index, name):
        return page
    return replace(page, group_index=index, group_name=name)


def regroup(
    buckets: Sequence[Bucket], length: int, before: Sequence[Decision], page_size: int
) -> list[Regrouped]:
    """Groups of at most ``length`` (0: no limit), numbered through, as near to ``before`` as may be.

    A group keeps its pages where it keeps its index. One empty group where there are no clusters.
    """
    by_group: dict[tuple[int, str], list[Decision]] = {}
    for page in sorted(before, key=_position):
        if page.group_index is not None:
            by_group.setdefault((page.group_index, page.group_name), []).append(page)
    found: list[Regrouped] = []
    for name, members in buckets:
        for was, clusters in _cut(name, members, length, by_group):
            pages = by_group.get((was, name), ())
            sheets = _within_pages(clusters, pages, page_size)
            found.append(_numbered(len(found), name, was, sheets))
    if not found:
        sheets = _within_pages((), by_group.get((0, ""), ()), page_size)
        found.append(_numbered(0, "", 0, sheets))
    return found


def _numbered(index: int, name: str, was: int, sheets: Sequence[Sheet]) -> Regrouped:
    clusters = tuple(cluster for _, members in sheets for cluster in members)
    kept = sheets if was == index else [("", members) for _, members in sheets]
    return Regrouped(Group(index, name, clusters), tuple(kept))


def _cut(
    name: str, members: Sequence[str], length: int, pages: _EarlierPages
) -> list[tuple[int, list[str]]]:
    """The clusters of each group of the bucket, with the index that it had; -1 for a new one."""
    limit = length or len(members) or 1
    kept = _kept(name, members, pages, limit)
    placed = {cluster for _, group in kept for cluster in group}
    fresh = [cluster for cluster in members if cluster not in placed]
    for _, group in kept:
        room = limit - len(group)
        group.extend(fresh[:room])
        fresh = fresh[room:]
    kept += [(-1, fresh[at : at + limit]) for at in range(0, len(fresh), limit)]
    return [(was, group) for was, group in kept if group]


def _kept(
    name: str, members: Sequence[str], pages: _EarlierPages, limit: int
) -> list[tuple[int, list[str]]]:
    """The present groups of this name with those members that stay, at most ``limit`` of each."""
    wanted = set(members)
    found: list[tuple[int, list[str]]] = []
    for index, of in sorted(pages):
        if of == name:
            group: list[str] = []
            found.append((index, group))
            for cluster in (c for page in pages[index, of] for c in page.clusters):
                if cluster in wanted and len(group) < limit:
                    wanted.discard(cluster)
                    group.append(cluster)
    return found


def _position(page: Decision) -> tuple[int, str]:
    return number_of(page.name), page.name


def number_of(page: str) -> int:
    """The number at the end of a page's name; 0 where there is none."""
    return parse_digits(page.rpartition("-")[2]) or 0


def _within_pages(
    clusters: Sequence[str], pages: Sequence[Decision], page_size: int
) -> list[Sheet]:
    """The clusters by page: each page keeps its own, newcomers fill the gaps, then the last do.

    Moves at most as many clusters to another page as gaps are left.
    """
    page_of: dict[str, int] = {}
    for number, page in enumerate(pages):
        for cluster in page.clusters:
            page_of.setdefault(cluster, number)
    by_page: list[list[str]] = [[] for _ in pages]
    fresh: deque[str] = deque()
    for cluster in clusters:
        at = page_of.get(cluster)
        if at is not None and len(by_page[at]) < page_size:
            by_page[at].append(cluster)
        else:
            fresh.append(cluster)
    kept = [at for at, members in enumerate(by_page) if members]
    names = [pages[at].name for at in kept]
    names += [page.name for page in pages[kept[-1] + 1 if kept else 0 :]]
    rows = [by_page[at] for at in kept]
    _close_gaps(rows, fresh, page_size)
    rest = list(fresh)
    rows += [rest[at : at + page_size] for at in range(0, len(rest), page_size)]
    names += [""] * len(rows)
    return [(name, tuple(row)) for name, row in zip(names, rows or [[]], strict=False)] or [
        ("", ())
    ]


def _close_gaps(rows: list[list[str]], fresh: deque[str], page_size: int) -> None:
    for at, members in enumerate(rows):
        while len(members) < page_size and fresh:
            members.append(fresh.popleft())
        while len(members) < page_size and at + 1 < len(rows):
            members.append(rows[-1].pop())
            if not rows[-1]:
                rows.pop()


def page_names(
    found: Sequence[Regrouped],
    taken: Sequence[str],
    name_of: Callable[[int], str],
    is_barred: Callable[[str], bool],
) -> list[list[str]]:
    """The names of each group's pages. New ones get free numbers, in a group behind its others.

    Args:
        taken: the names of all pages whose group is told of.
        name_of: the name of the page of a number.
        is_barred: whether a page cannot have the name.
    """
    used, newest = set(taken), 0
    named: list[list[str]] = []
    for each in found:
        names: list[str] = []
        is_new = not each.sheets[0][0]
        for kept, _ in each.sheets:
            last = number_of(names[-1]) if names else newest
            name = kept or free_name(last, name_of, lambda name: name in used or is_barred(name))
            newest = number_of(name) if is_new else newest
            used.add(name)
            names.append(name)
        named.append(names)
    return named


def free_name(last: int, name_of: Callable[[int], str], is_barred: Callable[[str], bool]) -> str:
    """The first name behind that of number ``last`` that is not barred."""
    number = last + 1
    while is_barred(name := name_of(number)):
        number += 1
    return name
