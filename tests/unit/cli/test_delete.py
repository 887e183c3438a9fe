from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.names import REPLICASET_FINALIZER
from tests.support.shapes import PLACEMENTS, T0, cluster, placement, run, stored, workload, write


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    write(tmp_path / "all.yaml", cluster("c1"), placement(), workload())
    run("apply", "-f", str(tmp_path / "all.yaml"), state=path)
    return path


def test_delete_by_kind_and_name(state: Path) -> None:
    result = run("delete", "placement", "fleet", state=state)

    assert result.stdout == f'{PLACEMENTS} "fleet" deleted\n'
    assert stored(state, "placement")["items"] == []


def test_what_is_not_there_is_an_error_and_the_rest_is_deleted(state: Path) -> None:
    result = run("delete", "placement/nope", "placement/fleet", state=state)

    assert result.exit_code == 1
    assert '"nope" not found' in result.stderr
    assert stored(state, "placement")["items"] == []


def test_what_is_not_there_can_be_no_error(state: Path) -> None:
    result = run("delete", "placement", "nope", "--ignore-not-found", state=state)

    assert (result.exit_code, result.output) == (0, "")


def test_files_are_deleted_workloads_first(state: Path, tmp_path: Path) -> None:
    result = run("delete", "-f", str(tmp_path / "all.yaml"), state=state)

    kinds = [line.partition(".")[0] for line in result.stdout.splitlines()]
    assert kinds == ["manifestworkreplicaset", "placement", "managedcluster"]
    assert stored(state, "mcl")["items"] == []


def test_an_invalid_document_still_names_what_is_to_be_deleted(state: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.yaml", placement(numberOfClusters=-1))

    assert run("delete", "-f", path, state=state).exit_code == 0


def test_a_document_that_names_nothing_is_an_error(state: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.yaml", {"kind": "Secret"}, placement())

    result = run("delete", "-f", path, state=state)

    assert result.exit_code == 1
    assert "'Secret'" in result.stderr
    assert stored(state, "placement")["items"] == []


def test_an_object_with_finalizers_is_being_deleted_until_they_are_gone(state: Path) -> None:
    hub = SqliteHub(state, VirtualClock(T0))
    ref = Ref(REPLICA_SET, "default/web")
    hub.patch(ref, {"metadata": {"finalizers": [REPLICASET_FINALIZER]}})
    hub.close()

    result = run("delete", "mwrs", "web", state=state)

    assert result.stdout.endswith(f'"web" is being deleted (waits for {REPLICASET_FINALIZER})\n')
    assert run("status", "mwrs", "web", state=state).exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give either KIND NAME, or -f PATH"),
        (["mcl"], "name the managedclusters to delete"),
        (["mcl", "c1", "-f", "x.yaml"], "give either KIND NAME, or -f PATH"),
    ],
)
def test_delete_never_guesses_what_is_meant(state: Path, words: list[str], said: str) -> None:
    result = run("delete", *words, state=state)

    assert result.exit_code == 2
    assert said in result.stderr
