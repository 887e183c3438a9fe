"""Contract checks for the tests of people who write plugins.

Call `check_filter`, `check_prioritizer` or `check_gate` in a test; it raises AssertionError with the first promise
that is broken: bounds, independence of order, no dependence on anything but the input, and answers
for no, one and many clusters.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rollout.model.approvals import parse_gate
from rollout.model.cluster import Cluster, Taint
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.placement import Group, Placement
from rollout.placement.framework import (
    MAX_SCORE,
    MIN_SCORE,
    Cycle,
    Filter,
    IndexedFilter,
    IndexedPrioritizer,
    Prioritizer,
    Rejection,
)
from rollout.placement.index import Pool
from rollout.placement.scheduler import admit_one_by_one, score_one_by_one
from rollout.strategies.base import Stage
from rollout.strategies.gates import AtGate, Gate, flaw_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sample_clusters(count: int = 12) -> list[Cluster]:
    """Clusters that differ in all that plugins commonly read; some lack everything."""
    return [
        Cluster(
            f"cluster-{i:02d}",
            labels={} if i % 5 == 0 else {"region": f"r{i % 3}", "env": ("dev", "prod")[i % 2]},
            claims={} if i % 4 == 0 else {"platform": ("AWS", "GCP")[i % 2]},
            taints=(Taint("maintenance", added=NOW - timedelta(hours=i)),) if i % 6 == 1 else (),
            allocatable={} if i % 7 == 0 else {"cpu": str(i), "memory": f"{i}Gi"},
            capacity={} if i % 7 == 0 else {"cpu": "64", "memory": "256Gi"},
            available=(True, False, None)[i % 3],
            raw={"metadata": {"name": f"cluster-{i:02d}"}, "spec": {}, "status": {}},
        )
        for i in range(count)
    ]


def sample_cycle(placement: Placement | None = None) -> Cycle:
    """A cycle in which some clusters are decided already, here and by others."""
    return Cycle(
        placement or Placement("default", "sample"),
        NOW,
        previous=frozenset({"cluster-01", "cluster-03"}),
        counts={"cluster-02": 2, "cluster-03": 1},
    )


def check_prioritizer(
    plugin: Prioritizer,
    clusters: Sequence[Cluster] | None = None,
    cycle: Cycle | None = None,
) -> None:
    """Raise AssertionError unless the prioritizer keeps every promise on these clusters."""
    some = list(sample_clusters() if clusters is None else clusters)
    given = cycle or sample_cycle()
    assert plugin.name, "a prioritizer has a name"
    for feasible in ([], some[:1], some):
        scores = dict(plugin.score(given, feasible))
        names = {c.name for c in feasible}
        stray = sorted(scores.keys() - names)
        assert not stray, f"{plugin.name} scored {stray[0]}, which is not feasible"
        for name, score in scores.items():
            fits = type(score) is int and MIN_SCORE <= score <= MAX_SCORE
            assert fits, f"{plugin.name} scored {name} with {score!r}: not {MIN_SCORE}..{MAX_SCORE}"
        again = dict(plugin.score(given, feasible))
        assert scores == again, f"{plugin.name} answers differently when asked again"
        reverse = dict(plugin.score(given, feasible[::-1]))
        assert scores == reverse, f"{plugin.name} depends on the order of the clusters"
        if isinstance(plugin, IndexedPrioritizer):
            pool = Pool.of(feasible)
            plain = score_one_by_one(plugin, given, pool)
            column = list(plugin.column(given, pool).scores)
            assert column == list(plain.scores), f"{plugin.name}.column differs from its score"


def check_filter(
    plugin: Filter, clusters: Sequence[Cluster] | None = None, cycle: Cycle | None = None
) -> None:
    """Raise AssertionError unless the filter keeps every promise on these clusters."""
    some = list(sample_clusters() if clusters is None else clusters)
    given = cycle or sample_cycle()
    assert plugin.name, "a filter has a name"
    assert "," not in plugin.name, "names of filters are joined with commas"
    verdicts = [plugin.admit(given, cluster) for cluster in some]
    for cluster, verdict in zip(some, verdicts, strict=True):
        if verdict is not None:
            assert isinstance(verdict, Rejection), f"{plugin.name} answered {verdict!r}"
            assert verdict.plugin == plugin.name, f"{plugin.name} rejects as {verdict.plugin}"
            assert verdict.reason, f"{plugin.name} rejects {cluster.name} without a reason"
            late = verdict.until is None or verdict.until > given.now
            assert late, f"{plugin.name} rejects {cluster.name} until an instant that has passed"
    again = [plugin.admit(given, cluster) for cluster in reversed(some)][::-1]
    assert verdicts == again, f"{plugin.name} answers differently when asked again"
    if isinstance(plugin, IndexedFilter):
        pool = Pool.of(some)
        plain = admit_one_by_one(plugin, given, pool)
        assert plugin.admit_all(given, pool).bits == plain.bits, f"{plugin.name}.admit_all differs"


def sample_crossing(gate: str = "before:rest=mine") -> AtGate:
    """A rollout that stands at this gate, written as in the annotation."""
    found = parse_gate(gate)
    assert found is not None, f"{gate!r} is not a gate: write before:GROUP=KIND/ARGUMENT"
    stage = Stage("rest", "the rest", groups=(Group(0, "", ("cluster-00", "cluster-01")),))
    return AtGate(
        workload=Ref(REPLICA_SET, "default/sample"),
        placement="sample",
        revision="0123456789abcdef",
        stage=stage,
        gate=found,
    )


def check_gate(plugin: Gate, crossings: Sequence[AtGate] | None = None) -> None:
    """Raise AssertionError unless the gate keeps every promise: it waits with a reason that concerns a
    stage and a message, until an instant to come or for an event, and answers the same when asked again
    or in another order.

    Args:
        crossings: where it is asked; `sample_crossing` makes one.
    """
    asked = [sample_crossing()] if crossings is None else list(crossings)
    questions = [(at, NOW + timedelta(minutes=n)) for at in asked for n in (0, 1, 60, 1440)]
    answers = [plugin.check(at, now) for at, now in questions]
    for (at, now), wait in zip(questions, answers, strict=True):
        flaw = flaw_of(wait)
        assert not flaw, f"gate {at.gate}: {flaw}"
        late = wait is None or wait.until is None or wait.until > now
        assert late, f"gate {at.gate} is shut until an instant that has passed"
    again = [plugin.check(at, now) for at, now in reversed(questions)][::-1]
    assert answers == again, "the gate answers differently when asked again"
