"""Decide one step of a rollout, with no hub and no cluster at all."""

from datetime import UTC, datetime, timedelta

from rollout import (
    Amount,
    Group,
    GroupRef,
    Health,
    RolloutSpec,
    Standing,
    decide,
    rollout_of,
)

MINUTE = timedelta(minutes=1)
noon = datetime(2030, 1, 1, 12, tzinfo=UTC)

strategy = RolloutSpec(
    type="Progressive",
    mandatory=(GroupRef("canary"),),
    concurrency=Amount(25, percent=True),
    max_failures=Amount(1),
    min_success_time=5 * MINUTE,
    deadline=10 * MINUTE,
)
groups = [
    Group(0, "canary", ("eu-1", "us-1")),
    Group(1, "", ("eu-2", "eu-3", "eu-4", "us-2", "us-3", "us-4", "us-5", "us-6")),
]

# Both canaries were written to at noon; the hub saw one succeed after a minute, the other after two.
standings = [
    Standing("eu-1", "v2", touched=noon, health=Health.SUCCEEDED, since=noon + 1 * MINUTE),
    Standing("us-1", "v2", touched=noon, health=Health.SUCCEEDED, since=noon + 2 * MINUTE),
]
rollout = rollout_of(strategy, groups, standings, revision="v2")

early = decide(rollout, now=noon + 6 * MINUTE)
print("12:06 touch", early.touch, "- look again at", f"{early.recheck_at:%H:%M}")

later = decide(rollout, now=noon + 7 * MINUTE)
print("12:07 touch", later.touch, "- passed", later.passed)
