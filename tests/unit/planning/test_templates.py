"""What profile strict renders of AddOnTemplates where OCM's own answer is a weakness, row by row.

What both profiles share is held by the suite `addon_template` of the conformance vectors.
"""

import base64
from typing import Any

import pytest

from rollout.model.kinds import Obj
from rollout.planning.templates import Unrenderable
from tests.support.templates import World, config_map, settings, template, variables, workload

KUBE_CLIENT = [{"type": "KubeClient"}]


def container(obj: Obj, index: int = 0) -> Obj:
    found: Obj = obj["spec"]["template"]["spec"]["containers"][index]
    return found


def env(obj: Obj) -> list[tuple[str, str]]:
    return [(e["name"], e.get("value", "")) for e in container(obj).get("env", [])]


def refused(world: World) -> str:
    with pytest.raises(Unrenderable) as fault:
        world.objects()
    return str(fault.value)


# -- placeholders --------------------------------------------------------------------------------


def test_an_unclosed_placeholder_is_an_error_with_manifest_and_column() -> None:
    text = refused(World(template(config_map(k="see {{A"))))

    assert text == "manifest 0, ConfigMap cm: .data.k: column 5: {{ is not closed"


def test_a_value_cannot_leave_its_string() -> None:
    world = World(template(config_map(k="{{A}}")), variables(A='x","evil":"y'))

    assert world.objects()[0]["data"] == {"k": 'x","evil":"y'}
    assert world.objects(strict=False)[0]["data"] == {"k": "x", "evil": "y"}


def test_keys_that_become_one_are_an_error() -> None:
    world = World(template(config_map(**{"{{A}}": "1", "b": "2"})), variables(A="b"))

    assert refused(world).endswith(".data.b: there is a key b already")


def test_an_unknown_placeholder_is_an_error_that_names_it_and_its_place() -> None:
    world = World(template(config_map(k="{{ CLUSTER_NAME }}", l="{{TYPO}}")))

    assert refused(world) == (
        "manifest 0, ConfigMap cm: .data.k: there is no variable ' CLUSTER_NAME '; "
        ".data.l: there is no variable 'TYPO'"
    )
    assert world.objects(strict=False)[0]["data"] == {"k": "", "l": ""}


def test_a_variable_cannot_take_the_place_of_a_setting() -> None:
    world = World(template(config_map()), variables(__INSTALL_NAMESPACE="elsewhere"))

    assert "__INSTALL_NAMESPACE: names that begin with __ stand for settings" in refused(world)


# -- namespaces and collisions -------------------------------------------------------------------


def test_objects_that_become_one_by_their_namespace_are_an_error_that_names_both() -> None:
    two = template(config_map(namespace="one"), config_map(namespace="two"))

    assert refused(World(two, settings(agentInstallNamespace="agents"))).startswith(
        "manifests 0 and 1 are both ConfigMap agents/cm on the cluster"
    )


# -- pods ----------------------------------------------------------------------------------------


def test_an_environment_variable_that_is_there_is_replaced_by_its_value() -> None:
    obj = workload()
    container(obj)["env"] = [{"name": "CLUSTER_NAME", "value": "mine"}, {"name": "A"}]

    assert env(World(template(obj)).objects()[0]) == [("CLUSTER_NAME", "c1"), ("A", "")]


def test_two_registrations_of_one_kind_mount_one_secret() -> None:
    world = World(template(workload(), registration=KUBE_CLIENT * 2))
    pod = world.objects()[0]["spec"]["template"]["spec"]

    assert [v["name"] for v in pod["volumes"]] == ["hub-kubeconfig"]
    assert [m["name"] for m in pod["containers"][0]["volumeMounts"]] == ["hub-kubeconfig"]


def test_a_volume_of_the_same_name_and_another_source_is_an_error() -> None:
    mine = workload(pod={"volumes": [{"name": "hub-kubeconfig", "emptyDir": {}}]})
    text = refused(World(template(mine, registration=KUBE_CLIENT)))

    assert text == (
        "deployments agent: volumes has another hub-kubeconfig already; rename one of them"
    )


def test_a_signer_whose_volume_name_is_too_long_is_an_error() -> None:
    signer = {"type": "CustomSigner", "customSigner": {"signerName": f"example.com/{'x' * 60}"}}

    assert "volume name of 77 characters" in refused(
        World(template(workload(), registration=[signer]))
    )


