"""One rollout, observation by observation: restarts, supersedes, adoption, leaving, refused writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from rollout.fleet.live import LiveRollout
from rollout.fleet.observations import Observation
from rollout.fleet.terms import Terms
from rollout.model.intents import Intents
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.strategies.base import Health, Hold, Phase, Step, Verdict, select
from rollout.strategies.stages import BUILT_IN
from rollout.strategies.step import decide
from tests.fleets import (
    DEADLINE,
    FAILED,
    GRACE,
    MIN,
    PROGRESSING,
    SEC,
    SILENT,
    SOAK,
    SUCCEEDED,
    T0,
    US,
    spec_of,
)
from tests.record_pages import Pages

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
        self.live.observations = {c: w for c, w in self.works.items() if c in self.members}
        self.agree()

    @property
    def members(self) -> str:
        return self.canaries + self.clusters

    def agree(self) -> None:
        groups = [Group(0, "m", tuple(self.canaries))] if self.canaries else []
        terms = Terms(
            self.revision,
            self.spec,
            BUILT_IN[self.spec.type],
            select([*groups, Group(1, "", tuple(self.clusters))]),
            self.soak,
            GRACE,
            self.outages,
            Intents(skipped=self.skipped),
            is_known=self.is_known,
        )
        self.live.agree(terms, lambda c: c not in self.unreachable, self.now)

    def turn(self, hold: Hold | None = None) -> Step:
        """One pass: decide, write the record, then the works."""
        step = self.live.step(hold, self.now)
        again = self.live.step(hold, self.now)
        assert (again.touch, again.settled, again.passed) == (step.touch, (), ())
        assert again == decide(
            replace(self.live.ledger.rollout, passed=self.live.head.passed), self.now
        )
        self.pages.flush(self.live.book)
        for cluster in step.touch:
            self.live.attempt(cluster, "SlotFree", self.now)
            self.write(cluster, self.revision, self.now)
        for cluster in sorted(self.live.astray):
            refused = self.live.rejections.get(cluster)
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
            self.works[cluster] = Observation(revision, SILENT, "", revision, started_at)
        self.live.observe(cluster, self.works[cluster], self.now)

    def restart(self, down: timedelta = timedelta(0)) -> None:
        self.now += down
        self.start()

    # what the world does

    def report(self, clusters: str, health: Health, reason: str = "") -> None:
        for cluster in clusters:
            known = self.works[cluster]
            self.works[cluster] = replace(known, health=health, reason=reason)
            self.live.observe(cluster, self.works[cluster], self.now)

    def by_others(self, cluster: str, content: str, health: Health) -> None:
        """A work that somebody else wrote: it says nothing of a revision."""
        self.works[cluster] = Observation(content, health)
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


def soaked(hub: Hub, clusters: Iterable[str]) -> None:
    """Take these clusters to the end of their soak."""
    while set(clusters) - {c for c in hub.members if hub.phase(c) is Phase.SOAKED}:
        hub.turn()
        flying = [c for c in hub.members if hub.phase(c) is Phase.PROGRESSING]
        hub.report("".join(c for c in flying if c in hub.works), SUCCEEDED)
        hub.later(SOAK)
    hub.turn()


def test_a_rollout_runs_to_its_end_and_asks_for_nothing_more() -> None:
    hub = Hub()

    soaked(hub, "abcd")

    assert hub.written == [(c, A) for c in "abcd"]
    assert hub.turn().complete
    assert hub.live.last.complete
    assert hub.remembered() == "abcd"


# -- restarts -----------------------------------------------------------------------------------------


def test_after_a_restart_nothing_is_touched_twice() -> None:
    hub = Hub()
    hub.turn()

    hub.restart()
    hub.turn()

    assert hub.written == [("a", A), ("b", A)]
    assert hub.phases() == "a:Progressing b:Progressing c:Waiting d:Waiting"


@pytest.mark.parametrize("down", [0 * MIN, 2 * MIN])
def test_a_soak_goes_on_over_a_restart_and_ends_at_its_instant(down: timedelta) -> None:
    """Row 8, S13: neither early nor from the beginning."""
    hub = Hub()
    hub.turn()
    hub.later(MIN)
    hub.report("a", SUCCEEDED)
    hub.turn()
    hub.later(MIN)
    hub.restart(down)

    hub.now = T0 + MIN + SOAK - US
    assert hub.phase("a") is Phase.SOAKING
    hub.later(US)
    assert hub.phase("a") is Phase.SOAKED


def test_a_soak_that_broke_while_nobody_looked_begins_again() -> None:
    hub = Hub()
    hub.turn()
    hub.report("a", SUCCEEDED)
    hub.turn()
    hub.later(MIN)
    hub.works["a"] = replace(hub.works["a"], health=PROGRESSING)

    hub.restart()
    hub.later(MIN)
    hub.report("a", SUCCEEDED)
    hub.later(SOAK - US)

    assert hub.phase("a") is Phase.SOAKING


def test_a_deadline_runs_on_over_a_restart() -> None:
    hub = Hub()
    hub.turn()
    hub.restart(DEADLINE - US)

    assert hub.phase("a") is Phase.PROGRESSING
    hub.later(US)
    assert hub.phase("a") is Phase.FAILED


def test_verdicts_gates_and_losses_outlive_the_process() -> None:
    hub = Hub(spec_of(limit=1, budget=2, mandatory=["m"]), clusters="bcd", canaries="a")
    soaked(hub, "a")
    hub.turn()
    hub.later(DEADLINE)
    hub.turn()
    hub.unreachable, hub.clusters = {"c"}, "bd"
    hub.agree()
    hub.turn()
    before = hub.phases(), hub.live.head, dict(hub.live.lost)

    hub.restart()
    hub.turn()

    assert (hub.phases(), hub.live.head, dict(hub.live.lost)) == before
    assert before[0] == "a:Soaked b:Failed d:Progressing"
    assert before[1].passed == {"m/0"}
    assert before[2] == {"c": "rest"}


def test_a_finally_failed_cluster_stays_so_though_its_agent_says_otherwise_after_a_restart() -> (
    None
):
    hub = Hub()
    hub.turn()
    hub.later(DEADLINE)
    hub.turn()
    hub.works["a"] = replace(hub.works["a"], health=PROGRESSING)

    hub.restart()

    assert hub.phase("a") is Phase.FAILED
    assert hub.live.ledger.standings["a"].reason == "Unreachable"


def test_a_lost_record_is_rebuilt_and_soaks_start_again() -> None:
    """Conservatively: the deadline from what the works say, the soak from now."""
    hub = Hub()
    hub.turn()
    hub.later(MIN)
    hub.report("a", SUCCEEDED)
    hub.turn()
    hub.later(SOAK - SEC)
    hub.pages = Pages()

    hub.restart()

    assert hub.turn().touch == ()
    hub.later(SEC)
    assert hub.phases() == "a:Soaking b:Progressing c:Waiting d:Waiting"
    assert hub.live.ledger.standings["b"].touched == T0
    hub.now = T0 + DEADLINE
    assert hub.phase("b") is Phase.FAILED
    hub.now = T0 + MIN + SOAK - SEC + SOAK
    assert hub.phase("a") is Phase.SOAKED
    assert hub.written == [("a", A), ("b", A)]


def test_a_lost_record_makes_no_time_out_of_a_success_of_long_ago() -> None:
    hub = Hub()
    soaked(hub, "abcd")
    hub.pages = Pages()

    hub.restart(10 * DEADLINE)

    assert hub.phases() == "a:Soaking b:Soaking c:Soaking d:Soaking"
    assert hub.turn().halt is None
    hub.later(SOAK)
    assert hub.turn().complete


def test_a_lost_record_closes_gates_until_they_pass_again() -> None:
    hub = Hub(spec_of(limit=2, mandatory=["m"]), canaries="xy")
    soaked(hub, "xy")
    hub.pages = Pages()

    hub.restart()
    step = hub.turn()

    assert step.touch == ()
    assert step.stages[1].blocked == "WaitingForStage"
    hub.later(SOAK)
    assert hub.turn().passed == ("m/0",)


def test_a_lost_head_loses_the_gates_and_not_the_verdicts() -> None:
    hub = Hub(spec_of(limit=2, mandatory=["m"]), canaries="xy")
    soaked(hub, "xy")
    page = hub.pages.held[0]
    hub.pages.held[0] = {**page, "data": {**page["data"], "head.json": "not JSON"}}

    hub.restart()

    assert hub.live.head.passed == frozenset()
    assert hub.turn().passed == ("m/0",)


def test_a_record_that_was_never_written_costs_a_second_look_and_no_second_touch() -> None:
    """A crash right after the works were written, before the record told of them."""
    hub = Hub()
    step = hub.live.step(None, hub.now)
    for cluster in step.touch:
        hub.live.attempt(cluster, "SlotFree", hub.now)
        hub.write(cluster, A, hub.now)

    hub.later(MIN)
    hub.restart()

    assert hub.turn().touch == ()
    assert hub.live.ledger.standings["a"].touched == T0


def test_a_touch_that_is_tried_again_keeps_the_clock_of_the_first_attempt() -> None:
    """Row 6: a transport error is no failure, and no new beginning."""
    hub = Hub()
    hub.live.step(None, hub.now)
    hub.live.attempt("a", "SlotFree", hub.now)
    hub.later(MIN)

    hub.live.attempt("a", "SlotFree", hub.now)

    assert hub.live.ledger.standings["a"].touched == T0


def test_a_start_in_the_future_is_not_believed() -> None:
    hub = Hub()
    hub.works["a"] = Observation(A, PROGRESSING, "", A, T0 + 9 * MIN)

    hub.restart()

    assert hub.live.ledger.standings["a"].touched == T0


def test_outages_before_a_restart_still_lengthen_deadlines() -> None:
    """Row 20."""
    hub = Hub()
    hub.turn()
    hub.later(5 * MIN)
    hub.outages = ((T0 + MIN, T0 + 4 * MIN),)
    hub.agree()
    hub.turn()

    hub.outages = ()
    hub.restart()
    hub.outages = ((T0 + 3 * MIN, T0 + 5 * MIN),)
    hub.agree()
    hub.now = T0 + DEADLINE + 4 * MIN - US

    assert hub.live.head.outages == ((T0 + MIN, T0 + 5 * MIN),)
    assert hub.phase("a") is Phase.PROGRESSING
    hub.later(US)
    assert hub.phase("a") is Phase.FAILED


def test_outages_that_concern_nobody_are_forgotten() -> None:
    hub = Hub()
    hub.outages = ((T0 - 5 * MIN, T0 - MIN),)
    hub.agree()
    hub.turn()
    assert not hub.live.head.outages

    hub.outages = ((T0 - 5 * MIN, T0 - MIN), (T0 + MIN, T0 + 2 * MIN))
    hub.later(3 * MIN)
    hub.agree()

    assert hub.live.head.outages == hub.outages[1:]


def test_a_cluster_that_was_lost_while_nobody_looked_counts_in_the_first_stage() -> None:
    hub = Hub(spec_of(limit=2, mandatory=["m"]), canaries="xy")
    hub.turn()
    hub.canaries, hub.unreachable = "x", {"y"}

    hub.restart()

    assert hub.turn().halt is not None
    assert hub.live.last.stages[0].phases[Phase.LOST] == 1


def test_a_cluster_that_was_lost_in_its_soak_while_nobody_looked_is_lost() -> None:
    """S17: the soak is measured by the terms, although no terms were agreed in this process yet."""
    hub = Hub()
    hub.turn()
    hub.report("ab", SUCCEEDED)
    hub.turn()
    hub.later(MIN)
    hub.clusters, hub.unreachable = "bcd", {"a"}

    hub.restart()

    assert set(hub.live.lost) == {"a"}


# -- supersede --------------------------------------------------------------------------------------


def test_a_new_revision_overwrites_what_is_in_flight_and_takes_no_new_slot() -> None:
    """Row 18."""
    hub = Hub()
    hub.turn()
    hub.later(MIN)

    hub.revision = B
    hub.agree()
    assert hub.phases() == "a:Outdated b:Outdated c:Waiting d:Waiting"
    step = hub.turn()

    assert step.touch == ("a", "b")
    assert hub.live.ledger.standings["a"].touched == T0 + MIN
    assert hub.turn().touch == ()


def test_a_new_revision_starts_with_no_gate_passed_and_its_budget_whole() -> None:
    hub = Hub(spec_of(limit=2, mandatory=["m"], budget=0), canaries="xy")
    soaked(hub, "xy")
    hub.turn()
    hub.later(DEADLINE)
    assert hub.turn().halt is not None

    hub.revision = B
    hub.agree()
    step = hub.turn()

    assert (step.halt, step.touch) == (None, ("x", "y"))
    assert hub.live.head.passed == frozenset()
    assert hub.live.head.seen == {"m"}


def test_a_new_revision_forgets_losses_and_refusals() -> None:
    hub = Hub(refuses={"b"})
    hub.turn()
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert (set(hub.live.lost), set(hub.live.rejections)) == ({"a"}, {"b"})

    hub.revision = B
    hub.agree()

    assert (dict(hub.live.lost), hub.live.rejections) == ({}, {})
    assert hub.remembered() == "b"


def test_a_fix_goes_through_where_the_broken_revision_holds_every_slot() -> None:
    """L5."""
    hub = Hub(spec_of(limit=2, deadline=None))
    hub.turn()
    hub.report("ab", FAILED, "Degraded")
    hub.later(2 * GRACE)
    assert hub.turn().halt is not None

    hub.revision = B
    hub.agree()
    soaked(hub, "abcd")

    assert hub.turn().complete
    assert {w.content for w in hub.works.values()} == {B}


def test_going_back_to_the_revision_before_touches_only_those_that_left_it() -> None:
    """A, B, A: what had soaked on A and never left is soaked still."""
    hub = Hub()
    soaked(hub, "abcd")
    hub.revision = B
    hub.agree()
    hub.turn()
    assert hub.phases() == "a:Progressing b:Progressing c:Waiting d:Waiting"

    hub.revision = A
    hub.agree()

    assert hub.phases() == "a:Outdated b:Outdated c:Soaked d:Soaked"
    assert hub.turn().touch == ("a", "b")
    assert hub.works["a"].content == A


def test_going_back_before_the_write_landed_takes_the_work_as_it_is() -> None:
    hub = Hub()
    soaked(hub, "abcd")
    hub.revision = B
    hub.agree()
    hub.live.attempt("a", "Supersede", hub.now)

    hub.revision = A
    hub.agree()

    assert hub.phases() == "a:Soaking b:Soaked c:Soaked d:Soaked"
    assert hub.turn().touch == ()


def test_a_failure_on_the_revision_that_is_gone_back_to_is_still_one() -> None:
    hub = Hub(spec_of(limit=1, budget=0))
    hub.turn()
    hub.later(DEADLINE)
    hub.turn()
    for revision in (B, A):
        hub.revision = revision
        hub.agree()

    assert hub.phase("a") is Phase.FAILED
    assert hub.turn().halt is not None


# -- works written by others -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "health", "phase"),
    [
        (A, SILENT, Phase.PROGRESSING),
        (A, PROGRESSING, Phase.PROGRESSING),
        (A, SUCCEEDED, Phase.SOAKING),
        (A, FAILED, Phase.PROGRESSING),
        ("older", SILENT, Phase.OUTDATED),
        ("older", PROGRESSING, Phase.OUTDATED),
        ("older", SUCCEEDED, Phase.WAITING),
        ("older", FAILED, Phase.OUTDATED),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["seen at start", "seen later"])
def test_a_work_of_others_is_adopted_as_it_stands_now(
    content: str, health: Health, phase: Phase, first: bool
) -> None:
    hub = Hub()
    if first:
        hub.works["a"] = Observation(content, health)
        hub.restart()
    else:
        hub.by_others("a", content, health)

    assert hub.phase("a") is phase
    assert hub.live.ledger.standings["a"].touched == T0
    assert hub.remembered() == "a"


def test_adopted_works_hold_slots_and_are_not_written_again() -> None:
    hub = Hub()
    for cluster in "bcd":
        hub.by_others(cluster, A, PROGRESSING)

    assert hub.turn().touch == ()
    hub.report("bcd", SUCCEEDED)
    hub.later(SOAK)
    assert hub.turn().touch == ("a",)
    assert hub.written == [("a", A)]


def test_what_a_work_says_of_another_content_starts_no_clock() -> None:
    """The annotation counts only where it is about what the work carries."""
    hub = Hub()
    hub.works["a"] = Observation(A, PROGRESSING, "", "edited since", T0 - 9 * MIN)

    hub.restart()

    assert hub.live.ledger.standings["a"].touched == T0


# -- drift -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("health", list(Health))
@pytest.mark.parametrize("was_soaked", [True, False])
def test_a_work_changed_by_hand_is_restored_and_what_it_says_does_not_count(
    health: Health, was_soaked: bool
) -> None:
    """Rows 10 and 24: no touch, no slot, and no clock begins anew."""
    hub = Hub()
    hub.turn()
    if was_soaked:
        hub.report("ab", SUCCEEDED)
        hub.later(SOAK)
        hub.turn()
    hub.written.clear()

    hub.by_others("a", "by hand", health)
    assert hub.phase("a") is (Phase.SOAKED if was_soaked else Phase.PROGRESSING)
    assert hub.live.astray == {"a"}
    step = hub.turn()

    assert ("a", A) in hub.written
    assert "a" not in step.touch
    assert hub.live.astray == set()
    assert hub.live.ledger.standings["a"].touched == T0


def test_a_work_deleted_by_hand_is_restored_too() -> None:
    hub = Hub()
    soaked(hub, "abcd")

    del hub.works["b"]
    hub.live.observe("b", None, hub.now)

    assert hub.live.astray == {"b"}
    assert hub.turn().complete
    assert hub.works["b"].content == A


def test_a_cluster_not_yet_reached_is_restored_to_the_revision_it_is_supposed_to_have() -> None:
    hub = Hub(spec_of(limit=1))
    soaked(hub, "abcd")
    hub.revision = B
    hub.agree()
    hub.turn()

    hub.by_others("d", "by hand", SUCCEEDED)
    hub.turn()

    assert hub.works["d"].content == A
    assert hub.live.supposed("d") == A
    assert hub.phase("d") is Phase.WAITING


def test_a_soak_that_drift_interrupts_begins_again() -> None:
    hub = Hub()
    hub.turn()
    hub.report("a", SUCCEEDED)
    hub.later(SOAK - SEC)
    hub.by_others("a", "by hand", SUCCEEDED)
    hub.turn()
    hub.report("a", SUCCEEDED)
    hub.later(SEC)

    assert hub.phase("a") is Phase.SOAKING


# -- membership --------------------------------------------------------------------------------------


def test_a_cluster_that_joins_waits_for_a_slot() -> None:
    hub = Hub()
    hub.turn()

    hub.clusters = "0abcd"
    hub.agree()

    assert hub.turn().touch == ()
    assert hub.phase("0") is Phase.WAITING


@pytest.mark.parametrize(
    ("story", "lost"),
    [
        pytest.param("", False, id="never touched"),
        pytest.param("silent", True, id="not acknowledged"),
        pytest.param("progressing", True, id="progressing"),
        pytest.param("failing", True, id="failing"),
        pytest.param("soaking", True, id="soaking"),
        pytest.param("timed out", True, id="finally failed"),
        pytest.param("soaked", False, id="soaked"),
        pytest.param("superseded", False, id="in flight on an older revision"),
    ],
)
@pytest.mark.parametrize("available", [True, False], ids=["available", "unavailable"])
def test_a_cluster_that_leaves_is_lost_where_it_left_something_open_and_could_not_be_reached(
    story: str, lost: bool, available: bool
) -> None:
    """Row 17, S17."""
    hub = Hub(spec_of(limit=1, budget=9))
    if story:
        hub.turn()
    match story:
        case "progressing":
            hub.report("a", PROGRESSING)
        case "failing":
            hub.report("a", FAILED)
            hub.later(2 * GRACE)
        case "soaking" | "soaked":
            hub.report("a", SUCCEEDED)
            hub.later(SOAK if story == "soaked" else SOAK - US)
        case "timed out":
            hub.later(DEADLINE)
        case "superseded":
            hub.revision = B
    hub.agree()

    hub.clusters, hub.unreachable = "bcd", set() if available else {"a"}
    hub.agree()

    is_lost = lost and not available
    assert dict(hub.live.lost) == ({"a": "rest"} if is_lost else {})
    assert ("a" in hub.remembered()) == is_lost
    assert hub.turn().count(Phase.LOST) == is_lost


def test_losing_clusters_never_opens_a_gate() -> None:
    """S17: both canaries vanish in flight; the rest is not touched."""
    hub = Hub(spec_of(limit=2, mandatory=["m"], budget=9), canaries="xy")
    hub.turn()

    hub.canaries, hub.unreachable = "", {"x", "y"}
    hub.agree()
    for _ in range(3):
        step = hub.turn()
        assert step.touch == ()
        hub.later(DEADLINE)
        hub.restart()

    assert step.hold is not None
    assert step.hold.reason == "MandatoryGroupEmptied"
    assert step.count(Phase.LOST) == 2


def test_a_lost_cluster_that_comes_back_is_lost_no_more() -> None:
    hub = Hub(spec_of(limit=1, budget=0))
    hub.turn()
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert hub.turn().halt is not None

    hub.clusters, hub.unreachable = "abcd", set()
    hub.live.observations["a"] = hub.works["a"]
    hub.agree()
    step = hub.turn()

    assert (step.halt, step.touch, dict(hub.live.lost)) == (None, (), {})
    assert hub.phase("a") is Phase.PROGRESSING
    assert hub.remembered() == "a"


def test_a_lost_cluster_that_is_anothers_now_is_forgotten_with_all_that_it_left() -> None:
    """Rows 17, 21. What soaked there is its new owner's to remember, too."""
    hub = Hub(spec_of(limit=1, budget=0), clusters="ab")
    soaked(hub, "ab")
    hub.revision = B
    hub.agree()
    hub.turn()
    hub.clusters, hub.unreachable = "b", {"a"}
    hub.agree()
    halted = hub.turn()
    assert halted.halt is not None
    assert hub.remembered() == "ab"

    hub.live.yield_lost(["a"], hub.now)
    hub.agree()  # on the same terms

    assert hub.turn().touch == ("b",)
    assert (dict(hub.live.lost), hub.live.soaked.of("a")) == ({}, ())
    assert hub.live.causes.keys() == {"b"}
    assert hub.remembered() == "b"


