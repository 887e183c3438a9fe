"""The page about scale says what the receipts say."""

from typing import Any

from benchmarks.drawn import (
    PAGE,
    PICTURES,
    bars,
    drawn,
    growth,
    is_quiet,
    page,
    parts,
    ratios,
    receipts,
    requests,
)

RUN = {"side": "A", "clusters": 20, "coresOfOthers": 0.02, "requests": {}}


def turns(others: float) -> dict[str, Any]:
    def side(value: float) -> dict[str, float]:
        return {"mean": value, "least": value, "most": value, "spread": 0.0}

    names = {"20.works.seconds": 2.0, "20.works.requests": 30.0}
    return {
        "runs": [{**RUN, "coresOfOthers": others}],
        "ratios": [
            {"name": name, "unit": "s", "ratio": 0.5, "A": side(value), "B": side(2 * value)}
            for name, value in names.items()
        ],
    }


def test_the_page_and_its_plots_are_as_the_receipts_have_them() -> None:
    tables, plots = drawn(receipts())
    text = PAGE.read_text()

    assert page(text, tables) == text, "make plots"
    assert all(f"<!-- drawn: {mark} -->" in text for mark in tables)
    for name, svg in plots.items():
        assert (PICTURES / name).read_text() == svg, "make plots"
        assert f"pictures/{name}" in text


def test_seconds_of_a_machine_that_others_used_are_not_shown() -> None:
    assert is_quiet(turns(0.02))
    assert "works.seconds" in ratios(turns(0.02))
    assert "works.seconds" not in ratios(turns(1.2))
    assert "works.requests" in ratios(turns(1.2))


def test_a_table_is_put_between_its_marks_alone() -> None:
    before = (
        "a\n<!-- drawn: parts -->\nold\n<!-- end -->\nb\n<!-- drawn: x -->\nkept\n<!-- end -->\n"
    )

    after = page(before, {"parts": "| new |"})

    assert after == before.replace("old", "| new |")


def test_bars_are_as_long_as_their_values() -> None:
    drawing = bars("t", {"a & b": [10.0, 5.0]}, "B")

    assert 'width="420.0"' in drawing
    assert 'width="210.0"' in drawing
    assert "a &amp; b" in drawing


def figure(name: str, value: float, target: float | None = None, *, rising: bool = False) -> Any:
    return {"name": name, "value": value, "unit": "", "target": target, "rising": rising}


def test_a_target_below_one_and_one_that_is_to_be_exceeded_are_shown_as_they_are() -> None:
    told = parts(
        {
            "figures": [
                figure("help", 0.3, 0.4),
                figure("creates", 0.9, 0.97, rising=True),
                figure("memory", 1_300.0, 1_200.0),
                figure("cpu", 2.0),
            ]
        }
    )

    assert "| help | 0.30 |  | ≤ 0.4 | yes |" in told
    assert "| creates | 0.90 |  | ≥ 0.97 | no |" in told
    assert "| memory | 1,300.00 |  | ≤ 1,200 | no |" in told
    assert "| cpu | 2.00 |  |  |  |" in told


def test_the_cpu_of_two_sizes_stands_beside_its_growth() -> None:
    sizes = {
        10: [figure("10.works.cpu", 2.0), figure("10.works.seconds", 1.0)],
        100: [figure("100.works.cpu", 21.0), figure("100.works.seconds", 9.0)],
    }
    taken = {"runs": [{**RUN, "clusters": size, "figures": each} for size, each in sizes.items()]}

    assert "| works.cpu | 2.00 | 21.00 | 10.50 |" in growth(taken)
    assert "works.seconds" not in growth(taken)
    assert growth({"runs": [*taken["runs"][:1]]}) == ""


def test_requests_of_two_sizes_are_told_apart_and_counted_for_each_cluster() -> None:
    asked = {
        10: {"create manifestworks": 10, "patch leases": 7},
        100: {"create manifestworks": 150},
    }
    taken = {
        "runs": [
            {**RUN, "clusters": size, "requests": {"works": each}} for size, each in asked.items()
        ]
    }

    told = requests(taken)

    assert "requests with 10 clusters" in told
    assert "| all, for each cluster | 1.000 |" in told
    assert "| all, for each cluster | 1.500 |" in told
    assert "leases" not in told