@pytest.mark.parametrize("kind", ["StatefulSet", "Job"])
def test_pods_of_every_kind_and_their_init_containers_are_set_up(kind: str) -> None:
    init = [{"name": "init", "image": "quay.io/ocm/init:1"}]
    world = World(
        template(workload(kind, pod={"initContainers": init})),
        settings(registries=[{"source": "quay.io", "mirror": "mirror.local"}]),
    )
    pod = world.objects()[0]["spec"]["template"]["spec"]

    assert [c["image"] for c in pod["containers"] + pod["initContainers"]] == [
        "mirror.local/ocm/agent:1",
        "mirror.local/ocm/init:1",
    ]
    assert pod["initContainers"][0]["env"] == [{"name": "CLUSTER_NAME", "value": "c1"}]


@pytest.mark.parametrize(
    ("registries", "image", "strict", "ocm"),
    [
        # No boundary after the source.
        ([("quay.io/ocm", "m")], "quay.io/ocm-extra/x:1", "quay.io/ocm-extra/x:1", "m-extra/x:1"),
        # The longest source, not the last one.
        ([("quay.io/ocm", "a"), ("quay.io", "b")], "quay.io/ocm/x", "a/x", "b/ocm/x"),
        # An empty mirror is none.
        ([("quay.io", "")], "quay.io/x:1", "quay.io/x:1", "/x:1"),
    ],
)
def test_an_image_is_pulled_from_the_registry_that_fits_best(
    registries: list[tuple[str, str]], image: str, strict: str, ocm: str
) -> None:
    obj = workload()
    container(obj)["image"] = image
    world = World(
        template(obj), settings(registries=[{"source": s, "mirror": m} for s, m in registries])
    )

    assert container(world.objects()[0])["image"] == strict
    assert container(world.objects(strict=False)[0])["image"] == ocm


def test_tolerations_count_without_a_node_selector() -> None:
    tolerations = [{"operator": "Exists"}]
    world = World(template(workload()), settings(nodePlacement={"tolerations": tolerations}))

    assert world.objects()[0]["spec"]["template"]["spec"]["tolerations"] == tolerations
    assert "tolerations" not in world.objects(strict=False)[0]["spec"]["template"]["spec"]


BUNDLE = base64.b64encode(b"certificates").decode()


def test_the_proxys_certificates_are_where_the_workloads_are() -> None:
    proxy = {"httpsProxy": "https://proxy", "caBundle": BUNDLE}
    world = World(template(workload()), settings(proxyConfig=proxy))
    kept = world.objects()[-1]

    assert (kept["metadata"]["namespace"], kept["data"]) == (
        "app",
        {"ca-bundle.crt": "certificates"},
    )


def test_certificates_that_nobody_mounts_are_not_written() -> None:
    world = World(template(workload()), settings(proxyConfig={"caBundle": BUNDLE}))

    assert [obj["kind"] for obj in world.objects()] == ["Deployment"]
    assert [obj["kind"] for obj in world.objects(strict=False)] == ["Deployment", "ConfigMap"]


@pytest.mark.parametrize(
    ("container_id", "is_meant", "is_meant_in_ocm"),
    [
        ("deployments:agent:*", True, True),
        ("deployments:a.ent:*", False, True),
        ("deployments:ag*:agent", True, False),
        ("*:agent:agent", True, True),
        ("deployments:[:agent", False, False),
    ],
)
def test_a_container_id_is_literal_but_for_its_wildcards(
    container_id: str, is_meant: bool, is_meant_in_ocm: bool
) -> None:
    resources = {"limits": {"cpu": "1"}}
    wanted: list[Any] = [{"containerID": container_id, "resources": resources}]
    world = World(template(workload()), settings(resourceRequirements=wanted))

    assert (container(world.objects()[0])["resources"] == resources) == is_meant
    found = world.objects(strict=False)[0]
    assert (container(found)["resources"] == resources) == is_meant_in_ocm


def test_a_workload_that_cannot_be_read_is_an_error_that_names_the_field() -> None:
    world = World(template(workload(replicas="{{N}}")), variables(N="3"))

    assert refused(world) == (
        "manifest 0, Deployment agent: .spec.replicas is '3', which no Deployment can have there"
    )


def test_several_configurations_are_merged_and_the_later_one_wins() -> None:
    first = settings(agentInstallNamespace="one", customizedVariables=[{"name": "A", "value": "1"}])
    then = variables(B="2")
    then["metadata"] = {"name": "other", "namespace": "cfg"}
    world = World(template(config_map(k="{{A}}{{B}}")), first, then)

    (obj,) = world.objects()
    assert (obj["metadata"]["namespace"], obj["data"]["k"]) == ("one", "12")
