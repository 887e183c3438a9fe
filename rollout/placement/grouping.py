"""Makes decision groups of the selected clusters, and the pages that hold them.

Three steps, each a function of its own: `split` (who belongs to which named group), `cut` (groups of at
most so many), `paginate` (PlacementDecisions of at most 100 clusters). `group` orders the clusters, by
name or by score, and does all three.

Groups are cut from a sorted list, so one early name shifts every later one; with annotation
``rollout-engine.io/decision-order: sticky`` clusters stay where they are (`sticky`).

Source: OCM placement spec 3.1, 3.2. Profile ``ocm`` rounds percentages up in binary floating point,
refuses counts written as strings, and on a bad selector returns the groups made before it;
``strict`` computes in integers, takes such strings as counts, and returns no group at all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, filterfalse
from operator import not_
from typing import Literal

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from rollout.model.placement import Decision, Group, NamedGroup, Placement
from rollout.model.problems import joined
from rollout.model.selectors import Requirement
from rollout.placement import ocm
from rollout.placement.sticky import Bucket, page_names, regroup

PAGE_SIZE = 100
"""The most clusters that one PlacementDecision holds."""

_STRATEGY = "spec.decisionStrategy"

Profile = Literal["strict", "ocm"]

Barred = Callable[[str], bool]
"""Whether no page can have the name, since it is that of an object of somebody else."""


def none_barred(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """One PlacementDecision to have: its name, all of its labels, its clusters in order."""

    name: str
    labels: Mapping[str, str]
    clusters: tuple[str, ...]
    group: Group


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups, the pages that hold them (in order), and what stood in the way.

    ``misconfigured`` is the message for the PlacementMisconfigured condition, None where all is
    well; where it is set, ``groups`` are not to be acted upon (profile ``ocm`` does).
    """

    groups: tuple[Group, ...]
    pages: tuple[DecisionPage, ...]
    misconfigured: str | None = None

    @property
    def status_groups(self) -> tuple[tuple[int, str, int, tuple[str, ...]], ...]:
        """As status.decisionGroups has it: (index, name, clusterCount, decision names)."""
        pages: dict[int, list[str]] = {g.index: [] for g in self.groups}
        for page in self.pages:
            pages[page.group.index].append(page.name)
        return tuple((g.index, g.name, len(g.clusters), tuple(pages[g.index])) for g in self.groups)


def group(
    placement: Placement,
    clusters: Sequence[Cluster],
    profile: Profile = "strict",
    *,
    scores: Mapping[str, int] | None = None,
    before: Sequence[Decision] = (),
    is_barred: Barred = none_barred,
) -> Grouping:
    """Group the selected ``clusters``, whose order does not matter.

    Args:
        placement: ``ocm`` reads its ``raw`` spec, ``strict`` its parsed fields; there any problem
            with the decision strategy makes the whole grouping misconfigured.
        clusters: the selection; a name that occurs twice counts once.
        profile: whose arithmetic and validation.
        scores: where given, clusters go by falling score, then name; otherwise by name.
        before: decisions whose groups count (`sticky.told_pages`): few clusters change place.

    Cost: O(n log n) in clusters, and O(n) for each named group.
    """
    chosen = _ordered(clusters, scores)
    names: tuple[NamedGroup, ...] = ()
    bad: str | None = None
    try:
        if profile == "ocm":
            length = ocm.group_length(placement, len(chosen))
            names, bad = ocm.named_groups(placement)
        else:
            length = _length(placement, len(chosen))
            names = placement.groups
    except ConfigError as refusal:
        return Grouping((), (), str(refusal))
    buckets, rest = split(chosen, names)
    if bad is None:
        buckets.append(("", rest))
        if before:
            return _sticky(placement.name, buckets, length, before, is_barred=is_barred)
    groups = cut(buckets, length) or (() if bad is not None else (Group(0, "", ()),))
    return Grouping(groups, paginate(placement.name, groups, is_barred), bad)


