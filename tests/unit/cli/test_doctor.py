"""Does the doctor find what is wrong, and only that? A server that answers from a dictionary."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.api.crds import crd
from rollout.cli.contention import MANAGER_PATH, OURS, check_leases, check_writers
from rollout.cli.diagnosis import (
    CRD_PATH,
    WRITTEN,
    WRITTEN_OF_ADDONS,
    CheckResult,
    Level,
    check_kinds,
    keeps,
)
from rollout.cli.doctor import check_clock, examine, meant, report
from rollout.errors import Denied, Gone, Unavailable
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_PROFILE,
    KINDS,
    LEASE,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    SHARED_DECISION,
    Obj,
)
from rollout.runtime.permissions import ADDONS, ALWAYS
from rollout.settings import settings
from tests.support import make
from tests.support.multicluster import definition

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIN = timedelta(minutes=1)


def at(ago: timedelta) -> str:
    return (NOW - ago).isoformat().replace("+00:00", "Z")


def lease(
    name: str, ago: timedelta, holder: str = "pod-1", namespace: str = "rollout-system"
) -> Obj:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"holderIdentity": holder, "renewTime": at(ago), "leaseDurationSeconds": 15},
    }


def written(manager: str, part: str, ago: timedelta) -> Obj:
    return {
        "metadata": {
            "name": "x", "namespace": "ns",
            "managedFields": [{"manager": manager, "time": at(ago), "fieldsV1": {part: {}}}],
        }
    }  # fmt: skip


class Server:
    """A healthy hub; tests spoil it. Everybody may do everything but what is in ``refused``."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        for name in (*WRITTEN, *WRITTEN_OF_ADDONS):
            kind = KINDS[name]
            self.answers[f"{CRD_PATH}{kind.plural}.{kind.group}"] = crd(kind)
        self.answers[path_of(LEASE)] = {"items": [lease("rollout-controller", MIN / 12)]}
        for kind in (PLACEMENT_DECISION, REPLICA_SET, CLUSTER_MANAGEMENT_ADDON):
            part = "f:status"
            self.answers[path_of(kind)] = {"items": [written(OURS, part, MIN)]}
        self.answers[path_of(MANIFEST_WORK)] = {
            "items": [written(OURS, "f:spec", MIN), written("work", "f:status", MIN)]
        }
        self.answers[path_of(ROLLOUT_RECORD)] = {"items": []}
        self.refused: set[tuple[str, str]] = set()
        self.asked: list[Obj] = []
        self.fault: Exception | None = None

    def send(self, method: str, path: str, obj: Obj | None = None) -> bytes:
        if self.fault is not None:
            raise self.fault
        if method == "POST":
            assert obj is not None
            self.asked.append(obj)
            said = obj["spec"]["resourceAttributes"]
            allowed = (said["verb"], said["resource"]) not in self.refused
            return json.dumps({"status": {"allowed": allowed}}).encode()
        found = self.answers.get(path.partition("?")[0])
        if found is None:
            raise Gone(f"GET {path}: not found")
        if isinstance(found, Exception):
            raise found
        return json.dumps(found).encode()

    def examine(self, account: str = "", **chosen: object) -> list[CheckResult]:
        return list(examine(self.send, settings(chosen), "rollout-system", account, NOW))


@pytest.fixture
def server() -> Server:
    return Server()


def problems(found: list[CheckResult]) -> list[str]:
    return [f"{f.check}: {f.what}" for f in found if f.level is Level.PROBLEM]


def test_a_healthy_hub_has_no_problem(server: Server) -> None:
    found = server.examine()
    assert problems(found) == []
    assert {f.check for f in found if f.level is Level.OK} == {
        "kinds", "permissions", "leader", "second controller", "records",
    }  # fmt: skip


def spoil_missing(server: Server) -> None:
    del server.answers[f"{CRD_PATH}placements.cluster.open-cluster-management.io"]


def mwrs_crd(server: Server) -> Obj:
    path = f"{CRD_PATH}manifestworkreplicasets.work.open-cluster-management.io"
    server.answers[path] = copy.deepcopy(server.answers[path])
    spec: Obj = server.answers[path]["spec"]
    return spec


def spoil_version(server: Server) -> None:
    mwrs_crd(server)["versions"][0]["name"] = "v1beta9"


def spoil_subresource(server: Server) -> None:
    del mwrs_crd(server)["versions"][0]["subresources"]


