"""What readers say of workloads whose clusters have values of their own."""

from datetime import UTC, datetime

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.forecast import forecast
from rollout.analysis.outcomes import End
from rollout.analysis.simulating import question, simulate
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import CLUSTER_VALUES, REPLICA_SET, Obj, Ref
from rollout.sim.scenario import Scenario
from tests.support import make
from tests.support.changes import storing
from tests.support.desk import decided

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Ref(REPLICA_SET, "default/web")
MANY = 1_000


def ten_rules() -> Obj:
    """Values that take each cluster so long that all of them take several turns of an engine."""
    text = "cluster.labels['ring'] + current + cluster.name.replace('c', 'c').upperAscii()"
    target = {"kind": "ConfigMap"}
    rules = [
        {"set": [{"target": target, "path": f"/data/key{n}", "value": f"'{n}' + cluster.name"}]}
        for n in range(9)
    ]
    rules.append({"set": [{"target": target, "path": "/data/version", "value": text}]})
    return of_rules(*rules)


def of_rules(*rules: Obj) -> Obj:
    return {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"name": "rules", "namespace": "default"},
        "spec": {
            "workload": {"kind": REPLICA_SET.name, "name": "web"},
            "rules": list(rules),
        },
    }


def test_plan_looks_at_every_cluster_however_long_rendering_takes() -> None:
    documents = [*make.fleet(MANY), ten_rules(), make.workload()]
    (plan,) = forecast(None, storing(documents), NOW).workloads

    assert plan.touches == MANY
    assert sum(each.count for each in plan.contents) + plan.unshown == MANY


def test_readers_know_every_cluster_however_long_rendering_takes() -> None:
    hub = MemoryHub(VirtualClock(NOW))
    names = [f"c{n:02}" for n in range(MANY)]
    storing([*make.clusters(MANY), *decided(*names), ten_rules(), make.workload()])(hub)
    snapshot = snapshot_of(hub, NOW)

    account = snapshot.account(WEB)
    assert account is not None
    assert account.members == MANY
    explained = explain_cluster(snapshot, f"c{MANY - 1}")
    assert explained is not None
    assert len(explained.shares[0].values) == 10


def test_plan_and_simulate_say_which_cluster_waits_for_a_value() -> None:
    setting = {"target": {"kind": "ConfigMap"}, "path": "/data/version"}
    missing = of_rules({"set": [{**setting, "value": "cluster.labels['size']"}]})
    sized = make.fleet(2)
    sized[0]["metadata"]["labels"]["size"] = "3"
    change = storing([*sized, missing, make.workload()])
    (plan,) = forecast(None, change, NOW).workloads
    short, whole = (simulate(question(change, Scenario()), whole=whole) for whole in (False, True))

    assert plan.finish.at is None
    assert plan.finish.why.startswith("ValuesMissing: not until this is corrected: c01: ")
    assert "no such key: size" in plan.finish.why
    assert short.outcome == whole.outcome
    assert (short.outcome.end, short.outcome.reason) == (End.HELD, "ValuesMissing")
    assert (short.outcome.touched, short.outcome.soaked) == (1, 1)


def test_plan_tells_a_literal_from_one_of_another_type() -> None:
    hub = MemoryHub(VirtualClock(NOW))
    target = {"target": {"kind": "ConfigMap"}, "path": "/spec/field"}
    storing([*make.fleet(2), of_rules({"set": [{**target, "literal": 1}]}), make.workload()])(hub)

    found = forecast(hub, storing([of_rules({"set": [{**target, "literal": True}]})]), NOW)

    (values,) = found.objects
    assert [(each.before, each.after) for each in values.fields] == [(1, True)]
    assert values.fields[0].after is True
    assert len(found.workloads) == 1


def test_plan_shows_each_content_where_the_first_cluster_has_no_value_of_its_own() -> None:
    some = {"labelSelector": {"matchLabels": {make.GROUP: "rest"}}}
    path = {"target": {"kind": "ConfigMap"}, "path": "/data/version"}
    rules = of_rules({"clusters": some, "set": [{**path, "literal": "own"}]})

    (plan,) = forecast(
        None, storing([*make.fleet(3, canary=1), rules, make.workload()]), NOW
    ).workloads

    assert [(each.cluster, each.count) for each in plan.contents] == [("c01", 2), ("c00", 1)]
    assert "version: own" in plan.contents[0].diff
    assert "version: own" not in plan.contents[1].diff
