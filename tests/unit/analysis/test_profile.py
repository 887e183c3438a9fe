"""Does everybody who reads go by the profile of the engine?"""

from pathlib import Path

import pytest

from rollout.model import names
from rollout.model.kinds import LEASE
from tests.support import make
from tests.support.halted import files
from tests.support.processes import World
from tests.support.shapes import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state file after two minutes of OCM's rules; half of the clusters were touched."""
    place = tmp_path_factory.mktemp("ocm")
    found = run(
        *("run", "-f", files(place), "--profile", "ocm", "--clock", "virtual", "--for", "2m"),
        state=place / "state.db",
    )
    assert "3 progressing" in found.stdout
    return place


@pytest.mark.parametrize(
    "asked",
    [
        ("explain", "rollout", "web"),
        ("explain", "cluster", "c2"),
        ("describe", "mwrs", "web"),
        ("list",),
        ("status", "mwrs", "web"),
    ],
    ids=" ".join,
)
def test_a_reader_tells_of_the_one_stage_of_ocms_answer(
    place: Path, asked: tuple[str, ...]
) -> None:
    found = run(*asked, state=place / "state.db").stdout
    assert "all clusters" in found
    assert "soaking" not in found.lower().replace("0 of 6 soaked", "")


def test_a_plan_and_a_simulation_are_of_the_profile_of_the_last_run(place: Path) -> None:
    changed = place / "changed.yaml"
    changed.write_text((place / "fleet.yaml").read_text().replace("5m", "6m"))
    planned = run("plan", "-f", str(changed), state=place / "state.db").stdout
    assert "not worked out in profile ocm" in planned
    simulated = run("simulate", "-f", str(changed), state=place / "state.db").stdout
    assert "decided in profile ocm" in simulated


def test_a_verb_that_ocm_knows_nothing_of_is_refused_where_the_engine_goes_by_ocm(
    place: Path,
) -> None:
    found = run("skip", "mwrs", "web", "c2", state=place / "state.db")
    assert found.exit_code == 1
    assert "--profile ocm" in found.stderr


def test_a_run_goes_on_with_the_profile_of_the_last_one(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    again = ("--clock", "virtual", "--for", "1m")
    run("run", "-f", files(tmp_path), "--profile", "ocm", *again, state=state)
    assert "3 progressing" in run("run", *again, state=state).stdout
    assert "3 progressing" not in run("run", "--profile", "strict", *again, state=state).stdout


def test_the_lease_of_the_leader_says_whose_rules_it_goes_by() -> None:
    world = World(make.fleet(1))
    first = world.start("p0", profile="ocm")
    world.on(5)
    label = {names.PROFILE_LABEL: "ocm"}
    assert world.hub.list(LEASE, None, label).items
    first.frozen = True
    world.start("p1")
    world.on(60)
    assert not world.hub.list(LEASE, None, label).items
    assert world.hub.list(LEASE, None, {names.PROFILE_LABEL: "strict"}).items
