"""Which decision groups do the selected clusters form, and which pages hold them.

Three steps, each a function of its own: `split` (who belongs to which named group), `cut`
(groups of at most so many), `paginate` (PlacementDecisions of at most 100). `group` orders the
clusters, by name or by score, and does all three. A grouping that remembers the earlier one (sticky
pages) replaces `cut`.

Source: OCM placement spec 3.1, 3.2. Profile ``ocm`` rounds percentages up in binary floating point,
refuses counts written as strings, and on a bad selector returns the groups made before it;
``strict`` computes in integers, takes such strings as counts, and returns no group at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import Literal

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster
from rollout.model.loose import go_float, share
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from rollout.model.placement import Group, NamedGroup, Placement
from rollout.model.problems import joined
from rollout.model.selectors import OPERATORS, Requirement, Selector, parse_selector

PAGE_SIZE = 100
"""The most clusters that one PlacementDecision holds."""

_STRATEGY = "spec.decisionStrategy"

Profile = Literal["strict", "ocm"]


@dataclass(frozen=True, slots=True)
class Page:
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
    pages: tuple[Page, ...]
    misconfigured: str | None = None

    @property
    def status_groups(self) -> tuple[tuple[int, str, int, tuple[str, ...]], ...]:
        """As status.decisionGroups has it: (index, name, clusterCount, decision names)."""
        pages: dict[int, list[str]] = {g.index: [] for g in self.groups}
        for page in self.pages:
            pages[page.group.index].append(page.name)
        return tuple((g.index, g.name, len(g.clusters), tuple(pages[g.index])) for g in self.groups)


Bucket = tuple[str, Sequence[str]]
"""A name ("" for the rest) and the ordered clusters that share it, before cutting."""


def group(
    placement: Placement,
    clusters: Sequence[Cluster],
    profile: Profile = "strict",
    scores: Mapping[str, int] | None = None,
) -> Grouping:
    """Group the selected ``clusters``, whose order does not matter.

    Args:
        placement: ``ocm`` reads its ``raw`` spec, ``strict`` its parsed fields; there any problem
            with the decision strategy makes the whole grouping misconfigured.
        clusters: the selection; a name that occurs twice counts once.
        profile: whose arithmetic and validation.
        scores: where given, clusters go by falling score, then name; otherwise by name.

    Cost: O(n log n) in clusters, and O(n) for each named group.
    """
    chosen = _ordered(clusters, scores)
    names: tuple[NamedGroup, ...] = ()
    bad: str | None = None
    try:
        if profile == "ocm":
            length = _loose_length(_raw_strategy(placement), len(chosen))
            names, bad = _loose_groups(_raw_strategy(placement))
        else:
            length = _length(placement, len(chosen))
            names = placement.groups
    except ConfigError as refusal:
        return Grouping((), (), str(refusal))

    buckets, rest = split(chosen, names)
    if bad is None:
        buckets.append(("", rest))
        groups = cut(buckets, length) or (Group(0, "", ()),)
    else:
        groups = cut(buckets, length)
    return Grouping(groups, paginate(placement.name, groups), bad)


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
        step = length or len(members)
        groups += [
            Group(len(groups) + n, name, tuple(members[at : at + step]))
            for n, at in enumerate(range(0, len(members), step or 1))
        ]
    return tuple(groups)


def paginate(placement: str, groups: Sequence[Group]) -> tuple[Page, ...]:
    """The PlacementDecisions of these groups, numbered through from 1; an empty group has one."""
    pages: list[Page] = []
    for each in groups:
        labels = {
            PLACEMENT_LABEL: placement,
            GROUP_NAME_LABEL: each.name,
            GROUP_INDEX_LABEL: str(each.index),
        }
        for at in range(0, len(each.clusters) or 1, PAGE_SIZE):
            name = f"{placement}-decision-{len(pages) + 1}"
            pages.append(Page(name, labels, each.clusters[at : at + PAGE_SIZE], each))
    return tuple(pages)


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


def _object(value: object) -> Mapping[str, object]:
    """What is no object has no fields."""
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _raw_strategy(placement: Placement) -> Mapping[str, object]:
    spec = _object(placement.raw.get("spec"))
    return _object(_object(spec.get("decisionStrategy")).get("groupStrategy"))


def _loose_length(strategy: Mapping[str, object], total: int) -> int:
    """OCM's reading of clustersPerDecisionGroup; 0 where it is unset or out of bounds."""
    written = strategy.get("clustersPerDecisionGroup")
    if written is None:
        return 0
    if isinstance(written, int):
        return written if 0 < written <= total else 0
    refusal = ConfigError(f"{written} invalid type: string is not a percentage")
    if not isinstance(written, str) or not written.endswith("%"):
        raise refusal
    try:
        wanted = share(go_float(written[:-1]), total)
    except ConfigError:
        raise refusal from None
    return wanted if 0 < wanted <= total else 0


def _loose_groups(strategy: Mapping[str, object]) -> tuple[tuple[NamedGroup, ...], str | None]:
    """The named groups up to the first that cannot be read, and what is wrong with that one."""
    found: list[NamedGroup] = []
    for item in map(_object, _list(strategy.get("decisionGroups"))):
        selector = _object(item.get("groupClusterSelector"))
        expressions = _object(selector.get("claimSelector")).get("matchExpressions")
        try:
            labels = _loose_selector(selector.get("labelSelector"))
            claims = _loose_selector({"matchExpressions": expressions})
        except ConfigError as refusal:
            return tuple(found), str(refusal)
        found.append(NamedGroup(str(item.get("groupName") or ""), labels, claims))
    return tuple(found), None


def _loose_selector(raw: object) -> Selector:
    """A selector by the rules for labels, which OCM applies to claims as well."""
    for expression in _list(_object(raw).get("matchExpressions")):
        operator = _object(expression).get("operator") or ""
        if operator not in OPERATORS:
            raise ConfigError(f'"{operator}" is not a valid label selector operator')
    selector, problems = parse_selector(raw, "groupClusterSelector")
    if problems:
        raise ConfigError(joined(problems))
    return selector
