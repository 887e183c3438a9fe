"""What does a rollout come to in numbers and signs? Counted once, for the live view and the lines."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rollout.cli.verdict import Code, Verdict, verdict
from rollout.cli.views import RolloutView, Snapshot, StageView
from rollout.model.kinds import Obj, key_of
from rollout.strategies.base import Phase

SIGNS: dict[Phase, str] = {
    Phase.SOAKED: "✔",
    Phase.SOAKING: "◷",
    Phase.PROGRESSING: "◌",
    Phase.OUTDATED: "◌",
    Phase.FAILING: "⚠",
    Phase.FAILED: "✖",
    Phase.LOST: "✖",
    Phase.SKIPPED: "•",
    Phase.HELD: "‖",
    Phase.WAITING: "•",
}
COLORS = {
    "✔": "green",
    "◷": "cyan",
    "◌": "blue",
    "॥": "yellow",
    "‖": "yellow",
    "⚠": "yellow",
    "✖": "red",
}

_USUAL = {
    "": "",
    "SlotsFull": "",
    "WaitingForStage": "waits for the stage before",
    "FailureTolerance": "held back: one more failure could exceed the budget",
}
"""Reasons to wait that a rollout goes through by itself, in words. Others are reported as they are."""
HALTED = "MaxFailuresExceeded"


@dataclass(frozen=True, slots=True)
class Figures:
    """The clusters of a stage, or of a whole rollout, by what has become of them.

    ``phases`` also counts clusters that are no members any more: skipped ones, and lost ones.
    """

    members: int
    phases: Counter[Phase]

    @property
    def soaked(self) -> int:
        return self.phases[Phase.SOAKED]

    @property
    def failures(self) -> int:
        return sum(n for phase, n in self.phases.items() if phase.is_failure)

    @property
    def in_flight(self) -> int:
        return sum(n for phase, n in self.phases.items() if phase.holds_slot)

    def counted(self) -> list[tuple[str, int, str]]:
        """(sign, count, word) of each phase that has clusters, in the order of the signs."""
        return [
            (sign, self.phases[phase], phase.value.lower())
            for phase, sign in SIGNS.items()
            if self.phases[phase]
        ]


def figures(stages: Iterable[StageView]) -> Figures:
    """The figures of some stages together."""
    members, phases = 0, Counter[Phase]()
    for stage in stages:
        members += stage.members
        for word, count in stage.phases.items():
            phases[Phase(word)] += count
    return Figures(members, phases)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one stage stands: a sign, a word, and what is to be said of it."""

    sign: str
    word: str
    info: str


def hindrance(stage: StageView) -> str:
    """Why the stage stands still, where that is not the usual course of things; else ""."""
    return "" if stage.passed or stage.blocked in _USUAL else stage.blocked


def standing(stage: StageView) -> Standing:
    """A stage in a sign and a word: the worst that is going on in it, else how far it is."""
    found = figures((stage,))
    if stage.passed:
        failed = f"{found.failures} failed, tolerated" if found.failures else ""
        late = f"{found.in_flight} in flight" if found.in_flight else ""
        return Standing("✔", "Passed", ", ".join(filter(None, (failed, late))))
    over = stage.budget is not None and found.failures > stage.budget
    if over or stage.blocked == HALTED:
        return Standing("✖", "Halted", f"{found.failures} failed, {stage.budget or 0} allowed")
    if hindrance(stage):
        return Standing("॥", "Held", stage.blocked)
    info = _USUAL.get(stage.blocked) or _limited(stage, found)
    if found.phases[Phase.PROGRESSING] or found.phases[Phase.OUTDATED]:
        return Standing("◌", "Progressing", info)
    if found.phases[Phase.FAILING]:
        return Standing("⚠", "Failing", info)
    if found.phases[Phase.SOAKING]:
        return Standing("◷", "Soaking", info)
    return Standing("•", "Waiting", info)


def _limited(stage: StageView, found: Figures) -> str:
    if not found.in_flight:
        return ""
    if stage.limit is None or stage.limit >= stage.members:
        return f"{found.in_flight} in flight"
    return f"{found.in_flight} in flight, at most {stage.limit}"


@dataclass(frozen=True, slots=True)
class Subject:
    """One workload of a snapshot: its object, its verdict, and its rollout where there is one yet."""

    obj: Obj
    found: Verdict
    rollout: RolloutView | None

    @property
    def key(self) -> str:
        return _key(self.obj)

    @property
    def figures(self) -> Figures:
        return figures(self.rollout.stages if self.rollout else ())


def subjects(snapshot: Snapshot) -> list[Subject]:
    """The workloads of a snapshot, each with its rollout, in the order of the snapshot."""
    by_key = {rollout.key: rollout for rollout in snapshot.rollouts}
    return [Subject(obj, verdict(obj), by_key.get(_key(obj))) for obj in snapshot.workloads]


def _key(obj: Obj) -> str:
    return key_of(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


_RESULTS = {
    Code.DONE: "done",
    Code.TOLERATED: "done, with failures",
    Code.FAILED: "failed",
    Code.PERSON: "needs a person",
    Code.WAITING: "not done",
}


def result(found: Verdict) -> str:
    """How a rollout has ended, for a person: ``✔ done``, ``✖ failed: MaxFailuresExceeded``."""
    reason = "" if found.code in (Code.DONE, Code.TOLERATED) else f": {found.reason}"
    return f"{found.sign} {_RESULTS[found.code]}{reason}"
