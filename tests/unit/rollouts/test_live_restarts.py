"""What does a rollout still know after a restart? Standings, soaks, deadlines, verdicts, gates, losses."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from rollout.rollouts.head import Rollback
from rollout.rollouts.line import NOT_BROUGHT
from rollout.rollouts.observations import Observation, unbrought
from rollout.rollouts.outages import Outages
from rollout.strategies.base import Health, Phase
from tests.support.fleets import (
    DEADLINE,
    FAILED,
    GRACE,
    MIN,
    PROGRESSING,
    SEC,
    SOAK,
    SUCCEEDED,
    T0,
    US,
    spec_of,
)
from tests.support.live import A, B, Hub, begun, soaked
from tests.support.record_pages import Pages


def test_after_a_restart_nothing_is_touched_twice() -> None:
    hub = begun()

    hub.restart()
    hub.turn()

    assert hub.written == [("a", A), ("b", A)]
    assert hub.phases() == "a:Progressing b:Progressing c:Waiting d:Waiting"


@pytest.mark.parametrize("down", [0 * MIN, 2 * MIN])
def test_a_soak_goes_on_over_a_restart_and_ends_at_its_instant(down: timedelta) -> None:
    """Row 8, S13: neither early nor from the beginning."""
    hub = begun()
    hub.later(MIN)
    hub.hear("a", SUCCEEDED)
    hub.later(MIN)
    hub.restart(down)

    hub.now = T0 + MIN + SOAK - US
    assert hub.phase("a") is Phase.SOAKING
    hub.later(US)
    assert hub.phase("a") is Phase.SOAKED


def test_a_soak_that_broke_while_nobody_looked_begins_again() -> None:
    hub = begun()
    hub.hear("a", SUCCEEDED)
    hub.later(MIN)
    hub.works["a"] = structs.replace(hub.works["a"], health=PROGRESSING)

    hub.restart()
    hub.later(MIN)
    hub.report("a", SUCCEEDED)
    hub.later(SOAK - US)

    assert hub.phase("a") is Phase.SOAKING


@pytest.mark.parametrize("broken", [{"token": "another"}, {"content": "another", "revision": ""}])
def test_a_soak_that_broke_while_nobody_looked_begins_again_once_its_cluster_is_selected(
    broken: dict[str, str],
) -> None:
    """S13: the placement may be torn, or missing, when the process begins."""
    hub = begun(spec_of(limit=1, deadline=None))
    hub.hear("a", SUCCEEDED)
    was, hub.works["a"] = hub.works["a"], structs.replace(hub.works["a"], **broken)
    selected, hub.clusters, hub.is_known = hub.clusters, "", False
    hub.restart(SOAK - US)

    hub.later(SOAK + MIN)
    hub.outages = ((hub.now - US, hub.now),)
    hub.agree()
    hub.clusters, hub.is_known = selected, True
    hub.live.look(hub.works)
    hub.agree()
    hub.works["a"] = structs.replace(was, token="another")
    hub.live.observe("a", hub.works["a"], hub.now)
    assert hub.phase("a") is Phase.SOAKING
    hub.later(SOAK - US)
    assert hub.phase("a") is Phase.SOAKING
    hub.later(US)
    assert hub.phase("a") is Phase.SOAKED


@pytest.mark.parametrize(
    ("token", "phase"), [("another", Phase.PROGRESSING), ("", Phase.FAILED)], ids=str
)
def test_a_failure_that_is_stamped_anew_while_nobody_looked_has_its_grace_again(
    token: str, phase: Phase
) -> None:
    """Row 7. Of one that the agent does not stamp nothing is known: it goes on."""
    hub = begun(spec_of(limit=1, budget=1, deadline=None))
    hub.hear("a", FAILED)
    hub.works["a"] = structs.replace(hub.works["a"], token=token)

    hub.restart(GRACE)

    assert hub.phase("a") is phase


def test_on_an_older_revision_a_soak_that_broke_while_nobody_looked_keeps_its_slot() -> None:
    hub = begun()
    hub.hear("ab", SUCCEEDED)
    hub.works["a"] = structs.replace(hub.works["a"], health=PROGRESSING)
    hub.revision = B

    hub.restart(SOAK)

    assert hub.phases() == "a:Outdated b:Waiting c:Waiting d:Waiting"


@pytest.mark.parametrize("says", [A, ""])
def test_a_success_that_somebody_changed_by_hand_while_nobody_looked_has_not_soaked(
    says: str,
) -> None:
    """S13: it was seen for a moment, and what was written is there no more."""
    hub = begun()
    hub.hear("ab", SUCCEEDED)
    hub.works["a"] = structs.replace(hub.works["a"], content="by hand", revision=says)
    hub.revision = B

    hub.restart(SOAK)

    assert hub.phases() == "a:Outdated b:Waiting c:Waiting d:Waiting"


def test_what_could_be_brought_nothing_while_nobody_looked_was_not_touched_meanwhile() -> None:
    hub = Hub(clusters="ab", spec=spec_of(limit=1, budget=1))
    soaked(hub, "ab")
    hub.revision = B
    hub.agree()
    hub.turn()
    hub.works["b"] = unbrought(B, "ConfigNotFound")

    hub.restart()

    assert hub.live.line("b").cause == NOT_BROUGHT


@pytest.mark.parametrize("restarts", [False, True])
def test_a_cluster_that_lacked_something_for_a_while_stands_as_it_did_before(
    restarts: bool,
) -> None:
    """It has finally failed on an older revision, and does not come back into flight over that."""
    hub = begun(clusters="ab", spec=spec_of(limit=1, budget=2, deadline=None))
    hub.report("a", FAILED)
    hub.later(GRACE)
    hub.turn()
    hub.revision = B
    hub.agree()
    before = hub.phases()

    hub.live.observe("a", unbrought(B, "ConfigNotFound"), hub.now)
    if restarts:
        hub.pages.flush(hub.live.book)
        hub.restart()
    else:
        hub.live.observe("a", hub.works["a"], hub.now)

    assert hub.phases() == before


@pytest.mark.parametrize(("token", "goes_on"), [("1", True), ("2", False)])
def test_an_older_success_soaks_while_its_cluster_lacks_something_only_where_its_stamp_stays(
    token: str, goes_on: bool
) -> None:
    hub = begun(clusters="ab", spec=spec_of(limit=1, deadline=None))
    well = Observation(content=A, health=Health.SUCCEEDED, token="1")
    hub.live.observe("a", well, began := hub.now)
    hub.revision = B
    hub.agree()
    hub.live.observe("a", unbrought(B, "ConfigNotFound"), hub.now)
    hub.later(2 * SOAK)

    hub.live.observe("a", structs.replace(well, token=token), hub.now)

    standing = hub.live.line("a").standing
    assert standing is not None
    assert (standing.since == began) is goes_on
    assert standing.verdict is None


def test_a_deadline_runs_on_over_a_restart() -> None:
    hub = begun()
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
    hub = begun()
    hub.later(DEADLINE)
    hub.turn()
    hub.works["a"] = structs.replace(hub.works["a"], health=PROGRESSING)

    hub.restart()

    assert hub.phase("a") is Phase.FAILED
    assert hub.live.ledger.standings["a"].reason == "Unreachable"


def test_a_lost_record_is_rebuilt_and_soaks_start_again() -> None:
    """Conservatively: the deadline from what the works say, the soak from now."""
    hub = begun()
    hub.later(MIN)
    hub.hear("a", SUCCEEDED)
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


@pytest.mark.parametrize("agreed", [None, SOAK])
@pytest.mark.parametrize("seen", [SOAK - US, SOAK])
def test_of_what_is_left_only_the_time_counts_in_which_news_could_be_heard(
    seen: timedelta, agreed: timedelta | None
) -> None:
    """S13: also before the terms are agreed anew, which is when the rollout learns of that time.

    ``agreed``: another kind was known then not to be heard from so long after the success on.
    """
    hub = begun(spec_of(limit=4))
    hub.hear("a", SUCCEEDED)
    hub.revision = B
    hub.agree()
    if agreed is not None:
        outages = Outages()
        outages.blind("another", hub.now + agreed)
        hub.live.hear_of(outages, lambda _: True, hub.now)
    hub.live.outages.blind("watches", hub.now + seen)

    hub.later(SOAK + MIN)
    hub.report("a", FAILED)
    hub.live.attempt("a", "Supersede", hub.now)

    assert hub.live.line("a").soaked == ((A,) if seen == SOAK else ())


@pytest.mark.parametrize("is_noted", [False, True])
def test_an_outage_counts_for_what_is_heard_before_the_terms_are_agreed_anew(
    is_noted: bool,
) -> None:
    """S1, S13: a success on an older revision that broke in it has not soaked, and holds its slot."""
    hub = begun(spec_of(limit=1))
    hub.hear("a", SUCCEEDED)
    hub.revision = B
    hub.agree()
    since = hub.now + SOAK - US
    hub.later(SOAK + MIN)
    if is_noted:
        hub.live.outages.note(since, hub.now, timedelta(0))
    hub.report("a", FAILED)

    hub.agree()

    assert ("a:Outdated" in hub.phases()) is is_noted


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


def test_a_touch_that_was_never_written_down_is_no_drift_where_its_revision_was_taken_back() -> (
    None
):
    """S4: what may have come of it is judged, and it goes back in its turn, not beside the rollout."""
    hub = Hub(spec_of(limit=1, budget=0))
    soaked(hub, "abcd")
    hub.revision = B
    hub.agree()
    hub.pages.flush(hub.live.book)
    (cluster,) = hub.live.step(None, hub.now).touch
    hub.live.attempt(cluster, "Supersede", hub.now)
    hub.write(cluster, B, hub.now)
    hub.revision = A

    hub.restart()

    assert not hub.live.astray
    assert hub.live.ledger.standings[cluster].revision == B
    assert hub.live.line(cluster).soaked == (A,)
    hub.turn()
    assert hub.live.line(cluster).cause == "SlotFree"


def test_what_was_given_back_and_never_written_down_is_not_where_it_was() -> None:
    """S13: else what had soaked there before would count once the rollback is over."""
    hub = Hub(spec_of(limit=4))
    soaked(hub, "abcd")
    hub.later(MIN)
    hub.revision = B
    hub.agree()
    soaked(hub, "abcd")
    hub.later(MIN)
    hub.live.book.set_head(replace(hub.live.head, rollback=Rollback(B, "Undo", hub.now)))
    hub.pages.flush(hub.live.book)
    hub.live.attempt("a", "Rollback", hub.now, A)
    hub.write("a", A, hub.now)

    hub.restart()

    assert hub.live.ledger.standings["a"].revision == A
    assert hub.live.line("a").soaked == (A,)
    assert hub.live.line("b").soaked == (A,)
    assert not hub.live.astray
    assert hub.phases() == "a:Outdated b:Soaked c:Soaked d:Soaked"


def test_what_others_changed_is_drift_after_a_restart_as_before_it() -> None:
    hub = Hub(spec_of(limit=1, budget=0))
    soaked(hub, "abcd")
    hub.works["a"] = Observation(content=B, health=SUCCEEDED)
    hub.revision = "revision-c"

    hub.restart()

    assert hub.live.ledger.standings["a"].revision == A


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
    hub.works["a"] = Observation(
        content=A, health=PROGRESSING, reason="", revision=A, started_at=T0 + 9 * MIN
    )

    hub.restart()

    assert hub.live.ledger.standings["a"].touched == T0


def test_outages_before_a_restart_still_lengthen_deadlines() -> None:
    """Row 20."""
    hub = begun()
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
    hub = begun(spec_of(limit=2, mandatory=["m"]), canaries="xy")
    hub.canaries, hub.unreachable = "x", {"y"}

    hub.restart()

    assert hub.turn().halt is not None
    assert hub.live.last.stages[0].phases[Phase.LOST] == 1


def test_what_was_lost_of_an_earlier_revision_counts_against_no_later_one() -> None:
    """L2, R1: the process ended between the page with the head and the page with the clusters."""
    hub = begun()
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    hub.turn()
    assert dict(hub.live.lost) == {"a": "rest"}
    clusters = hub.pages.held[1]
    hub.revision = B
    hub.agree()
    hub.turn()
    assert hub.pages.held[1] != clusters
    hub.pages.held[1] = clusters

    hub.restart()

    assert hub.turn().count(Phase.LOST) == 0
    assert (dict(hub.live.lost), "a" in hub.remembered()) == ({}, False)


def test_a_cluster_that_was_lost_in_its_soak_while_nobody_looked_is_lost() -> None:
    """S17: the soak is measured by the terms, although no terms were agreed in this process yet."""
    hub = begun()
    hub.hear("ab", SUCCEEDED)
    hub.later(MIN)
    hub.clusters, hub.unreachable = "bcd", {"a"}

    hub.restart()

    assert set(hub.live.lost) == {"a"}
