"""How each cluster of a scenario behaves, and whether it is in contact with the hub.

A cluster may have no ManagedCluster: one that only has works has no labels. A cluster whose
ManagedCluster was deleted is gone until it joins again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rollout.model.kinds import Obj
from rollout.sim.scenario import Behaviour, Clusters, Scenario, ScenarioRule
from rollout.sim.template import WorkTemplate, contains, glob

FOREVER = datetime.max.replace(tzinfo=UTC)
_GLOB_SIGNS = frozenset("*?[")


def selects(selector: Clusters, name: str, labels: object) -> bool:
    """Whether the selector matches a cluster; an empty selector matches every cluster."""
    return (not selector.names or any(_named(n, name) for n in selector.names)) and contains(
        labels, selector.match_labels
    )


def _named(pattern: str, name: str) -> bool:
    if _GLOB_SIGNS.isdisjoint(pattern):
        return pattern == name
    return glob(pattern).match(name) is not None


@dataclass(slots=True, kw_only=True)
class Member:
    """One cluster: its ManagedCluster as last seen, and how it behaves.

    ``ways`` are the rules that match it, in order, each with its behaviour. ``windows`` are the
    times without contact, in order.
    """

    name: str
    obj: Obj | None = None
    version: int = 0
    joined: bool = False  # has, or had, a ManagedCluster
    gone: bool = False
    ways: tuple[tuple[ScenarioRule, Behaviour], ...] = ()
    windows: tuple[tuple[datetime, datetime], ...] = ()
    skew: timedelta = timedelta(0)
    availability: str | None = None
    labels: object = field(default=None, repr=False)

    def back_at(self, now: datetime) -> datetime | None:
        """When contact returns, `FOREVER` for never; None while there is contact."""
        for first, last in self.windows:
            if first <= now < last:
                return last
        return None

    def edge_after(self, now: datetime) -> datetime | None:
        """The next instant at which contact is lost or returns."""
        edges = [edge for window in self.windows for edge in window if now < edge < FOREVER]
        return min(edges, default=None)


class Members:
    """All clusters seen so far, each with what the scenario says of it."""

    def __init__(self, scenario: Scenario, start: datetime) -> None:
        self._start = start
        self._defaults = scenario.spec.defaults
        self._rules = tuple(
            (rule, rule.behaviour.over(self._defaults)) for rule in scenario.spec.rules
        )
        self._members: dict[str, Member] = {}

    def __iter__(self) -> Iterator[Member]:
        """By name."""
        return (self._members[name] for name in sorted(self._members))

    def of(self, name: str) -> Member:
        found = self._members.get(name)
        if found is None:
            found = self._members[name] = self._settle(Member(name=name))
        return found

    def saw(self, name: str, obj: Obj, version: int) -> Member:
        """Keep a ManagedCluster as it is now."""
        member = self.of(name)
        labels = obj["metadata"].get("labels")
        changed = labels is not member.labels and labels != member.labels
        member.obj, member.version, member.labels = obj, version, labels
        member.joined, member.gone = True, False
        return self._settle(member) if changed else member

    def behaviour(self, member: Member, template: WorkTemplate, revision: str) -> Behaviour:
        """The first rule that matches cluster, template and revision, on top of the defaults."""
        for rule, behaviour in member.ways:
            if rule.revision is not None and not glob(rule.revision).match(revision):
                continue
            if rule.manifests is None or template.matches(rule.manifests):
                return behaviour
        return self._defaults

    def _settle(self, member: Member) -> Member:
        member.ways = tuple(
            way for way in self._rules if selects(way[0].clusters, member.name, member.labels)
        )
        own = next((b for rule, b in member.ways if not rule.is_conditional), self._defaults)
        member.skew, member.availability = own.clock_skew, own.availability
        member.windows = _joined(
            (
                window.from_.on(self._start),
                FOREVER if window.to is None else window.to.on(self._start),
            )
            for window in own.offline
        )
        return member


def _joined(
    windows: Iterable[tuple[datetime, datetime]],
) -> tuple[tuple[datetime, datetime], ...]:
    """In order, with those that touch or overlap joined."""
    found: list[tuple[datetime, datetime]] = []
    for first, last in sorted(windows):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first < last:
            found.append((first, last))
    return tuple(found)
