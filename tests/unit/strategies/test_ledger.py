"""The ledger gives the answer of the plain step after any history."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs

from rollout.model.approvals import Side
from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import (
    Checkpoint,
    Health,
    Phase,
    Rollout,
    Settled,
    Standing,
    Step,
    Timing,
    Verdict,
    select,
)
from rollout.strategies.judge import Judgement, judge
from rollout.strategies.ledger import Ledger
from rollout.strategies.stages import BUILT_IN
from rollout.strategies.step import decide
from tests.support.fleets import MIN, SEC, T0, TIMING, rollout_in, spec_of, standing

CLUSTERS = [f"c{n}" for n in range(8)]
STRANGER = "stranger"  # in no stage
REVISIONS = ["r1", "r2"]
KINDS = sorted(BUILT_IN)
HOLDS = [None, Wait(Reason.PAUSED, "paused")]
KEYS = ["all", "rest", "m/0", "/0", "/1"]
UNRENDERED = Wait(Reason.VALUES_MISSING, "a label is missing")
SHUT = Wait(Reason.APPROVAL_NEEDED, "somebody has to approve")
TIMINGS = [
    TIMING,
    Timing(),
    Timing(soak=MIN, deadline=None, grace=MIN),
    Timing(
        soak=2 * MIN,
        deadline=3 * MIN,
        grace=SEC,
        outages=((T0 + MIN, T0 + 4 * MIN), (T0 + 6 * MIN, T0 + 7 * MIN)),
    ),
]
PACES = [timedelta(0), SEC, 30 * SEC, MIN, 2 * MIN, 5 * MIN, 3600 * SEC]


def gates(rng: random.Random) -> tuple[Checkpoint, ...]:
    """Gates at a few stages, at some that there are not, and several at one."""
    stood = [(key, side, n) for key in KEYS for side in Side for n in range(2)]
    return tuple(
        Checkpoint(f"{side.value}:{key}/{n}", key, side, rng.choice([None, SHUT]))
        for key, side, n in stood
        if rng.random() < 0.25
    )


def terms(rng: random.Random, standings: dict[str, Standing]) -> Rollout:
    """A rollout on random terms; clusters come and go, change groups and are lost."""
    selected = [c for c in CLUSTERS if rng.random() < 0.9]
    groups = [
        Group(0, "m", tuple(c for c in selected if c in CLUSTERS[:2])),
        Group(1, "", tuple(c for c in selected if c in CLUSTERS[2:5])),
        Group(2, "", tuple(c for c in selected if c in CLUSTERS[5:])),
    ]
    limits: list[int | str | None] = [None, 1, 2, "50%", "0"]
    budgets: list[int | str] = [0, 1, 2, "50%"]
    spec = spec_of(
        rng.choice(KINDS),
        limit=rng.choice(limits),
        budget=rng.choice(budgets),
        mandatory=rng.choice([[], ["m"], ["m", 1]]),
    )
    gone = [c for c in CLUSTERS if c not in selected]
    return Rollout(
        revision=rng.choice(REVISIONS),
        staging=BUILT_IN[spec.type].stages(spec, select(groups)),
        standings=standings,
        timing=rng.choice(TIMINGS),
        passed=frozenset(k for k in KEYS if rng.random() < 0.2),
        skipped=frozenset(c for c in CLUSTERS if rng.random() < 0.1),
        lost={c: rng.choice(KEYS) for c in gone if rng.random() < 0.5},
        hold=rng.choice(HOLDS),
        strict_tolerance=rng.random() < 0.3,
        held=frozenset(c for c in CLUSTERS if rng.random() < 0.15),
        checkpoints=gates(rng),
        **carried(rng),
    )


def carried(rng: random.Random) -> dict[str, Any]:
    """What each cluster is to carry: mostly the revision; else contents of their own, some unknown."""
    if rng.random() < 0.6:
        return {}
    contents = {c: rng.choice(["", *REVISIONS]) for c in CLUSTERS}
    return {
        "contents": contents,
        "unrendered": {c: UNRENDERED for c, content in contents.items() if not content},
    }


class Both:
    """A ledger, and beside it all that the plain step needs."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = T0
        self.standings: dict[str, Standing] = {}
        self.plain = terms(self.rng, self.standings)
        self.ledger = Ledger(self.plain, self.now)

    def pass_time(self, by: timedelta) -> None:
        self.now += by

    def report(self, cluster: str, health: Health) -> None:
        known = self.standings.get(cluster)
        if known is not None:
            since = known.since if known.health is health else self.now
            self.put(structs.replace(known, health=health, since=since))

    def touch(self, cluster: str, revision: str) -> None:
        self.put(
            Standing(
                cluster=cluster,
                revision=revision,
                touched=self.now,
                health=Health.SILENT,
                since=self.now,
            )
        )

    def retry(self, cluster: str) -> None:
        """The attempt that the cluster is on is void."""
        known = self.standings.get(cluster)
        if known is not None:
            self.put(structs.replace(known, verdict=Verdict.RETRY))

    def put(self, known: Standing) -> None:
        self.standings[known.cluster] = known
        self.ledger.put(known, self.now)

    def drop(self, cluster: str) -> None:
        self.standings.pop(cluster, None)
        self.ledger.drop(cluster, self.now)

    def reset(self) -> None:
        self.plain = terms(self.rng, self.standings)
        self.ledger.reset(self.plain, self.now)

    def admit(self) -> None:
        passed = frozenset(k for k in KEYS if self.rng.random() < 0.5)
        hold = self.rng.choice(HOLDS)
        checkpoints = gates(self.rng)
        self.plain = structs.replace(self.plain, passed=passed, hold=hold, checkpoints=checkpoints)
        self.ledger.admit(passed, hold, checkpoints)

    def carry(self) -> None:
        """Clusters are to carry something else."""
        found = carried(self.rng)
        self.plain = structs.replace(self.plain, contents={}, unrendered={})
        self.plain = structs.replace(self.plain, **found)
        self.ledger.carry(self.plain.contents, self.plain.unrendered, CLUSTERS, self.now)

    def follow(self, step: Step) -> None:
        """Do what the step says."""
        for cluster in step.touch:
            self.touch(cluster, self.plain.wanted(cluster))
        for settled in step.settled:
            self.settle(settled)
        passed = self.plain.passed | set(step.passed)
        left = tuple(c for c in self.plain.checkpoints if c.key not in step.opened)
        self.plain = structs.replace(self.plain, passed=passed, checkpoints=left)
        self.ledger.admit(passed, self.plain.hold, left)

    def settle(self, settled: Settled) -> None:
        known = self.standings[settled.cluster]
        if known.revision == self.plain.wanted(settled.cluster):
            self.put(structs.replace(known, verdict=settled.verdict, reason=settled.reason))

    def agree(self) -> Step:
        """Ask both, and compare all that they know."""
        step = self.ledger.step(self.now)
        assert step == decide(structs.replace(self.plain, standings=self.standings), self.now)
        assert step == decide(self.ledger.rollout, self.now)
        members = [c for s in self.plain.staging.stages for g in s.groups for c in g.clusters]
        for cluster in CLUSTERS:
            assert (cluster in self.ledger) == (cluster in members)
        for cluster in members:
            assert self.ledger.judgement(cluster) == self.judged(cluster)
        due = self.ledger.next_due()
        assert (due[0] if due else None) == step.recheck_at
        return step

    def judged(self, cluster: str) -> Judgement:
        if cluster in self.plain.skipped:
            return Judgement(Phase.SKIPPED)
        known = self.standings.get(cluster)
        judged = Judgement(Phase.WAITING)
        if known is not None:
            judged = judge(known, self.plain.wanted(cluster), self.plain.timing, self.now)
        if judged.phase is Phase.WAITING and cluster in self.plain.held:
            return Judgement(Phase.HELD)
        if judged.phase is Phase.WAITING and cluster in self.plain.unrendered:
            return Judgement(Phase.UNRENDERED)
        return judged


