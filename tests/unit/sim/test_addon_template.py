"""The example of an add-on that is made of an AddOnTemplate, in a whole simulation."""

from pathlib import Path

import pytest

from rollout.api.load import load
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Obj,
    Ref,
)
from rollout.sim.simulate import Simulation
from tests.support.addons import said

EXAMPLE = Path(__file__).parents[3] / "examples" / "addon-template"
CANARIES = ["canary-1", "canary-2"]


@pytest.fixture(scope="module")
def example() -> Simulation:
    simulation = Simulation(load([EXAMPLE]).objects)
    simulation.run()
    return simulation


def works(example: Simulation) -> dict[str, list[Obj]]:
    """The manifests by cluster."""
    return {
        work["metadata"]["namespace"]: work["spec"]["workload"]["manifests"]
        for work in example.hub.list(MANIFEST_WORK).items
    }


def container(manifests: list[Obj]) -> Obj:
    (deployment,) = (m for m in manifests if m["kind"] == "Deployment")
    found: Obj = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def test_in_the_example_the_bad_template_is_at_the_canaries_alone(example: Simulation) -> None:
    releases = {c: container(m)["image"].partition(":")[2] for c, m in works(example).items()}

    assert len(releases) == 12
    assert {c for c, release in releases.items() if release == "1.2"} == set(CANARIES)
    assert {r for c, r in releases.items() if c not in CANARIES} == {"1.1"}


def test_in_the_example_replicas_that_are_not_ready_stop_the_rollout(example: Simulation) -> None:
    addon = example.hub.get(Ref(CLUSTER_MANAGEMENT_ADDON, "greeter"))
    (progression,) = addon["status"]["installProgressions"]
    canary = example.hub.get(Ref(MANAGED_CLUSTER_ADDON, "canary-1/greeter"))

    assert said(progression, names.ROLLOUT_HALTED)[:2] == ("True", "MaxFailuresExceeded")
    status, reason, message = said(canary["status"], names.AVAILABLE)
    assert (status, reason) == ("False", "ProbeUnavailable")
    assert message.endswith("2 but readyReplica is 0 for deployments greeters/greeter")


def test_in_the_example_each_cluster_gets_manifests_of_its_own(example: Simulation) -> None:
    manifests = works(example)["prod-07"]

    assert [m["kind"] for m in manifests] == ["Deployment", "ServiceAccount"]
    assert {m["metadata"]["namespace"] for m in manifests} == {"greeters"}
    assert container(manifests)["image"] == "registry.local/example/greeter:1.1"
    assert container(manifests)["args"] == ["--greet=good morning", "--cluster=prod-07"]


def test_in_the_example_the_cleanup_waits_for_the_end_of_the_add_on(example: Simulation) -> None:
    addon = example.hub.get(Ref(MANAGED_CLUSTER_ADDON, "prod-07/greeter"))

    assert addon["metadata"]["finalizers"] == ["addon.open-cluster-management.io/addon-pre-delete"]
