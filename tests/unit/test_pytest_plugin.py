"""Can a team test its own policy with the pytest plugin? Tests of tests, each in a folder of its own."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from msgspec import structs

from rollout import Group, GroupRef, RolloutSpec, RunHistory, Standing, Step, rollout_of
from rollout.model.amounts import Amount
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.rollouts.facts import StepMade
from rollout.strategies.base import Health, Rollout
from rollout.strategies.step import decide
from tests.support import make

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
WEB = Ref(REPLICA_SET, "shop/web")
HEAD = "from rollout.pytest_plugin import assert_safe, assert_touched\nimport pytest\n"


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    """A team's folder: four clusters, two of them canaries, one at a time."""
    strategy = make.progressive(maxConcurrency=1)
    make_yaml(
        pytester.path / "fleet.yaml", *make.fleet(4, canary=2), make.workload(strategy=strategy)
    )
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    return pytester


def make_yaml(path: Path, *objects: object) -> None:
    path.write_text(yaml.safe_dump_all(objects))


def outcomes(folder: pytest.Pytester, source: str) -> tuple[dict[str, int], str]:
    """What pytest says of this test file, run as a team runs it."""
    folder.makepyfile(test_policy=HEAD + source)
    done = folder.runpytest_subprocess("-p", "no:rollout", "-p", "rollout.pytest_plugin", "-q")
    return done.parseoutcomes(), done.stdout.str()


@pytest.mark.parametrize("kind", ["virtual", "frozen"])
def test_a_good_policy_passes_in_virtual_and_in_frozen_time(
    folder: pytest.Pytester, kind: str
) -> None:
    found, said = outcomes(
        folder,
        f"""
@pytest.mark.parametrize("rollout_clock", ["{kind}"], indirect=True)
def test_all(rollout_fleet):
    fleet = rollout_fleet("fleet.yaml")
    run = fleet.run()
    assert run.last.done
    assert_touched(run, *fleet.clusters(), only=True)
    assert_touched(run, "c00", "c01", first=True, workload="web")
    assert_safe(run)
""",
    )

    assert found == {"passed": 1}, said


def test_a_bad_release_is_told_from_a_good_one_and_the_message_names_clusters(
    folder: pytest.Pytester,
) -> None:
    found, said = outcomes(
        folder,
        """
def test_fails(rollout_fleet, rollout_scenario):
    run = rollout_fleet("fleet.yaml").run(rollout_scenario(outcome="fail"))
    assert not run.last.done
    assert_touched(run, "c03", at_most=0)
""",
    )

    assert found == {"failed": 1}
    assert "c03 was not touched" in said
    assert re.search(r"\d clusters were touched: c00", said)


def test_what_a_person_has_mistyped_is_named(folder: pytest.Pytester) -> None:
    found, said = outcomes(
        folder,
        """
def test_path(rollout_fleet):
    rollout_fleet("flet.yaml")
def test_field(rollout_scenario):
    rollout_scenario(readyafter="3s")
@pytest.mark.parametrize("rollout_clock", ["melted"], indirect=True)
def test_clock(rollout_clock): ...
""",
    )

    assert found == {"failed": 2, "errors": 1}, said
    assert "flet.yaml: cannot be read" in said
    assert "readyafter" in said
    assert "rollout_clock: 'melted' is not valid: virtual or frozen" in said


def test_the_plugin_loads_nothing_of_the_engine_for_tests_that_do_not_ask(
    folder: pytest.Pytester,
) -> None:
    found, said = outcomes(
        folder,
        "def test_it():\n    import sys; assert 'rollout.sim.simulate' not in sys.modules\n",
    )

    assert found == {"passed": 1}, said


def test_the_files_of_another_release_take_the_place_of_earlier_ones(
    folder: pytest.Pytester,
) -> None:
    make_yaml(folder.path / "release.yaml", make.workload(strategy={"type": "All"}))
    found, said = outcomes(
        folder,
        """
def test_it(rollout_fleet):
    run = rollout_fleet("fleet.yaml", "release.yaml").run()
    assert len({touch.at for touch in run.history.touches}) == 1
""",
    )

    assert found == {"passed": 1}, said


def _made(rollout: Rollout, *touch: str) -> list[str]:
    """What a history says where a step touches these clusters, whatever the engine would do."""
    history, honest = RunHistory(), decide(rollout, NOON)
    step = Step(touch=touch, stages=honest.stages, passed=honest.passed)
    history.made(WEB, "p", StepMade(rollout=rollout, step=step), NOON)
    assert history.touched("web") == history.touched() == touch
    return [each.partition("shop/web: ")[2] for each in history.breaches]


SPEC = RolloutSpec(type="Progressive", concurrency=Amount(2))
GROUPS = [Group(0, "", ("c1", "c2", "c3", "c4"))]
FAILED = Standing("c1", "1", touched=NOON, health=Health.FAILED, since=NOON.replace(hour=10))


def test_a_touch_that_is_allowed_breaks_nothing() -> None:
    assert _made(rollout_of(SPEC, GROUPS), "c1", "c2") == []


def test_more_in_flight_than_the_limit_is_a_breach() -> None:
    assert _made(rollout_of(SPEC, GROUPS), "c1", "c2", "c3") == [
        "the rest has 3 in flight, 2 are allowed"
    ]


def test_a_touch_after_too_many_failures_is_a_breach() -> None:
    assert _made(rollout_of(SPEC, GROUPS, [FAILED]), "c2") == [
        "clusters are touched after too many failures: 0 are allowed"
    ]


def test_a_touch_of_a_later_stage_is_a_breach() -> None:
    groups = [Group(0, "canary", ("c1",)), Group(1, "", ("c2", "c3"))]
    spec = RolloutSpec(type="Progressive", mandatory=(GroupRef("canary"),))

    assert _made(rollout_of(spec, groups), "c2") == [
        "the rest is touched before canary #0 has passed"
    ]


def test_a_touch_of_a_held_cluster_is_a_breach() -> None:
    rollout = structs.replace(rollout_of(SPEC, GROUPS), held=frozenset({"c2"}))

    assert _made(rollout, "c2") == ["c2 is touched, though a person keeps it out"]
