"""JSONPaths as RFC 9535 has them, within bounds: no path and no answer holds up what others measure."""

import json
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import jsonpath_rfc9535
import pytest

from rollout.clock import SystemClock
from rollout.measuring.values import Measure, Sample
from rollout.providers.http import UnmeasuredError
from rollout.providers.jsonpath import LONGEST_PATH, found_at
from tests.support.bad_server import bad_server
from tests.unit.providers.test_providers import Measuring, run_of, web

DOCUMENT: Any = {
    "data": {"rate": 0.99, "ok": True, "none": None, "name": "web-1"},
    "items": [
        {"name": "a", "n": 1, "tags": ["x", "y"], "in": {"n": 1}},
        {"name": "b", "n": 2, "tags": [], "in": {"n": 2}},
        {"name": "line\nbreak", "n": 3.5, "tags": ["x"], "in": {"n": 1}},
        [1, 2, [3, 4]],
        "text",
    ],
}
PATHS = [
    "$", "$.data.rate", "$['data']['ok']", "$.items[0].name", "$.items[-1]", "$.items[9]", "$.none",
    "$.*", "$.items[*].n", "$.items[1:4:2]", "$.items[::-1]", "$..n", "$..*", "$..[0]", "$.items[0,1]",
    "$.items[?@.n > 1].name", "$.items[?@.n == $.items[0].in.n]", "$.items[?@.in == $.items[0].in].name",
    "$.items[?@.tags]", "$.items[?!@.tags[0]].name", "$.items[?count(@.tags[*]) == 2].name",
    "$.items[?length(@.name) > 1].name", "$.items[?value(@..n) == 2]", "$.items[?@ == 'text']",
    "$.items[?match(@.name, '[ab]')].name", "$.items[?search(@.name, 'e.b')].name",
    "$.items[?search(@.name, 'in')].name", "$.items[?match(@.name, 'a|b')].n", "$.items[?match(@.n, '1')]",
    "$.items[?@.n >= 1 && @.n < 3 || @[0] == 1]", "$.items[?match(@.name, '[')]", "$.items[3][?@ == @]",
    r"$.items[?search(@.name, '\\.')]", "$.items[?search(@.name, '[.]')]",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path_finds_what_the_library_finds_without_bounds(path: str) -> None:
    query = jsonpath_rfc9535.compile(path)
    expected = list(query.find(DOCUMENT).values())
    if query.singular_query() and not expected:
        with pytest.raises(UnmeasuredError, match="finds nothing"):
            found_at(path, DOCUMENT)
        return
    found = found_at(path, DOCUMENT)

    assert found == (expected[0] if query.singular_query() else expected)
    assert json.dumps(found) == json.dumps(expected[0] if query.singular_query() else expected)


def test_many_elements_can_be_filtered() -> None:
    items = [{"name": f"n{i}", "value": i} for i in range(2_000)]

    assert found_at("$.items[?@.value > 1997].name", {"items": items}) == ["n1998", "n1999"]


NESTED: Any = [[i] for i in range(20_000)]
HOSTILE: list[tuple[str, Any]] = [
    ("$..[?count($..*)>1]", NESTED[:500]),
    ("$..*", NESTED),
    ("$..[?@..[?@..[?@ == 1]]]", [[[[[[[i] * 9]]]]] for i in range(300)]),
    (f"$[?{'||'.join(['1 == 2'] * 120)}]", NESTED),
    ("$[?@ == $[1]]", [list(range(2_000)) for _ in range(2_000)]),
    ("$[?search(@.x, @.p)]", [{"x": "a" * 99, "p": f"({i}|a)+b"} for i in range(3_000)]),
    ("$[?match(@, '((a|b|c|ab)*(a|b)*c?)*d')]", ["abc" * 400] * 5_000),
    ("$[?search('x', @)]", ["a" * (LONGEST_PATH + 1)]),
]


@pytest.mark.parametrize(("path", "value"), HOSTILE, ids=[path[:30] for path, _ in HOSTILE])
def test_a_path_that_looks_at_too_much_is_refused(path: str, value: Any) -> None:
    with pytest.raises(UnmeasuredError, match="looks at more of the answer than it may"):
        found_at(path, value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("$." + "a" * LONGEST_PATH, "more than 1024 characters"),
        ("$" + "[?(" * 300, "jsonPath"),
        ("$[?" + "!(" * 480, "jsonPath"),
    ],
)
def test_a_path_that_is_too_long_or_too_deep_is_refused(path: str, said: str) -> None:
    with pytest.raises(UnmeasuredError, match=said):
        found_at(path, [1])


@pytest.mark.parametrize(
    ("pattern", "text"), [("(a|aa)+b", "a" * 60 + "c"), ("(a+)+b", "a" * 60), ("(a|a)*b", "a" * 60)]
)
def test_no_pattern_backtracks(pattern: str, text: str) -> None:
    assert found_at(f"$[?search(@, '{pattern}')]", [text]) == []
    assert found_at(f"$[?match(@, '{pattern}')]", [text]) == []


def test_one_tenants_path_holds_up_neither_another_one_nor_the_end() -> None:
    measuring, back = Measuring(), threading.Event()
    found: list[Sample] = []

    def done(samples: Mapping[str, Sample]) -> None:
        found.append(samples["m"])
        back.set()

    def ask(path: str) -> None:
        run = run_of(web(f"{address}/nested", jsonPath=path))
        write = Measure(ref=run.ref, run=run, metrics=("m",))
        measuring.measurer.measure(write, done)

    with bad_server() as address:
        for _ in range(3):
            ask("$..[?count($..*)>1]")
        assert back.wait(20)
        back.clear()
        ask("$[0][0]")
        while len(found) < 4:
            assert back.wait(20)
            back.clear()
        for _ in range(3):
            ask("$..[?count($..*)>1]")
        began = SystemClock().now()
        measuring.measurer.close()

    assert SystemClock().now() - began < timedelta(seconds=20)
    # The answers that are refused may come after the other one: nothing says in which order they come.
    assert [sample.value for sample in found if not sample.error] == [0]
