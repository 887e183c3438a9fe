"""What each cluster of a workload is to carry, and since when."""

from datetime import UTC, datetime, timedelta

import pytest

from rollout.api.decoding import decode
from rollout.api.values import decode_values
from rollout.model.cluster import Cluster
from rollout.model.kinds import REPLICA_SET, Obj
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason
from rollout.values import contents
from rollout.values.contents import ClusterContents
from tests.support import make

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEC = timedelta(seconds=1)


def workload(version: str = "1") -> ReplicaSet:
    found = decode(REPLICA_SET, make.workload(version=version))
    assert isinstance(found, ReplicaSet)
    return found


class Clusters:
    """Some clusters by their tiers, and what they are to carry."""

    def __init__(self, **tiers: str) -> None:
        self.contents = ClusterContents()
        self.clusters: dict[str, Cluster] = {}
        self.now = NOW
        for name, tier in tiers.items():
            self.relabel(name, tier)

    def relabel(self, name: str, tier: str) -> None:
        self.clusters[name] = Cluster(name, labels={"tier": tier})
        self.contents.touch(name)

    def follow(self, expression: str, version: str = "1") -> None:
        setting = {"target": {"kind": "ConfigMap"}, "path": "/data/version", "value": expression}
        spec: Obj = {"workload": {"name": "web"}, "rules": [{"set": [setting]}]}
        values = decode_values({"metadata": {"name": "v", "namespace": "default"}, "spec": spec})
        self.contents.follow(workload(version), (values,))

    def render(self) -> None:
        while not self.contents.render(sorted(self.clusters), self.clusters.get, self.now):
            pass

    def on(self, seconds: int) -> None:
        self.now += seconds * SEC
        self.render()

    def settling(self) -> set[str]:
        return set(self.contents.settling(lambda at: at + 60 * SEC, self.now).waits)


def test_expressions_that_take_too_much_together_say_on_which_cluster_and_how_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contents, "MOST_STEPS", 10)
    found = Clusters(**{f"c{n:02}": "a" for n in range(20)})
    found.follow("cluster.labels['tier']")
    found.render()

    wait = found.contents.unrendered["c19"]
    assert wait.reason is Reason.VALUES_INVALID
    assert wait.message.startswith("c19: the expressions of this workload's ClusterValues took ")
    assert "at most 10 are taken on all" in wait.message
    assert "c00" not in found.contents.unrendered


BY_TIER, ALIKE = "cluster.labels['tier']", "'2-' + cluster.labels['tier']"


def standing_still() -> Clusters:
    found = Clusters(c00="a", c01="a")
    found.follow(BY_TIER)
    found.render()
    found.on(100)
    assert found.settling() == set()
    return found


def test_a_cluster_whose_label_changed_waits_on_when_a_rule_changes_too() -> None:
    found = standing_still()
    found.relabel("c00", "z")
    found.on(1)
    assert found.settling() == {"c00"}

    found.follow(ALIKE)
    found.on(1)
    assert found.settling() == {"c00"}
    found.on(58)
    assert found.settling() == {"c00"}
    found.on(1)
    assert found.settling() == set()


def test_a_cluster_whose_label_changes_in_the_same_moment_as_the_template_waits() -> None:
    found = standing_still()
    found.relabel("c00", "z")
    found.follow(BY_TIER + " + current", version="2")
    found.on(1)

    assert found.settling() == {"c00"}


def test_a_label_that_changed_shortly_before_a_rule_that_reads_it_has_to_stand_as_long() -> None:
    found = standing_still()
    found.follow("'1'")
    found.render()
    found.relabel("c00", "z")
    found.on(20)
    found.clusters["c00"] = Cluster("c00", labels={"tier": "z", "other": "x"})
    found.contents.touch("c00")
    found.on(20)
    assert found.settling() == set()

    found.follow(BY_TIER)
    found.on(10)
    assert found.settling() == {"c00"}
    found.on(30)
    assert found.settling() == set(), "60 s after the label, not after the rule"


def test_a_label_that_stood_for_long_does_not_wait_for_a_rule_that_reads_it() -> None:
    found = standing_still()
    found.follow("'1'")
    found.render()
    found.relabel("c00", "z")
    found.on(1)
    found.on(60)
    assert found.settling() == set()

    found.follow(BY_TIER)
    found.on(1)
    assert found.settling() == set()


def test_a_cluster_that_changed_in_what_no_rule_reads_does_not_wait_for_a_rule_that_changes() -> (
    None
):
    found = standing_still()
    found.clusters["c00"] = Cluster("c00", labels={"tier": "a", "other": "x"})
    found.contents.touch("c00")
    found.follow(ALIKE)
    found.on(1)

    assert found.settling() == set()


def test_what_was_rendered_and_no_cluster_has_any_more_is_forgotten() -> None:
    found = standing_still()
    for number in range(50):
        found.relabel("c00", str(number))
        found.on(1)

    rendering = found.contents._rendering
    assert rendering is not None
    assert len(rendering._known) == 2