def spoil_field(server: Server) -> None:
    schema = mwrs_crd(server)["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["status"]["properties"]["summary"]["properties"]["updated"]


def spoil_permission(server: Server) -> None:
    server.refused = {("patch", "manifestworks"), ("create", "leases")}


def spoil_leader(server: Server) -> None:
    server.answers[path_of(LEASE)] = {"items": [lease("rollout-controller", 5 * MIN)]}


def spoil_ocm_placement(server: Server) -> None:
    server.answers[path_of(LEASE)]["items"].append(
        lease("placement-lock", MIN / 6, "ocm-pod", "open-cluster-management-hub")
    )


def spoil_decisions(server: Server) -> None:
    server.answers[path_of(PLACEMENT_DECISION)]["items"].append(
        written("placement", "f:status", MIN)
    )


def spoil_works(server: Server) -> None:
    server.answers[path_of(MANIFEST_WORK)]["items"].append(written("work", "f:spec", MIN))


def spoil_workloads(server: Server) -> None:
    server.answers[path_of(REPLICA_SET)]["items"].append(written("work", "f:status", MIN))


def manage(server: Server, workloads: str, addons: str) -> None:
    """A ClusterManager with these modes of its gates; "" where it does not say."""
    parts = {
        "workConfiguration": ("ManifestWorkReplicaSet", workloads),
        "addOnManagerConfiguration": ("AddonManagement", addons),
    }
    spec = {
        part: {"featureGates": [{"feature": feature, "mode": mode}] if mode else []}
        for part, (feature, mode) in parts.items()
    }
    path = "/apis/operator.open-cluster-management.io/v1/clustermanagers"
    server.answers[path] = {"items": [{"metadata": {"name": "cm"}, "spec": spec}]}


def spoil_gate(server: Server) -> None:
    manage(server, "Enable", "Disable")


def spoil_addon_gate(server: Server) -> None:
    manage(server, "", "Enable")


def spoil_addon_gate_that_is_not_set(server: Server) -> None:
    manage(server, "Disable", "")


def spoil_addons(server: Server) -> None:
    page = written("addon-manager", "f:status", MIN)
    del page["metadata"]["namespace"]
    server.answers[path_of(CLUSTER_MANAGEMENT_ADDON)]["items"].append(page)


def spoil_configurations(server: Server) -> None:
    config = {"group": "example.org", "resource": "tunings"}
    spec = {"supportedConfigs": [{**config, "defaultConfig": {"name": "t"}}]}
    server.answers[path_of(CLUSTER_MANAGEMENT_ADDON)]["items"].append(
        {"metadata": {"name": "a"}, "spec": spec}
    )
    server.refused = {("watch", "tunings")}


def spoil_field_of_addons(server: Server) -> None:
    path = f"{CRD_PATH}managedclusteraddons.addon.open-cluster-management.io"
    server.answers[path] = copy.deepcopy(server.answers[path])
    schema = server.answers[path]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["status"]["properties"]["configReferences"]


def spoil_record(server: Server) -> None:
    page = {"metadata": {"name": "r-0", "namespace": "ns"}, "data": {"clusters.json": "{"}}
    server.answers[path_of(ROLLOUT_RECORD)]["items"].append(page)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_missing, "kinds: not installed: placements.cluster"),
        (spoil_version, "does not serve v1alpha1 (it serves v1beta9)"),
        (spoil_subresource, "has no status subresource"),
        (spoil_field, "prunes status.summary.updated"),
        (spoil_permission, "create leases.coordination.k8s.io in namespace rollout-system"),
        (spoil_leader, "nobody leads"),
        (spoil_ocm_placement, "OCM's placement controller is alive: ocm-pod holds"),
        (spoil_decisions, "placement wrote the status of a PlacementDecision"),
        (spoil_works, "work wrote the spec of a ManifestWork"),
        (spoil_workloads, "work wrote the status of a ManifestWorkReplicaSet"),
        (spoil_gate, "the ClusterManager cm enables OCM's ManifestWorkReplicaSet controller"),
        (spoil_addon_gate, "the ClusterManager cm enables OCM's add-on manager"),
        (spoil_addon_gate_that_is_not_set, "the ClusterManager cm enables OCM's add-on manager"),
        (spoil_addons, "addon-manager wrote the status of a ClusterManagementAddOn at"),
        (spoil_configurations, "may not watch tunings.example.org"),
        (spoil_field_of_addons, "prunes status.configReferences[]"),
        (spoil_record, "cannot be read: ns/r-0"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_each_trouble_is_one_problem_with_a_way_out(
    spoil: Callable[[Server], None], said: str, server: Server
) -> None:
    spoil(server)
    found = server.examine()
    (problem,) = problems(found)
    assert said in problem
    assert all(f.fix for f in found if f.level is Level.PROBLEM)
    assert report(found, "text") == 1


@pytest.mark.parametrize(
    ("typed", "sets", "addons"),
    [
        ({}, True, True),
        ({"schedule_placements": False}, False, False),
        ({"schedule_placements": False, "keep_sets": True}, True, False),
        ({"roll_addons": False}, True, False),
    ],
)
def test_a_controller_that_does_not_schedule_leaves_sets_and_addons_to_others_too(
    typed: dict[str, bool], sets: bool, addons: bool
) -> None:
    chosen = meant(typed)
    assert (chosen.keep_sets, chosen.roll_addons) == (sets, addons)


def test_a_hub_may_do_without_addons(server: Server) -> None:
    for name in WRITTEN_OF_ADDONS:
        kind = KINDS[name]
        del server.answers[f"{CRD_PATH}{kind.plural}.{kind.group}"]
    del server.answers[path_of(CLUSTER_MANAGEMENT_ADDON)]

    found = server.examine()

    assert problems(found) == []
    assert any("no add-on is installed or configured" in f.what for f in found)
    assert {f.check for f in found if f.level is Level.OK} >= {"second controller", "records"}


def test_what_is_to_be_published_for_others_must_be_installed_and_only_then(server: Server) -> None:
    assert problems(server.examine()) == []
    missing = problems(server.examine(publish_decisions=True, publish_clusters=True))
    assert [each.partition(";")[0] for each in missing] == [
        "kinds: not installed: placementdecisions.multicluster.x-k8s.io",
        "kinds: not installed: clusterprofiles.multicluster.x-k8s.io",
    ]

    for kind in (SHARED_DECISION, CLUSTER_PROFILE):
        server.answers[f"{CRD_PATH}{kind.plural}.{kind.group}"] = definition(kind)
    found = server.examine(publish_decisions=True, publish_clusters=True)
    assert problems(found) == []
    assert "clusterprofiles.multicluster.x-k8s.io can be published" in [f.what for f in found]

    server.refused.add(("create", "clusterprofiles"))
    (refused,) = problems(server.examine(publish_clusters=True))
    assert "may not create clusterprofiles.multicluster.x-k8s.io" in refused


def test_where_addons_are_left_to_ocm_they_are_nobodys_trouble(server: Server) -> None:
    spoil_addon_gate(server)
    spoil_addons(server)
    spoil_configurations(server)
    server.refused |= {(verb, p.resource) for p in ADDONS for verb in p.verbs}

    assert problems(server.examine(roll_addons=False)) == []
    assert len(problems(server.examine())) > 3


def test_what_others_wrote_long_ago_was_taken_over(server: Server) -> None:
    server.answers[path_of(PLACEMENT_DECISION)] = {
        "items": [written("placement", "f:status", timedelta(days=2))]
    }
    found = list(check_writers(server.send, NOW))
    assert problems(found) == []
    assert any("once wrote the status" in f.what for f in found)


def test_agents_may_write_the_status_of_works_and_people_the_spec_of_workloads(
    server: Server,
) -> None:
    server.answers[path_of(MANIFEST_WORK)]["items"].append(written("agent", "f:status", MIN / 60))
    server.answers[path_of(REPLICA_SET)]["items"].append(written("kubectl", "f:spec", MIN / 60))
    assert problems(list(check_writers(server.send, NOW))) == []


def test_ocms_definitions_are_no_problem_as_long_as_they_keep_what_we_write(server: Server) -> None:
    spec = mwrs_crd(server)
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["description"] = "somebody else's words"
    found = list(check_kinds(server.send))
    assert problems(found) == []
    assert [f.level for f in found if "is not ours" in f.what] == [Level.NOTE]


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"properties": {"a": {"items": {"properties": {"b": {}}}}}}, True),
        ({"properties": {"a": {"items": {"properties": {}}}}}, False),
        ({"properties": {"a": {"items": {"x-kubernetes-preserve-unknown-fields": True}}}}, True),
        ({"x-kubernetes-preserve-unknown-fields": True}, True),
        ({}, False),
    ],
)
def test_a_schema_keeps_a_field_or_prunes_it(schema: Obj, kept: bool) -> None:
    assert keeps(schema, "a[].b") is kept


