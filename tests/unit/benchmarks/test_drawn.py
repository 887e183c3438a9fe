"""The page about scale says what the receipts say."""

from typing import Any

from benchmarks.drawn import PAGE, PICTURES, bars, drawn, is_quiet, page, ratios, receipts

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
