"""How long does a decision take? The plain step over all clusters, and the ledger after one change."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec.structs import replace

from benchmarks.figures import Figure, fastest
from rollout import (
    Amount,
    Group,
    Health,
    Ledger,
    Rollout,
    RolloutSpec,
    Standing,
    Verdict,
    decide,
    rollout_of,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=1)
SIZES = (("1k", 1_000), ("10k", 10_000), ("50k", 50_000), ("100k", 100_000))
PLAIN_TARGETS = {"10k": 4_000.0}
LEDGER_TARGETS = {"50k": 50.0, "100k": 50.0}


def midway(size: int) -> Rollout:
    """Half the fleet soaked, a tenth in flight, the rest waiting."""
    names = [f"cluster-{i:06d}" for i in range(size)]
    half, tenth = size // 2, size // 10
    soaked = [
        Standing(
            cluster=name,
            revision="r",
            touched=NOON,
            health=Health.SUCCEEDED,
            since=NOON,
            verdict=Verdict.SOAKED,
        )
        for name in names[:half]
    ]
    moving = [
        Standing(cluster=name, revision="r", touched=NOON, health=Health.PROGRESSING, since=NOON)
        for name in names[half:][:tenth]
    ]
    spec = RolloutSpec(
        "Progressive",
        min_success_time=timedelta(minutes=5),
        deadline=timedelta(minutes=10),
        concurrency=Amount(10, percent=True),
        max_failures=Amount(5, percent=True),
    )
    return rollout_of(spec, [Group(0, "", tuple(names))], soaked + moving, "r")


def run() -> Iterator[Figure]:
    for label, size in SIZES:
        rollout = midway(size)
        seconds = fastest(partial(decide, rollout, NOW))
        yield Figure(f"decide.plain.{label}", seconds * 1e6, "µs", PLAIN_TARGETS.get(label))
    for label, size in SIZES:
        yield Figure(
            f"decide.ledger.{label}", _ledger(midway(size)) * 1e6, "µs", LEDGER_TARGETS.get(label)
        )


def _ledger(rollout: Rollout) -> float:
    """One cluster succeeds, the next is chosen: the median of a hundred."""
    ledger = Ledger(rollout, NOW)
    moving = [s for s in rollout.standings.values() if s.verdict is None][:100]
    seconds: list[float] = []
    for standing in moving:
        soaked = replace(standing, health=Health.SUCCEEDED, since=NOON, verdict=Verdict.SOAKED)

        def change(soaked: Standing = soaked) -> None:
            ledger.put(soaked, NOW)
            for cluster in ledger.step(NOW).touch:
                ledger.put(Standing(cluster=cluster, revision="r", touched=NOW), NOW)

        seconds.append(fastest(change, 1))
    return sorted(seconds)[len(seconds) // 2]