def test_permissions_are_those_of_who_asks_or_of_a_service_account(server: Server) -> None:
    server.examine()
    assert {obj["kind"] for obj in server.asked} == {"SelfSubjectAccessReview"}
    server.asked.clear()
    server.examine("rollout-system/rollout-controller")
    assert {obj["kind"] for obj in server.asked} == {"SubjectAccessReview"}
    user = "system:serviceaccount:rollout-system:rollout-controller"
    assert {obj["spec"]["user"] for obj in server.asked} == {user}
    verbs = {(o["spec"]["resourceAttributes"]["verb"], o["spec"]["resourceAttributes"]["resource"])
             for o in server.asked}  # fmt: skip
    for permission in (*ALWAYS, *ADDONS):
        for verb in permission.verbs:
            assert (verb, permission.resource.partition("/")[0]) in verbs


def test_what_cannot_be_looked_at_is_told_and_the_rest_goes_on(server: Server) -> None:
    server.answers[path_of(LEASE)] = Denied("list leases: forbidden")
    found = server.examine()
    assert problems(found) == []
    assert any(f.level is Level.NOTE and "forbidden" in f.what for f in found)
    assert found[-1].check == "records"


def test_a_server_that_is_away_is_told_once(server: Server) -> None:
    server.fault = Unavailable("GET /: no answer in time")
    assert problems(server.examine()) == ["kinds: GET /: no answer in time"]


