"""Which of the stops of several placements is told: all orders of them are tried."""

from itertools import permutations

import pytest

from rollout.model.waits import Reason, Wait
from rollout.planning.standing import PlacementStop

HALTED = PlacementStop("halted", Wait(Reason.ROLLBACK_HALTED), goes_back=True)
GOING = PlacementStop("going", Wait(Reason.ROLLING_BACK), goes_back=True)
GONE = PlacementStop("gone", Wait(Reason.PLACEMENT_NOT_FOUND), goes_back=True)
BACK = PlacementStop("back", Wait(Reason.ROLLED_BACK), goes_back=True)
BARRED = PlacementStop("barred", Wait(Reason.ROLLED_BACK), goes_back=False)
EMPTY = PlacementStop("empty", Wait(Reason.NO_TARGETS), goes_back=False)
TORN = PlacementStop("torn", Wait(Reason.TORN_DECISIONS), goes_back=False)


def told(*stops: PlacementStop) -> PlacementStop:
    return min(stops, key=lambda stop: stop.rank)


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ((HALTED, GOING, GONE, BACK, TORN), HALTED),
        ((GOING, GONE, BACK, EMPTY), GOING),
        ((GONE, BACK, TORN), GONE),
        ((GONE, BARRED), GONE),
        ((BACK, EMPTY, TORN), BACK),
    ],
)
def test_a_rollback_is_told_before_all_else_until_it_is_over_everywhere(
    stops: tuple[PlacementStop, ...], expected: PlacementStop
) -> None:
    assert {told(*turned) for turned in permutations(stops)} == {expected}


@pytest.mark.parametrize("stops", [(TORN, EMPTY), (EMPTY, TORN), (BACK, BARRED), (BARRED, BACK)])
def test_of_stops_that_count_alike_the_first_placement_s_is_told(
    stops: tuple[PlacementStop, ...],
) -> None:
    assert told(*stops) is stops[0]
