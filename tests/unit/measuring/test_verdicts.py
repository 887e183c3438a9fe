"""The verdict of a run, for every way in which measurements can come."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from rollout.measuring.conditions import assess, condition
from rollout.measuring.values import AnalysisMetric, AnalysisResult, Sample
from rollout.measuring.verdicts import AGAIN_AFTER_ERROR, begin, due, stop, take
from rollout.model.analyses import PHASES, AnalysisPhase

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MIN = timedelta(minutes=1)
FAILED, ERROR, INCONCLUSIVE, RUNNING, SUCCESSFUL = PHASES
VALUES = {"S": 1, "F": 9, "I": 5}
"""What is measured, by what it means: E is an error."""


def metric(**fields: Any) -> AnalysisMetric:
    wanted: dict[str, Any] = {
        "name": "m",
        "provider": {},
        "interval": MIN,
        "count": 3,
        "success": "result < 3",
        "failure": "result > 7",
        **fields,
    }
    return AnalysisMetric(**wanted)


def sample(letter: str, at: datetime) -> Sample:
    if letter == "E":
        return Sample(started_at=at, finished_at=at, error="connection refused")
    return Sample(started_at=at, finished_at=at, value=VALUES[letter])


def measured(letters: str, each: AnalysisMetric) -> AnalysisResult:
    """A run of one metric, in which this was measured, a minute apart."""
    found = begin([each], T0)
    for i, letter in enumerate(letters):
        now = T0 + i * MIN
        found = take([each], found, {each.name: sample(letter, now)}, now)
    return found


def all_letters(longest: int) -> Iterator[str]:
    for size in range(longest + 1):
        yield from map("".join, product("SFIE", repeat=size))


@pytest.mark.parametrize(
    ("letters", "fields", "phase"),
    [
        pytest.param("", {}, RUNNING, id="nothing measured yet"),
        pytest.param("SSS", {}, SUCCESSFUL, id="all good"),
        pytest.param("SSF", {}, FAILED, id="the last one failed"),
        pytest.param("F", {}, FAILED, id="the first failure is too many"),
        pytest.param("F", {"failure_limit": 1}, RUNNING, id="one failure is tolerated"),
        pytest.param("FSF", {"failure_limit": 1}, FAILED, id="two are not"),
        pytest.param("FSS", {"failure_limit": 1}, SUCCESSFUL, id="tolerated to the end"),
        pytest.param("FFF", {"failure_limit": 3}, INCONCLUSIVE, id="tolerated, but never good"),
        pytest.param("I", {}, INCONCLUSIVE, id="inconclusive"),
        pytest.param("ISS", {"inconclusive_limit": 1}, SUCCESSFUL, id="inconclusive, tolerated"),
        pytest.param("IF", {"inconclusive_limit": 1}, FAILED, id="failed is worse"),
        pytest.param("EEEE", {}, RUNNING, id="four errors are tolerated"),
        pytest.param("EEEEE", {}, ERROR, id="five are not"),
        pytest.param("EEEEES", {}, RUNNING, id="the provider is back"),
        pytest.param("EEEEESSS", {}, SUCCESSFUL, id="and tells of success"),
        pytest.param("EEEEEF", {}, FAILED, id="or of failure"),
        pytest.param("EESEESEES", {}, SUCCESSFUL, id="errors are no measurements"),
        pytest.param("E", {"error_limit": 0}, ERROR, id="no error tolerated"),
        pytest.param(
            "SSS", {"count": None, "consecutive_success_limit": 3}, SUCCESSFUL, id="in a row"
        ),
        pytest.param(
            "SSFSS",
            {"count": None, "consecutive_success_limit": 3, "failure_limit": None},
            RUNNING,
            id="the row was broken",
        ),
        pytest.param(
            "SFS",
            {"consecutive_success_limit": 3, "failure_limit": None},
            INCONCLUSIVE,
            id="no row before the end",
        ),
        pytest.param("SSSSSS", {"count": None}, RUNNING, id="without an end"),
    ],
)
def test_the_worst_limit_of_a_metric_counts(
    letters: str, fields: dict[str, Any], phase: AnalysisPhase
) -> None:
    assert measured(letters, metric(**fields)).phase is phase


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("SF", "metric m: 1 failed, tolerated 0; the last value is 9"),
        (
            "I",
            "metric m: 1 inconclusive, tolerated 0: neither condition is true; the last value is 5",
        ),
        ("EEEEE", "metric m: 5 errors in a row, tolerated 4: connection refused"),
    ],
)
def test_a_verdict_says_what_was_measured_last(letters: str, said: str) -> None:
    assert measured(letters, metric()).message == said


LIMITS = [
    metric(count=count, failure_limit=failures, inconclusive_limit=unclear, error_limit=errors)
    for count in (1, 2, None)
    for failures in (0, 1)
    for unclear in (0, 1)
    for errors in (0, 1)
]


@pytest.mark.parametrize("each", LIMITS, ids=repr)
def test_no_order_of_measurements_makes_a_run_better_than_it_is(each: AnalysisMetric) -> None:
    for letters in all_letters(5):
        run = measured(letters, each)
        known = run.metrics["m"]

        if run.phase is SUCCESSFUL:
            assert each.count is not None, letters
            assert known.successful, letters
            assert known.count >= each.count, letters
            assert known.failed <= (each.failure_limit or 0), letters
            assert known.inconclusive <= each.inconclusive_limit, letters
        if set(letters) <= {"E"}:
            assert run.phase in (RUNNING, ERROR), letters
        if "F" not in letters:
            assert run.phase is not FAILED, letters
        if run.finished_at is not None:
            later = T0 + 99 * MIN
            assert take([each], run, {"m": sample("S", later)}, later) == run, letters
            assert due([each], run, later).metrics == (), letters


@pytest.mark.parametrize("phases", list(product(PHASES, repeat=2)), ids="-".join)
def test_the_worst_metric_counts(phases: tuple[AnalysisPhase, AnalysisPhase]) -> None:
    letters = {FAILED: "F", ERROR: "EEEEE", INCONCLUSIVE: "I", RUNNING: "S", SUCCESSFUL: "SSS"}
    metrics = [metric(name=name) for name in ("a", "b")]
    run = begin(metrics, T0)
    for i in range(5):
        now = T0 + i * MIN
        samples = {
            each.name: sample(letters[phase][i], now)
            for each, phase in zip(metrics, phases, strict=True)
            if i < len(letters[phase])
        }
        run = take(metrics, run, samples, now)

    assert run.phase is min(phases, key=PHASES.index)
    is_over = FAILED in phases or all(phase.is_final for phase in phases)
    assert (run.finished_at is not None) is is_over


def test_a_dry_metric_is_measured_and_does_not_count() -> None:
    metrics = [metric(name="a", count=1), metric(name="b", count=1, is_dry=True)]
    samples = {"a": sample("S", T0), "b": sample("F", T0)}
    run = take(metrics, begin(metrics, T0), samples, T0)

    assert (run.phase, run.metrics["b"].phase) == (SUCCESSFUL, FAILED)


def test_a_run_of_nothing_is_never_successful() -> None:
    assert take([], begin([], T0), {}, T0).phase is INCONCLUSIVE


@pytest.mark.parametrize("letters", ["", "S", "EEEEE", "I", "F", "SSS"])
def test_a_run_that_is_stopped_early_is_never_successful(letters: str) -> None:
    before = measured(letters, metric())
    after = stop(before, "the rollout has ended", T0 + 9 * MIN)

    assert after.finished_at is not None
    assert (after.phase is SUCCESSFUL) is (before.phase is SUCCESSFUL)
    assert PHASES.index(after.phase) <= PHASES.index(before.phase)


def test_measuring_begins_after_the_delay_and_goes_on_by_the_interval() -> None:
    each = metric(initial_delay=5 * MIN)
    run = begin([each], T0)

    assert due([each], run, T0).look_at == T0 + 5 * MIN
    assert due([each], run, T0 + 5 * MIN).metrics == ("m",)
    run = take([each], run, {"m": sample("S", T0 + 5 * MIN)}, T0 + 5 * MIN)
    assert due([each], run, T0 + 5 * MIN).look_at == T0 + 6 * MIN
    assert due([each], run, T0 + 6 * MIN).metrics == ("m",)


def test_without_an_interval_an_error_is_measured_again_soon() -> None:
    each = metric(interval=None, count=1)
    run = measured("E", each)

    assert due([each], run, T0).look_at == T0 + AGAIN_AFTER_ERROR


def test_a_status_keeps_the_last_measurements_and_all_counts() -> None:
    known = measured("S" * 15, metric(count=20)).metrics["m"]

    assert (len(known.measurements), known.successful) == (10, 15)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("success", "failure", "result", "phase"),
    [
        pytest.param("result < 5", "", 4, SUCCESSFUL, id="good"),
        pytest.param("result < 5", "", 5, FAILED, id="bad"),
        pytest.param("", "result > 5", 5, SUCCESSFUL, id="not bad"),
        pytest.param("", "result > 5", 6, FAILED, id="bad by the failure condition"),
        pytest.param("result < 5", "result > 7", 6, INCONCLUSIVE, id="neither"),
        pytest.param("result < 9", "result > 7", 8, FAILED, id="both: the worse counts"),
        pytest.param("", "", 5, ERROR, id="no condition"),
        pytest.param("result < 5", "", NAN, INCONCLUSIVE, id="NaN"),
        pytest.param("", "result > 5", NAN, INCONCLUSIVE, id="NaN is not good for not being bad"),
        pytest.param("result[0] < 5", "", [NAN], INCONCLUSIVE, id="NaN in a list"),
        pytest.param("isNaN(result) || result < 5", "", NAN, SUCCESSFUL, id="NaN is spoken of"),
        pytest.param("", "isNaN(result)", NAN, FAILED, id="NaN is spoken of as bad"),
        pytest.param("isNaN(result) || result < 5", "", INF, INCONCLUSIVE, id="infinity is not"),
        pytest.param("result < 5", "", -INF, INCONCLUSIVE, id="minus infinity"),
        pytest.param("!isInf(result)", "", INF, FAILED, id="infinity is spoken of"),
        pytest.param("result[0] < 5", "", [], INCONCLUSIVE, id="an empty list"),
        pytest.param("", "result.x > 5", None, INCONCLUSIVE, id="nothing"),
        pytest.param("size(result) == 0", "", [], SUCCESSFUL, id="an empty list is spoken of"),
        pytest.param("isNil(result)", "", None, SUCCESSFUL, id="nothing is spoken of"),
        pytest.param("default(result, 3) < 5", "", None, SUCCESSFUL, id="a default"),
        pytest.param("result.x < 5", "", {"y": 3}, ERROR, id="a key that is missing"),
        pytest.param("result < 5", "", "4", ERROR, id="a string for a number"),
        pytest.param("asFloat(result) < 5", "", "4", SUCCESSFUL, id="read as a number"),
        pytest.param("asInt(result) == 4", "", "x", ERROR, id="no number at all"),
        pytest.param("result", "", 1, ERROR, id="no bool"),
        pytest.param("result.ok", "", {"ok": True}, SUCCESSFUL, id="a bool"),
        pytest.param("result.all(x, x < 5)", "", [1, 2.5], SUCCESSFUL, id="all of a list"),
        pytest.param("result[0] >= 0.95", "", [1], SUCCESSFUL, id="a whole number and a fraction"),
        pytest.param("len(result) == 2", "", "ab", SUCCESSFUL, id="a length"),
        pytest.param("result.exists(", "", 1, ERROR, id="no condition at all"),
        pytest.param("asFloat(result) > 5.0", "", "Infinity", INCONCLUSIVE, id="inf as text"),
        pytest.param("", "asFloat(result) > 5.0", "NaN", INCONCLUSIVE, id="NaN as text"),
        pytest.param("", "double(result) > 5.0", "nan", INCONCLUSIVE, id="NaN as text, by CEL"),
        pytest.param("", "result[0]/result[1] > 0.1", [0.0, 0.0], INCONCLUSIVE, id="0 of 0"),
        pytest.param("", "result[0]/result[1] > 0.1", [1.0, 0.0], INCONCLUSIVE, id="1 of 0"),
        pytest.param(
            "isNaN(asFloat(result)) || result == '1'", "", "NaN", SUCCESSFUL, id="NaN is spoken of"
        ),
        pytest.param(
            "true || asFloat(result) > 1.0", "", "NaN", SUCCESSFUL, id="without that value"
        ),
        pytest.param("result.d.all(x, x > 1)", "", {"d": []}, INCONCLUSIVE, id="all of nothing"),
        pytest.param("", "result.d.exists(x, x > 1)", {"d": []}, INCONCLUSIVE, id="one of nothing"),
        pytest.param(
            "size(result.d) > 0 && result.d.all(x, x > 1)",
            "",
            {"d": []},
            FAILED,
            id="size is asked",
        ),
        pytest.param(
            "result.g.all(g, g.d.all(x, x > 1))",
            "",
            {"g": [{"d": [2]}, {"d": []}]},
            INCONCLUSIVE,
            id="all of nothing, within",
        ),
        pytest.param(
            "result.d.filter(x, x > 1).all(x, x < 3)",
            "",
            {"d": [1]},
            INCONCLUSIVE,
            id="all of what is left",
        ),
    ],
)
def test_what_a_value_means(success: str, failure: str, result: object, phase: object) -> None:
    assert assess(success, failure, result)[0] is phase


@pytest.mark.parametrize(
    "text",
    ["result +", "nil == result", "managedCluster.ok", "all(result, # > 5)", '"a"', "x" * 5_000],
)
def test_what_is_no_condition_is_told(text: str) -> None:
    assert condition(text).problem


def test_a_condition_is_bounded() -> None:
    bomb = "[1,2,3,4,5,6,7,8,9,10]" + ".map(a, [1,2,3,4,5,6,7,8,9,10])" * 3
    inner = ".all(a, a.all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, e > 0)))))"
    assert "steps" in str(condition(bomb + inner).holds(1))


def test_values_of_any_order_of_metrics_give_one_verdict() -> None:
    def run(order: Sequence[str]) -> AnalysisPhase:
        metrics = [metric(name=name, count=1) for name in order]
        samples = {"a": sample("S", T0), "b": sample("I", T0), "c": sample("E", T0)}
        return take(metrics, begin(metrics, T0), samples, T0).phase

    assert run("abc") is run("cba")


def test_what_takes_long_is_looked_at_ever_more_seldom_and_at_most_a_minute_apart() -> None:
    job = metric(interval=None, count=1)
    now, found, looks = T0, begin([job], T0), list[float]()
    while now < T0 + 60 * MIN:
        pending = Sample(started_at=now, finished_at=now, is_pending=True)
        found = take([job], found, {"m": pending}, now)
        at = due([job], found, now).look_at
        assert at is not None
        looks.append((at - now).total_seconds())
        now = at

    assert looks[:4] == [5, 5, 5, 5]
    assert looks == sorted(looks)
    assert looks[-1] == 60
    assert len(looks) < 90


def test_what_takes_long_is_looked_at_no_later_than_its_interval() -> None:
    job = metric(interval=timedelta(seconds=20))
    pending = Sample(started_at=T0, finished_at=T0, is_pending=True)
    found = take([job], begin([job], T0), {"m": pending}, T0)
    later = T0 + 30 * MIN
    again = Sample(started_at=later, finished_at=later, is_pending=True)

    found = take([job], found, {"m": again}, later)

    assert due([job], found, later).look_at == later + timedelta(seconds=20)
