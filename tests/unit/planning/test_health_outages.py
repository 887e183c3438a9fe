"""How many clusters are tainted when leases run out one by one?"""

from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from random import Random

import pytest

from rollout.model.conditions import Condition, merge
from rollout.model.kinds import MANAGED_CLUSTER, Ref
from rollout.model.names import CLUSTER_AVAILABLE
from rollout.model.writes import PatchStatus
from tests.support.placing import T0
from tests.unit.planning.test_health import GRACE, PERIOD, UNREACHABLE, Health, lease

SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)
BEGIN = T0 + 5 * MIN  # of each outage
NEVER = timedelta(days=1)

Falls = Callable[[Random, int, int], timedelta]
"""After how long in the outage the cluster i of n is cut off: (chance, i, n)."""


class Outage(Health):
    """Agents renew every 1 to 1.25 periods until they are cut off; each news takes up to 20 s."""

    def __init__(self, count: int, falls: Falls) -> None:
        super().__init__(count)
        self.chance = Random(count)
        self.cut_at = {f"c{i}": BEGIN + falls(self.chance, i, count) for i in range(count)}
        self.tainted_at: dict[str, datetime] = {}
        self.events = [(T0 + GRACE, "look", name) for name in self.cut_at]
        self.events += [(T0 + self.chance.random() * PERIOD, "renew", n) for n in self.cut_at]
        heapify(self.events)

    def until(self, end: datetime) -> None:
        """Everything that happens until then, in its order."""
        while self.events[0][0] <= end:
            at, what, name = heappop(self.events)
            if what == "renew":
                self._renew(name, at)
            elif what == "hear":
                for ref in self.beats.heard(lease(name, at.isoformat()), PERIOD, at):
                    heappush(self.events, (at, "look", ref.name))
            else:
                self._look(name, at)

    def _renew(self, name: str, at: datetime) -> None:
        if at < self.cut_at[name]:
            heappush(self.events, (at + self.chance.random() * 20 * SEC, "hear", name))
            heappush(self.events, (at + self.chance.uniform(1, 1.25) * PERIOD, "renew", name))

    def _look(self, name: str, at: datetime) -> None:
        _, again = self.run(name, at)
        if self.taints(name):
            self.tainted_at.setdefault(name, at)
        elif again is not None:
            heappush(self.events, (again, "look", name))

    def is_back(self, name: str, now: datetime) -> None:
        """The agent renews again, and says that it is well."""
        known = self.cluster(name)
        assert known is not None
        self.beats.heard(lease(name, "back"), PERIOD, now)
        well = Condition(CLUSTER_AVAILABLE, "True", "ManagedClusterAvailable", "")
        status = {"conditions": merge(known.raw["status"]["conditions"], [well], now)}
        self.world.write(PatchStatus(Ref(MANAGED_CLUSTER, name), status, None))
        self.run(name, now)


def at_once(_chance: Random, _i: int, _n: int) -> timedelta:
    return timedelta(0)


def in_three_bursts(_chance: Random, i: int, _n: int) -> timedelta:
    return (i % 3) * 50 * SEC


def within_three_minutes(chance: Random, _i: int, _n: int) -> timedelta:
    return chance.random() * 3 * MIN


def one_by_one_within_20_minutes(_chance: Random, i: int, n: int) -> timedelta:
    return i * 20 * MIN / n


def two_halves_five_minutes_apart(_chance: Random, i: int, _n: int) -> timedelta:
    return (i % 2) * 5 * MIN


COUNTS = [10, 100, 1_000, 10_000]


@pytest.mark.parametrize("falls", [at_once, in_three_bursts, within_three_minutes])
@pytest.mark.parametrize("count", COUNTS)
def test_nobody_is_tainted_when_all_fall_silent_out_of_phase(count: int, falls: Falls) -> None:
    outage = Outage(count, falls)
    outage.until(BEGIN + 10 * MIN)

    assert outage.silence(BEGIN + 10 * MIN, PERIOD).missed == count
    assert outage.tainted_at == {}


@pytest.mark.parametrize("falls", [one_by_one_within_20_minutes, two_halves_five_minutes_apart])
@pytest.mark.parametrize("count", COUNTS)
def test_a_slow_outage_taints_no_more_than_the_share_that_the_brake_allows(
    count: int, falls: Falls
) -> None:
    outage = Outage(count, falls)
    outage.until(BEGIN + 30 * MIN)

    assert outage.silence(BEGIN + 30 * MIN, PERIOD).missed == count
    assert len(outage.tainted_at) * 100 <= 55 * count


@pytest.mark.parametrize("count", COUNTS)
def test_a_single_cluster_that_dies_is_tainted_at_the_very_end_of_its_grace(count: int) -> None:
    outage = Outage(count, lambda _chance, i, _n: timedelta(0) if i == 3 else NEVER)
    outage.until(BEGIN + 10 * MIN)

    heard = outage.heard_at("c3")
    assert heard is not None
    assert outage.tainted_at == {"c3": heard + GRACE}


@pytest.mark.parametrize("count", COUNTS)
def test_a_part_of_the_fleet_that_dies_together_is_tainted_within_45_s_more(count: int) -> None:
    """A third of it: more than may go unnoticed, less than what is taken for a fault of the hub."""
    outage = Outage(count, lambda _chance, i, _n: timedelta(0) if i % 3 == 2 else NEVER)
    outage.until(BEGIN + 10 * MIN)

    assert set(outage.tainted_at) == {f"c{i}" for i in range(2, count, 3)}
    for name, at in outage.tainted_at.items():
        heard = outage.heard_at(name)
        assert heard is not None
        assert timedelta(0) <= at - (heard + GRACE) <= 45 * SEC


def test_what_an_outage_tainted_before_it_showed_is_lifted_when_the_clusters_are_heard_again() -> (
    None
):
    outage = Outage(100, two_halves_five_minutes_apart)
    outage.until(BEGIN + 30 * MIN)
    wrongly = sorted(outage.tainted_at)
    assert wrongly
    assert {key for name in wrongly for key in outage.taints(name)} == {UNREACHABLE}

    for name in wrongly:
        outage.is_back(name, BEGIN + 31 * MIN)

    assert [name for name in wrongly if outage.taints(name)] == []
