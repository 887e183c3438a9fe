"""What terms remember: times in which the hub was out of touch, and waivers."""

from datetime import timedelta

from msgspec.structs import replace

from rollout.rollouts.head import Head
from rollout.rollouts.terms import OUTAGES_KEPT, relevant_outages, reselected
from rollout.strategies.base import Health, Selection, Standing, Verdict
from tests.support.fleets import T0

SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)
LATER = T0 + timedelta(days=365)
IN_FLIGHT = [Standing(cluster="a", revision="r1", touched=T0)]


def test_a_rollout_without_end_remembers_no_more_than_so_many_outages() -> None:
    """Those become one between which the least time passed; none is forgotten (R8)."""
    news = [(T0 + i * MIN, T0 + i * MIN + SEC) for i in range(3 * OUTAGES_KEPT)]
    close = (T0 + 7 * MIN + 2 * SEC, T0 + 7 * MIN + 3 * SEC)
    kept = relevant_outages(Head(), [*news[: OUTAGES_KEPT - 1], news[-1], close], IN_FLIGHT, LATER)
    assert len(kept) == OUTAGES_KEPT
    assert (news[7][0], close[1]) in kept

    all_kept = relevant_outages(Head(), news, IN_FLIGHT, LATER)
    assert len(all_kept) == OUTAGES_KEPT
    assert all(any(b <= begin and end <= e for b, e in all_kept) for begin, end in news)
    assert list(all_kept) == sorted(all_kept)


def test_outages_before_the_first_touch_in_flight_are_forgotten() -> None:
    past, present = (T0 - 2 * MIN, T0 - MIN), (T0 + MIN, T0 + 2 * MIN)
    assert relevant_outages(Head(outages=(past,)), [present], IN_FLIGHT, LATER) == (present,)
    assert relevant_outages(Head(outages=(past, present)), [], [], LATER) == ()


def test_an_outage_counts_for_who_succeeds_after_the_deadline_and_is_still_to_soak() -> None:
    outage = (T0 + MIN, T0 + 2 * MIN)
    late = replace(IN_FLIGHT[0], health=Health.SUCCEEDED, verdict=Verdict.FAILED)

    assert relevant_outages(Head(), [outage], [late], LATER) == (outage,)
    for verdict, health in ((Verdict.FAILED, Health.FAILED), (Verdict.SOAKED, Health.SUCCEEDED)):
        over = replace(late, verdict=verdict, health=health)
        assert relevant_outages(Head(), [outage], [over], LATER) == ()


def test_after_a_restart_waivers_are_kept_until_it_is_known_again_what_is_asked_for() -> None:
    head = Head("r2", waived={"a": "r1", "b": "r2"})

    terms = reselected(None, head, (), Selection(), known=True)

    assert terms is not None
    assert head.waiving(terms.intents.waivers) == head
    assert head.skipped(terms.intents.waivers) == {"b"}
