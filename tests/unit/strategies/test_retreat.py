"""Going back: who goes, how many at once, in which order, and when it stops (S10)."""

from collections.abc import Iterator
from datetime import datetime
from itertools import product

import pytest
from msgspec import structs

from rollout.model.amounts import Amount
from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase, Rollout, Shut, Standing, Verdict
from rollout.strategies.judge import judge
from rollout.strategies.retreat import Retreat, RetreatLimits, retreat
from tests.support.fleets import (
    DEADLINE,
    FAILED,
    MIN,
    NEW,
    PROGRESSING,
    SEC,
    SUCCEEDED,
    T0,
    amount,
    rollout_in,
    spec_of,
    standing,
)

BEFORE, BEGAN = "before", T0 - 5 * MIN
"""The revision that is given back, and when the rollback began."""

NAMES = "abcdef"

# One letter a cluster: where it stands while the revision NEW is taken back.
WORDS = {
    ".": "never touched",
    "B": "got the revision, and has soaked on another one before",
    "N": "got the revision, and never soaked on another one",
    "K": "got the revision, and is skipped",
    "H": "got the revision, and is held",
    "W": "was given another one back, and is on its way",
    "D": "was given another one back, and has soaked there",
    "T": "was given another one back, and has failed there",
    "S": "was given another one back, has failed there, and is skipped",
    "o": "was in flight on another revision when the rollback began",
}


