import json
from pathlib import Path

import pytest

from tests.support.halted import ran
from tests.support.shapes import run


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("halted"))


def test_describe_is_the_explanation_and_what_else_there_is_to_know(state: Path) -> None:
    explained = run("explain", "rollout", "web", state=state).stdout
    found = run("describe", "mwrs", "web", state=state)

    assert found.exit_code == 0
    assert found.stdout.startswith(explained)
    assert found.stdout.removeprefix(explained) == (
        """
Strategy:  Progressive, maxConcurrency 50%, minSuccessTime 5m, progressDeadline 10m, maxFailures 1

Conditions:
  PlacementVerified=True AsExpected for 10m
  ManifestworkApplied=False NotAsExpected for 10m: 2 applied and 2 available of 4 works, 0 progressing, 0 degraded
  PlacementRolledOut=False Progressing for 10m
  Progressing=False MaxFailuresExceeded for 24s
  Ready=False MaxFailuresExceeded for 10m

Revisions:
  NUMBER   REVISION           STATE     CLUSTERS   AGE
  1        845b837f637ed182   rolling   4          10m
"""
    )


def test_describe_shows_no_copy_of_the_whole_object(state: Path) -> None:
    """An apply remembers the object in an annotation: its Secrets, too."""
    found = json.loads(run("describe", "mwrs", "web", "-o", "json", state=state).stdout)

    assert found["annotations"] == {}
    assert found["rollout"]["key"] == "default/web"


def test_what_is_not_there_is_an_error(state: Path) -> None:
    found = run("describe", "mwrs", "nope", state=state)

    assert found.exit_code == 1
    assert "not found in any namespace" in found.stderr