class History(RuleBasedStateMachine):
    """Any history of reports, touches, departures, new terms and time."""

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        self.both = Both(seed)

    @rule(by=st.sampled_from(PACES))
    def time_passes(self, by: timedelta) -> None:
        self.both.pass_time(by)

    @rule()
    def time_passes_until_the_next_look(self) -> None:
        due = self.both.ledger.next_due()
        if due is not None:
            self.both.now = max(self.both.now, due[0])

    @rule(cluster=st.sampled_from(CLUSTERS), health=st.sampled_from(Health))
    def an_agent_reports(self, cluster: str, health: Health) -> None:
        self.both.report(cluster, health)

    @rule(cluster=st.sampled_from([*CLUSTERS, STRANGER]), revision=st.sampled_from(REVISIONS))
    def a_cluster_is_touched(self, cluster: str, revision: str) -> None:
        self.both.touch(cluster, revision)

    @rule(cluster=st.sampled_from([*CLUSTERS, STRANGER]))
    def an_attempt_is_void(self, cluster: str) -> None:
        self.both.retry(cluster)

    @rule(cluster=st.sampled_from([*CLUSTERS, STRANGER]))
    def a_cluster_is_forgotten(self, cluster: str) -> None:
        self.both.drop(cluster)

    @rule()
    def the_terms_change(self) -> None:
        self.both.reset()

    @rule()
    def clusters_are_to_carry_something_else(self) -> None:
        self.both.carry()

    @rule()
    def gates_and_holds_change(self) -> None:
        self.both.admit()

    @rule()
    def the_step_is_followed(self) -> None:
        self.both.follow(self.both.agree())

    @invariant()
    def both_agree(self) -> None:
        self.both.agree()


