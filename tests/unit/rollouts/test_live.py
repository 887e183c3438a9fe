"""One rollout, observation by observation: to its end, to a new revision and back, and what it records."""

from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Health, Phase, Verdict
from tests.support.fleets import DEADLINE, FAILED, GRACE, MIN, SOAK, SUCCEEDED, T0, spec_of
from tests.support.live import A, B, Hub, begun, new_live, soaked


def test_a_rollout_runs_to_its_end_and_asks_for_nothing_more() -> None:
    hub = Hub()

    soaked(hub, "abcd")

    assert hub.written == [(c, A) for c in "abcd"]
    assert hub.turn().complete
    assert hub.live.last.complete
    assert hub.remembered() == "abcd"


def test_a_hold_that_time_may_end_is_looked_at_again_at_that_instant() -> None:
    hub = begun()
    hold = Wait(Reason.PAUSED, "until then", T0 + 2 * MIN)

    assert hub.live.decide(hold, T0 + MIN).step.recheck_at == T0 + 2 * MIN


# -- supersede --------------------------------------------------------------------------------------


def test_a_new_revision_overwrites_what_is_in_flight_and_takes_no_new_slot() -> None:
    """Row 18."""
    hub = begun()
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


def test_a_new_revision_forgets_losses() -> None:
    hub = begun(refuses={"b"})
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert (set(hub.live.lost), set(hub.live.rejections)) == ({"a"}, {"b"})

    hub.revision = B
    hub.agree()

    assert dict(hub.live.lost) == {}
    assert hub.remembered() == "b"


def test_a_fix_goes_through_where_the_broken_revision_holds_every_slot() -> None:
    """L5."""
    hub = begun(spec_of(limit=2, deadline=None))
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
    hub = begun(spec_of(limit=1, budget=0))
    hub.later(DEADLINE)
    hub.turn()
    for revision in (B, A):
        hub.revision = revision
        hub.agree()

    assert hub.phase("a") is Phase.FAILED
    assert hub.turn().halt is not None


# -- the record and the answer ---------------------------------------------------------------------


def test_verdicts_and_gates_are_in_the_pages_before_the_touches_that_depend_on_them() -> None:
    hub = begun(spec_of(limit=2, mandatory=["m"]), canaries="x")
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
    hub = begun()
    record = hub.pages.open(new_live(hub.now).book)

    assert {c: line.cause for c, line in record.lines.items()} == {"a": "SlotFree", "b": "SlotFree"}


def test_while_held_nothing_is_touched_and_clocks_run_on() -> None:
    """S8, row 25."""
    hub = begun()
    hub.report("ab", SUCCEEDED)
    hub.later(SOAK)
    paused = Wait(Reason.PAUSED, "")

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
    hub = begun(spec_of(limit=1))
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
    hub.turn(Wait(Reason.TORN_DECISIONS, ""))
    hub.clusters, hub.is_known = "abcd", True
    hub.live.look(hub.works)
    hub.agree()

    assert hub.phases() == "a:Soaked b:Soaked c:Progressing d:Progressing"
    assert dict(hub.live.lost) == {}
    assert hub.remembered() == "abcd"


def test_what_timed_out_on_an_older_revision_is_not_in_flight_again_without_a_deadline() -> None:
    """S1: those clusters would be written without a slot, beside others that are in flight."""
    held = Wait(Reason.PAUSED, "")
    hub = begun(spec_of(limit=2, budget=4))
    hub.revision = B
    hub.agree()
    hub.later(DEADLINE)
    hub.turn(held)
    assert (hub.phase("a"), hub.phase("b")) == (Phase.WAITING, Phase.WAITING)

    hub.revision, hub.spec = "revision-c", spec_of(limit=2, budget=4, deadline=None)
    hub.agree()
    assert (hub.phase("a"), hub.phase("b")) == (Phase.WAITING, Phase.WAITING)
    hub.turn(held)  # the record is written
    hub.restart()
    assert (hub.phase("a"), hub.phase("b")) == (Phase.WAITING, Phase.WAITING)
    assert len(hub.turn().touch) == 2
