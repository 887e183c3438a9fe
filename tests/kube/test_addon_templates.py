"""Add-ons that are made of AddOnTemplates on a real API server, with the controller as it is installed.

The first story is what OCM's own suite asks of its add-on manager, in both profiles: two clusters, one
after the other, nobody who registers agents, and a template of everything that one may hold.
"""

from typing import Any

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Obj,
    Ref,
)
from rollout.planning.templates.hooks import FINALIZER
from tests.kube.addons import OnServer, Start, desk, refused, start
from tests.kube.cluster import Cluster
from tests.kube.setting import namespace, put
from tests.support import addons, make
from tests.support.addons import (
    ADDON_API,
    CONFIGURED,
    GROUP,
    NAME,
    WAITING,
    addon,
    installed_at,
    progressive,
    refer,
)
from tests.support.templates import THERE, config_map, hook, tells, workload

pytestmark = pytest.mark.kube

__all__ = ["desk", "start"]  # fixtures

TEMPLATE = Ref(ADDON_TEMPLATE, "tpl")
USES = {"group": GROUP, "resource": "addontemplates", "name": "tpl"}
KINDS = ("addontemplates", "addondeploymentconfigs")
ONE_BY_ONE = progressive(maxConcurrency=1)
ORPHAN = {f"{GROUP}/deletion-orphan": ""}


def template(*manifests: Obj, **spec: Any) -> Obj:
    agent = {"workload": {"manifests": list(manifests)}}
    return {
        "apiVersion": ADDON_API,
        "kind": "AddOnTemplate",
        "metadata": make.meta("tpl"),
        "spec": {"addonName": NAME, "agentSpec": agent, **spec},
    }


def works(hub: KubeHub, cluster: str) -> list[Obj]:
    return [
        work
        for work in hub.list(MANIFEST_WORK).items
        if work["metadata"]["namespace"] == cluster
        and (work["metadata"].get("labels") or {}).get(names.ADDON_NAME_LABEL) == NAME
    ]


def data(hub: KubeHub, cluster: str) -> list[Obj]:
    """The data of the ConfigMaps that a cluster's work carries."""
    return [
        manifest["data"]
        for work in works(hub, cluster)
        for manifest in work["spec"]["workload"]["manifests"]
        if manifest["kind"] == "ConfigMap"
    ]


# -- what OCM's suite asks ------------------------------------------------------------------------


class Alone(OnServer):
    """The test's hands alone: nobody plays the add-on manager."""

    def _drive(self) -> None:
        self._ended.wait()


@pytest.fixture
def alone(server: Cluster, admin: KubeHub) -> Any:
    namespace(admin, "c0", "c1")
    for obj in addons.fleet("c0", "c1"):
        put(admin, obj)
    found = Alone(admin, server)
    yield found
    found.stop()


def everything() -> Obj:
    """A template of all that one may hold."""
    agent = workload(
        replicas=1,
        selector={"matchLabels": {"app": "agent"}},
    )
    pod = agent["spec"]["template"]
    pod["metadata"] = {"labels": {"app": "agent"}}
    pod["spec"]["containers"][0]["args"] = [
        "--cluster={{CLUSTER_NAME}}",
        "--kubeconfig={{HUB_KUBECONFIG}}",
        "--v={{LOG_LEVEL}}",
    ]
    agent["metadata"]["annotations"] = ORPHAN
    nodes = {
        **agent,
        "kind": "DaemonSet",
        "metadata": {**agent["metadata"], "name": "nodes"},
        "spec": {k: v for k, v in agent["spec"].items() if k != "replicas"},
    }
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "sa", "namespace": "app", "annotations": ORPHAN},
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "agent"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "app"}],
    }
    role = {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "cm-admin"}}
    signer = {"signerName": "example.com/signer", "signingCA": {"namespace": "d", "name": "ca"}}
    return template(
        agent,
        nodes,
        account,
        binding,
        hook(),
        registration=[
            {"type": "KubeClient", "kubeClient": {"hubPermissions": [role]}},
            {"type": "CustomSigner", "customSigner": signer},
        ],
    )


