"""Against a real Prometheus, which scrapes an exporter of this test's own."""

from collections.abc import Iterator
from typing import Any

import pytest

from rollout.model.kinds import Obj
from tests.support.prometheus import prometheus_with
from tests.unit.providers.test_providers import Measuring

pytestmark = pytest.mark.prometheus

METRICS = b"""\
# TYPE shop_errors gauge
shop_errors{cluster="c1"} 0.25
shop_errors{cluster="c2"} 0.5
"""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus_with(METRICS, folder, "count(shop_errors) == 2") as running:
        yield running.address


def asked(address: str, query: str, **told: Any) -> Obj:
    return {"prometheus": {"address": address, "query": query, **told}}


@pytest.fixture
def measuring() -> Iterator[Measuring]:
    made = Measuring()
    yield made
    made.measurer.close()


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ('shop_errors{cluster="c1"}', [0.25]),
        ("sort(shop_errors)", [0.25, 0.5]),
        ("scalar(sum(shop_errors))", 0.75),
        ("shop_missing", []),
        ("42", 42.0),
    ],
)
def test_a_query_gives_its_numbers(
    query: str, value: object, prometheus: str, measuring: Measuring
) -> None:
    found = measuring.sample(asked(prometheus, query))

    assert (found.error, found.value) == ("", value)


def test_a_range_gives_a_number_for_each_step(prometheus: str, measuring: Measuring) -> None:
    span = {"start": 'now() - duration("1s")', "end": "now()", "step": "500ms"}
    found = measuring.sample(asked(prometheus, "vector(7)", rangeQuery=span))

    assert found.value == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("query", ["sum(", '"text"'])
def test_a_query_that_gives_no_number_is_an_error(
    query: str, prometheus: str, measuring: Measuring
) -> None:
    assert measuring.sample(asked(prometheus, query)).error


def test_not_a_number_is_a_value(prometheus: str, measuring: Measuring) -> None:
    found = measuring.sample(asked(prometheus, "scalar(shop_missing)"))

    assert found.error == ""
    assert found.value != found.value
