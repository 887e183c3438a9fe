"""What counts for the removal brake: removals, once each, over the end of a process."""

import pytest

from rollout.model.kinds import MANAGED_CLUSTER, ROLLOUT_RECORD, Ref
from rollout.model.writes import Delete
from rollout.planning.plan import Plan
from rollout.rollouts.head import Head
from rollout.runtime.io import WriteResult, perform
from tests.support.desk import MIN, Desk, redecide, workload_in
from tests.unit.planning.test_removals import QUIET, clusters, going, leaves, registered, settled


def dies_before_it_hears(desk: Desk, plan: Plan) -> Desk:
    """All writes up to the removals are made; the process ends, and another one begins."""
    for write in plan.writes:
        if isinstance(write, Delete) or write.ref.kind is ROLLOUT_RECORD:
            assert perform(desk.hub, write, {}).result is WriteResult.LANDED
    return desk.restarted()


def test_removals_that_a_process_made_last_count_for_the_next_one() -> None:
    """S11, R1: they are written down before they go."""
    desk = settled(60)
    dying = leaves(desk, 10)
    assert going(dying) == clusters(10)
    went = desk.clock.now()
    desk = dies_before_it_hears(desk, dying).later(MIN)

    assert going(leaves(desk, 10, first=10)) == []
    desk.later(went + 10 * MIN - desk.clock.now())
    assert going(desk.plan()) == clusters(20)[10:]


def test_the_last_clusters_of_a_small_fleet_stay_though_the_process_ends_each_time() -> None:
    desk = registered(4)
    for gone in (0, 1):
        dying = leaves(desk, 1, first=gone)
        assert going(dying) == clusters(4)[gone : gone + 1]
        desk = dies_before_it_hears(desk, dying).later(MIN)

    assert going(leaves(desk, 1, first=2)) == []


@pytest.mark.parametrize("restarted", [False, True])
def test_a_removal_that_was_planned_and_not_made_counts_once(restarted: bool) -> None:
    desk = registered(4)
    plan = leaves(desk, 2)
    for write in plan.writes:
        if write.ref.kind is ROLLOUT_RECORD:
            desk.do(write)
    desk = desk.restarted() if restarted else desk
    for _ in range(3):
        assert going(desk.later(MIN).plan()) == clusters(2)

    desk.converge()
    assert sum(n for _, n in head_of(desk).removals) == 2
    assert not head_of(desk).leaving


def test_a_removal_counts_from_when_it_was_made_not_from_when_it_was_planned() -> None:
    desk = settled(60)
    waves = leaves(desk, 10).waves
    for wave in waves[:1]:
        desk.do(*wave)
    desk.later(5 * MIN)
    went = desk.clock.now()
    for wave in waves[1:]:
        desk.do(*(write for write in wave if isinstance(write, Delete)))

    assert [at for at, _ in head_of(desk).removals] == [went]


def test_what_goes_is_written_down_once() -> None:
    desk = settled(60)
    desk.do(*(w for w in leaves(desk, 10).writes if w.ref.kind is ROLLOUT_RECORD))

    assert all(write.ref.kind is not ROLLOUT_RECORD for write in desk.plan().writes)


def test_clusters_that_were_deleted_before_count_for_nothing_where_most_go() -> None:
    """Row 16: eight of ten are decommissioned, then one of the two that are left loses a label."""
    desk = registered(10)
    for cluster in clusters(10)[2:]:
        desk.hub.delete(Ref(MANAGED_CLUSTER, cluster))
    redecide(desk, "c00", "c01")
    assert going(desk.later(QUIET).plan()) == clusters(10)[2:]
    desk.converge()

    redecide(desk.restarted(), "c00")
    assert going(desk.later(QUIET).plan()) == ["c01"]


def head_of(desk: Desk) -> Head:
    workload = workload_in(desk.fleet)
    assert workload is not None
    return workload.shares["p"].live.head
