"""What may programs rely on, and what does it say of the slips that everybody makes?"""

import logging
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import rollout
from rollout import (
    ConfigError,
    Group,
    RolloutSpec,
    Simulation,
    Standing,
    decide,
    load,
    operate,
    rollout_of,
)

ROOT = Path(__file__).parents[2]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)
GROUPS = [Group(0, "", ("c1",))]


def test_the_page_lists_what_can_be_imported_from_the_package_and_nothing_else() -> None:
    page = (ROOT / "docs" / "library.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)

    assert listed == sorted(rollout._HOME)


@pytest.mark.parametrize("name", rollout._HOME)
def test_each_name_is_where_the_package_looks_for_it_and_says_what_it_is(name: str) -> None:
    assert getattr(rollout, name).__doc__


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        rollout.simulate  # type: ignore[attr-defined]  # noqa: B018  (what is tested)


def test_each_verb_is_found_where_programs_and_the_documentation_look_for_it() -> None:
    assert dir(operate) == sorted(operate.__all__)
    assert [name for name in operate.__all__ if not hasattr(operate, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'promote'"):
        operate.promote  # noqa: B018  (what is tested)


def test_importing_the_package_loads_nothing_of_it() -> None:
    script = "import sys, rollout; print([m for m in sys.modules if m.startswith('rollout.')])"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_warnings_of_the_engine_are_not_printed_by_programs_that_set_up_no_logging() -> None:
    script = "import logging, rollout; logging.getLogger('rollout.runtime.engine').warning('held')"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stderr == ""


def test_they_are_printed_by_programs_that_do(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        logging.getLogger("rollout.runtime.engine").warning("held")

    assert caplog.messages == ["held"]


def test_a_name_where_a_tuple_of_names_belongs_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Group.clusters: 'eu-1' is not valid: a tuple"):
        Group(0, "canary", "eu-1")  # type: ignore[arg-type]


@pytest.mark.parametrize("now", [NAIVE, "2030-01-01T12:00:00Z"])
def test_an_instant_without_a_timezone_is_refused(now: Any) -> None:
    with pytest.raises(ConfigError, match=r"now: .* a time with a timezone"):
        decide(rollout_of(RolloutSpec(), GROUPS), now=now)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        pytest.param(load(ROOT / "examples" / "canary"), "Loaded", id="without .objects"),
        pytest.param("examples/canary", "str", id="a path"),
        pytest.param({"kind": "Placement"}, "dict", id="one object"),
    ],
)
def test_a_simulation_of_what_is_no_list_of_objects_is_refused(given: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=rf"documents: {named} is not valid: .*\.objects"):
        Simulation(given)


@pytest.mark.parametrize(
    "standing",
    [
        pytest.param(Standing("c1", "1", touched=NAIVE), id="touched"),
        pytest.param(Standing("c1", "1", touched=NOON, since=NAIVE), id="since"),
    ],
)
def test_a_standing_without_a_timezone_is_refused(standing: Standing) -> None:
    with pytest.raises(ConfigError, match=r"Standing.\w+ of c1: .* a time with a timezone"):
        rollout_of(RolloutSpec(), GROUPS, [standing])


def test_one_path_can_be_loaded_as_well_as_several() -> None:
    one = ROOT / "examples" / "canary"

    assert load(str(one)).objects == load(one).objects == load([one]).objects


def test_errors_that_nobody_looked_at_are_raised_where_the_objects_are_used() -> None:
    found = load("no/such/folder")

    with pytest.raises(ConfigError, match="no/such/folder: cannot be read"):
        Simulation(found.objects)


def test_a_run_says_whether_it_is_done_and_how_each_workload_stands() -> None:
    last = Simulation(load(ROOT / "examples" / "canary").objects).run()

    assert (last.done, last.code) == (True, 0)
    assert last.workload("storefront") is last.workload("default/storefront")
    with pytest.raises(ConfigError, match="'web' names 0 workloads; there are: default/storefront"):
        last.workload("web")


def test_a_run_of_no_workload_is_not_done() -> None:
    assert not Simulation([]).run().done
