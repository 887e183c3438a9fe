"""How does profile ``ocm`` read sizes, deadlines and the conditions of works?"""

from datetime import UTC, datetime, timedelta

import pytest

from rollout.errors import ConfigError
from rollout.model.conditions import Condition
from rollout.strategies.ocm import NO_TIME, Status, work_status
from rollout.strategies.ocm_inputs import deadline, size

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [
        (50, 100, 50),
        ("30%", 100, 30),
        (0, 100, 100),
        (-1, 100, 100),
        (101, 100, 100),
        ("200%", 100, 100),
        ("0%", 100, 100),
        ("NaN%", 100, 100),
        ("inf%", 100, 100),
        ("1%", 3, 1),
        ("7%", 100, 8),
        ("28%", 100, 29),
        ("55%", 100, 56),
        ("12.5%", 100, 13),
        ("0x10p0%", 100, 16),
    ],
)
def test_a_size_outside_its_bounds_is_the_default(
    value: int | str, total: int, expected: int
) -> None:
    assert size(value, total, total) == expected


@pytest.mark.parametrize(
    ("written", "hours"), [("2h", 2), ("30m", 0.5), ("10s", 1 / 360), ("1h30m", 1.5), ("00002h", 2)]
)
def test_a_deadline_is_a_duration(written: str, hours: float) -> None:
    assert deadline(written) == timedelta(hours=hours)


@pytest.mark.parametrize("written", ["None", "", "9223372036s854ms775us807ns"])
def test_no_deadline_has_three_spellings(written: str) -> None:
    assert deadline(written) is None


@pytest.mark.parametrize(
    ("written", "why"),
    [
        *((bad, "invalid timeout format") for bad in ("2d", "0", "2d0s", "10g", "-5m", " 10m")),
        ("1h\n", 'time: unknown unit "h\n" in duration "1h\n"'),
        ("None\n", "invalid timeout format"),
        ("5|", 'time: unknown unit "|" in duration "5|"'),
        ("10mfoo", 'time: unknown unit "mfoo" in duration "10mfoo"'),
        ("1m1", 'time: missing unit in duration "1m1"'),
        ("xNone", 'time: invalid duration "xNone"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_a_deadline_that_is_none_is_refused(written: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        deadline(written)

    assert str(refused.value) == why


def conditions(text: str) -> dict[str, Condition]:
    """``A2T P2F``: type, observed generation, status. Each type has a time of its own."""
    types = {"A": "Applied", "P": "Progressing", "D": "Degraded"}
    statuses = {"T": "True", "F": "False", "U": "Unknown"}
    return {
        types[kind]: Condition(
            types[kind],
            statuses[status],
            observed_generation=int(seen),
            since=NOW - "APD".index(kind) * SECOND,
        )
        for kind, seen, status in map(tuple, text.split())
    }


P_TIME, D_TIME = NOW - SECOND, NOW - 2 * SECOND


@pytest.mark.parametrize(
    ("generation", "seen", "expected"),
    [
        (2, "", (Status.TO_APPLY, None)),
        (2, "P1F", (Status.TO_APPLY, None)),
        (2, "P2T D1T", (Status.TO_APPLY, None)),
        (2, "A2T P2T", (Status.PROGRESSING, P_TIME)),
        (2, "A2T P2T D2F", (Status.PROGRESSING, P_TIME)),
        (2, "A2T P2T D2T", (Status.FAILED, D_TIME)),
        (2, "A2T P2F", (Status.SUCCEEDED, P_TIME)),
        (2, "A2T P2F D2T", (Status.SUCCEEDED, P_TIME)),
        (2, "A2T P2U", (Status.PROGRESSING, P_TIME)),
        (2, "A2T P2U D2T", (Status.PROGRESSING, P_TIME)),
        (2, "A2F P2F", (Status.TO_APPLY, None)),
        (2, "A2U P2F", (Status.TO_APPLY, None)),
        (2, "A1T P2F", (Status.TO_APPLY, None)),
        (3, "A3T P2F", (Status.TO_APPLY, None)),
        (2, "A2T P2F D1F", (Status.TO_APPLY, None)),
        (2, "A2T P2F D3F", (Status.TO_APPLY, None)),
    ],
)
def test_a_work_stands_as_its_conditions_say(
    generation: int, seen: str, expected: tuple[Status, datetime | None]
) -> None:
    assert work_status(generation, conditions(seen)) == expected


def test_a_condition_without_a_time_changed_at_the_beginning_of_time() -> None:
    timeless = {
        name: Condition(name, "True", observed_generation=1) for name in ("Applied", "Progressing")
    }

    assert work_status(1, timeless) == (Status.PROGRESSING, NO_TIME)