def test_a_retry_whose_write_is_lost_is_judged_by_what_is_there_already() -> None:
    """No deadline: were it taken for silent, nothing would ever end the wait."""
    hub = Hub(spec_of(limit=1, budget=1, deadline=None), clusters="a")
    hub.turn()
    hub.report("a", FAILED)
    hub.later(GRACE)
    hub.turn()
    assert hub.phase("a") is Phase.FAILED

    terms = Terms(A, hub.spec, BUILT_IN[hub.spec.type], select([Group(1, "", ("a",))]), SOAK, GRACE)
    hub.live.agree(replace(terms, intents=Intents(retry="again")), lambda _: True, hub.now)
    assert hub.live.step(None, hub.now).touch == ("a",)
    hub.live.attempt("a", "Retry", hub.now)
    assert hub.phase("a") is Phase.PROGRESSING

    hub.later(GRACE)
    assert hub.phase("a") is Phase.FAILED


def test_what_soaked_on_a_lost_cluster_is_remembered_until_the_revision_changes() -> None:
    hub = Hub(clusters="ab")
    soaked(hub, "ab")
    hub.revision = B
    hub.agree()
    hub.turn()
    assert hub.live.soaked.of("a") == (A,)

    hub.clusters, hub.unreachable = "b", {"a"}
    hub.agree()
    hub.turn()
    assert dict(hub.live.lost) == {"a": "rest"}
    hub.restart()
    assert hub.live.soaked.of("a") == (A,)

    hub.revision = "revision-c"
    hub.agree()
    assert hub.live.soaked.of("a") == ()


