"""A small world around one rollout: works, agents and record pages, in letters for clusters."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from rollout.model.intents import Intents
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Wait
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Health, Phase, Step, select
from rollout.strategies.stages import BUILT_IN
from rollout.strategies.step import decide
from tests.support.fleets import FAILED, GRACE, SILENT, SOAK, SUCCEEDED, T0, spec_of
from tests.support.record_pages import Pages

A, B = "revision-a", "revision-b"
WORKLOAD = Ref(REPLICA_SET, "apps/web")


@dataclass
class Hub:
    """Works, agents and record pages around one rollout; survives it, as the real hub does."""

    spec: RolloutSpec = field(default_factory=lambda: spec_of(limit=2, budget=1))
    clusters: str = "abcd"
    canaries: str = ""
    revision: str = A
    now: datetime = T0
    soak: timedelta = SOAK
    skipped: frozenset[str] = frozenset()
    is_known: bool = True
    outages: tuple[tuple[datetime, datetime], ...] = ()
    works: dict[str, Observation] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    refuses: set[str] = field(default_factory=set)
    pages: Pages = field(default_factory=Pages)
    written: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    # what the engine does

    def start(self) -> None:
        """A process begins: the record is read, the works are seen, then terms are agreed."""
        self.live = LiveRollout(WORKLOAD, "global", "uid-1", self.now)
        self.live.restore(self.pages.open(self.live.book), self.now)
        self.live.look({c: w for c, w in self.works.items() if c in self.members})
        self.agree()

    @property
    def members(self) -> str:
        return self.canaries + self.clusters

    def agree(self) -> None:
        groups = [Group(0, "m", tuple(self.canaries))] if self.canaries else []
        terms = Terms(
            revision=self.revision,
            spec=self.spec,
            strategy=BUILT_IN[self.spec.type],
            selection=select([*groups, Group(1, "", tuple(self.clusters))]),
            soak=self.soak,
            grace=GRACE,
            outages=self.outages,
            intents=Intents(waivers=dict.fromkeys(self.skipped, frozenset({""}))),
            is_known=self.is_known,
        )
        self.live.agree(terms, lambda c: c not in self.unreachable, self.now)

    def turn(self, hold: Wait | None = None) -> Step:
        """One pass: decide, write the record, then the works."""
        step = self.live.step(hold, self.now)
        again = self.live.step(hold, self.now)
        assert (again.touch, again.settled, again.passed) == (step.touch, (), ())
        assert again == decide(
            structs.replace(self.live.ledger.rollout, passed=self.live.head.passed), self.now
        )
        self.pages.flush(self.live.book)
        for cluster in step.touch:
            self.live.attempt(cluster, "SlotFree", self.now)
            self.write(cluster, self.revision, self.now)
        for cluster in sorted(self.live.astray):
            refused = self.live.rejection(cluster)
            if refused is None or refused.retry_at <= self.now:
                known = self.live.ledger.standings[cluster]
                self.write(cluster, known.revision, known.touched)
        self.pages.flush(self.live.book)
        return step

    def write(self, cluster: str, revision: str, started_at: datetime) -> None:
        if cluster in self.refuses:
            self.live.reject(cluster, "denied by policy", self.now)
            return
        self.written.append((cluster, revision))
        self.live.landed(cluster)
        before = self.works.get(cluster)
        if before is None or before.content != revision:
            self.works[cluster] = Observation(
                content=revision, health=SILENT, reason="", revision=revision, started_at=started_at
            )
        self.live.observe(cluster, self.works[cluster], self.now)

    def restart(self, down: timedelta = timedelta(0)) -> None:
        self.now += down
        self.start()

    # what the world does

    def report(self, clusters: str, health: Health, reason: str = "") -> None:
        for cluster in clusters:
            known = self.works[cluster]
            token = str(self.now) if health in (SUCCEEDED, FAILED) else ""
            if health is not known.health:
                known = structs.replace(known, token=token)
            self.works[cluster] = structs.replace(known, health=health, reason=reason)
            self.live.observe(cluster, self.works[cluster], self.now)

    def hear(self, clusters: str, health: Health) -> None:
        """They report, and a pass takes it in."""
        self.report(clusters, health)
        self.turn()

    def by_others(self, cluster: str, content: str, health: Health) -> None:
        """A work that somebody else wrote: it says nothing of a revision."""
        self.works[cluster] = Observation(content=content, health=health)
        self.live.observe(cluster, self.works[cluster], self.now)

    def later(self, by: timedelta) -> None:
        self.now += by

    # what can be asked

    def phases(self) -> str:
        """``a:Soaking b:Waiting``."""
        self.live.ledger.step(self.now)
        return " ".join(f"{c}:{self.live.ledger.judgement(c).phase.value}" for c in self.members)

    def phase(self, cluster: str) -> Phase:
        self.live.ledger.step(self.now)
        return self.live.ledger.judgement(cluster).phase

    def remembered(self) -> str:
        """The clusters that the record holds."""
        self.pages.flush(self.live.book)
        return "".join(sorted(self.pages.open(new_live(self.now).book).lines))


def new_live(now: datetime) -> LiveRollout:
    return LiveRollout(WORKLOAD, "global", "uid-1", now)


def begun(spec: RolloutSpec | None = None, **more: Any) -> Hub:
    """A hub on which the first clusters have just been touched."""
    hub = Hub(**more) if spec is None else Hub(spec, **more)
    hub.turn()
    return hub


def soaked(hub: Hub, clusters: Iterable[str]) -> None:
    """Take these clusters to the end of their soak."""
    while set(clusters) - {c for c in hub.members if hub.phase(c) is Phase.SOAKED}:
        hub.turn()
        flying = [c for c in hub.members if hub.phase(c) is Phase.PROGRESSING]
        hub.report("".join(c for c in flying if c in hub.works), SUCCEEDED)
        hub.later(SOAK)
    hub.turn()
