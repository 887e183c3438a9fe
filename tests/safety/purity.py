"""Do planners only answer when they are asked? Nothing changes by asking any of them beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rollout.fleet.fleet import Fleet
from rollout.model.kinds import Kind
from rollout.planning.plan import Plan, Planner
from tests.safety.tracing import TracedHistory
from tests.safety.watched import Watched

AHEAD = (timedelta(0), timedelta(seconds=1), timedelta(hours=2), timedelta(days=30), timedelta(0))
"""Before each plan its planner is asked about now, later instants, and now again."""


@dataclass(frozen=True, slots=True)
class Curious:
    """A planner of which every plan is asked for in advance. ``moods``: where the first and the last
    answer differed.
    """

    inner: Planner[Fleet]
    moods: list[str] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    def plan(self, key: str, view: Fleet, now: datetime) -> Plan:
        answers = [self.inner.plan(key, view, now + span) for span in AHEAD]
        if answers[0] != answers[-1]:
            self.moods.append(f"{self.kind.name} {key} at {now:%H:%M:%S.%f}")
        return self.inner.plan(key, view, now)


class CuriousHistory(TracedHistory):
    """The same history as `TracedHistory`, but that somebody asks all the time."""

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(seed, kind)
        self.moods: list[str] = []

    def planners(self) -> Mapping[Kind, Planner[Fleet]]:
        return {kind: self._curious(each) for kind, each in super().planners().items()}

    def _curious(self, planner: Planner[Fleet]) -> Planner[Fleet]:
        if isinstance(planner, Watched):  # the judge hears of the last answer alone
            return replace(planner, inner=Curious(planner.inner, self.moods))
        return Curious(planner, self.moods)


def impurities(seed: int, kind: str) -> list[str]:
    """What asking changed in one history, in words."""
    curious, plain = CuriousHistory(seed, kind), TracedHistory(seed, kind)
    found = [f"asked twice, it answers differently: {mood}" for mood in curious.follow().moods]
    if curious.lines != plain.follow().lines:
        pairs = zip(plain.lines, curious.lines, strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), ("the end", "the end"))
        found.append(f"asking changed the writes: {first[0]:.200} became {first[1]:.200}")
    return found
