"""Does the built package hold all that it needs, and say what it is?"""

import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
import yaml

from rollout import __version__
from rollout.api.models import MODELS
from tests.package.conftest import Command

pytestmark = pytest.mark.package


def test_the_wheel_carries_the_licence_the_type_marker_and_nothing_of_the_tests(
    built: Path,
) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = HeaderParser().parsestr(archive.read(metadata).decode())

    assert said["License-Expression"] == "Apache-2.0"
    assert said.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert said["Version"] == __version__
    assert "rollout/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"rollout", f"rollout-{__version__}.dist-info"}


def test_the_source_distribution_carries_what_its_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"LICENSE", "NOTICE", "Makefile", "constraints.txt", "tests/conftest.py"} <= names


def test_the_program_names_its_version(installed: Command) -> None:
    assert installed("rollout", "version").stdout.startswith(f"rollout {__version__} (Python 3.")


def test_the_demo_runs_to_its_end(installed: Command) -> None:
    done = installed("rollout", "demo")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].split()[1:5] == ["✔", "done", "310", "310"]


def test_the_files_of_the_demo_can_be_had_and_are_valid(installed: Command) -> None:
    assert installed("rollout", "demo", "--files", "mine").returncode == 0

    checked = installed("rollout", "validate", "-f", "mine")

    assert (checked.returncode, checked.stderr) == (0, "")
    again = installed("rollout", "demo", "--files", "mine")
    assert (again.returncode, again.stderr) == (
        1, "error: mine already exists: name a new folder\n",
    )  # fmt: skip


def test_the_kinds_that_a_controller_needs_can_be_had(installed: Command) -> None:
    found = [
        obj["spec"]["names"]["kind"]
        for obj in yaml.safe_load_all(installed("rollout", "crds").stdout)
    ]
    own = [
        obj["spec"]["group"]
        for obj in yaml.safe_load_all(installed("rollout", "crds", "--own").stdout)
    ]

    assert sorted(found) == sorted(MODELS)
    assert set(own) == {"rollout-engine.io"}


def test_the_manifests_can_be_had(installed: Command, tmp_path: Path) -> None:
    done = installed("rollout", "manifests", "deploy")

    assert done.stdout == "wrote deploy; next: kubectl apply -k deploy/standalone\n"
    assert (tmp_path / "deploy" / "standalone" / "kustomization.yaml").is_file()
