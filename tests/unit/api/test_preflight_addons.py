"""What `rollout validate` says of add-ons whose Placements or configurations are in no file."""

from pathlib import Path

import pytest

from rollout.model.kinds import Obj
from tests.support.shapes import run, write

ADDONS = "addon.open-cluster-management.io"


def addon(**config: str) -> Obj:
    return {
        "apiVersion": f"{ADDONS}/v1alpha1",
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "shipper"},
        "spec": {
            "installStrategy": {
                "type": "Placements",
                "placements": [{"namespace": "default", "name": "corr", "configs": [config]}],
            }
        },
    }


def test_a_placement_and_a_configuration_that_nobody_wrote_are_named_with_their_lines(
    tmp_path: Path,
) -> None:
    config = {
        "group": ADDONS,
        "resource": "addondeploymentconfigs",
        "namespace": "default",
        "name": "shiper",
    }
    path = write(tmp_path / "a.yaml", addon(**config))

    found = run("validate", "-f", path)

    assert found.exit_code == 0
    lines = Path(path).read_text().splitlines()
    for kind, name in (("Placement", "corr"), ("AddOnDeploymentConfig", "shiper")):
        (said,) = (
            line for line in found.stdout.splitlines() if f"{kind} default/{name} is not" in line
        )
        number = int(said.removeprefix(f"{path}:").partition(":")[0])
        assert lines[number - 1].strip() == f"name: {name}"


def test_a_configuration_of_a_kind_of_somebody_else_is_not_looked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", addon(group="example.org", resource="tunings", name="x"))

    assert "tunings" not in run("validate", "-f", path).stdout


@pytest.mark.parametrize("option", ["--state", "--context", "--kubeconfig"])
def test_a_hub_cannot_be_named_where_files_alone_are_checked(tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "a.yaml", addon())

    found = run("validate", "-f", path, option, "x")

    assert found.exit_code == 2
    assert f"leave out {option}" in found.stderr
