import json
from pathlib import Path

import pytest

from tests.support.shapes import binding, cluster_set, placement, run, workload, write


def test_every_finding_is_told_at_once_and_an_error_is_exit_code_1(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement(numberOfClusters=-1, sortBy="Size"), workload())

    result = run("validate", "-f", path)

    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert [line for line in lines if "numberOfClusters: -1" in line and ": error: " in line]
    assert [line for line in lines if "'Size'" in line and ": error: " in line]
    assert lines[-1].startswith("2 objects: 2 errors, ")


def test_warnings_alone_are_exit_code_0_unless_strict(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement())

    relaxed = run("validate", "-f", path)
    strict = run("validate", "-f", path, "--strict")

    assert ": warning: " in relaxed.stdout
    assert (relaxed.exit_code, strict.exit_code) == (0, 1)


def test_clusters_that_are_not_in_the_files_are_skipped_by_force_alone(tmp_path: Path) -> None:
    good = (Path(__file__).parent / "good_input.yaml").read_text()
    old, new = 'rollout-engine.io/paused: "false"', "rollout-engine.io/skip: c99"
    path = tmp_path / "a.yaml"
    path.write_text(good.replace(old, new))

    refused, forced = (
        run("validate", "-f", str(path), "--strict", *more) for more in ((), ("--force",))
    )

    assert (refused.exit_code, forced.exit_code) == (1, 0)
    assert "error: " in refused.stdout
    assert all(
        "no cluster of these files is called c99" in each.stdout for each in (refused, forced)
    )


def test_a_document_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    write(path, placement(numberOfClusters=-1))
    path.write_text("kind: [oops\n---\n" + path.read_text())

    result = run("validate", "-f", str(path))

    assert "not YAML" in result.stdout
    assert "numberOfClusters" in result.stdout


def test_an_expression_that_is_no_cel_is_an_error(tmp_path: Path) -> None:
    selector = {"celSelector": {"celExpressions": ["managedCluster.metadata."]}}
    path = write(tmp_path / "a.yaml", placement(predicates=[{"requiredClusterSelector": selector}]))

    result = run("validate", "-f", path)

    assert result.exit_code == 1
    assert "Syntax error" in result.stdout


def test_code_scanning_is_told_paths_as_uris(tmp_path: Path) -> None:
    path = write(tmp_path / "a b%.yaml", placement(numberOfClusters=-1))

    (one,) = json.loads(run("validate", "-f", path, "-o", "sarif").stdout)["runs"]

    uris = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in one["results"]
    ]
    assert set(uris) == {f"{tmp_path}/a%20b%25.yaml"}


@pytest.mark.parametrize("verb", ["validate", "plan", "diff", "apply", "run", "simulate"])
def test_an_object_that_is_in_the_files_twice_is_refused_by_all(tmp_path: Path, verb: str) -> None:
    state = tmp_path / "s.db"
    run("apply", "-f", write(tmp_path / "set.yaml", cluster_set()), state=state)
    one = write(tmp_path / "a.yaml", workload(), placement())
    other = write(tmp_path / "b.yaml", workload(value="2"))

    found = run(verb, "-f", one, "-f", other, state=None if verb == "validate" else state)

    assert found.exit_code == 1
    assert f"{tmp_path}/b.yaml:1" in found.output
    assert "which one counts would depend on the order in which they are read" in found.output
    assert "manifestworkreplicaset" not in run("get", "mwrs", "-o", "name", state=state).stdout


@pytest.mark.parametrize("verb", ["validate", "plan", "diff", "apply", "run", "simulate"])
def test_files_that_hold_nothing_are_named(tmp_path: Path, verb: str) -> None:
    state, path = tmp_path / "s.db", tmp_path / "empty.yaml"
    run("apply", "-f", write(tmp_path / "set.yaml", cluster_set()), state=state)
    path.write_text("# nothing\n")

    found = run(verb, "-f", str(path), state=None if verb == "validate" else state)

    assert (found.exit_code, found.stderr) == (1, f"error: no objects were found in {path}\n")


def test_a_file_that_is_not_there_is_not_to_be_corrected_but_named(tmp_path: Path) -> None:
    result = run("validate", "-f", str(tmp_path / "nofile.yaml"))

    assert result.exit_code == 1
    assert (
        "cannot be read: no such file or directory; name a file that can be read" in result.stdout
    )


def test_findings_as_json_are_a_list_of_objects(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement(numberOfClusters=-1), binding(), cluster_set())

    result = run("validate", "-f", path, "-o", "json")
    found = json.loads(result.stdout)

    assert result.exit_code == 1
    (error,) = (finding for finding in found if finding["severity"] == "error")
    assert error["path"] == "spec.numberOfClusters"
    assert error["object"] == "Placement default/fleet"
    assert error["source"] == f"{path}:{line(path, 'numberOfClusters')}"


BAD = """# a comment
kind: Placement
apiVersion: cluster.open-cluster-management.io/v1beta1
metadata:
  name: web
spec:
  tolerations:
    - key: a
    - key: b
      effect: No, 50%
"""


def line(path: str, word: str) -> int:
    """The line, from 1, in which a word stands first."""
    lines = Path(path).read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if word in text)


def test_a_finding_has_the_line_of_the_field(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(BAD)

    assert (
        f"{path}:10: error: Placement default/web spec.tolerations[1].effect"
        in run("validate", "-f", str(path)).stdout
    )


def test_findings_for_github_are_workflow_commands_of_one_line_each(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(BAD)

    result = run("validate", "-f", str(path), "-o", "github")

    assert result.exit_code == 1
    (error,) = (each for each in result.stdout.splitlines() if each.startswith("::error "))
    where, _, message = error.removeprefix("::error ").partition("::")
    assert where == f"file={path},line=10,title=Placement default/web"
    assert message.startswith("spec.tolerations[1].effect: 'No, 50%25' is not valid; accepted: one")


def test_findings_as_sarif_name_file_line_and_level(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(BAD)

    log = json.loads(run("validate", "-f", str(path), "-o", "sarif").stdout)

    (part,) = log["runs"]
    errors = [each for each in part["results"] if each["level"] == "error"]
    (rule,) = part["tool"]["driver"]["rules"]
    assert (log["version"], rule["id"]) == ("2.1.0", errors[0]["ruleId"])
    assert [each["locations"] for each in errors] == [
        [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": str(path)},
                    "region": {"startLine": 10},
                }
            }
        ]
    ]


def test_a_scenario_among_the_files_is_checked_as_one(tmp_path: Path) -> None:
    scenario = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "AgentScenario",
        "spec": {"seed": "many"},
    }

    result = run("validate", "-f", write(tmp_path / "a.yaml", scenario))

    assert result.exit_code == 1
    assert "error: AgentScenario spec.seed" in result.stdout


def test_validating_nothing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("# nothing\n")

    result = run("validate", "-f", str(path))

    assert (result.exit_code, result.stderr) == (1, f"error: no objects were found in {path}\n")


def test_validate_needs_no_state_file_and_makes_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement())

    run("validate", "-f", path, state=tmp_path / "state.db")

    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]
