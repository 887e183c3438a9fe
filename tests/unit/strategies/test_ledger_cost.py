"""At how many clusters does the ledger look for an answer, and what does it keep?"""

import threading
import tracemalloc
from datetime import datetime

import pytest

import rollout.strategies.ledger as ledger_module
from rollout.model.placement import Group
from rollout.strategies.base import Health, Phase, Standing, Timing, Verdict
from rollout.strategies.judge import Judgement, judge
from rollout.strategies.ledger import Ledger
from rollout.strategies.step import decide
from tests.support.fleets import MIN, OLD, SEC, SUCCEEDED, T0, rollout_in, spec_of, standing

MANY = 10_000
FLEET = tuple(f"c{n:05}" for n in range(MANY))


class Looks:
    """Counts how often a cluster is judged. What threads of other tests judge meanwhile does not count."""

    def __init__(self) -> None:
        self.count = 0
        self._thread = threading.get_ident()

    def judge(self, known: Standing, revision: str, timing: Timing, now: datetime) -> Judgement:
        self.count += threading.get_ident() == self._thread
        return judge(known, revision, timing, now)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    counted = Looks()
    monkeypatch.setattr(ledger_module, "judge", counted.judge)
    return counted


def big(looks: Looks, standings: list[Standing]) -> Ledger:
    spec = spec_of(limit=100, budget="100%")
    ledger = Ledger(rollout_in(spec, [Group(0, "", FLEET)], standings), T0)
    ledger.step(T0)
    looks.count = 0
    return ledger


def test_a_change_and_a_step_look_at_one_cluster_of_ten_thousand(looks: Looks) -> None:
    soaked = [standing(c, SUCCEEDED, T0 - 9 * MIN, verdict=Verdict.SOAKED) for c in FLEET[:5000]]
    flying = [standing(c, touched=T0) for c in FLEET[5000:5100]]
    ledger = big(looks, soaked + flying)

    for n in range(100):
        at = T0 + (n + 1) * SEC
        ledger.put(standing(FLEET[5000 + n], SUCCEEDED, T0, at), at)
        ledger.step(at)

    assert looks.count == 100


def test_time_looks_only_at_clusters_that_it_changes(looks: Looks) -> None:
    flying = [standing(c, touched=T0 + n * MIN) for n, c in enumerate(FLEET[:100])]
    ledger = big(looks, flying)

    for n in range(100):
        assert ledger.step(T0 + (10 + n) * MIN).count(Phase.FAILED) == n + 1

    assert looks.count == 100


def test_an_instant_that_no_longer_counts_makes_nobody_look(looks: Looks) -> None:
    ledger = big(looks, [standing(c) for c in FLEET[:100]])
    for cluster in FLEET[:100]:
        ledger.put(standing(cluster, SUCCEEDED, verdict=Verdict.SOAKED), T0)
    looks.count = 0

    ledger.step(T0 + 60 * MIN)

    assert looks.count == 0


def test_a_step_that_changes_nothing_looks_at_nobody(looks: Looks) -> None:
    ledger = big(looks, [standing(c) for c in FLEET])

    for n in range(100):
        ledger.step(T0 + n * SEC)
        ledger.admit(frozenset({str(n)}), None)

    assert looks.count == 0


def test_an_answer_costs_no_more_than_its_touches(looks: Looks) -> None:
    ledger = big(looks, [])

    for n in range(50):
        at = T0 + n * SEC
        for cluster in ledger.step(at).touch:
            ledger.put(standing(cluster, SUCCEEDED, at, verdict=Verdict.SOAKED), at)

    assert looks.count == 50 * 100


ALLOCATING = ("strategies/*.py", "support/fleets.py", "unit/strategies/test_ledger_cost.py")


def kept_by(history: int, ledger: Ledger) -> int:
    """Bytes that stay allocated after so many comings and goings of one cluster. What threads of other
    tests allocate meanwhile does not count.
    """
    tracemalloc.start()
    try:
        at = T0
        for n in range(history):
            at += SEC
            health = (Health.PROGRESSING, Health.SUCCEEDED)[n % 2]
            ledger.put(standing("m", health, T0, at), at)
            ledger.put(standing("n", Health.PROGRESSING, at, revision=OLD), at)
            ledger.drop("n", at)
            ledger.step(at)
        here = [tracemalloc.Filter(True, f"*/{place}") for place in ALLOCATING]
        found = tracemalloc.take_snapshot().filter_traces(here)
        return sum(trace.size for trace in found.statistics("filename"))
    finally:
        tracemalloc.stop()


def test_a_cluster_that_flaps_for_ever_takes_no_more_memory() -> None:
    """R8: what is kept depends on the clusters, not on what they have been through."""
    spec = spec_of(soak=30 * 24 * 60 * MIN, deadline=60 * 24 * 60 * MIN, limit="0")
    ledger = Ledger(rollout_in(spec, [Group(0, "", ("a", "m", "n", "z"))]), T0)

    assert kept_by(8000, ledger) < 100_000
    assert ledger.step(T0 + 9000 * SEC) == decide(ledger.rollout, T0 + 9000 * SEC)
