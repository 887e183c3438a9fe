"""Which spans out of touch are remembered, whatever the order in which one is told of them?"""

from itertools import permutations

import pytest

from rollout.fleet.outages import Outages
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


def test_so_many_spans_are_remembered_and_the_latest() -> None:
    outages = Outages()

    for hour in range(200):
        outages.note(T0 + hour * 60 * MIN, T0 + hour * 60 * MIN, LEASE)

    assert len(outages.spans) == 100
    assert outages.spans[-1][0] == T0 + 199 * 60 * MIN
