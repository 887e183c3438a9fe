"""Do the manifests say what the code needs, no more, and name only what there is?

Kustomizations are built by `build`, which knows as much of kustomize as they use.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from rollout import __version__
from rollout.dashboard import app, outlooks, what_if
from rollout.fleet.fleet import Fleet
from rollout.model.kinds import CLUSTER_PROFILE, LEASE, SHARED_DECISION, Obj
from rollout.runtime.metrics import ControllerFigures, Metrics, WorkloadFigures
from rollout.runtime.permissions import (
    ADDONS,
    ALWAYS,
    DASHBOARD,
    EXECUTORS,
    HEALTH,
    JOBS,
    PLACING,
    PROFILING,
    PUBLISHING,
    SECRETS,
    SETS,
    Permission,
)
from rollout.runtime.planners import trackers
from rollout.settings import Settings, settings

ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "manifests"
STANDALONE = (*ALWAYS, *PLACING, *SETS, *ADDONS)
NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def grants(permissions: Iterable[Permission]) -> set[tuple[str, str, str]]:
    """(group, resource, verb), each once."""
    return {(p.group, p.resource, verb) for p in permissions for verb in p.verbs}


def build(folder: Path) -> list[Obj]:
    """The objects of a kustomization: resources, components, strategic merge patches of maps."""
    return _applied(folder, [])


def _kustomization(folder: Path) -> Obj:
    (path,) = [folder / name for name in NAMES if (folder / name).is_file()]
    found: Obj = yaml.safe_load(path.read_text())
    assert set(found) <= {"apiVersion", "kind", "resources", "components", "patches"}, path
    return found


def _applied(folder: Path, objects: list[Obj]) -> list[Obj]:
    found = list(objects)
    said = _kustomization(folder)
    for resource in said.get("resources", ()):
        path = (folder / resource).resolve()
        found += build(path) if path.is_dir() else documents(path)
    for component in said.get("components", ()):
        path = (folder / component).resolve()
        assert _kustomization(path)["kind"] == "Component"
        found = _applied(path, found)
    for patch in said.get("patches", ()):
        (changes,) = documents(folder / patch["path"])
        (target,) = [obj for obj in found if _key(obj) == _key(changes)]
        found[found.index(target)] = _merged(target, changes)
    return found


def documents(path: Path) -> list[Obj]:
    return [obj for obj in yaml.safe_load_all(path.read_text()) if obj]


def _key(obj: Obj) -> tuple[str, ...]:
    meta = obj["metadata"]
    return (obj["apiVersion"], obj["kind"], meta.get("namespace", ""), meta["name"])


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    assert not isinstance(new, list), "lists merge in ways of their own"
    return new


def of_kind(objects: Iterable[Obj], kind: str) -> list[Obj]:
    return [obj for obj in objects if obj["kind"] == kind]


def granted(roles: Iterable[Obj]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for role in roles for rule in role["rules"] for group in rule["apiGroups"]
        for resource in rule["resources"] for verb in rule["verbs"]
    }  # fmt: skip


@pytest.fixture(scope="module")
def standalone() -> list[Obj]:
    return build(MANIFESTS / "standalone")


@pytest.fixture(scope="module")
def on_ocm() -> list[Obj]:
    return build(MANIFESTS / "on-ocm")


@pytest.mark.parametrize(
    ("folder", "permissions"),
    [("standalone", STANDALONE), ("on-ocm", ALWAYS)],
)
def test_what_is_granted_is_exactly_what_is_needed(
    folder: str, permissions: tuple[Permission, ...]
) -> None:
    objects = build(MANIFESTS / folder)
    everywhere = grants(p for p in permissions if not p.here)
    assert granted(of_kind(objects, "ClusterRole")) == everywhere
    assert granted(of_kind(objects, "Role")) == grants(p for p in permissions if p.here)


def test_the_components_grant_what_their_settings_need() -> None:
    for name, permissions in (
        ("placements", PLACING),
        ("sets", SETS),
        ("addons", ADDONS),
        ("health", HEALTH),
        ("multicluster", (*PUBLISHING, *PROFILING)),
        ("execute-as", EXECUTORS),
        ("jobs", JOBS),
        ("secrets", SECRETS),
        ("dashboard", DASHBOARD),
    ):
        roles = of_kind(documents(MANIFESTS / "components" / name / "rbac.yaml"), "ClusterRole")
        assert granted(roles) == grants(permissions), name


def test_whatever_is_watched_may_be_read() -> None:
    for fleet, permissions in (
        (Fleet(), ALWAYS),
        (Fleet(watches_health=True), (*ALWAYS, *HEALTH)),
        (Fleet(trackers=trackers(rolls_addons=True)), (*ALWAYS, *ADDONS)),
        (Fleet(trackers=trackers(rolls_addons=True)), DASHBOARD),
        (
            Fleet(publishes=(SHARED_DECISION, CLUSTER_PROFILE)),
            (*ALWAYS, *PUBLISHING, *PROFILING),
        ),
    ):
        allowed = grants(p for p in permissions if not p.here)
        for kind in {*fleet.watched, *fleet.wanted_kinds()}:
            for verb in ("list", "watch"):
                assert (kind.group, kind.plural, verb) in allowed, f"{verb} {kind.plural}"
    assert LEASE in Fleet(watches_health=True).watched


def test_get_is_granted_on_what_is_written_and_on_nothing_else() -> None:
    """Where the answer to a write was lost, what is there is read; nothing else is read one by one."""
    allowed = grants((*STANDALONE, *HEALTH, *PUBLISHING, *PROFILING))
    written = {
        (group, resource.removesuffix("/status"))
        for group, resource, verb in allowed
        if verb in ("create", "patch", "delete")
    }
    answered_at_once = {"tokenreviews", "subjectaccessreviews"}
    assert {(group, resource) for group, resource, verb in allowed if verb == "get"} == {
        (group, resource) for group, resource in written if resource not in answered_at_once
    }


def test_nothing_is_granted_that_gives_away_the_hub() -> None:
    for folder in ("standalone", "on-ocm"):
        for group, resource, verb in granted(
            role for role in build(MANIFESTS / folder) if role["kind"].endswith("Role")
        ):
            assert "*" not in (group, resource, verb)
            assert resource not in ("secrets", "pods", "roles", "clusterroles", "nodes")
            assert verb not in ("escalate", "bind", "impersonate", "deletecollection")


def test_the_dashboard_writes_nothing_and_reads_no_secret_with_its_own_account() -> None:
    (role,) = of_kind(
        documents(MANIFESTS / "components" / "dashboard" / "rbac.yaml"), "ClusterRole"
    )
    for _, resource, verb in granted([role]):
        assert verb in ("list", "watch") or resource in ("tokenreviews", "subjectaccessreviews")
        assert resource not in ("secrets", "configmaps", "pods")


def _dashboard_container() -> Obj:
    (found,) = of_kind(
        documents(MANIFESTS / "components" / "dashboard" / "deployment.yaml"), "Deployment"
    )
    container: Obj = found["spec"]["template"]["spec"]["containers"][0]
    return container


def test_probes_of_the_dashboard_ask_at_an_address_of_their_own() -> None:
    container = _dashboard_container()
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    options = dict(zip(container["args"][1::2], container["args"][2::2], strict=True))
    (policy,) = documents(MANIFESTS / "components" / "dashboard" / "networkpolicy.yaml")

    assert options["--listen"].endswith(f":{ports['http']}")
    assert options["--health-listen"].endswith(f":{ports['health']}")
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    assert {probe["port"] for probe in probes} == {"health"}
    assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} == set(
        ports
    )


def test_the_dashboard_may_use_what_it_and_its_processes_need() -> None:
    own = 350  # the server with 10,000 clusters, and the process that others are forked off
    beside = (
        what_if.MOST_AT_ONCE + outlooks.MOST_AT_ONCE
    ) * what_if.MEGABYTES + app.CONFIRMED_AT_ONCE * app.CONFIRMATION_MEGABYTES
    limit = _dashboard_container()["resources"]["limits"]["memory"]

    assert limit.endswith("Gi")
    assert own + beside <= int(limit[:-2]) * 1024


def test_every_role_is_bound_to_the_controller_and_to_nobody_else(standalone: list[Obj]) -> None:
    for kind in ("ClusterRole", "Role"):
        roles = {role["metadata"]["name"] for role in of_kind(standalone, kind)}
        bindings = of_kind(standalone, f"{kind}Binding")
        assert {b["roleRef"]["name"] for b in bindings if b["roleRef"]["kind"] == kind} == roles
    (account,) = of_kind(standalone, "ServiceAccount")
    for binding in standalone:
        for subject in binding.get("subjects", ()):
            assert subject == {
                "kind": "ServiceAccount",
                "name": account["metadata"]["name"],
                "namespace": account["metadata"]["namespace"],
            }


def test_a_hub_that_has_ocms_definitions_gets_those_of_our_own_kinds_alone(
    standalone: list[Obj], on_ocm: list[Obj]
) -> None:
    files = sorted((MANIFESTS / "crds").rglob("*_*.yaml"))
    ours = {documents(path)[0]["metadata"]["name"] for path in files}
    own = {documents(path)[0]["metadata"]["name"] for path in files if path.parent.name == "own"}
    found = {obj["metadata"]["name"] for obj in of_kind(standalone, "CustomResourceDefinition")}
    assert found == ours
    assert {obj["metadata"]["name"] for obj in of_kind(on_ocm, "CustomResourceDefinition")} == own
    plurals = (
        "approvals",
        "calendars",
        "clustercalendars",
        "clustervalues",
        "freezes",
        "rolloutanalyses",
        "rolloutanalysisruns",
        "rolloutnotifications",
        "rolloutrecords",
        "rolloutrevisions",
    )
    assert own == {f"{plural}.rollout-engine.io" for plural in plurals}


@pytest.mark.parametrize(("folder", "schedules"), [("standalone", True), ("on-ocm", False)])
def test_the_settings_are_settings(folder: str, schedules: bool) -> None:
    (config,) = of_kind(build(MANIFESTS / folder), "ConfigMap")
    values: dict[str, object] = {}
    for variable, value in config["data"].items():
        name = variable.removeprefix("ROLLOUT_").lower()
        assert variable.startswith("ROLLOUT_")
        assert name in Settings.model_fields, variable
        values[name] = value
    chosen = settings(values)
    assert {chosen.schedule_placements, chosen.keep_sets, chosen.roll_addons} == {schedules}
    assert chosen.watch_health is False


def test_the_deployment_is_careful(standalone: list[Obj]) -> None:
    (deployment,) = of_kind(standalone, "Deployment")
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["replicas"] == 2
    assert pod["serviceAccountName"] == of_kind(standalone, "ServiceAccount")[0]["metadata"]["name"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert settings({}).listen == f":{ports['metrics']}"
    assert settings({}).health_listen == f":{ports['health']}"
    probes = {"livenessProbe": "/healthz", "startupProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in probes.items():
        assert container[probe]["httpGet"] == {"path": path, "port": "health"}
    chosen = settings({})
    longest = chosen.stop_within_seconds + chosen.write_timeout_seconds + 5
    assert pod["terminationGracePeriodSeconds"] > longest
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    (service,) = of_kind(standalone, "Service")
    assert service["spec"]["selector"].items() <= labels.items()


def test_only_probes_and_monitoring_reach_the_controller(standalone: list[Obj]) -> None:
    (deployment,) = of_kind(standalone, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (policy,) = of_kind(standalone, "NetworkPolicy")
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    open_to = {
        port["port"]: bool(rule.get("from"))
        for rule in policy["spec"]["ingress"]
        for port in rule["ports"]
    }
    assert open_to == {"health": False, "metrics": True}
    assert open_to.keys() == {port["name"] for port in container["ports"]}


def test_one_replica_is_always_left(standalone: list[Obj]) -> None:
    (deployment,) = of_kind(standalone, "Deployment")
    (budget,) = of_kind(standalone, "PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert budget["spec"]["minAvailable"] == deployment["spec"]["replicas"] - 1


def test_the_decision_log_has_a_place_to_lie_in(standalone: list[Obj]) -> None:
    (deployment,) = of_kind(standalone, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    (volume,) = pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": "/decisions"}
    assert "sizeLimit" in volume["emptyDir"]


def test_everything_lies_in_the_namespace_that_is_made(standalone: list[Obj]) -> None:
    (namespace,) = of_kind(standalone, "Namespace")
    for obj in standalone:
        if "namespace" in obj["metadata"]:
            assert obj["metadata"]["namespace"] == namespace["metadata"]["name"]


# -- metrics -------------------------------------------------------------------------------------

NAME = re.compile(r"\b(?:rollout|scheduling)_[a-z_]+")
LABELS = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
BY = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    """Every series that a controller can have, with its labels."""
    metrics = Metrics()
    one = WorkloadFigures(
        kind="Kind",
        namespace="ns",
        name="w",
        phases={"Soaked": 1},
        blocked={"SlotsFull": 1},
        budget_used=0.0,
        finished=False,
    )
    metrics.follow(lambda: ControllerFigures((one,)), lambda: True)
    for labelled in (
        metrics.scheduling, metrics.binding, metrics.plugin, metrics.cel, metrics.plan, metrics.lag,
        metrics.plan_failures, metrics.writes, metrics.conflicts, metrics.write_seconds,
        metrics.notes, metrics.events_dropped,
    ):  # fmt: skip
        labelled.labels(*["x"] * len(labelled._labelnames))
    found: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rule_expressions() -> list[str]:
    (rules,) = documents(MANIFESTS / "prometheus" / "rules.yaml")
    return [rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]]


def dashboard() -> Obj:
    found: Obj = json.loads((MANIFESTS / "grafana" / "rollout.json").read_text())
    return found


def dashboard_expressions() -> list[str]:
    panels = [t["expr"] for panel in dashboard()["panels"] for t in panel["targets"]]
    variables = dashboard()["templating"]["list"]
    return panels + [v["query"]["query"] for v in variables if v["type"] == "query"]


@pytest.mark.parametrize("expression", [*rule_expressions(), *dashboard_expressions()])
def test_every_metric_and_label_that_is_asked_for_exists(
    expression: str, known: dict[str, set[str]]
) -> None:
    named = NAME.findall(expression)
    assert named
    labels: set[str] = set()
    for name in named:
        assert name in known, name
        labels |= known[name]
    asked = set(LABELS.findall(expression))
    for listed in BY.findall(expression):
        asked |= {label.strip() for label in listed.split(",") if label.strip()}
    assert asked <= labels, expression


@pytest.mark.parametrize("expression", [*rule_expressions(), *dashboard_expressions()])
def test_parentheses_and_quotes_are_closed(expression: str) -> None:
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)
    assert expression.count('"') % 2 == 0


def test_there_is_an_alert_for_each_trouble_that_needs_a_person() -> None:
    (rules,) = documents(MANIFESTS / "prometheus" / "rules.yaml")
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in alerts} >= {
        "RolloutStuck", "RolloutBudgetNearlyUsed", "RolloutNoLeader", "RolloutPlanFailures",
        "RolloutWriteConflicts", "RolloutDecisionLag",
    }  # fmt: skip
    for rule in alerts:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        kept = {label.strip() for listed in BY.findall(rule["expr"]) for label in listed.split(",")}
        assert used <= kept | {"kind", "namespace", "name"}, rule["alert"]


def test_the_dashboard_has_no_two_panels_in_one_place() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


# -- the image -----------------------------------------------------------------------------------


def test_the_image_does_not_run_as_root_and_starts_the_controller() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    user = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user
    assert not user[-1].startswith("0")
    assert user[-1].split(":")[0].isdigit()  # so that runAsNonRoot can be checked
    assert lines[-2:] == ['ENTRYPOINT ["rollout"]', 'CMD ["controller"]']
    copied = [word for line in lines if line.startswith("COPY ") and "--from" not in line
              for word in line.split()[1:-1]]  # fmt: skip
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_has_the_name_that_the_deployment_asks_for(standalone: list[Obj]) -> None:
    (deployment,) = of_kind(standalone, "Deployment")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert f"-t {image} " in (ROOT / "Containerfile").read_text()
    assert image == f"rollout:{__version__}"