def test_a_lost_cluster_is_released_by_skipping_it() -> None:
    hub = Hub(spec_of(limit=1, budget=0))
    hub.turn()
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert hub.turn().halt is not None

    hub.skipped = frozenset("a")
    hub.agree()

    assert hub.turn().touch == ("b",)
    hub.restart()
    assert hub.turn().halt is None


def test_a_cluster_that_moves_to_another_stage_keeps_its_standing() -> None:
    hub = Hub(spec_of("ProgressivePerGroup"), clusters="cd", canaries="ab")
    soaked(hub, "ab")

    hub.canaries, hub.clusters = "a", "bcd"
    hub.agree()

    assert hub.phase("b") is Phase.SOAKED
    assert hub.live.lost == {}


def test_terms_that_did_not_change_change_nothing() -> None:
    hub = Hub()
    hub.turn()
    before = hub.live.ledger.standings["a"]
    hub.later(MIN)

    hub.agree()

    assert hub.live.ledger.standings["a"] is before
    assert hub.live.book.writes() == []


def test_changed_terms_keep_every_clock() -> None:
    hub = Hub()
    hub.turn()
    hub.report("a", SUCCEEDED)
    hub.later(MIN)

    hub.soak = 2 * MIN
    hub.agree()
    hub.later(MIN - US)

    assert hub.phase("a") is Phase.SOAKING
    hub.later(US)
    assert hub.phase("a") is Phase.SOAKED


