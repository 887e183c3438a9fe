"""Why nothing goes on: the order in which reasons are told, and what each says."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rollout.model import names
from rollout.model.amounts import Amount
from rollout.model.approvals import Approval, ApprovalDecision, Freeze
from rollout.model.intents import NO_INTENTS, AskedBy, Intents, RollbackMode
from rollout.model.placement import Group
from rollout.model.problems import Problem
from rollout.model.waits import Reason, Scope, Wait
from rollout.rollouts.head import Rollback
from rollout.rollouts.holds import (
    CAUSES,
    going_back,
    limits_of,
    revision_hold,
    why_back,
    workload_hold,
)
from rollout.rollouts.rejections import RefusedWrite
from rollout.strategies.base import Rollout, Standing, Step, Verdict
from rollout.strategies.retreat import Retreat, retreat
from tests.support.fleets import FAILED, MIN, NEW, OLD, SUCCEEDED, T0, rollout_in, spec_of, standing

WRONG = Problem("spec.x", 3, "a text")
PAUSED = Intents(paused=True)
FROZEN = Freeze("incident", "incident 7", "ann", T0)
REFUSED = Approval(
    name="no",
    namespace="apps",
    kind="ManifestWorkReplicaSet",
    workload="web",
    revision=NEW,
    decision=ApprovalDecision.REJECT,
)

# -- of a workload -----------------------------------------------------------------------------

WHOLE: list[tuple[list[Problem], Intents, Freeze | None, str | None]] = [
    ([], NO_INTENTS, None, None),
    ([WRONG], NO_INTENTS, None, "Misconfigured"),
    ([], Intents(problems=(WRONG,)), None, "Misconfigured"),
    ([], NO_INTENTS, FROZEN, "Frozen"),
    ([], PAUSED, None, "Paused"),
    ([], PAUSED, FROZEN, "Frozen"),
    ([WRONG], PAUSED, FROZEN, "Misconfigured"),
]


@pytest.mark.parametrize(("problems", "intents", "freeze", "reason"), WHOLE)
def test_a_workload_is_held_for_the_first_of_these_reasons(
    problems: list[Problem], intents: Intents, freeze: Freeze | None, reason: str | None
) -> None:
    found = workload_hold(problems, intents, freeze, None, now=T0)

    assert (found.reason if found else None) == reason


def test_a_hold_says_who_asked_why_and_what_ends_it() -> None:
    by_ann = replace(PAUSED, asked={"pause": AskedBy("ann", T0, "lunch")})
    frozen = workload_hold([], NO_INTENTS, FROZEN, None, now=T0)
    paused = workload_hold([], PAUSED, None, None, now=T0)
    asked = workload_hold([], by_ann, None, None, now=T0)

    assert frozen == Wait(
        Reason.FROZEN,
        "the hub is frozen by ann (unverified) by Freeze incident: incident 7; delete it to go "
        "on, or wait until 2026-06-01T12:00:00Z",
        T0,
    )
    assert paused == Wait(
        Reason.PAUSED, f"paused by annotation {names.PAUSED}; set it to false to resume"
    )
    assert asked == Wait(
        Reason.PAUSED,
        f"paused by ann (unverified) at 2026-06-01T12:00:00Z: lunch ({names.PAUSED})",
    )


def test_a_refused_part_of_the_record_holds_a_workload_until_it_is_tried_again() -> None:
    refused = RefusedWrite(message="page 1: too big", tries=1, retry_at=T0 + MIN)

    held = workload_hold([], PAUSED, FROZEN, refused, now=T0)
    again = workload_hold([], PAUSED, None, refused, now=T0 + MIN)

    assert held is not None
    assert (held.reason, held.until) == (Reason.RECORD_REJECTED, T0 + MIN)
    assert "the server refuses page 1: too big" in held.message
    assert again is not None
    assert again.reason == Reason.PAUSED


def test_both_wrong_fields_and_wrong_annotations_are_named() -> None:
    also = Problem("metadata.annotations[y]", "z", "a number")

    found = workload_hold([WRONG], Intents(problems=(also,)), None, None, now=T0)

    assert found is not None
    assert "spec.x" in found.message
    assert "metadata.annotations[y]" in found.message


# -- of a revision -----------------------------------------------------------------------------

OF_ONE: list[tuple[Intents, list[Approval], str | None]] = [
    (NO_INTENTS, [], None),
    (Intents(aborted=frozenset({NEW})), [], "Aborted"),
    (Intents(aborted=frozenset({NEW, OLD})), [], "Aborted"),
    (Intents(aborted=frozenset({OLD})), [], None),
    (Intents(undo=NEW), [], "Undone"),
    (Intents(undo=OLD), [], None),
    (Intents(undo=NEW, aborted=frozenset({NEW})), [REFUSED], "Undone"),
    (Intents(aborted=frozenset({NEW})), [REFUSED], "Aborted"),
    (NO_INTENTS, [REFUSED], "Rejected"),
    (NO_INTENTS, [replace(REFUSED, revision=OLD)], None),
    (NO_INTENTS, [replace(REFUSED, expires=T0)], None),
]


@pytest.mark.parametrize(("intents", "approvals", "reason"), OF_ONE)
def test_a_revision_is_held_where_a_person_said_so_of_it(
    intents: Intents, approvals: list[Approval], reason: str | None
) -> None:
    found = revision_hold(NEW, intents, approvals, T0)

    assert (found.reason if found else None) == reason
    if found is not None:
        assert NEW in found.message


# -- going back --------------------------------------------------------------------------------

BREACH = Step(halt=Wait(Reason.MAX_FAILURES_EXCEEDED, ""))
HELD = {
    str(reason): Wait(reason)
    for reason in (Reason.UNDONE, Reason.ABORTED, Reason.REJECTED, Reason.UNKNOWN_APPROVAL_GROUP)
}

WHEN: list[tuple[Step, Wait | None, RollbackMode, str]] = [
    (Step(), None, RollbackMode.AUTOMATIC, ""),
    (BREACH, None, RollbackMode.NONE, ""),
    (BREACH, None, RollbackMode.MANUAL, ""),
    (BREACH, None, RollbackMode.AUTOMATIC, "Breach"),
    # While it is paused or cannot be read, what is counted may be wrong: nothing begins.
    (
        structs.replace(BREACH, hold=Wait(Reason.TORN_DECISIONS, "")),
        None,
        RollbackMode.AUTOMATIC,
        "",
    ),
    (Step(), HELD["Undone"], RollbackMode.NONE, ""),
    (Step(), HELD["Undone"], RollbackMode.MANUAL, "Undo"),
    (Step(), HELD["Undone"], RollbackMode.AUTOMATIC, "Undo"),
    *((Step(), HELD[word], RollbackMode.MANUAL, "") for word in ("Aborted", "Rejected")),
    *((Step(), HELD[word], RollbackMode.AUTOMATIC, word) for word in ("Aborted", "Rejected")),
    (Step(), HELD["UnknownApprovalGroup"], RollbackMode.AUTOMATIC, ""),
]


@pytest.mark.parametrize(("step", "held", "mode", "cause"), WHEN)
def test_a_rollback_begins_for_a_cause_that_its_mode_allows(
    step: Step, held: Wait | None, mode: RollbackMode, cause: str
) -> None:
    assert why_back(step, held, Intents(rollback=mode), completed=False) == cause
    assert cause in {"", *CAUSES}


@pytest.mark.parametrize(("step", "held", "mode", "cause"), WHEN)
def test_failures_after_the_revision_reached_everybody_take_nothing_back(
    step: Step, held: Wait | None, mode: RollbackMode, cause: str
) -> None:
    """What people ask for counts as before."""
    expected = "" if cause == "Breach" else cause
    assert why_back(step, held, Intents(rollback=mode), completed=True) == expected


BEGAN = T0 - MIN
BACK = Rollback(NEW, "Breach", BEGAN)

BAD = standing("a", touched=BEGAN - MIN)  # it got the revision
BOUND = standing("b", touched=BEGAN, revision=OLD)  # on its way back
HOME = standing("c", SUCCEEDED, BEGAN, revision=OLD, verdict=Verdict.SOAKED)
BROKEN = standing("d", FAILED, BEGAN, revision=OLD, verdict=Verdict.FAILED)


def gone_back(
    rollout: Rollout, targets: dict[str, str], intents: Intents = NO_INTENTS
) -> tuple[Retreat, Wait]:
    """The next step of the rollback, and what it says."""
    found = retreat(rollout, targets, BEGAN, limits_of(intents), T0)
    return found, going_back(BACK, found, (), T0)


TOLD: list[tuple[list[Standing], set[str], str, str]] = [
    ([BAD, HOME], {"a"}, "RollingBack", "1 of 2 clusters rolled back; it is barred"),
    ([BOUND, HOME], set(), "RollingBack", "1 of 2 clusters rolled back; it is barred"),
    ([HOME], set(), "RolledBack", "1 of 1 clusters rolled back; it is barred"),
    ([HOME, BROKEN], set(), "RolledBack", "1 of 2 clusters rolled back, 1 failed on the way"),
    ([BAD], set(), "RolledBack", "1 have nothing to go back to and keep it (a)"),
    ([BAD, BROKEN], {"a"}, "RollingBack", "0 of 2 clusters rolled back, 1 failed on the way"),
]


@pytest.mark.parametrize(("known", "targets", "reason", "text"), TOLD)
def test_a_rollback_says_how_far_it_is_why_and_what_ends_the_bar(
    known: list[Standing], targets: set[str], reason: str, text: str
) -> None:
    rollout = rollout_in(spec_of(), [Group(0, "", tuple("abcd"))], known)

    found, hold = gone_back(rollout, dict.fromkeys(targets, OLD))

    assert hold.reason == reason
    assert text in hold.message
    is_or_was = "was" if reason == "RolledBack" else "is being"
    assert f"revision {NEW} {is_or_was} rolled back (more failures than" in hold.message
    assert "until the template changes or somebody retries" in hold.message
    assert hold.reason.scope is Scope.REVISION
    assert {cluster for cluster, _ in found.touch} == targets


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ("a", "1 of 2 clusters rolled back; 1 held cluster goes back once it is released (a); it"),
        (
            "abef",
            "1 of 5 clusters rolled back; 4 held clusters go back once they are released (a, b, e, ...)",
        ),
    ],
)
def test_a_rollback_with_held_clusters_left_names_them_and_is_not_over(
    held: str, text: str
) -> None:
    known = [structs.replace(BAD, cluster=name) for name in held]
    groups = [Group(0, "", tuple("abcdef"))]
    rollout = rollout_in(spec_of(), groups, [*known, HOME], held=list(held))

    _, hold = gone_back(rollout, dict.fromkeys(held, OLD))

    assert hold.reason == "RollingBack"
    assert text in hold.message


def test_a_halted_rollback_names_the_held_clusters_too() -> None:
    known = [BAD, structs.replace(BAD, cluster="e"), HOME, BROKEN]
    rollout = rollout_in(spec_of(), [Group(0, "", tuple("abcde"))], known, held=["e"])

    limits = Intents(rollback_budget=Amount(0))
    _, hold = gone_back(rollout, dict.fromkeys("ae", OLD), limits)

    assert hold.reason == "RollbackHalted"
    assert hold.message.endswith("; 1 held cluster goes back once it is released (e)")


def test_a_rollback_obeys_the_limits_that_its_annotations_give_it() -> None:
    known = [structs.replace(BAD, cluster=name) for name in "abcd"]
    rollout = rollout_in(spec_of(), [Group(0, "", tuple("abcd"))], known)
    targets = dict.fromkeys("abcd", OLD)

    def touched(**more: Any) -> int:
        return len(gone_back(rollout, targets, Intents(**more))[0].touch)

    assert touched() == 1, "a quarter"
    assert touched(rollback_limit=Amount(50, percent=True)) == 2
    assert touched(rollback_limit=Amount(3)) == 3


def test_a_rollback_that_stops_says_so_and_whom_it_leaves() -> None:
    known = [BAD, BROKEN, structs.replace(BAD, cluster="b")]
    rollout = rollout_in(spec_of(), [Group(0, "", tuple("abcd"))], known)
    none = Intents(rollback_budget=Amount(0))

    found, hold = gone_back(rollout, {"a": OLD}, none)

    assert found.touch == ()
    assert hold.reason == "RollbackHalted"
    assert "1 clusters failed on what they were given back, 0 tolerated" in hold.message
    assert hold.message.endswith("; 1 have nothing to go back to and keep it (b)")


def test_a_long_list_of_those_that_keep_the_revision_is_cut() -> None:
    known = [structs.replace(BAD, cluster=name) for name in "edcba"]
    rollout = rollout_in(spec_of(), [Group(0, "", tuple("abcde"))], known)

    _, hold = gone_back(rollout, {})

    assert "5 have nothing to go back to and keep it (a, b, c, ...)" in hold.message
