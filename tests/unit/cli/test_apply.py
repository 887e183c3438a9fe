from pathlib import Path

import pytest

from rollout.cli.options import Options
from rollout.cli.store import open_hub
from rollout.clock import SystemClock
from rollout.errors import Invalid
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import PLACEMENT, Obj, Ref
from tests.support.shapes import (
    PLACEMENTS,
    binding,
    cluster,
    cluster_set,
    condition,
    placement,
    run,
    stored,
    workload,
    write,
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_apply_says_created_then_unchanged_then_configured(state: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement(numberOfClusters=3))

    first = run("apply", "-f", path, state=state)
    second = run("apply", "-f", path, state=state)
    write(tmp_path / "a.yaml", placement(numberOfClusters=4))
    third = run("apply", "-f", path, state=state)

    assert [first.stdout, second.stdout, third.stdout] == [
        f"{PLACEMENTS}/fleet created\n",
        f"{PLACEMENTS}/fleet unchanged\n",
        f"{PLACEMENTS}/fleet configured\n",
    ]
    assert (first.exit_code, second.exit_code, third.exit_code) == (0, 0, 0)
    assert stored(state, "placement", "fleet")["metadata"]["generation"] == 2


def test_defaults_are_stored_and_do_not_make_a_second_apply_a_change(
    state: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.yaml", workload(strategy={"type": "Progressive", "progressive": {}}))

    run("apply", "-f", path, state=state)
    second = run("apply", "-f", path, state=state)

    assert second.stdout.endswith("/web unchanged\n")
    assert stored(state, "mwrs", "web")["spec"]["cascadeDeletionPolicy"] == "Background"


def test_a_field_that_the_file_no_longer_has_is_removed(state: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement(numberOfClusters=3, clusterSets=["a"]))
    run("apply", "-f", path, state=state)

    write(tmp_path / "a.yaml", placement(clusterSets=["a"]))
    run("apply", "-f", path, state=state)

    assert "numberOfClusters" not in stored(state, "placement", "fleet")["spec"]


def test_objects_are_applied_in_the_order_of_their_dependence(state: Path, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.yaml", workload(), placement(), cluster("c1"), binding(), cluster_set()
    )

    told = run("apply", "-f", path, state=state).stdout.split()[::2]

    assert [line.partition(".")[0] for line in told] == [
        "managedclusterset",
        "managedclustersetbinding",
        "managedcluster",
        "placement",
        "manifestworkreplicaset",
    ]


def test_good_documents_are_applied_though_others_are_bad(state: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    write(bad, placement("wrong", numberOfClusters=-1, sortBy="Size"), placement("right"))
    bad.write_text(bad.read_text() + "---\nkind: [oops\n")

    result = run("apply", "-f", str(bad), state=state)

    assert result.exit_code == 1
    assert result.stdout == f"{PLACEMENTS}/right created\n"
    errors = result.stderr.splitlines()
    assert errors[0].startswith(
        f"error: {bad}:7: Placement default/wrong: spec.numberOfClusters: -1"
    )
    assert "spec.sortBy: 'Size'" in errors[1]
    assert "not YAML" in errors[2]
    assert len(errors) == 3


def test_a_status_in_a_file_is_stored_as_agents_would_report_it(
    state: Path, tmp_path: Path
) -> None:
    joined = condition("ManagedClusterJoined", "True", "Joined")
    path = write(tmp_path / "a.yaml", cluster("c1", conditions=[joined]))

    first = run("apply", "-f", path, state=state)
    second = run("apply", "-f", path, state=state)

    assert (first.stdout.split()[1], second.stdout.split()[1]) == ("created", "unchanged")
    assert stored(state, "mcl", "c1")["status"] == {"conditions": [joined]}


def test_a_file_cannot_say_that_a_workload_is_rolled_out(state: Path, tmp_path: Path) -> None:
    claimed: Obj = {
        **workload(),
        "status": {"conditions": [condition("Ready", "True", "RolledOut")]},
    }

    run("apply", "-f", write(tmp_path / "a.yaml", claimed), state=state)

    assert run("status", "mwrs", "web", state=state).exit_code == 3


def test_what_get_prints_can_be_applied_again(state: Path, tmp_path: Path) -> None:
    run("apply", "-f", write(tmp_path / "a.yaml", placement(), cluster("c1")), state=state)
    printed = run("get", "placement,mcl", "-o", "yaml", state=state).stdout

    again = run("apply", "-f", "-", state=state, stdin=printed)
    once_more = run("apply", "-f", "-", state=state, stdin=printed)

    assert again.stdout.split()[1::2] == ["configured"] * 2  # defaults are now asked for
    assert once_more.stdout.split()[1::2] == ["unchanged"] * 2
    assert stored(state, "placement", "fleet")["metadata"]["generation"] == 1


def test_n_gives_a_namespace_to_objects_without_one(state: Path, tmp_path: Path) -> None:
    obj = placement()
    del obj["metadata"]["namespace"]

    run("apply", "-n", "prod", "-f", write(tmp_path / "a.yaml", obj), state=state)

    assert stored(state, "placement", "fleet", "-n", "prod")["metadata"]["namespace"] == "prod"


def test_n_does_not_move_an_object_that_names_another_namespace(
    state: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.yaml", placement())

    result = run("apply", "-n", "prod", "-f", path, state=state)

    assert result.exit_code == 1
    assert "metadata.namespace: 'default' is not valid: 'prod', as -n says" in result.stderr


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        (None, "metadata"),
        ({}, "metadata.name"),
        ({"name": 7}, "metadata.name"),
        ({"name": "x", "namespace": ["a"]}, "metadata.namespace"),
        ({"name": "x", "namespace": "default", "annotations": ["a"]}, "metadata.annotations"),
        ({"name": "Not-A-Name", "namespace": "default"}, "Not-A-Name"),
    ],
)
def test_metadata_of_a_wrong_shape_is_one_line_and_no_traceback(
    state: Path, tmp_path: Path, meta: object, said: str
) -> None:
    path = write(tmp_path / "a.yaml", {**placement(), "metadata": meta})

    result = run("apply", "-f", path, state=state)

    assert result.exit_code == 1
    assert said in result.stderr
    assert all(line.startswith("error: ") for line in result.stderr.splitlines())


def test_a_cluster_has_no_namespace(state: Path, tmp_path: Path) -> None:
    obj = cluster("c1")
    obj["metadata"]["namespace"] = "default"

    result = run("apply", "-f", write(tmp_path / "a.yaml", obj), state=state)

    assert "none, for a ManagedCluster" in result.stderr


def test_a_scenario_beside_the_objects_is_not_stored(state: Path, tmp_path: Path) -> None:
    scenario = {"apiVersion": "rollout-engine.io/v1alpha1", "kind": "AgentScenario"}

    result = run("apply", "-f", write(tmp_path / "a.yaml", scenario, placement()), state=state)

    assert (result.exit_code, result.stdout) == (0, f"{PLACEMENTS}/fleet created\n")


def test_a_path_that_is_not_there_is_an_error_beside_what_is(state: Path, tmp_path: Path) -> None:
    good = write(tmp_path / "a.yaml", placement())

    result = run("apply", "-f", str(tmp_path / "nope.yaml"), "-f", good, state=state)

    assert result.exit_code == 1
    assert result.stdout == f"{PLACEMENTS}/fleet created\n"
    assert "nope.yaml" in result.stderr


def test_files_without_objects_are_an_error(state: Path, tmp_path: Path) -> None:
    empty = tmp_path / "a.yaml"
    empty.write_text("# nothing\n---\n")

    result = run("apply", "-f", str(empty), state=state)

    assert (result.exit_code, result.stderr) == (1, f"error: no objects were found in {empty}\n")


def test_apply_without_a_state_file_says_how_to_name_one(tmp_path: Path) -> None:
    result = run("apply", "-f", write(tmp_path / "a.yaml", placement()))

    assert result.exit_code == 2
    assert result.stderr == (
        "error: no state file is named: give --state FILE, or set ROLLOUT_STATE; or work on an API"
        " server with --kubeconfig FILE or --context NAME\n"
    )


def test_a_state_file_that_is_something_else_is_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text("this is no database, and long enough not to look like an empty one")

    result = run("get", "mcl", state=other)

    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_every_hub_that_is_opened_checks_and_fills_in_what_any_writer_stores(state: Path) -> None:
    ref = Ref(PLACEMENT, "default/fleet")
    with open_hub(Options(state=str(state)), create=True) as (hub, _):
        made = hub.create(ref, placement())
        with pytest.raises(Invalid, match=r"spec\.numberOfClusters"):
            hub.patch(ref, {"spec": {"numberOfClusters": -1}})

        assert made["spec"]["sortBy"] == "ClusterName"
        assert hub.get(ref) == made


def test_a_status_write_is_not_refused_for_a_spec_that_has_become_invalid(state: Path) -> None:
    """A stricter version of the program must not stop agents from reporting."""
    ref = Ref(PLACEMENT, "default/fleet")
    before = SqliteHub(state, SystemClock())
    before.create(ref, placement(numberOfClusters=-1))
    before.close()

    with open_hub(Options(state=str(state))) as (hub, _):
        after = hub.patch_status(ref, {"status": {"numberOfSelectedClusters": 3}})

    assert after["status"] == {"numberOfSelectedClusters": 3}


def misspelt(kind: str = "Progressive") -> Obj:
    return workload(strategy={"type": kind, "progressive": {"maxConcurency": "25%"}})


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("validate",), id="validate"),
        pytest.param(("plan",), id="plan"),
        pytest.param(("simulate",), id="simulate"),
        pytest.param(("apply",), id="apply"),
        pytest.param(("run", "--clock", "virtual"), id="run"),
    ],
)
def test_files_with_a_misspelt_field_are_refused(
    words: tuple[str, ...], state: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.yaml", cluster_set(), binding(), placement(), misspelt())
    run("apply", "-f", write(tmp_path / "set.yaml", cluster_set("other")), state=state)

    found = run(*words, "-f", path, state=state)

    assert found.exit_code == 1
    assert "progressive.maxConcurency" in found.output
    assert "did you mean maxConcurrency?" in found.output


def test_what_is_stored_with_an_unknown_field_can_still_be_deleted_by_its_file(
    state: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.yaml", misspelt())
    run("apply", "-f", write(tmp_path / "good.yaml", workload()), state=state)

    assert run("delete", "-f", path, state=state).exit_code == 0


def test_an_annotation_of_ours_that_cannot_be_read_is_refused(state: Path, tmp_path: Path) -> None:
    asking = workload()
    asking["metadata"]["annotations"] = {"rollout-engine.io/paused": "yes"}

    found = run("apply", "-f", write(tmp_path / "a.yaml", asking), state=state)

    assert found.exit_code == 1
    assert "metadata.annotations[rollout-engine.io/paused]: 'yes' is not valid" in found.stderr
