"""Which spans out of touch are remembered, whatever the order in which one is told of them?"""

from datetime import timedelta
from itertools import permutations

import pytest

from rollout.rollouts.outages import Outages
from rollout.strategies.base import Phase
from tests.support import make
from tests.support.desk import Desk, decided, workload_in
from tests.support.fleets import MIN, SEC, T0

LEASE = 15 * SEC
SPANS = [(T0, T0 + 5 * MIN), (T0 + 3 * MIN, T0 + 4 * MIN), (T0 + 9 * MIN, T0 + 10 * MIN)]


@pytest.mark.parametrize("told", list(permutations(range(3))), ids=str)
def test_a_long_span_that_is_told_of_after_a_short_one_within_it_counts_whole(
    told: tuple[int, ...],
) -> None:
    """Each kind tells of its own when it can be listed again. A soak once ended early by what lay before
    the short one.
    """
    outages = Outages()

    for number in told:
        outages.note(*SPANS[number], LEASE)

    assert outages.spans == (
        (T0, T0 + 5 * MIN + LEASE),
        (T0 + 9 * MIN, T0 + 10 * MIN + LEASE),
    )


@pytest.mark.parametrize(
    ("asked", "until"),
    [
        (10 * SEC, 40 * SEC),  # all of it again
        (60 * SEC, 60 * SEC),  # late news comes before that
    ],
    ids=str,
)
def test_what_has_to_stand_for_a_while_has_to_be_heard_to_stand(
    asked: timedelta, until: timedelta
) -> None:
    outages = Outages()
    outages.blind("watches", T0 + 5 * SEC)

    def over_at(now: timedelta) -> timedelta:
        return outages.stands_since(T0, asked, LEASE, T0 + now) + asked - T0

    assert over_at(20 * SEC) == 20 * SEC + asked
    outages.blind("watches", None)
    outages.note(T0 + 5 * SEC, T0 + 30 * SEC, LEASE)
    assert over_at(31 * SEC) == until


@pytest.mark.parametrize("since", [-20, 30, 31], ids=str)
def test_an_outage_does_not_concern_what_had_stood_before_or_changes_after_it(since: int) -> None:
    outages, at = Outages(), T0 + since * SEC
    outages.note(T0, T0 + 30 * SEC, LEASE)
    assert outages.stands_since(at, 10 * SEC, LEASE, T0 + 40 * SEC) == at


def test_so_many_spans_are_remembered_and_the_latest() -> None:
    outages = Outages()

    for hour in range(200):
        outages.note(T0 + hour * 60 * MIN, T0 + hour * 60 * MIN, LEASE)

    assert len(outages.spans) == 100
    assert outages.spans[-1][0] == T0 + 199 * 60 * MIN


def test_while_a_strategy_cannot_be_read_the_deadline_does_not_run_out_of_touch() -> None:
    """S13: the workload goes on as last agreed, and what was agreed counts only time in touch."""
    progressive = {"progressDeadline": "3m", "maxFailures": 0}
    d = Desk(
        [*decided("a"), make.workload(strategy={"type": "Progressive", "progressive": progressive})]
    )
    d.converge()
    refs = [{"name": "p", "rolloutStrategy": {"type": "Nonsense"}}]
    d.edit({"spec": {"placementRefs": refs}})
    d.converge()
    d.later(MIN)
    begin = d.clock.now()
    d.later(5 * MIN)
    d.fleet.out_of_touch(begin, d.clock.now())
    d.converge()

    known = workload_in(d.fleet)
    assert known is not None
    live = known.shares["p"].live
    assert live.ledger.judgement("a").phase is Phase.PROGRESSING
    d.later(3 * MIN)
    d.converge()
    assert live.ledger.judgement("a").phase is Phase.FAILED
