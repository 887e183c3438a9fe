"""What `rollout diff` and `rollout plan` say of fields that change."""

import json
from pathlib import Path

import pytest

from rollout.model.kinds import Obj
from tests.support import make
from tests.support.shapes import run, write


def stored(path: Path, *objects: Obj) -> Path:
    state = path / "s.db"
    assert run("apply", "-f", write(path / "a.yaml", *objects), state=state).exit_code == 0
    return state


OLD = make.progressive(
    maxConcurrency="25%", maxFailures="10%", mandatoryDecisionGroups=[{"groupName": "a"}]
)
NEW = make.progressive(maxConcurrency="25%", maxFailures="90%")
LINES = [
    "~ ManifestWorkReplicaSet default/web configured",
    "    + metadata.annotations[rollout-engine.io/gates]: before:rest",
    '    - spec.placementRefs[0].rolloutStrategy.progressive.mandatoryDecisionGroups: [{"groupName": "a"}]',
    "    ~ spec.placementRefs[0].rolloutStrategy.progressive.maxFailures: 10% -> 90%",
]


@pytest.mark.parametrize("verb", ["diff", "plan"])
def test_each_field_that_changes_is_shown_before_and_after(tmp_path: Path, verb: str) -> None:
    state = stored(tmp_path, make.workload(strategy=OLD))
    gates = {"rollout-engine.io/gates": "before:rest"}
    new = write(tmp_path / "b.yaml", make.workload(strategy=NEW, annotations=gates))

    found = run(verb, "-f", new, state=state)

    assert found.exit_code == 10
    assert found.stdout.splitlines()[:4] == LINES


def test_nothing_differs_from_what_was_applied(tmp_path: Path) -> None:
    state = stored(tmp_path, make.workload(strategy=OLD))

    found = run("diff", "-f", str(tmp_path / "a.yaml"), state=state)

    assert (found.exit_code, found.stdout) == (0, "")


def test_the_plan_as_json_has_the_fields_too(tmp_path: Path) -> None:
    state = stored(tmp_path, make.workload(strategy=OLD))
    new = write(tmp_path / "b.yaml", make.workload(strategy=NEW))

    found = json.loads(run("plan", "-f", new, "-o", "json", state=state).stdout)

    assert found["objects"][0]["fields"][1] == {
        "path": "spec.placementRefs[0].rolloutStrategy.progressive.maxFailures",
        "before": "10%",
        "after": "90%",
    }


def test_a_change_of_a_placement_is_shown(tmp_path: Path) -> None:
    old, new = make.placement(), make.placement()
    old["spec"]["numberOfClusters"], new["spec"]["numberOfClusters"] = 4, 40
    state = stored(tmp_path, old)
    path = write(tmp_path / "b.yaml", new)

    assert "    ~ spec.numberOfClusters: 4 -> 40" in run("diff", "-f", path, state=state).stdout
