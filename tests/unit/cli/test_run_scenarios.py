"""By which clock does a run go, and which scenario and seed has it?"""

from datetime import timedelta
from pathlib import Path

import pytest

from rollout.cli.clocks import ClockMode, FastClock, clock_for, parse_mode, resume
from rollout.cli.scenarios import ScenarioChoice, asked, settled
from rollout.clock import SystemClock, VirtualClock
from rollout.errors import ConfigError
from rollout.hub.base import StateKey
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from tests.support.shapes import MIN, T0, cluster, fleet, placement, run, write


def scenario(seed: object = 0, **spec: object) -> Obj:
    return {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "AgentScenario",
        "spec": {"seed": seed, **spec},
    }


# -- clocks


@pytest.mark.parametrize(
    ("text", "speed"), [("real", 1.0), ("virtual", None), ("x60", 60.0), ("x0.5", 0.5)]
)
def test_a_clock_mode_is_read(text: str, speed: float | None) -> None:
    assert parse_mode(text) == ClockMode(speed)


@pytest.mark.parametrize("text", ["", "x", "x0", "x-1", "60x", "xinf", "Real", "x1e3"])
def test_anything_else_is_no_clock_mode(text: str) -> None:
    assert parse_mode(text) is None


def test_a_fast_clock_goes_as_many_times_as_fast() -> None:
    wall = VirtualClock(T0 + 1000 * MIN)
    clock = FastClock(T0, 60.0, wall)

    wall.advance(timedelta(seconds=2))
    assert clock.now() == T0 + 2 * MIN
    clock.advance(10 * MIN)
    wall.advance(timedelta(seconds=1))
    assert clock.now() == T0 + 13 * MIN


def test_time_goes_on_where_the_run_before_left_it() -> None:
    clock = clock_for(ClockMode(None))
    hub = MemoryHub(clock)
    hub.put_state(StateKey.CLOCK, b"2026-03-01T00:00:00.000001Z")

    resume(clock, hub)

    assert clock.now().isoformat() == "2026-03-01T00:00:00.000001+00:00"


def test_over_objects_of_wall_time_virtual_time_begins_now() -> None:
    """Else what was applied an hour ago would lie in the future."""
    wall = SystemClock()
    hub = MemoryHub(wall)
    hub.create(Ref(MANAGED_CLUSTER, "c1"), cluster("c1"))
    clock = clock_for(ClockMode(None))

    resume(clock, hub)

    assert abs(clock.now() - wall.now()) < timedelta(minutes=1)


def test_real_time_is_refused_where_time_was_virtual() -> None:
    hub = MemoryHub(VirtualClock(T0))
    hub.put_state(StateKey.CLOCK, b"2026-03-01T00:00:00.000001Z")

    with pytest.raises(ConfigError, match="go on with --clock virtual"):
        resume(clock_for(ClockMode(1.0)), hub)


# -- scenarios


def test_a_scenario_among_the_files_is_used(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement(), scenario(7))

    assert asked(None, [path], None).scenario().spec.seed == 7


def test_a_scenario_that_is_named_wins_and_a_seed_wins_over_its_own(tmp_path: Path) -> None:
    among = write(tmp_path / "a.yaml", scenario(7))
    write(tmp_path / "b.yaml", scenario(8))

    assert asked(tmp_path / "b.yaml", [among], None).scenario().spec.seed == 8
    assert asked(tmp_path / "b.yaml", [among], 9).scenario().spec.seed == 9


def test_a_bad_scenario_is_an_error_that_says_where(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", scenario("many"))

    with pytest.raises(ConfigError, match=rf"{path}:4: spec\.seed"):
        asked(None, [path], None)
    with pytest.raises(ConfigError, match=rf"{path}:4: spec\.seed"):
        asked(Path(path), [], None)


def test_several_scenarios_among_the_files_are_not_guessed_between(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", scenario(1), scenario(2))

    result = run("run", "-f", path)

    assert result.exit_code == 2
    assert "there are several scenarios" in result.stderr


def test_a_run_that_goes_on_has_the_scenario_and_seed_it_began_with(tmp_path: Path) -> None:
    hub = MemoryHub(VirtualClock(T0))
    first = asked(None, [write(tmp_path / "a.yaml", scenario(7))], 9)

    settled(hub, first)

    assert settled(hub, ScenarioChoice()) == first
    assert settled(hub, ScenarioChoice(seed=10)) == ScenarioChoice(first.text, 10)


def test_another_scenario_brings_its_own_seed(tmp_path: Path) -> None:
    hub = MemoryHub(VirtualClock(T0))
    settled(hub, asked(None, [], 9))

    other = asked(None, [write(tmp_path / "b.yaml", scenario(8))], None)

    assert settled(hub, other).scenario().spec.seed == 8


def test_a_scenario_error_names_no_traceback(tmp_path: Path) -> None:
    path = fleet(tmp_path / "a.yaml", 1, scenario("many"))

    result = run("run", "-f", path, "--clock", "virtual")

    assert result.exit_code == 1
    assert ": spec.seed: 'many' is not valid" in result.stderr