# -- writes that are refused ------------------------------------------------------------------------


def test_a_refused_write_is_tried_again_more_and_more_rarely() -> None:
    """Row 19: 5 s, twice as long each time, never more than 5 minutes."""
    hub = Hub(spec_of(limit=1, budget=9, deadline=None), refuses={"a"})
    waits = []
    for _ in range(10):
        hub.turn()
        waits.append((hub.live.rejections["a"].retry_at - hub.now) / SEC)
        hub.now = hub.live.rejections["a"].retry_at

    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert hub.live.rejections["a"].message == "denied by policy"
    assert hub.live.rejections["a"].tries == 10


def test_a_refused_write_is_a_failure_on_the_clock_of_the_first_attempt() -> None:
    hub = Hub(spec_of(limit=1, budget=0, deadline=None), refuses={"a"})
    hub.turn()
    hub.now = T0 + GRACE - US
    hub.turn()
    assert hub.phase("a") is Phase.PROGRESSING

    hub.now = T0 + GRACE
    step = hub.turn()

    assert [(s.cluster, s.verdict, s.reason) for s in step.settled] == [
        ("a", Verdict.FAILED, "WriteRejected")
    ]
    assert step.halt is not None
    assert hub.live.ledger.standings["a"].touched == T0


@pytest.mark.parametrize("health", [SILENT, SUCCEEDED, FAILED])
def test_what_the_older_work_says_does_not_hide_that_the_write_is_refused(health: Health) -> None:
    hub = Hub(spec_of(limit=1))
    hub.by_others("a", "older", SUCCEEDED)
    hub.refuses = {"a"}
    hub.turn()

    hub.by_others("a", "older", health)

    known = hub.live.ledger.standings["a"]
    assert (known.revision, known.health, known.reason) == (A, FAILED, "WriteRejected")


