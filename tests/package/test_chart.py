"""Does the Helm chart make the objects of the kustomizations? Rendered by Helm's own code."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from helm_python.chart import Chart, lint
from helm_python.errors import HelmError

from rollout import __version__
from rollout.model.kinds import Obj
from tests.package.conftest import ROOT
from tests.unit.project.test_manifests import build

pytestmark = pytest.mark.package

CHART = ROOT / "charts" / "rollout"
NAMESPACE = "rollout-system"
CONTROLLER = "Deployment/rollout-controller"
SETTINGS = "checksum/settings"
ON_OCM = {"components": {"placements": False, "sets": False, "addons": False}}


def rendered(values: dict[str, Any], namespace: str = NAMESPACE) -> dict[str, Obj]:
    """What Helm makes of the chart, by kind and name."""
    with Chart.load(CHART) as chart:
        files = chart.render(values, name="rollout", namespace=namespace)
    found = [
        obj
        for name, text in files.items()
        if name.endswith(".yaml")
        for obj in yaml.safe_load_all(text)
        if obj
    ]
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in found}


def kustomized(folder: Path) -> dict[str, Obj]:
    """What kustomize makes of a folder, without what Helm brings by itself: the namespace and the CRDs."""
    return {
        f"{obj['kind']}/{obj['metadata']['name']}": obj
        for obj in build(folder)
        if obj["kind"] not in ("Namespace", "CustomResourceDefinition")
    }


@pytest.mark.parametrize(
    ("values", "folders"),
    [
        pytest.param({}, {"resources": ["standalone"]}, id="a hub of its own"),
        pytest.param(ON_OCM, {"resources": ["on-ocm"]}, id="on OCM"),
        pytest.param(
            {"dashboard": {"enabled": True}},
            {"resources": ["standalone"], "components": ["components/dashboard"]},
            id="with the dashboard",
        ),
        pytest.param(
            {"components": {"multicluster": True}},
            {"resources": ["standalone"], "components": ["components/multicluster"]},
            id="for SIG Multicluster",
        ),
        pytest.param(
            {"prometheus": {"enabled": True}},
            {"resources": ["standalone", "prometheus"]},
            id="with a PodMonitor",
        ),
    ],
)
def test_the_chart_makes_the_objects_of_the_kustomization(
    values: dict[str, Any], folders: dict[str, list[str]], tmp_path: Path
) -> None:
    whole = {key: [str(ROOT / "manifests" / each) for each in of] for key, of in folders.items()}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(whole))

    found = rendered(values)
    meta = _template(found[CONTROLLER])["metadata"]
    assert meta.pop("annotations").keys() == {SETTINGS}, "kustomize has no checksum of its settings"
    assert found == kustomized(tmp_path)


@pytest.mark.parametrize(
    "values",
    [{"settings": {"ROLLOUT_SETTLE_SECONDS": "60"}}, {"components": {"health": True}}, ON_OCM],
    ids=["a setting", "a component more", "taken over by OCM"],
)
def test_whatever_changes_the_settings_changes_the_pods(values: dict[str, Any]) -> None:
    old, new = rendered({}), rendered(values)

    assert old["ConfigMap/rollout-controller"] != new["ConfigMap/rollout-controller"]
    assert _template(old[CONTROLLER]) != _template(new[CONTROLLER])


def test_what_changes_no_setting_changes_no_pod() -> None:
    old, new = rendered({}), rendered({"replicas": 3, "prometheus": {"enabled": True}})

    assert _template(old[CONTROLLER]) == _template(new[CONTROLLER])


def test_each_shard_has_a_budget_of_its_own() -> None:
    found = rendered({"shards": 3})
    budgets = {key: obj for key, obj in found.items() if obj["kind"] == "PodDisruptionBudget"}
    deployments = {key: obj for key, obj in found.items() if obj["kind"] == "Deployment"}

    assert len(budgets) == 3
    for key, budget in budgets.items():
        assert budget["spec"]["minAvailable"] == 1
        selected = budget["spec"]["selector"]["matchLabels"].items()
        assert [
            each
            for each, obj in deployments.items()
            if selected <= _template(obj)["metadata"]["labels"].items()
        ] == [key.replace("PodDisruptionBudget", "Deployment")]


def test_a_service_monitor_takes_the_place_of_the_pod_monitor() -> None:
    found = rendered({"prometheus": {"enabled": True, "monitor": "ServiceMonitor"}})

    assert "PodMonitor/rollout" not in found
    (monitor,) = build(ROOT / "manifests" / "components" / "service-monitor")
    assert found["ServiceMonitor/rollout"] == monitor
    service = found["Service/rollout-controller-metrics"]
    assert monitor["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    assert [each["port"] for each in monitor["spec"]["endpoints"]] == [
        each["name"] for each in service["spec"]["ports"]
    ]


def test_helm_finds_nothing_wrong_with_the_chart() -> None:
    found = lint(CHART, strict=True)

    assert [each for each in found["messages"] if each["severity"] > 1] == []
    assert found["errors"] == []


def test_the_chart_brings_every_definition_and_is_of_this_version() -> None:
    with Chart.load(CHART) as chart:
        brought = {Path(each["name"]).name for each in chart.crds}
        assert (chart.metadata["version"], chart.metadata["appVersion"]) == (
            __version__,
            __version__,
        )

    assert brought == {path.name for path in (ROOT / "manifests" / "crds").rglob("*.yaml")}


def test_another_namespace_reaches_every_object() -> None:
    found = rendered({}, namespace="elsewhere")

    assert NAMESPACE not in str(found)
    assert found["ServiceAccount/rollout-controller"]["metadata"]["namespace"] == "elsewhere"


def test_every_value_has_its_effect() -> None:
    found = rendered(
        {
            "image": {
                "digest": f"sha256:{'0' * 64}",
                "pullPolicy": "Always",
                "pullSecrets": [{"name": "s"}],
            },
            "replicas": 3,
            "components": {"health": True, "execute-as": True},
            "settings": {"ROLLOUT_SETTLE_SECONDS": 19},
            "resources": {"limits": {"memory": "1Gi"}},
            "nodeSelector": {"a": "b"},
            "podLabels": {"c": "d"},
            "podAnnotations": {"e": "f"},
            "tolerations": [{"operator": "Exists"}],
            "priorityClassName": "high",
            "networkPolicy": {"monitoringNamespace": "prom"},
            "podDisruptionBudget": {"enabled": False},
            "prometheus": {"enabled": True},
            "dashboard": {"enabled": True, "resources": {"limits": {"memory": "2Gi"}}},
        }
    )
    spec = found["Deployment/rollout-controller"]["spec"]
    pod, meta = spec["template"]["spec"], spec["template"]["metadata"]
    container = pod["containers"][0]

    assert spec["replicas"] == 3
    assert (container["image"], container["imagePullPolicy"]) == (
        f"rollout@sha256:{'0' * 64}",
        "Always",
    )
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert (pod["nodeSelector"], pod["priorityClassName"]) == ({"a": "b"}, "high")
    assert (pod["tolerations"], pod["imagePullSecrets"]) == (
        [{"operator": "Exists"}],
        [{"name": "s"}],
    )
    assert (meta["labels"]["c"], meta["annotations"]["e"]) == ("d", "f")
    settings = found["ConfigMap/rollout-controller"]["data"]
    assert (settings["ROLLOUT_SETTLE_SECONDS"], settings["ROLLOUT_WATCH_HEALTH"]) == ("19", "true")
    assert "metadata.name': 'prom'" in str(found["NetworkPolicy/rollout-controller"])
    assert "PodDisruptionBudget/rollout-controller" not in found
    assert {"PodMonitor", "PrometheusRule"} <= {key.split("/")[0] for key in found}
    assert "ClusterRole/rollout-controller-execute-as" in found
    shown = found["Deployment/rollout-dashboard"]["spec"]["template"]["spec"]
    assert (shown["nodeSelector"], shown["containers"][0]["image"]) == (
        {"a": "b"},
        container["image"],
    )
    assert shown["containers"][0]["resources"] == {"limits": {"memory": "2Gi"}}


def test_each_shard_has_a_deployment_of_its_own_and_the_first_one_stays_what_it_is() -> None:
    alone, found = rendered({}), rendered({"shards": 3})
    first = "Deployment/rollout-controller"
    env = {
        key: {each["name"]: each.get("value") for each in _container(obj)["env"]}
        for key, obj in found.items()
        if obj["kind"] == "Deployment"
    }

    assert sorted(env) == [first, f"{first}-1", f"{first}-2"]
    assert [(env[key]["ROLLOUT_SHARDS"], env[key]["ROLLOUT_SHARD"]) for key in sorted(env)] == [
        ("3", "0"),
        ("3", "1"),
        ("3", "2"),
    ]
    assert found[first]["spec"]["selector"] == alone[first]["spec"]["selector"]
    assert "ROLLOUT_SHARDS" not in str(alone[first])
    for key in sorted(env)[1:]:
        spec = found[key]["spec"]
        selected = spec["selector"]["matchLabels"]
        assert selected.items() <= spec["template"]["metadata"]["labels"].items()
        assert selected["rollout-engine.io/shard"] == key[-1]


def _template(deployment: Obj) -> Obj:
    found: Obj = deployment["spec"]["template"]
    return found


def _container(deployment: Obj) -> Obj:
    found: Obj = _template(deployment)["spec"]["containers"][0]
    return found


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"shards": 17}, "/shards"),
        ({"replicas": 0}, "/replicas"),
        ({"imge": {}}, "imge"),
        ({"settings": {"settle": 1}}, "settle"),
        ({"components": {"heath": True}}, "heath"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"dashboard": True}, "/dashboard"),
        ({"prometheus": {"monitor": "Pod"}}, "/prometheus/monitor"),
    ],
)
def test_a_value_that_nobody_knows_is_refused(values: dict[str, Any], named: str) -> None:
    with Chart.load(CHART) as chart, pytest.raises(HelmError, match=named):
        chart.validate_schema(values)
