"""The receipt of a benchmark: its shape and its arithmetic."""

import json
from collections import Counter

import pytest

from benchmarks.figures import Figure
from benchmarks.kube.receipt import CALIBRATION, Run, ratios, receipt, turns


def run(side: str, seconds: float, *more: Figure) -> Run:
    figures = [Figure(CALIBRATION, 28.0, "ms"), Figure("200.works.seconds", seconds, "s"), *more]
    return Run(side=side, clusters=200, figures=figures)


def test_each_side_has_the_first_and_the_last_turn_equally_early() -> None:
    order = turns(rounds=2)

    assert order == "ABBAABBA"
    places = {side: sum(i for i, each in enumerate(order) if each == side) for side in "AB"}
    assert places["A"] == places["B"]


def test_a_ratio_is_unmoved_by_a_machine_that_becomes_steadily_slower() -> None:
    quick = {"A": 2.0, "B": 4.0}
    slower = [(side, 1 + turn / 10) for turn, side in enumerate(turns(rounds=1))]

    (found,) = ratios([run(side, quick[side] * factor) for side, factor in slower])

    assert found.value == pytest.approx(0.5)


def test_a_ratio_tells_both_means_and_both_spreads() -> None:
    runs = [run("A", 1.0), run("B", 4.0), run("B", 4.0), run("A", 3.0)]

    (found,) = ratios(runs)

    assert (found.name, found.unit, found.value) == ("200.works.seconds", "s", 0.5)
    assert (found.a.mean, found.a.least, found.a.most, found.a.spread) == (2.0, 1.0, 3.0, 1.0)
    assert found.b.spread == 0.0


def test_a_line_that_one_side_lacks_has_no_ratio() -> None:
    runs = [run("A", 1.0, Figure("200.memory", 90.0, "MB")), run("B", 1.0)]

    assert [each.name for each in ratios(runs)] == ["200.works.seconds"]


def test_nothing_is_divided_by_a_line_that_took_nothing() -> None:
    (found,) = ratios([run("A", 1.0), run("B", 0.0)])

    assert found.value is None
    assert found.as_json()["ratio"] is None


def test_one_controller_alone_has_a_receipt_without_ratios() -> None:
    found = receipt([run("A", 1.0)], {"A": "ours"}, {"cores": 2}, {"rollout": "0.1.0"})

    assert found["ratios"] == []
    assert found["sides"] == {"A": "ours"}


def test_a_receipt_has_every_run_with_its_calibration_and_its_requests_by_line() -> None:
    taken = run("A", 1.0)
    taken.began_at, taken.seconds, taken.others = "2026-01-01T00:00:00Z", 60.0, 0.02
    taken.calibration = {"before": 28.0, "after": 29.0}
    taken.requests["works"] = Counter({("create", "manifestworks"): 200})

    told = receipt([taken, run("B", 2.0)], {"A": "ours", "B": "theirs"}, {"cores": 2}, {})
    found = json.loads(json.dumps(told))

    assert found.keys() == {"format", "hardware", "versions", "sides", "runs", "ratios"}
    first = found["runs"][0]
    assert first["requests"] == {"works": {"create manifestworks": 200}}
    assert first["calibrationMs"] == {"before": 28.0, "after": 29.0}
    assert (first["side"], first["clusters"], first["coresOfOthers"]) == ("A", 200, 0.02)
    assert first["figures"][1]["name"] == "200.works.seconds"
    assert found["ratios"][0]["ratio"] == 0.5
    assert found["ratios"][0]["A"] == {"mean": 1.0, "least": 1.0, "most": 1.0, "spread": 0.0}


def test_requests_of_a_line_that_was_repeated_are_those_of_one_repetition() -> None:
    repeated = run("A", 1.0)
    repeated.requests["works"] = Counter({("create", "manifestworks"): 600, ("patch", "x"): 4})
    repeated.taken["works"] = 3
    repeated.requests["restart"] = Counter({("list", "x"): 2})

    assert repeated.as_json()["requests"] == {
        "works": {"create manifestworks": 200, "patch x": 4 / 3},
        "restart": {"list x": 2},
    }