def test_a_write_that_lands_in_the_end_lets_its_cluster_recover() -> None:
    hub = Hub(spec_of(limit=1, budget=1), refuses={"a"})
    hub.turn()
    hub.later(6 * SEC)
    hub.refuses = set()
    hub.turn()
    assert (hub.live.rejections, hub.phase("a")) == ({}, Phase.PROGRESSING)

    hub.report("a", SUCCEEDED)
    hub.later(SOAK)

    assert hub.phase("a") is Phase.SOAKED


def test_a_refusal_outlives_the_process_as_a_failure_and_is_tried_again_at_once() -> None:
    hub = Hub(spec_of(limit=1, budget=0), refuses={"a"})
    hub.turn()
    hub.later(2 * GRACE)

    hub.restart()
    step = hub.turn()

    assert step.halt is not None
    assert hub.live.rejections["a"].tries == 1
    assert hub.live.ledger.standings["a"].reason == "WriteRejected"


def test_a_refused_restoration_of_a_soaked_cluster_is_no_failure() -> None:
    hub = Hub()
    soaked(hub, "abcd")
    hub.refuses = {"a"}

    hub.by_others("a", "by hand", PROGRESSING)
    step = hub.turn()

    assert (hub.phase("a"), step.halt) == (Phase.SOAKED, None)
    assert set(hub.live.rejections) == {"a"}


