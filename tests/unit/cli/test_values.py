"""What the commands say of clusters that have values of their own."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.shapes import run, write

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "values")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example, rolled out to all but the cluster that lacks a label."""
    path = str(tmp_path_factory.mktemp("values") / "state.db")
    found = run("--state", path, "run", "-f", EXAMPLE, "--clock", "virtual")
    assert found.exit_code == 4, found.output
    return path


def test_validate_names_the_cluster_that_would_be_held_and_why() -> None:
    found = run("validate", "-f", EXAMPLE)

    assert found.exit_code == 0
    assert "ValuesMissing: quito" in found.output
    assert "no such key: registry" in found.output


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("cluster.labels[", "spec.rules[0].set[0].value"),
        ("region", "undeclared reference to 'region'"),
    ],
)
def test_validate_compiles_every_expression(tmp_path: Path, wrong: str, said: str) -> None:
    text = (Path(EXAMPLE) / "values.yaml").read_text()
    known = "cluster.claims['size.zone'] == 'large' ? 9 : 3"
    (tmp_path / "values.yaml").write_text(text.replace(known, wrong))

    found = run("validate", "-f", str(tmp_path))

    assert found.exit_code == 1
    assert said in found.output


def test_validate_compiles_every_selector_without_the_workload_too(tmp_path: Path) -> None:
    text = (Path(EXAMPLE) / "values.yaml").read_text()
    wrong = "celSelector: {celExpressions: ['managedCluster.']}"
    (tmp_path / "values.yaml").write_text(
        text.replace("labelSelector:\n          matchLabels: {region: europe}", wrong)
    )

    found = run("validate", "-f", str(tmp_path))
    assert found.exit_code == 1
    assert "spec.rules[1].clusters.celSelector.celExpressions[0]" in found.output

    rollout = (Path(EXAMPLE) / "rollout.yaml").read_text()
    (tmp_path / "rollout.yaml").write_text(rollout)
    found = run("validate", "-f", str(tmp_path))
    assert found.exit_code == 1
    assert found.output.count("spec.rules[1].clusters.celSelector.celExpressions[0]") == 1


def test_validate_says_what_to_do_with_a_list(tmp_path: Path) -> None:
    text = (Path(EXAMPLE) / "values.yaml").read_text()
    (tmp_path / "values.yaml").write_text(text.replace("kind: ConfigMap", "kind: ConfigMapList"))

    found = run("validate", "-f", str(tmp_path))

    assert found.exit_code == 1
    assert "spec.rules[1].set[0].target.kind" in found.output
    assert "each of its items as a manifest of its own" in " ".join(found.output.split())


def test_plan_shows_one_diff_for_all_clusters_that_get_the_same() -> None:
    found = run("plan", "-f", EXAMPLE, "-o", "json")

    (workload,) = json.loads(found.stdout)["workloads"]
    told = [(each["cluster"], each["count"]) for each in workload["contents"]]
    assert told == [("berlin", 3), ("osaka", 2), ("ohio", 1)]
    assert "image: us.registry.example/shop/storefront:1.4.0" in workload["contents"][2]["diff"]


def test_plan_says_how_many_clusters_get_contents_that_it_does_not_show(tmp_path: Path) -> None:
    cluster = (Path(EXAMPLE) / "clusters.yaml").read_text().partition("---")[0]
    names = [f"berlin-{n:02}" for n in range(12)]
    fleet = [cluster.replace("name: berlin", f"name: {name}") for name in names]
    values = (Path(EXAMPLE) / "values.yaml").read_text().replace("Willkommen", "Hi")
    own = values.replace("literal: Hi", "value: current + cluster.name")
    for file, text in (("clusters", "---\n".join(fleet)), ("values", own)):
        (tmp_path / f"{file}.yaml").write_text(text)
    for path in Path(EXAMPLE).glob("*.yaml"):
        if path.stem not in ("clusters", "values"):
            (tmp_path / path.name).write_text(path.read_text())

    found = run("plan", "-f", str(tmp_path)).stdout

    assert found.count("1 cluster like berlin-") == 10
    assert "2 clusters with other contents: `rollout render` shows each" in found


def test_explain_shows_each_value_and_the_rule_that_gives_it(state: str) -> None:
    found = run("--state", state, "explain", "cluster", "berlin").stdout

    assert (
        "Deployment storefront /spec/replicas = 3  (ClusterValues storefront rules[0].set[0])"
        in found
    )
    assert 'ConfigMap storefront /data/greeting = "Willkommen"' in found


