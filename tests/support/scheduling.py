"""Placements for the scheduler in few words: a number, weights by coordinate, and the instants of tests."""

from datetime import UTC, datetime, timedelta

from rollout.model.placement import Coordinate, Placement

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)

SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
MEMORY = Coordinate(builtin="ResourceAllocatableMemory")
CPU = Coordinate(builtin="ResourceAllocatableCPU")
BALANCE, STEADY = Coordinate(builtin="Balance"), Coordinate(builtin="Steady")


def placed(
    number: int | None = None, *weights: tuple[Coordinate, int], exact: bool = False
) -> Placement:
    return Placement(
        "ns", "p", number=number, weights=weights, mode="Exact" if exact else "Additive"
    )