def _sticky(
    placement: str,
    buckets: Sequence[Bucket],
    length: int,
    before: Sequence[Decision],
    *,
    is_barred: Barred,
) -> Grouping:
    """Groups that stay on their pages; only those that are new get pages with new names."""
    found = regroup(buckets, length, before, PAGE_SIZE)
    taken = [page.name for page in before]
    named = page_names(
        found, taken, lambda number: page_name(placement, number), is_barred=is_barred
    )
    pages = [
        DecisionPage(name, _labels(placement, each.group), clusters, each.group)
        for each, names in zip(found, named, strict=True)
        for name, (_, clusters) in zip(names, each.sheets, strict=True)
    ]
    return Grouping(tuple(each.group for each in found), tuple(pages))


def split(
    clusters: Sequence[Cluster], names: Sequence[NamedGroup]
) -> tuple[list[Bucket], list[str]]:
    """The members of each named group, the first that matches having a cluster; and the rest.

    The order of ``clusters`` is kept in each. A named group without members is left out.
    """
    buckets: list[Bucket] = []
    rest = clusters
    for named in names:
        member = _matches(rest, named)
        matched = [c.name for c in compress(rest, member)]
        if matched:
            buckets.append((named.name, matched))
            rest = list(compress(rest, map(not_, member)))
    return buckets, [c.name for c in rest]


def cut(buckets: Sequence[Bucket], length: int) -> tuple[Group, ...]:
    """Groups of at most ``length`` (0: no limit), numbered through. An empty bucket makes none."""
    groups: list[Group] = []
    for name, members in buckets:
        limit = length or len(members) or 1
        for at in range(0, len(members), limit):
            groups.append(Group(len(groups), name, tuple(members[at : at + limit])))
    return tuple(groups)


def paginate(
    placement: str, groups: Sequence[Group], is_barred: Barred = none_barred
) -> tuple[DecisionPage, ...]:
    """The PlacementDecisions of these groups, numbered through from 1; an empty group has one.

    Numbers whose names are barred are left out.
    """
    pages: list[DecisionPage] = []
    names = filterfalse(is_barred, (page_name(placement, number) for number in count(1)))
    for each in groups:
        labels = _labels(placement, each)
        for at in range(0, len(each.clusters) or 1, PAGE_SIZE):
            clusters = each.clusters[at : at + PAGE_SIZE]
            pages.append(DecisionPage(next(names), labels, clusters, each))
    return tuple(pages)


def page_name(placement: str, number: int) -> str:
    return f"{placement}-decision-{number}"


def _labels(placement: str, group: Group) -> dict[str, str]:
    return {
        PLACEMENT_LABEL: placement,
        GROUP_NAME_LABEL: group.name,
        GROUP_INDEX_LABEL: str(group.index),
    }


def _ordered(clusters: Sequence[Cluster], scores: Mapping[str, int] | None) -> list[Cluster]:
    """Each cluster once, by name, or by falling score and then name."""
    by_name = {c.name: c for c in clusters}
    names = sorted(by_name)
    if scores is not None:
        names.sort(key=lambda name: -scores.get(name, 0))
    return [by_name[name] for name in names]


def _matches(clusters: Sequence[Cluster], named: NamedGroup) -> list[bool]:
    """Who matches: one requirement after another over all clusters, in tight loops."""
    columns = [_tests([c.labels for c in clusters], r) for r in named.labels.requirements]
    columns += [_tests([c.claims for c in clusters], r) for r in named.claims.requirements]
    if not columns:
        return [True] * len(clusters)
    return columns[0] if len(columns) == 1 else [all(row) for row in zip(*columns, strict=True)]


def _tests(maps: Sequence[Mapping[str, str]], requirement: Requirement) -> list[bool]:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In":
            return [m.get(key) in values for m in maps]
        case "Exists":
            return [key in m for m in maps]
        case "DoesNotExist":
            return [key not in m for m in maps]
        case _:
            return [requirement.matches(m) for m in maps]


def _length(placement: Placement, total: int) -> int:
    wrong = [p for p in placement.problems if p.path.startswith(_STRATEGY)]
    if wrong:
        raise ConfigError(joined(wrong))
    return placement.group_size.of(total) if placement.group_size else 0