def test_leftovers_are_no_problem(server: Server) -> None:
    page = {
        "metadata": {"name": "r-0", "namespace": "ns",
                     "annotations": {"rollout-engine.io/owner": "ns/gone"}},
        "data": {"clusters.json": "{}", "head.json": "{}"},
    }  # fmt: skip
    server.answers[path_of(ROLLOUT_RECORD)]["items"].append(page)
    found = server.examine()
    assert problems(found) == []
    assert any("of workloads that are gone: ns/r-0" in f.what for f in found)


def test_a_released_lease_has_no_leader(server: Server) -> None:
    server.answers[path_of(LEASE)] = {"items": [lease("rollout-controller", MIN / 60, holder="")]}
    found = list(check_leases(server.send, "rollout-system", "rollout-controller", NOW))
    assert len(problems(found)) == 1


def test_a_hub_on_which_nobody_ever_led_is_told_as_a_note(server: Server) -> None:
    server.answers[path_of(LEASE)] = {"items": [lease("other", MIN / 60)]}
    found = list(check_leases(server.send, "rollout-system", "rollout-controller", NOW))
    assert [f.level for f in found] == [Level.NOTE]
    assert "no Lease rollout-system/rollout-controller" in found[0].what


def test_json_has_all_of_it(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    spoil_gate(server)
    assert report(server.examine(), "json") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["problems"] == 1
    assert {"check", "level", "what", "fix"} == set(said["findings"][0])
    assert report([], "json") == 0


def named_executor(server: Server) -> None:
    """An OCM hub with a workload whose works name an executor."""
    server.answers[MANAGER_PATH] = {"items": []}
    workload = make.workload()
    workload["spec"]["manifestWorkTemplate"]["executor"] = {"subject": {"type": "ServiceAccount"}}
    server.answers[path_of(REPLICA_SET)] = {"items": [workload]}


def test_a_workload_that_names_an_executor_needs_a_right_of_its_own(server: Server) -> None:
    named_executor(server)
    server.refused.add(("execute-as", "manifestworks"))

    (said,) = [f for f in server.examine() if "execute-as" in f.what]

    assert said.level is Level.PROBLEM
    assert "manifests/components/execute-as" in said.fix
    server.refused.clear()
    assert problems(server.examine()) == []


def test_where_nobody_asks_for_executors_or_names_one_the_right_is_not_needed(
    server: Server,
) -> None:
    server.refused.add(("execute-as", "manifestworks"))
    assert problems(server.examine()) == []
    named_executor(server)
    del server.answers[MANAGER_PATH]
    assert problems(server.examine()) == []


@pytest.mark.parametrize(
    ("seconds", "level"),
    [(1.9, Level.OK), (-1.9, Level.OK), (2.1, Level.PROBLEM), (-600, Level.PROBLEM)],
)
def test_a_clock_that_is_off_is_a_problem(seconds: float, level: Level) -> None:
    (said,) = check_clock(timedelta(seconds=seconds))

    assert said.level is level
    assert f"{seconds:+.1f} s" in said.what
    assert list(check_clock(None)) == []