def test_explain_says_what_a_held_cluster_lacks(state: str) -> None:
    found = run("--state", state, "explain", "cluster", "quito").stdout

    assert "Unrendered" in found
    assert "ValuesMissing" in found
    assert "no such key: registry" in found


def test_render_prints_the_manifests_of_one_cluster(state: str) -> None:
    found = run("--state", state, "render", "storefront", "--cluster", "tokyo", "-o", "json")

    deployment, config = json.loads(found.stdout)
    assert deployment["spec"]["replicas"] == 9
    assert config["data"] == {"greeting": "Welcome"}


def test_render_says_why_there_is_nothing_to_render(state: str) -> None:
    found = run("--state", state, "render", "storefront", "--cluster", "quito")
    assert found.exit_code == 4
    assert "ValuesMissing" in found.output

    found = run("--state", state, "render", "storefront", "--cluster", "atlantis")
    assert found.exit_code == 1
    assert "no placement of" in found.output


def test_render_prints_plain_yaml_where_that_is_asked_for(state: str) -> None:
    found = run("--state", state, "render", "storefront", "--cluster", "tokyo", "-o", "yaml")

    assert "#" not in found.stdout
    assert [each["kind"] for each in yaml.safe_load_all(found.stdout)] == [
        "Deployment",
        "ConfigMap",
    ]


@pytest.fixture
def misconfigured(tmp_path: Path) -> str:
    """The example, with a rule that fits no cluster at all."""
    files = tmp_path / "files"
    files.mkdir()
    for path in Path(EXAMPLE).glob("*.yaml"):
        (files / path.name).write_text(
            path.read_text().replace("/data/greeting", "/data/greeting/x")
        )
    state = str(tmp_path / "state.db")
    run("--state", state, "run", "-f", str(files), "--clock", "virtual")
    return state


def test_render_says_why_where_no_cluster_can_be_rendered(misconfigured: str) -> None:
    found = run("--state", misconfigured, "render", "storefront", "--cluster", "tokyo")

    assert found.exit_code == 4
    assert "Misconfigured" in found.stderr
    assert "/data/greeting/x" in found.stderr
    assert found.stdout == ""


def test_explain_says_what_is_wrong_where_no_cluster_can_be_rendered(misconfigured: str) -> None:
    found = run("--state", misconfigured, "explain", "cluster", "tokyo").stdout

    assert "Misconfigured" in found
    assert "/data/greeting/x: there is no map" in " ".join(found.split())


def test_explain_says_why_a_cluster_keeps_what_it_has_where_the_rules_are_wrong(state: str) -> None:
    """In another state file: the one of the module is shared."""
    other = f"{state}.other"
    Path(other).write_bytes(Path(state).read_bytes())
    values = (
        (Path(EXAMPLE) / "values.yaml").read_text().replace("/data/greeting", "/data/greeting/x")
    )
    file = Path(f"{state}.yaml")
    file.write_text(values)
    run("--state", other, "apply", "-f", str(file))

    found = run("--state", other, "explain", "cluster", "tokyo").stdout

    assert "carries this revision" not in found
    assert "/data/greeting/x: there is no map" in " ".join(found.split())


@pytest.mark.parametrize(
    ("words", "registry"), [([], "asia"), (["--values-settle-seconds", "5"], "eu")]
)
def test_a_run_waits_for_labels_as_long_as_it_is_told(
    tmp_path: Path, words: list[str], registry: str
) -> None:
    """A label changes five minutes after the start, and the run ends half a minute later."""
    changed = {"names": ["tokyo"], "labels": {"registry": "eu.registry.example"}}
    scenario = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "AgentScenario",
        "metadata": {"name": "relabels"},
        "spec": {"fleetEvents": [{"at": "5m", "relabelClusters": changed}]},
    }
    agents, state = write(tmp_path / "agents.yaml", scenario), str(tmp_path / "state.db")
    common = ("-f", EXAMPLE, "--agents", agents, "--clock", "virtual", "--for", "330s")
    run("--state", state, "run", *common, *words)

    works = run("--state", state, "get", "manifestworks", "-n", "tokyo", "-o", "json").stdout
    assert f"{registry}.registry.example/shop/storefront" in works


def test_history_lists_revisions_and_not_the_contents_of_single_clusters(state: str) -> None:
    found = run("--state", state, "history", "storefront", "-o", "json")

    assert [each["number"] for each in json.loads(found.stdout)["revisions"]] == [1]
