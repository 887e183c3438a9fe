"""What does a placement take over from others of its workload?"""

from datetime import UTC, datetime

import pytest

from rollout.rollouts.head import Basis, Head, Rollback
from rollout.rollouts.inheritance import inherited, soaked_before, still_asked_for
from rollout.rollouts.line import Line
from rollout.rollouts.record import Record, head_text, page_object, read_record
from tests.unit.fleet.test_records import SET

T0 = datetime(2030, 1, 1, tzinfo=UTC)
BACK = Rollback("r2", "Breach", T0)
TOOK_BACK = Head("r2", rollback=BACK)
NEW = Head()


def test_a_new_placement_goes_on_with_the_rollback_of_one_that_is_gone() -> None:
    found = inherited(NEW, {"old": TOOK_BACK}, {})

    assert (found.revision, found.rollback) == ("r2", BACK)


def test_a_new_placement_takes_nothing_back_because_another_one_does() -> None:
    assert inherited(NEW, {}, {"other": TOOK_BACK}).rollback is None


@pytest.mark.parametrize(
    ("head", "barred_by"),
    [
        pytest.param(Head("r2"), "old", id="it rolls out the same revision"),
        pytest.param(Head("r3"), "", id="it rolls out another one"),
        pytest.param(TOOK_BACK, "", id="it takes the revision back itself"),
        pytest.param(Head("r2", retried="again"), "", id="somebody has retried since"),
    ],
)
def test_what_a_placement_took_back_that_is_gone_is_barred_in_the_others(
    head: Head, barred_by: str
) -> None:
    assert inherited(head, {"old": TOOK_BACK}, {}).barred_by == barred_by


def test_a_bar_is_handed_on_when_the_placement_that_had_it_is_gone_too() -> None:
    found = inherited(NEW, {"second": Head("r2", barred_by="first")}, {})

    assert (found.revision, found.barred_by) == ("r2", "first")


def test_a_retry_that_another_placement_has_seen_lifts_the_bar_for_a_new_one() -> None:
    found = inherited(NEW, {"old": TOOK_BACK}, {"other": Head("r2", retried="again")})

    assert (found.rollback, found.barred_by, found.retried) == (None, "", "again")


def test_a_new_placement_knows_of_waivers_edits_and_removals() -> None:
    known = Head("r2", waived={"c1": "r1"}, basis=Basis("a", T0), removals=((T0, 2),))

    found = inherited(NEW, {"old": known}, {})

    assert (found.waived, found.basis, found.removals) == (
        known.waived,
        known.basis,
        known.removals,
    )
    assert inherited(NEW, {}, {"other": known}).basis == Basis()


def test_a_bar_of_a_placement_that_is_gone_is_written_down_and_read_back() -> None:
    head = Head("r2", barred_by="old")
    page = page_object("id", SET, "uid", "p", page=0, data={"head.json": head_text(head)})

    assert read_record([page]).head == head


def test_another_revision_and_a_retry_lift_the_bar_of_a_placement_that_is_gone() -> None:
    head = Head("r2", barred_by="old")

    assert head.superseded("r3", T0).barred_by == ""
    assert head.retrying("again", is_stopped=False).barred_by == ""
    assert head.retrying("again", is_stopped=True).barred_by == "old"


def test_what_soaked_in_another_placement_is_known_and_what_soaked_here_is_no_news() -> None:
    left = {
        "mine": Record(lines={"c1": Line(cluster="c1", soaked=("r1",))}),
        "other": Record(lines={"c1": Line(cluster="c1", soaked=("r0",))}),
    }

    assert soaked_before("c1", left, "mine") == ("r0",)
    assert soaked_before("c1", left, "other") == ("r1",)
    assert soaked_before("c2", left, "mine") == ()


def test_only_clusters_of_a_placement_that_was_taken_out_are_asked_for() -> None:
    owners = {"c1": "gone", "c2": "stays", "c3": "stays"}

    assert still_asked_for({"c2", "c9"}, owners, {"gone", "stays"}, {"stays"}) == {"c1", "c9"}