def placed(letter: str, cluster: str, nth: int) -> Standing | None:
    """A standing as the letter says; later clusters got the revision later, in pairs."""
    got_it = BEGAN - 10 * MIN + (nth // 2) * SEC
    match letter:
        case "B" | "N" | "K" | "H":
            return standing(cluster, PROGRESSING, got_it)
        case "W":
            return standing(cluster, PROGRESSING, BEGAN + MIN, revision=BEFORE)
        case "D":
            return standing(cluster, SUCCEEDED, BEGAN, revision=BEFORE, verdict=Verdict.SOAKED)
        case "T" | "S":
            return standing(cluster, FAILED, BEGAN, revision=BEFORE, verdict=Verdict.FAILED)
        case "o":
            return standing(cluster, PROGRESSING, BEGAN - SEC, revision=BEFORE)
    return None


def situation(letters: str) -> tuple[Rollout, dict[str, str]]:
    """The rollout, and what each cluster can go back to."""
    clusters = NAMES[: len(letters)]
    known = [
        placed(letter, c, n) for n, (letter, c) in enumerate(zip(letters, clusters, strict=True))
    ]
    rollout = rollout_in(
        spec_of(),
        [Group(0, "", tuple(clusters))],
        [s for s in known if s is not None],
        held=[c for letter, c in zip(letters, clusters, strict=True) if letter == "H"],
        skipped=[c for letter, c in zip(letters, clusters, strict=True) if letter in "KS"],
    )
    targets = {c: BEFORE for letter, c in zip(letters, clusters, strict=True) if letter in "BKH"}
    return rollout, targets


def go(letters: str, limit: int | str, budget: int | str, now: datetime = T0) -> Retreat:
    rollout, targets = situation(letters)
    return retreat(rollout, targets, BEGAN, RetreatLimits(amount(limit), amount(budget)), now)


def all_small() -> Iterator[str]:
    for letters in product(WORDS, repeat=4):
        if letters[0] <= letters[1]:  # the first two got the revision together: their order is free
            yield "".join(letters)


LIMITS: list[tuple[int | str, int | str]] = [
    (1, 0),
    (2, 1),
    ("50%", "25%"),
    ("100%", "100%"),
    ("0", 1),
]


@pytest.mark.parametrize(("limit", "budget"), LIMITS)
def test_in_every_small_fleet_a_rollback_keeps_to_its_own_limits(
    limit: int | str, budget: int | str
) -> None:
    for letters in all_small():
        found = go(letters, limit, budget)
        total = sum(letters.count(letter) for letter in "BWDT")
        at_once, tolerated = amount(limit).of(total), amount(budget).of(total)
        on_the_way, failed = letters.count("W"), letters.count("T")
        free = 0 if failed > tolerated else max(0, at_once - on_the_way)

        assert len(found.touch) == min(letters.count("B"), free), letters
        assert {letters[NAMES.index(cluster)] for cluster, _ in found.touch} <= {"B"}, letters
        assert {revision for _, revision in found.touch} <= {BEFORE}
        assert (found.total, found.waiting, found.in_flight, found.back, found.failed) == (
            total + letters.count("H"),
            letters.count("B"),
            on_the_way,
            letters.count("D"),
            failed,
        )
        assert found.stuck == tuple(
            c for c, letter in zip(NAMES, letters, strict=False) if letter == "N"
        )
        assert found.held == tuple(
            c for c, letter in zip(NAMES, letters, strict=False) if letter == "H"
        )
        stops = bool(letters.count("B")) and (failed > tolerated or amount(limit).value == 0)
        assert (found.hold is not None) == stops, letters
        assert found.is_done == (not set(letters) & {"B", "H"} and not on_the_way)


def test_newest_go_first_and_by_name_among_those_that_got_it_together() -> None:
    assert [c for c, _ in go("BBBBBB", "100%", 0).touch] == ["e", "f", "c", "d", "a", "b"]
    assert [c for c, _ in go("BBBBBB", 3, 0).touch] == ["e", "f", "c"]


def test_each_cluster_gets_what_is_named_for_it() -> None:
    rollout, _ = situation("BBB")
    limits = RetreatLimits(amount("100%"), amount(0))

    found = retreat(rollout, {"a": "r1", "c": "r0"}, BEGAN, limits, T0)

    assert found.touch == (("c", "r0"), ("a", "r1"))
    assert found.stuck == ("b",)


def test_one_that_fails_on_what_it_got_back_counts_when_its_grace_is_over_and_says_when() -> None:
    rollout, targets = situation("B")
    flaky = standing("b", FAILED, BEGAN, T0, revision=BEFORE)
    rollout = rollout_in(
        spec_of(), [Group(0, "", ("a", "b"))], [*rollout.standings.values(), flaky]
    )
    limits = RetreatLimits(amount(2), amount(0))

    early = retreat(rollout, targets, BEGAN, limits, T0)
    assert [c for c, _ in early.touch] == ["a"]
    assert early.recheck_at == judge(flaky, BEFORE, rollout.timing, T0).until

    assert early.recheck_at is not None
    late = retreat(rollout, targets, BEGAN, limits, early.recheck_at)
    assert late.touch == ()
    assert late.hold is not None
    assert late.hold.reason == "RollbackHalted"
    assert "1 clusters failed on what they were given back, 0 tolerated" in late.hold.message


def test_one_that_never_answers_on_what_it_got_back_fails_at_the_deadline() -> None:
    assert go("WB", 1, 0).touch == ()
    at = BEGAN + MIN + DEADLINE

    assert go("WB", 1, 0).recheck_at == at
    assert go("WB", 1, 0, at).hold is not None
    assert go("WB", 1, 1, at).touch == (("b", BEFORE),)


def test_a_rollback_that_may_touch_nobody_at_once_says_so() -> None:
    assert go("BB", "0", 0).hold == Wait(
        Reason.ROLLBACK_HALTED, "the rollback's max-concurrency is zero; raise it to go on"
    )
    assert go("DD", "0", 0).hold is None


def test_skipping_who_failed_on_the_way_back_lets_the_others_go() -> None:
    assert go("BT", 1, 0).hold is not None

    found = go("BS", 1, 0)
    assert (found.hold, found.touch, found.failed) == (None, (("a", BEFORE),), 0)


def test_who_is_on_the_way_back_and_skipped_takes_no_place_of_the_others() -> None:
    rollout, targets = situation("BW")
    limits = RetreatLimits(amount(1), amount(0))
    assert retreat(rollout, targets, BEGAN, limits, T0).touch == ()

    waived = structs.replace(rollout, skipped=frozenset("b"))
    assert retreat(waived, targets, BEGAN, limits, T0).touch == (("a", BEFORE),)


def test_a_held_cluster_with_nothing_to_go_back_to_is_not_waited_for() -> None:
    rollout, _ = situation("H")

    found = retreat(rollout, {}, BEGAN, RetreatLimits(amount(1), amount(0)), T0)

    assert (found.held, found.stuck, found.is_done) == ((), ("a",), True)


def test_the_end_is_when_nobody_waits_nobody_is_held_and_nobody_is_on_the_way() -> None:
    assert go("DTNKSo", 1, "100%").is_done
    assert not go("DDH", 1, 0).is_done
    assert not go("DDB", 1, 0).is_done
    assert not go("DDW", 1, 0).is_done


def test_the_order_of_what_is_known_changes_nothing() -> None:
    rollout, targets = situation("BWBDTB")
    limits = RetreatLimits(Amount(50, percent=True), Amount(1))
    turned = dict(reversed(list(rollout.standings.items())))
    again = Rollout(revision=NEW, staging=rollout.staging, standings=turned, timing=rollout.timing)

    assert retreat(again, dict(reversed(targets.items())), BEGAN, limits, T0) == retreat(
        rollout, targets, BEGAN, limits, T0
    )


def test_the_letters_of_this_file_are_judged_as_it_says() -> None:
    rollout, _ = situation("BWDTo")

    judged = [judge(s, s.revision, rollout.timing, T0).phase for s in rollout.standings.values()]
    assert judged[1:4] == [Phase.PROGRESSING, Phase.SOAKED, Phase.FAILED]
    assert judged[4].holds_slot


def test_a_shut_cluster_is_not_taken_back_and_the_next_look_is_when_it_may_open() -> None:
    rollout, targets = situation("BBB")
    until = T0 + 9 * MIN
    closed = Wait(Reason.WINDOW_CLOSED, "calendar business is closed", until)
    limits = RetreatLimits(amount("100%"), amount("100%"))

    found = retreat(
        structs.replace(rollout, shut_back=Shut({"a": closed}, until)), targets, BEGAN, limits, T0
    )

    assert sorted(cluster for cluster, _ in found.touch) == ["b", "c"]
    assert found.waiting == 3
    assert not found.is_done
    assert found.recheck_at == until
    assert found.shut is None, "others may go"


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ({"a": ("one", 9), "b": ("one", 9)}, "one"),
        ({"a": ("one", 9), "b": ("two", 5)}, "the first of them: two"),
        ({"a": ("one", None), "b": ("two", 5)}, "the first of them: two"),
        ({"a": ("two", None), "b": ("one", None)}, "the first of them: one"),
    ],
)
def test_where_nobody_may_go_back_now_it_is_told_what_the_first_one_waits_for(
    waits: dict[str, tuple[str, int | None]], told: str
) -> None:
    rollout, targets = situation("BBDW")
    closed = {
        c: Wait(Reason.WINDOW_CLOSED, text, None if m is None else T0 + m * MIN)
        for c, (text, m) in waits.items()
    }
    shut = structs.replace(rollout, shut_back=Shut(closed, None))

    found = retreat(shut, targets, BEGAN, RetreatLimits(amount("100%"), amount(0)), T0)

    assert found.shut is not None
    assert (found.shut.reason, found.shut.message) == (Reason.WINDOW_CLOSED, told)
