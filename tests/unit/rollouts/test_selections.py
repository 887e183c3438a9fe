"""Whom a placement selects, and when that may be acted upon."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from freezegun import freeze_time

from rollout.clock import SystemClock
from rollout.model import names
from rollout.model.placement import Decision, Group, NamedGroup, Placement
from rollout.model.policy import Policy
from rollout.model.selectors import Selector
from rollout.rollouts.selections import UNTOLD, Reading, read_selection
from rollout.strategies.base import Selection, select
from tests.support.fleets import MIN, SEC, T0, US

OTHERS = Policy(schedules_here=False)
HERE = Policy()
KEY = "apps/global"

StatusGroups = tuple[tuple[int, str, int, tuple[str, ...]], ...] | None


def placement(
    told: StatusGroups = None, named: Sequence[str] = (), *, disabled: bool = False
) -> Placement:
    groups = tuple(NamedGroup(name, Selector(), Selector()) for name in named)
    annotations = {names.SCHEDULING_DISABLED: "true"} if disabled else {}
    return Placement("apps", "global", groups=groups, status_groups=told, annotations=annotations)


def page(number: int, index: int | None, group: str, clusters: str) -> Decision:
    return Decision(
        "apps",
        f"global-{number}",
        placement="global",
        group_index=index,
        group_name=group,
        clusters=tuple(clusters),
    )


def read(
    found: Placement | None,
    decisions: Sequence[Decision],
    *,
    before: Selection = Selection(),  # noqa: B008  (a value)
    changed_at: datetime = T0,
    policy: Policy = OTHERS,
    now: datetime = T0 + MIN,
) -> Reading:
    return read_selection(
        KEY, found, decisions, changed_at, before=Reading(before), policy=policy, now=now
    )


CANARY, REST = page(1, 0, "canary", "ab"), page(2, 1, "", "cd")
TOLD = ((0, "canary", 2, ("global-1",)), (1, "", 2, ("global-2",)))
BEFORE = select([Group(0, "", ("x", "y"))])


def test_a_consistent_read_is_every_group_that_the_decisions_name() -> None:
    reading = read(placement(TOLD, ["canary", "west"]), [REST, CANARY])

    assert reading == Reading(
        Selection(
            (Group(0, "canary", ("a", "b")), Group(1, "", ("c", "d"))),
            frozenset({"canary", "west"}),
        )
    )


def test_gaps_and_duplicates_in_the_index_count_too() -> None:
    """Row 14."""
    pages = [page(1, 5, "", "c"), page(2, 0, "b", "d"), page(3, 0, "a", "e"), page(4, 5, "", "b")]
    told = (
        (0, "a", 1, ("global-3",)),
        (0, "b", 1, ("global-2",)),
        (5, "", 2, ("global-1", "global-4")),
    )

    assert read(placement(told), pages).selection.groups == (
        Group(0, "a", ("e",)),
        Group(0, "b", ("d",)),
        Group(5, "", ("b", "c")),
    )


def test_a_placement_that_does_not_exist_changes_nothing() -> None:
    reading = read(None, [], before=BEFORE)

    assert reading.selection == BEFORE
    assert reading.hold is not None
    assert (reading.hold.reason, KEY in reading.hold.message) == ("PlacementNotFound", True)
    assert not reading.is_torn


TORN = {
    "a group that is told of and not there": ([CANARY], TOLD, "group 1 ''"),
    "a group that is there and not told of": ([CANARY, REST], TOLD[:1], "group 1 ''"),
    "a page with too few clusters": ([CANARY, page(2, 1, "", "c")], TOLD, "1 clusters"),
    "a page with too many clusters": ([CANARY, page(2, 1, "", "cde")], TOLD, "3 clusters"),
    "a page with another name": ([CANARY, page(9, 1, "", "cd")], TOLD, "group 1 ''"),
    "a second page": ([CANARY, REST, page(3, 1, "", "")], TOLD, "2 pages"),
    "a group under its old name": ([page(1, 0, "canari", "ab"), REST], TOLD, "group 0"),
    "a group under its old index": ([page(1, 2, "canary", "ab"), REST], TOLD, "group"),
    "a page without an index": ([CANARY, page(2, None, "", "cd")], TOLD, "global-2 has no"),
    "a page without an index, and no status": ([page(2, None, "", "cd")], None, "global-2 has no"),
    "no page at all": ([], TOLD, "group 0 'canary'"),
}


@pytest.mark.parametrize(("decisions", "told", "says"), TORN.values(), ids=TORN)
@pytest.mark.parametrize("policy", [HERE, OTHERS], ids=["here", "others"])
def test_decisions_that_contradict_the_status_are_not_acted_upon(
    decisions: list[Decision], told: StatusGroups, says: str, policy: Policy
) -> None:
    """Row 15: neither touches nor removals."""
    reading = read(placement(told), decisions, before=BEFORE, policy=policy)

    assert reading.is_torn
    assert reading.selection == BEFORE
    assert reading.hold is not None
    assert says in reading.hold.message
    assert KEY in reading.hold.message


def test_a_placement_that_selects_nobody_is_consistent_with_its_empty_page() -> None:
    told = ((0, "", 0, ("global-1",)),)

    for policy in (HERE, OTHERS):
        reading = read(placement(told), [page(1, 0, "", "")], before=BEFORE, policy=policy)
        assert (reading.hold, reading.selection.groups) == (None, (Group(0, "", ()),))


# -- the quiet period ---------------------------------------------------------------------------------

FEWER = placement(((0, "", 1, ("global-1",)),))
ONE_PAGE = [page(1, 0, "", "x")]
GONE = (Group(0, "", ("x",)),)
KEPT = (Group(0, "", ("x", "y")),)


@pytest.mark.parametrize(
    ("waited", "groups"),
    [
        (0 * SEC, KEPT),
        (10 * SEC - US, KEPT),
        (10 * SEC, GONE),
        (10 * SEC + US, GONE),
    ],
)
@pytest.mark.parametrize("found", [FEWER, placement(None)], ids=["told", "without status"])
def test_a_cluster_counts_as_deselected_once_all_has_been_quiet_for_ten_seconds(
    waited: object, groups: tuple[Group, ...], found: Placement
) -> None:
    reading = read(found, ONE_PAGE, before=BEFORE, changed_at=T0, now=T0 + waited)  # type: ignore[operator]  # a timedelta

    assert reading.selection.groups == groups
    assert reading.quiet_until == (T0 + 10 * SEC if groups == KEPT else None)


def test_the_quiet_period_ends_on_the_frozen_clock() -> None:
    with freeze_time(T0) as frozen:
        clock = SystemClock()
        frozen.tick(10 * SEC - US)
        early = read(FEWER, ONE_PAGE, before=BEFORE, changed_at=T0, now=clock.now())
        frozen.tick(US)
        late = read(FEWER, ONE_PAGE, before=BEFORE, changed_at=T0, now=clock.now())

    assert (early.selection.groups, late.selection.groups) == (KEPT, GONE)


def test_a_cluster_that_joins_counts_at_once() -> None:
    found = placement(((0, "", 3, ("global-1",)),))

    reading = read(found, [page(1, 0, "", "xyz")], before=BEFORE, now=T0)

    assert reading.selection.groups == (Group(0, "", ("x", "y", "z")),)


def test_a_cluster_that_moves_to_another_group_is_there_at_once_and_once() -> None:
    found = placement(((0, "", 1, ("global-1",)), (1, "late", 1, ("global-2",))))

    reading = read(found, [*ONE_PAGE, page(2, 1, "late", "y")], before=BEFORE, now=T0)

    assert reading.selection.groups == (Group(0, "", ("x",)), Group(1, "late", ("y",)))


def test_clusters_of_a_group_that_vanished_are_kept_in_it_for_the_quiet_period() -> None:
    before = select([Group(0, "canary", ("a",)), Group(1, "", ("x", "y"))])

    reading = read(FEWER, ONE_PAGE, before=before, now=T0)

    assert reading.selection.groups == (
        Group(0, "", ("x",)),
        Group(0, "canary", ("a",)),
        Group(1, "", ("y",)),
    )


def test_our_own_decisions_need_no_quiet_period() -> None:
    reading = read(FEWER, ONE_PAGE, before=BEFORE, policy=HERE, now=T0)

    assert reading == Reading(Selection(GONE))


def test_a_placement_that_is_not_scheduled_here_is_decided_by_others() -> None:
    found = placement(((0, "", 1, ("global-1",)),), disabled=True)

    reading = read(found, ONE_PAGE, before=BEFORE, policy=HERE, now=T0)

    assert reading.quiet_until == T0 + 10 * SEC


def test_a_placement_of_ours_that_is_not_decided_yet_deselects_nobody() -> None:
    reading = read(placement(None), [], before=BEFORE, policy=HERE)

    assert reading.selection == BEFORE
    assert reading.hold is not None
    assert reading.hold.reason == "NotDecided"


OURS = Policy()
HALF = [page(1, 0, "", "abc")]


def torn(before: Reading, now: datetime, policy: Policy = OURS) -> Reading:
    told = ((0, "", 2, ("global-1",)),)
    return read_selection(KEY, placement(told), HALF, T0, before=before, policy=policy, now=now)


def test_decisions_that_this_engine_is_writing_are_held_at_once_and_told_after_five_seconds() -> (
    None
):
    first = torn(Reading(BEFORE), T0)
    later = torn(first, T0 + UNTOLD)

    assert (first.hold and first.hold.reason, first.selection) == ("TornDecisions", BEFORE)
    assert first.untold_until == later.untold_until == T0 + UNTOLD


def test_half_written_decisions_of_others_are_told_at_once() -> None:
    assert torn(Reading(BEFORE), T0, OTHERS).untold_until is None


def test_decisions_that_are_torn_again_may_be_told_later_again() -> None:
    agreed = Reading(BEFORE)

    assert torn(agreed, T0 + MIN).untold_until == T0 + MIN + UNTOLD
