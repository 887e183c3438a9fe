"""What the command line says of add-ons."""

from pathlib import Path
from typing import Any

import pytest

from rollout.cli.verdict import Code, verdict
from rollout.model import names
from rollout.model.kinds import Obj
from tests.addons import addon, installed_at
from tests.cli.shapes import run

EXAMPLE = Path(__file__).parents[1] / "examples" / "addon-canary"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, run to its end."""
    path = tmp_path_factory.mktemp("addon") / "state.db"
    result = run("run", "--clock", "virtual", "-f", str(EXAMPLE), state=path)
    assert result.exit_code == Code.FAILED
    assert "✖ failed: MaxFailuresExceeded" in result.stdout
    return path


def test_status_says_why_an_addon_is_halted(state: Path) -> None:
    result = run("status", "cma", "helloworld", state=state)

    assert result.exit_code == Code.FAILED
    assert result.stdout.startswith("✖ helloworld: MaxFailuresExceeded: placement default/")


def test_addons_are_listed_with_the_columns_of_the_api(state: Path) -> None:
    assert run("get", "cma", state=state).stdout.splitlines() == [
        "NAME         DISPLAY NAME",
        "helloworld   Hello World",
    ]
    wide = run("get", "cma", "-o", "wide", state=state).stdout.splitlines()[1]
    assert "configured addons 0/40 progressing..., 4 failed 0 timeout." in wide
    assert "MaxFailuresExceeded" in wide


def test_addons_of_clusters_are_listed_with_the_columns_of_the_api(state: Path) -> None:
    found = run("get", "mca", "-n", "aws-west-1", state=state).stdout.splitlines()

    assert found == [
        "NAME         AVAILABLE   DEGRADED   PROGRESSING",
        "helloworld   False                  False",
    ]


def test_a_run_that_is_taken_up_again_after_its_end_changes_nothing(state: Path) -> None:
    before = run("get", "mca", "-A", "-o", "json", state=state).stdout
    run("run", "--clock", "virtual", state=state)

    assert run("get", "mca", "-A", "-o", "json", state=state).stdout == before


def told(*conditions: Obj, generation: int = 1, **more: Any) -> Obj:
    """An add-on over one placement, of which this is said."""
    obj = addon(placements=[installed_at()], **more)
    progression = {"namespace": "default", "name": "p", "conditions": list(conditions)}
    return {
        **obj,
        "metadata": {**obj["metadata"], "generation": generation},
        "status": {"installProgressions": [progression]},
    }


def halted(status: str, reason: str) -> Obj:
    return {
        "type": names.ROLLOUT_HALTED,
        "status": status,
        "reason": reason,
        "observedGeneration": 1,
    }


@pytest.mark.parametrize(
    ("obj", "code", "reason"),
    [
        (told(halted("False", "Complete")), Code.DONE, "Complete"),
        (told(halted("False", "CompleteWithFailures")), Code.TOLERATED, "CompleteWithFailures"),
        (told(halted("False", "RollingOut")), Code.WAITING, "RollingOut"),
        (told(halted("True", "MaxFailuresExceeded")), Code.FAILED, "MaxFailuresExceeded"),
        (told(halted("True", "ConfigNotFound")), Code.PERSON, "ConfigNotFound"),
        (told(halted("True", "TornDecisions")), Code.WAITING, "TornDecisions"),
        (told(halted("False", "Complete"), generation=2), Code.WAITING, "Waiting"),
        (told(), Code.WAITING, "Waiting"),
        (addon(), Code.DONE, "Manual"),
        (addon(placements=[]), Code.PERSON, "NoTargets"),
        (told(annotations={names.ADDON_LIFECYCLE: "self"}), Code.PERSON, "NotManaged"),
        (
            {**addon(), "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            Code.FAILED,
            "Deleting",
        ),
    ],
)
def test_the_verdict_is_the_worst_of_its_placements(obj: Obj, code: Code, reason: str) -> None:
    found = verdict(obj)

    assert (found.code, found.reason) == (code, reason)
