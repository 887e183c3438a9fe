"""Does Argo CD see what we see? Its health checks are run in Lua, and its generator reads our decisions."""

from pathlib import Path

import lupa
import pytest
import yaml

from rollout import Simulation, load
from rollout.account.states import Code, state_of
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, REPLICA_SET, Obj, Ref
from rollout.model.waits import Grade, Reason
from tests.support import make

ROOT = Path(__file__).parents[3]
CHECKS = yaml.safe_load((ROOT / "manifests" / "argocd" / "argocd-cm.yaml").read_text())["data"]
EXAMPLE = ROOT / "examples" / "argocd" / "applicationset.yaml"
HEALTH = {
    Code.DONE: "Healthy",
    Code.TOLERATED: "Healthy",
    Code.WAITING: "Progressing",
    Code.PERSON: "Suspended",
    Code.FAILED: "Degraded",
}


def health(obj: Obj) -> str:
    """What Argo CD says of an object with our check: a Lua program that is given ``obj``."""
    group = obj["apiVersion"].partition("/")[0]
    lua = lupa.LuaRuntime()
    check = lua.eval(
        "function(obj) " + CHECKS[f"resource.customizations.health.{group}_{obj['kind']}"] + " end"
    )
    found = check(lua.table_from(obj, recursive=True))
    assert found.message
    return str(found.status)


def halted(reason: Reason) -> Obj:
    """A workload that stands still for a reason, or is done, as the controller writes it."""
    obj = make.workload()
    obj["metadata"]["generation"] = 2
    done = reason.grade in (Grade.DONE, Grade.TOLERATED)
    obj["status"] = {
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": str(reason),
                "message": "m",
                "observedGeneration": 2,
            }
            for kind, status in (
                ("Progressing", "True" if reason is Reason.ROLLING_OUT else "False"),
                ("Ready", "True" if done else "False"),
            )
        ]
    }
    return obj


@pytest.mark.parametrize("reason", Reason)
def test_a_workload_is_as_healthy_as_rollout_status_says(reason: Reason) -> None:
    obj = halted(reason)

    assert health(obj) == HEALTH[state_of(obj).code]


def test_what_an_older_generation_said_counts_nothing() -> None:
    obj = halted(Reason.MAX_FAILURES_EXCEEDED)
    obj["metadata"]["generation"] = 3

    assert health(obj) == "Progressing"


def test_a_new_workload_and_a_new_placement_are_on_their_way() -> None:
    assert (health(make.workload()), health(make.placement())) == ("Progressing", "Progressing")


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    run = Simulation(load(ROOT / "examples" / "canary").objects)
    assert run.run().done
    return run


def test_what_the_engine_has_rolled_out_is_healthy(simulation: Simulation) -> None:
    assert health(simulation.hub.get(Ref(REPLICA_SET, "default/storefront"))) == "Healthy"
    assert health(simulation.hub.get(Ref(PLACEMENT, "default/all-prod"))) == "Healthy"


def test_a_placement_that_cannot_be_honoured_is_degraded() -> None:
    obj = make.placement()
    obj["status"] = {
        "conditions": [{"type": "PlacementMisconfigured", "status": "True", "message": "m"}]
    }

    assert health(obj) == "Degraded"


def test_the_generator_of_application_sets_finds_every_cluster_once_in_texts(
    simulation: Simulation,
) -> None:
    """clusterDecisionResource lists by label, and panics on values that are no text."""
    duck, applications, *_ = yaml.safe_load_all(EXAMPLE.read_text())
    generator = applications["spec"]["generators"][0]["clusterDecisionResource"]
    assert duck["data"]["apiVersion"] == PLACEMENT_DECISION.api_version
    assert duck["data"]["kind"] == PLACEMENT_DECISION.plural
    labels = generator["labelSelector"]["matchLabels"]

    found = [
        entry
        for obj in simulation.hub.list(PLACEMENT_DECISION).items
        if labels.items() <= obj["metadata"]["labels"].items()
        for entry in obj["status"][duck["data"]["statusListKey"]]
    ]

    names = [entry[duck["data"]["matchKey"]] for entry in found]
    assert len(names) == len(set(names)) == 310
    assert {type(value) for entry in found for value in entry.values()} == {str}
