"""What a rolloutStrategy that an engineer makes by hand has to be."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import ConfigError
from rollout.model.amounts import Amount
from rollout.model.replicaset import GroupRef, RolloutSpec

BAD: list[tuple[str, Any]] = [
    ("type", ""),
    ("type", None),
    ("min_success_time", timedelta(microseconds=-1)),
    ("min_success_time", 60),
    ("deadline", timedelta(0)),
    ("deadline", timedelta(seconds=1) - timedelta.resolution),
    ("deadline", "10m"),
    ("max_failures", Amount(-1)),
    ("max_failures", Amount(101, percent=True)),
    ("max_failures", None),
    ("max_failures", 1),
    ("concurrency", Amount(-1)),
    ("concurrency", Amount(2.5)),  # type: ignore[arg-type]  # what the test is about
    ("concurrency", 2),
    ("concurrency", "25%"),
    ("mandatory", ("canary",)),
    ("mandatory", GroupRef("canary")),
    ("mandatory", [GroupRef("canary")]),
    ("mandatory", (GroupRef(index=-1),)),
]


@pytest.mark.parametrize(("field", "value"), BAD, ids=lambda value: str(value)[:40])
def test_a_value_that_no_rollout_could_keep_to_is_refused_by_name(field: str, value: Any) -> None:
    """Once taken, a negative concurrency waited for ever with neither hold nor halt."""
    with pytest.raises(ConfigError) as refused:
        RolloutSpec(**{field: value})

    said = str(refused.value)
    assert said.startswith(f"RolloutSpec.{field}: {value!r} is not valid: ")


def test_the_bounds_themselves_are_taken() -> None:
    spec = RolloutSpec(
        "example.com/Plugin",
        min_success_time=timedelta(0),
        deadline=timedelta(seconds=1),
        max_failures=Amount(100, percent=True),
        concurrency=Amount(0, written=True),
        mandatory=(GroupRef("canary"), GroupRef(), GroupRef(index=7)),
    )

    assert spec.concurrency == Amount(0, written=True)