def setup() -> Obj:
    return {
        "apiVersion": ADDON_API,
        "kind": ADDON_DEPLOYMENT_CONFIG.name,
        "metadata": make.meta("setup", "default"),
        "spec": {
            "agentInstallNamespace": "test-install-namespace",
            "customizedVariables": [{"name": "LOG_LEVEL", "value": "4"}],
            "nodePlacement": {
                "nodeSelector": {"host": "ssd"},
                "tolerations": [{"key": "foo", "operator": "Exists", "effect": "NoExecute"}],
            },
            "registries": [{"source": "quay.io/ocm", "mirror": "quay.io/mirror"}],
        },
    }


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_template_is_deployed_cluster_by_cluster_though_nobody_registers_its_agent(
    alone: Alone, start: Start, profile: str
) -> None:
    placed = installed_at("p", USES, refer("setup"), strategy=ONE_BY_ONE)
    alone.add(everything(), setup(), addon(placements=[placed], supported=KINDS))
    process = start(ROLLOUT_PROFILE=profile)

    alone.decide(["c0", "c1"])
    alone.until("one is configured", lambda: _says(alone, "c0", CONFIGURED))
    alone.until("the other waits", lambda: _says(alone, "c1", WAITING))
    alone.until("one work", lambda: _counts(alone, 1, 0))

    alone.works_do(["c0"])
    alone.until("the other is configured", lambda: _says(alone, "c1", CONFIGURED))
    alone.until("a work each", lambda: _counts(alone, 1, 1))

    (work,) = works(alone.hub, "c1")
    manifests = {m["kind"]: m for m in work["spec"]["workload"]["manifests"]}
    assert set(manifests) == {"Deployment", "DaemonSet", "ServiceAccount", "ClusterRoleBinding"}
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "quay.io/mirror/agent:1"
    assert pod["containers"][0]["args"] == [
        "--cluster=c1",
        "--kubeconfig=/managed/hub-kubeconfig/kubeconfig",
        "--v=4",
    ]
    assert pod["nodeSelector"] == {"host": "ssd"}
    assert [v["name"] for v in pod["volumes"]] == ["hub-kubeconfig", "cert-example-com-signer"]
    alone.until("it is held for its hook", lambda: _finalizers(alone, "c1"))
    assert refused(process) == []


def _says(desk: OnServer, cluster: str, wanted: tuple[str, str, str]) -> None:
    assert desk.says(cluster, names.CONFIGURED) == wanted


def _counts(desk: OnServer, first: int, second: int) -> None:
    assert (len(works(desk.hub, "c0")), len(works(desk.hub, "c1"))) == (first, second)


# -- from its first cluster to its end ------------------------------------------------------------


def _holds(desk: OnServer, **clusters: str) -> None:
    found = {c: [d["v"] for d in data(desk.hub, c)] for c in clusters}
    assert found == {c: [v] if v else [] for c, v in clusters.items()}


def test_an_edit_of_the_template_goes_from_cluster_to_cluster_and_a_bad_one_no_further(
    desk: OnServer, start: Start
) -> None:
    process = start()
    placed = installed_at("p", USES, strategy=ONE_BY_ONE)
    desk.add(template(config_map(v="1")), addon(placements=[placed], supported=KINDS))
    desk.decide(["c0", "c1"]).until("the first", lambda: _holds(desk, c0="1", c1=""))
    desk.works_do(["c0"]).until("both", lambda: _holds(desk, c0="1", c1="1"))
    desk.works_do(["c1"])
    desk.until("it is done", lambda: _halted(desk, "False", "Complete"))

    edited = {"spec": {"agentSpec": {"workload": {"manifests": [config_map(v="2")]}}}}
    desk.edit(TEMPLATE, edited).until("the canary", lambda: _holds(desk, c0="2", c1="1"))
    desk.works_do(["c0"]).until("both again", lambda: _holds(desk, c0="2", c1="2"))
    desk.works_do(["c1"])
    desk.until("it is done again", lambda: _halted(desk, "False", "Complete"))

    spoilt = {"spec": {"agentSpec": {"workload": {"manifests": [config_map(v="{{TYPO}}")]}}}}
    desk.edit(TEMPLATE, spoilt)
    desk.until("it is stopped", lambda: _halted(desk, "True", "MaxFailuresExceeded"))
    _holds(desk, c0="2", c1="2")
    desk.until("it is said why", lambda: _is_told(desk, "there is no variable 'TYPO'"))
    desk.until("the other waits", lambda: _says(desk, "c1", WAITING))
    _holds(desk, c0="2", c1="2")
    assert refused(process) == []


def _is_told(desk: OnServer, words: str) -> None:
    assert words in desk.says("c0", names.MANIFEST_APPLIED)[2]


def _halted(desk: OnServer, *wanted: str) -> None:
    assert desk.halted() == wanted


def test_what_runs_before_an_add_on_goes_holds_it_until_it_has_run(
    desk: OnServer, start: Start
) -> None:
    process = start()
    desk.add(
        template(config_map(v="1"), hook()),
        addon(placements=[installed_at("p", USES)], supported=KINDS),
    )
    mca = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    desk.decide(["c0"]).until("it is held", lambda: _finalizers(desk, "c0"))
    uid = desk.cluster("c0")["metadata"]["uid"]

    desk.hub.delete(mca)
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-pre-delete")
    desk.until("the hook is there", lambda: desk.hub.get(work))
    assert desk.cluster("c0")["metadata"]["uid"] == uid
    told = tells("jobs", "cleanup", JobComplete="True")
    entry = {**told, "conditions": [], "resourceMeta": {**told["resourceMeta"], "ordinal": 0}}
    done = {"conditions": [THERE], "resourceStatus": {"manifests": [entry]}}
    desk.hub.patch_status(work, {"status": done})
    desk.until("it is installed anew", lambda: _another(desk, uid))
    assert refused(process) == []


def _finalizers(desk: OnServer, cluster: str) -> None:
    assert desk.cluster(cluster)["metadata"].get("finalizers") == [FINALIZER]


def _another(desk: OnServer, uid: str) -> None:
    assert desk.cluster("c0")["metadata"]["uid"] != uid