# -- the record and the answer ---------------------------------------------------------------------


def test_verdicts_and_gates_are_in_the_pages_before_the_touches_that_depend_on_them() -> None:
    hub = Hub(spec_of(limit=2, mandatory=["m"]), canaries="x")
    hub.turn()
    hub.report("x", SUCCEEDED)
    hub.later(SOAK)

    step = hub.live.step(None, hub.now)
    hub.pages.flush(hub.live.book)
    record = hub.pages.open(new_live(hub.now).book)

    assert step.touch == ("a", "b")
    assert record.head.passed == {"m/0"}
    known = record.lines["x"].standing
    assert known is not None
    assert known.verdict is Verdict.SOAKED


def test_every_touch_has_a_recorded_cause() -> None:
    """O1."""
    hub = Hub()
    hub.turn()
    record = hub.pages.open(new_live(hub.now).book)

    assert {c: line.cause for c, line in record.lines.items()} == {"a": "SlotFree", "b": "SlotFree"}


def test_while_held_nothing_is_touched_and_clocks_run_on() -> None:
    """S8, row 25."""
    hub = Hub()
    hub.turn()
    hub.report("ab", SUCCEEDED)
    hub.later(SOAK)
    paused = Hold("Paused", "")

    assert hub.turn(paused).touch == ()
    assert hub.phases() == "a:Soaked b:Soaked c:Waiting d:Waiting"
    assert hub.turn().touch == ("c", "d")


