"""Both profiles on the same inputs: alike where no row of the semantics applies, as told where one does."""

import pytest

from rollout.model.placement import Group
from tests.differential.case import Case, Known
from tests.differential.report import Report, compare, failed_now, main, wrong
from tests.differential.rows import ROWS, rows_of

COUNT = 6000


@pytest.fixture(scope="module")
def report() -> Report:
    return compare(COUNT)


def test_every_answer_is_the_one_that_the_rows_give(report: Report) -> None:
    assert report.problems == []


def test_at_least_a_fifth_of_the_inputs_is_excused_by_no_row(report: Report) -> None:
    assert report.total == COUNT
    assert report.share >= 0.2


def test_each_row_is_met_and_is_needed(report: Report) -> None:
    """A row that never makes a difference on its own would only hide one."""
    assert {row for row in ROWS if report.applied[row] < COUNT / 100} == set()
    assert {row for row in ROWS if report.made_a_difference[row] < 2} == set()


def test_what_is_compared_without_an_excuse_is_worth_comparing(report: Report) -> None:
    wanted = {"All", "Progressive", "ProgressivePerGroup", "mandatory groups", "touched"}
    rare = {"halted", "timed out"}

    assert {what for what in wanted if report.met_alike[what] < COUNT / 20} == set()
    assert {what for what in rare if report.met_alike[what] < COUNT / 300} == set()
    assert report.met["NoTargets"] > COUNT / 100
    assert report.met["UnknownDecisionGroup"] > COUNT / 100


def test_the_report_tells_the_share(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["200"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("are excused by no row")
    assert "of 200 inputs (" in lines[0]


def groups(*members: str) -> tuple[Group, ...]:
    return tuple(Group(n, "", tuple(m)) for n, m in enumerate(members))


ABCDE = groups("abcde")
CANARY = (Group(0, "m", ("a",)), Group(1, "", ("b", "c")))
DONE = Known("S", 300, 300)
P10, P100, F10, F100 = (
    Known("P", 10, 10),
    Known("P", 100, 100),
    Known("F", 10, 10),
    Known("F", 100, 100),
)
PROG, PER_GROUP = "Progressive", "ProgressivePerGroup"

# One input for each row: strict touches, fails for good, halts; ocm touches, times out, breaches.
EXAMPLES: dict[int, tuple[Case, tuple[str, str, bool], tuple[str, str, bool]]] = {
    1: (
        Case(PROG, ABCDE, {"a": P10, "b": P100}, limit=1, budget=1, deadline=90),
        ("", "b", False),
        ("", "", False),
    ),
    3: (
        Case(PROG, ABCDE, {"a": P100}, limit=2, budget=9, deadline=90),
        ("bc", "a", False),
        ("", "a", True),
    ),
    4: (Case(PROG, ABCDE, {}, limit="0%"), ("", "", False), ("abcde", "", False)),
    6: (
        Case(PROG, ABCDE, {"a": Known("A", 90, 90)}, limit=1, budget=1, deadline=90),
        ("b", "a", False),
        ("", "", False),
    ),
    7: (
        Case(PROG, ABCDE, {"a": F100}, limit=1, budget=3),
        ("b", "a", False),
        ("", "", False),
    ),
    11: (
        Case(PROG, ABCDE, {"a": Known("P", 400, 10, soaked=True)}, limit=1),
        ("b", "", False),
        ("", "", False),
    ),
    12: (
        Case(PROG, CANARY, {"a": DONE, "b": P10}, limit=2, mandatory=("m",)),
        ("c", "", False),
        ("", "", False),
    ),
    13: (Case(PROG, CANARY, {}, limit=1, mandatory=("nope",)), ("", "", False), ("a", "", False)),
    14: (
        Case("All", (Group(0, "", ("a",)), Group(2, "", ("b",))), {"a": DONE}),
        ("b", "", False),
        ("", "", False),
    ),
    17: (
        Case(PROG, ABCDE, {}, limit=2, lost={"x": "rest"}),
        ("", "", True),
        ("ab", "", False),
    ),
    18: (
        Case(PROG, ABCDE, {"d": Known("P", 10, 10, old=True)}, limit=1),
        ("d", "", False),
        ("a", "", False),
    ),
    20: (
        Case(PROG, ABCDE, {"a": P100}, limit=1, budget=1, deadline=90, outage=(60, 20)),
        ("", "", False),
        ("b", "a", False),
    ),
}


@pytest.mark.parametrize("row", EXAMPLES)
def test_a_row_is_answered_as_it_says_and_ocm_answers_otherwise(row: int) -> None:
    case, (touch, failed, halted), (ocm_touch, ocm_failed, ocm_breach) = EXAMPLES[row]
    step, answer = case.strict(), case.ocm()
    known = {c for c, k in case.known.items() if not k.old}

    assert ("".join(step.touch), "".join(sorted(failed_now(step))), bool(step.halt)) == (
        touch,
        failed,
        halted,
    )
    assert (
        "".join(c for c in answer.to_apply if c not in known),
        "".join(r.cluster for r in answer.timed_out),
        answer.breach,
    ) == (ocm_touch, ocm_failed, ocm_breach)
    assert row in rows_of(case)
    assert wrong(case, step) == ""


def test_there_is_an_example_for_each_row() -> None:
    assert EXAMPLES.keys() == ROWS.keys()


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (Case(PROG, ABCDE, {}, limit=2), "touches"),
        (Case(PROG, ABCDE, {"a": P100}, limit=9, budget=5, deadline=90), "touches"),
    ],
)
def test_a_wrong_answer_is_found(case: Case, problem: str) -> None:
    other = Case(case.kind, case.groups, {}, limit=1)

    assert problem in wrong(case, other.strict())
