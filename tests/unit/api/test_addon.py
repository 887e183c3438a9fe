"""Add-ons are read in both versions, whatever got into an API server."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.addon import decode_addon
from rollout.api.cluster_addon import decode_cluster_addon, stored_version
from rollout.api.load import load_text
from rollout.api.validation import validate
from rollout.model.addon import ConfigRef, Resource, effective
from rollout.model.kinds import ADDON_TEMPLATE, KINDS, Obj, kind_by_resource

ADC = Resource("addon.open-cluster-management.io", "addondeploymentconfigs")
TEMPLATE = Resource("addon.open-cluster-management.io", "addontemplates")
API = "addon.open-cluster-management.io"


def one(**spec: Any) -> Obj:
    return {
        "apiVersion": f"{API}/v1alpha1",
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"},
        "spec": spec,
    }


def wire(resource: Resource, **names: str) -> Obj:
    return {"group": resource.group, "resource": resource.resource, **names}


BETA = {
    **one(
        defaultConfigs=[
            wire(ADC, namespace="default", name="d1"),
            wire(TEMPLATE, name="__reserved_no_default__"),
        ]
    ),
    "apiVersion": f"{API}/v1beta1",
    "status": {"defaultConfigReferences": [wire(ADC)]},
}
ALPHA = {
    **one(
        supportedConfigs=[
            {**wire(ADC), "defaultConfig": {"namespace": "default", "name": "d1"}},
            wire(TEMPLATE),
        ]
    ),
    "status": {"defaultconfigReferences": [wire(ADC)]},
}


@pytest.mark.parametrize("obj", [ALPHA, BETA], ids=["v1alpha1", "v1beta1"])
def test_supported_kinds_and_defaults_are_the_same_in_both_versions(obj: Obj) -> None:
    found = decode_addon(obj)

    assert found.supported == (ADC, TEMPLATE)
    assert found.defaults == (ConfigRef(ADC, "default", "d1"),)
    assert (found.placements, found.problems) == (None, ())


def test_what_files_say_in_v1beta1_is_stored_as_v1alpha1() -> None:
    (document,), errors = load_text(json.dumps(BETA), "x.json")

    assert (document.obj, errors) == (ALPHA, [])
    assert validate(document.obj) == []


def test_an_addon_of_a_cluster_keeps_its_namespace_and_names_configurations_twice() -> None:
    note = "addon.open-cluster-management.io/v1alpha1-install-namespace"
    desired = {"namespace": "default", "name": "d1", "specHash": "h"}
    beta = {
        "apiVersion": f"{API}/v1beta1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c0", "annotations": {note: "agents"}},
        "status": {"configReferences": [{**wire(ADC), "desiredConfig": desired}]},
    }

    found = stored_version(beta)

    assert found["apiVersion"] == f"{API}/v1alpha1"
    assert found["spec"] == {"installNamespace": "agents"}
    (reference,) = found["status"]["configReferences"]
    assert (reference["namespace"], reference["name"]) == ("default", "d1")
    assert stored_version(found) is found


@pytest.mark.parametrize(
    ("value", "managed"),
    [(None, True), ("addon-manager", True), ("", True), ("self", False), ("other", False)],
)
def test_the_lifecycle_annotation_says_whose_the_addon_is(value: str | None, managed: bool) -> None:
    """The empty string is what OCM's migration leaves of "self": it is managed again (A-22)."""
    obj = one()
    if value is not None:
        key = "addon.open-cluster-management.io/lifecycle"
        obj["metadata"] = {"name": "hello", "annotations": {key: value}}

    assert decode_addon(obj).is_managed is managed


def placements(*items: Any) -> Obj:
    return one(installStrategy={"type": "Placements", "placements": list(items)})


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (one(installStrategy={"type": "Often"}), "spec.installStrategy.type"),
        (one(supportedConfigs=[{"group": "x"}]), "spec.supportedConfigs[0].resource"),
        (placements({"name": "p"}), "spec.installStrategy.placements[0].namespace"),
        (placements({"namespace": "n"}), "spec.installStrategy.placements[0].name"),
        (
            placements({"namespace": "n", "name": "p"}, {"namespace": "n", "name": "p"}),
            "spec.installStrategy.placements[1].name",
        ),
        (
            placements({"namespace": "n", "name": "p", "configs": [wire(ADC)]}),
            "spec.installStrategy.placements[0].configs[0].name",
        ),
        (
            placements(
                {
                    "namespace": "n",
                    "name": "p",
                    "rolloutStrategy": {"type": "All", "all": {"progressDeadline": "soon"}},
                }
            ),
            "spec.installStrategy.placements[0].rolloutStrategy.all.progressDeadline",
        ),
    ],
)
def test_every_bad_field_is_named(obj: Obj, path: str) -> None:
    assert path in [problem.path for problem in validate(obj)]


def test_later_configurations_replace_earlier_ones_kind_by_kind_and_keep_their_order() -> None:
    d1, d2, d3 = (ConfigRef(ADC, "default", name) for name in ("d1", "d2", "d3"))
    t1, t2 = (ConfigRef(TEMPLATE, "", name) for name in ("t1", "t2"))

    assert effective([t1, d1], [d3, d2, d3], []) == (d3, d2, t1)
    assert effective([d1], [d2], [t2]) == (d2, t2)


def test_a_status_without_configurations_is_tolerated() -> None:
    """OCM's controllers crash on that (add-on weakness A-16)."""
    references = [
        {**wire(ADC), "desiredConfig": None},
        {"group": API},
        None,
        {**wire(ADC), "desiredConfig": {"name": "d1"}, "lastObservedGeneration": "x"},
    ]
    found = decode_cluster_addon({"metadata": {}, "status": {"configReferences": references}})

    assert [(r.desired and r.desired.ref.name, r.generation) for r in found.references] == [
        (None, 0),
        ("d1", 0),
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["spec", "status", "metadata", "configs", "configReferences", "placements", "name",
             "installStrategy", "type", "defaultConfigs", "supportedConfigs", "conditions"]
        ),
        inner,
        max_size=4,
    ),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind"]), JSON))
def test_reading_any_json_raises_nothing(obj: Obj) -> None:
    addon, cluster = decode_addon(obj), decode_cluster_addon(obj)

    assert decode_addon(obj, addon) == addon
    assert decode_cluster_addon(obj, cluster) == cluster
    stored_version({**obj, "kind": "ManagedClusterAddOn", "apiVersion": f"{API}/v1beta1"})
    stored_version({**obj, "kind": "ClusterManagementAddOn", "apiVersion": f"{API}/v1beta1"})


def test_a_kind_of_configurations_is_known_by_group_and_resource() -> None:
    assert kind_by_resource(*ADC, namespaced=True) is KINDS["AddOnDeploymentConfig"]
    assert kind_by_resource(*TEMPLATE, namespaced=False) is ADDON_TEMPLATE
    made = kind_by_resource("example.org", "tunings", namespaced=True)
    assert made is kind_by_resource("example.org", "tunings", namespaced=True)
    assert (made.plural, made.group, made.namespaced) == ("tunings", "example.org", True)
    assert made.version == "", "the server says which"