def test_health_after_the_soak_changes_nothing() -> None:
    """Row 11."""
    hub = Hub()
    soaked(hub, "abcd")
    before = dict(hub.live.ledger.standings)

    for health in Health:
        hub.report("abcd", health)

    assert dict(hub.live.ledger.standings) == before
    assert hub.turn().complete


def test_the_reason_of_a_failure_is_the_latest_until_it_is_final() -> None:
    hub = Hub(spec_of(limit=1))
    hub.turn()
    hub.report("a", FAILED, "ApplyFailed")
    hub.report("a", FAILED, "Degraded")
    assert hub.live.ledger.standings["a"].reason == "Degraded"
    assert hub.live.ledger.standings["a"].since == T0

    hub.later(DEADLINE)
    hub.turn()
    hub.report("a", FAILED, "Else")

    assert hub.live.ledger.standings["a"].reason == "Degraded"


def test_a_selection_that_cannot_be_read_after_a_restart_costs_nobody_his_standing() -> None:
    """Rows 15 and 16: torn decisions or a missing placement, met by a process that just started."""
    hub = Hub()
    soaked(hub, "ab")
    hub.turn()
    hub.unreachable = set("abcd")

    hub.clusters, hub.is_known = "", False
    hub.restart()
    hub.turn(Hold("TornDecisions", ""))
    hub.clusters, hub.is_known = "abcd", True
    hub.live.observations = dict(hub.works)
    hub.agree()

    assert hub.phases() == "a:Soaked b:Soaked c:Progressing d:Progressing"
    assert dict(hub.live.lost) == {}
    assert hub.remembered() == "abcd"