History.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

TestHistory = History.TestCase


def walk(seed: int, met: Counter[str]) -> None:
    """One long random history; counts in how many of its steps each thing was met."""
    both, rng = Both(seed), random.Random(seed)
    for _ in range(250):
        match rng.choices("rtfdTagvc", [8, 2, 4, 1, 5, 1, 1, 1, 1])[0]:
            case "r":
                both.report(rng.choice(CLUSTERS), rng.choice(list(Health)))
            case "t":
                both.touch(rng.choice([*CLUSTERS, STRANGER]), rng.choice(REVISIONS))
            case "f":
                both.follow(both.agree())
            case "d":
                both.drop(rng.choice(CLUSTERS))
            case "T":
                both.pass_time(rng.choice(PACES))
            case "a":
                both.admit()
            case "g":
                both.reset()
            case "v":
                both.retry(rng.choice(CLUSTERS))
            case "c":
                both.carry()
        step = both.agree()
        met.update({phase.value for stage in step.stages for phase in stage.phases})
        met["halt"] += step.halt is not None
        met["recheck"] += step.recheck_at is not None
        met["touch"] += bool(step.touch)
        met["settled"] += bool(step.settled)
        met["opened"] += bool(step.opened)
        met["gate"] += step.gate is not None
        met["held in flight"] += any(
            both.ledger.judgement(c).phase is Phase.OUTDATED
            for c in both.plain.held
            if c in both.ledger and c not in both.plain.skipped
        )
        met["tried again"] += any(
            s.verdict is Verdict.RETRY and s.revision == both.plain.wanted(s.cluster)
            for s in both.standings.values()
        )
        met["FailureTolerance"] += "FailureTolerance" in [stage.blocked for stage in step.stages]


def test_ledger_and_plain_step_agree_on_long_walks() -> None:
    met: Counter[str] = Counter()
    for seed in range(20):
        walk(seed, met)

    wanted = {phase.value for phase in Phase} | {"halt", "recheck", "touch", "settled"}
    wanted |= {"FailureTolerance", "opened", "gate", "held in flight", "tried again"}
    assert {name for name in wanted if met[name] < 50} == set(), met


def test_a_lost_cluster_counts_in_both() -> None:
    rollout = structs.replace(rollout_in(spec_of(), [Group(0, "", ("a",))]), lost={"x": "rest"})

    step = Ledger(rollout, T0).step(T0)

    assert step.halt is not None
    assert step == decide(rollout, T0)


def test_the_ledger_keeps_its_own_copy_of_what_it_was_given() -> None:
    given = {"a": standing("a")}
    ledger = Ledger(
        structs.replace(rollout_in(spec_of(), [Group(0, "", ("a",))]), standings=given), T0
    )

    given.clear()

    assert dict(ledger.standings) == {"a": standing("a")}
    assert ledger.step(T0).count(Phase.PROGRESSING) == 1


def test_a_cluster_in_no_stage_is_kept_and_counts_nowhere() -> None:
    ledger = Ledger(rollout_in(spec_of(), [Group(0, "", ("a",))]), T0)

    ledger.put(standing(STRANGER), T0)

    assert STRANGER not in ledger
    assert STRANGER in ledger.standings
    assert ledger.step(T0).recheck_at is None
    with pytest.raises(KeyError):
        ledger.judgement(STRANGER)
