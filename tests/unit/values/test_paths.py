"""How a field of a manifest is named, and where that leads."""

from typing import Any

import pytest

from rollout.model.kinds import Obj
from rollout.values.paths import PathError, Place, parse_path, refused, resolve, with_value

MANIFEST: Obj = {
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"a/b": "1"}},
    "spec": {"replicas": 1, "containers": [{"name": "app", "args": ["x", "y"]}, {"name": "side"}]},
    "ports": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP", "tls": True}],
    "mounts": [{"mountPath": "/etc/a"}, {"mountPath": "/etc/[b]", "k/y": "~"}],
}


@pytest.mark.parametrize(
    ("path", "place", "current"),
    [
        ("/spec/replicas", ("spec", "replicas"), 1),
        ("/metadata/labels/a~1b", ("metadata", "labels", "a/b"), "1"),
        ("/spec/containers[name=side]/image", ("spec", "containers", 1, "image"), None),
        ("/spec/containers[name=app]/args[1]", ("spec", "containers", 0, "args", 1), "y"),
        ("/spec/containers[1]/name", ("spec", "containers", 1, "name"), "side"),
        ("/spec/new/deep/field", ("spec", "new", "deep", "field"), None),
        ("/data~0x", ("data~x",), None),
        ("/ports[port=81]/name", ("ports", 1, "name"), None),
        ("/ports[tls=true]/port", ("ports", 1, "port"), 81),
        ("/mounts[mountPath=/etc/a]/name", ("mounts", 0, "name"), None),
        ("/mounts[mountPath=~1etc~1a]/name", ("mounts", 0, "name"), None),
        ("/mounts[k~1y=~0]/name", ("mounts", 1, "name"), None),
        ("/mounts[k/y=~0]/name", ("mounts", 1, "name"), None),
        ("/spec/containers/1/name", ("spec", "containers", 1, "name"), "side"),
        ("/spec/containers[name=app]/args/1", ("spec", "containers", 0, "args", 1), "y"),
    ],
)
def test_a_path_leads_to_one_field(path: str, place: Place, current: Any) -> None:
    parsed = parse_path(path)

    assert parsed is not None
    assert resolve(MANIFEST, parsed) == (place, current)


@pytest.mark.parametrize(
    "path",
    [
        "", "spec", "/", "//", "/spec//x", "/spec/[name=app]", "/spec/containers[name", "/a[]",
        "/spec/containers[x]", "/apiVersion", "/kind", "/status", "/status/x", "/metadata",
        "/metadata/name", "/metadata/namespace", "/metadata/labels", "/metadata/annotations",
        "/metadata/annotations/rollout-engine.io~1revision", "/kind/x",
        "/metadata/name/x", "/metadata/namespace/x", "/" + "x" * 1024,
    ],
)  # fmt: skip
def test_what_is_no_path_or_may_not_be_set_is_refused(path: str) -> None:
    assert parse_path(path) is None


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/spec/replicas/deep", "no map that could hold 'deep'"),
        ("/spec/containers[name=none]/image", "no item of the list is [name=none]"),
        ("/spec/containers[7]/image", "has 2 items"),
        ("/spec/replicas[0]", "no list for [0]"),
        ("/spec/none[name=app]/image", "no list for [name=app]"),
        ("/ports[protocol=TCP]/name", "2 items of the list are [protocol=TCP]"),
        ("/ports[port=8]/name", "no item of the list is [port=8]"),
        (
            "/spec/containers/-",
            "'-' is not an item of the list: write the place of one that is there, [0]",
        ),
        ("/spec/containers/2/name", "has 2 items"),
        ("/spec/containers/app/name", "'app' is not an item of the list"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, said: str) -> None:
    parsed = parse_path(path)
    assert parsed is not None

    with pytest.raises(PathError) as failure:
        resolve(MANIFEST, parsed)
    assert said in str(failure.value)


@pytest.mark.parametrize(
    ("kind", "place", "current", "value", "is_taken"),
    [
        ("Deployment", ("spec", "replicas"), 1, 3, True),
        ("Deployment", ("spec", "replicas"), 1, 2.5, False),
        ("Deployment", ("spec", "share"), 1.5, 2, True),
        ("Deployment", ("spec", "replicas"), 1, "3", False),
        ("Deployment", ("spec", "replicas"), 1, True, False),
        ("Deployment", ("spec", "replicas"), 1, None, False),
        ("Deployment", ("spec", "paused"), None, True, True),
        ("ConfigMap", ("data", "a"), None, 3, False),
        ("ConfigMap", ("data", "a"), None, "3", True),
        ("Secret", ("stringData", "a"), None, 3, False),
        ("CustomThing", ("data", "a"), None, 3, True),
        ("CustomThing", ("metadata", "labels", "a"), None, 3, False),
        ("Deployment", ("spec", "template", "metadata", "labels", "a"), None, 3, False),
        ("Deployment", ("spec", "template", "metadata", "annotations"), None, {"a": 3}, False),
        ("Deployment", ("spec", "template", "metadata"), None, {"labels": {"a": True}}, False),
        ("Deployment", ("spec", "template", "metadata", "labels"), None, "x", False),
        ("Deployment", ("spec", "template", "metadata", "labels"), None, {"a": "3"}, True),
        ("Deployment", ("spec", "template", "spec", "nodeSelector", "a"), None, 3, False),
        ("Deployment", ("spec", "template"), None, {"spec": {"nodeSelector": {"a": 3}}}, False),
        ("Pod", ("spec", "nodeSelector"), None, {"a": 3}, False),
        ("Deployment", ("spec", "selector", "matchLabels", "a"), None, 3, False),
        ("StatefulSet", ("spec", "claims"), None, [{"metadata": {"labels": {"a": 3}}}], False),
        ("MachineConfigPool", ("spec", "nodeSelector"), None, {"matchLabels": {"a": "3"}}, True),
        ("ConfigMap", ("data",), {"a": "1"}, {"a": 1}, False),
        ("ConfigMap", ("data",), None, "x", False),
        ("ConfigMap", ("binaryData", "a"), None, "no base64", False),
        ("Secret", ("data", "a"), None, "no base64", False),
        ("Secret", ("data", "a"), None, "aGk=", True),
        ("Secret", ("data",), None, {"a": "no base64"}, False),
        ("Secret", ("stringData",), None, {"a": "no base64"}, True),
    ],
)
def test_a_value_has_the_type_that_its_field_takes(
    kind: str, place: Place, current: Any, value: Any, is_taken: bool
) -> None:
    assert (refused({"kind": kind}, place, current, value) is None) is is_taken


@pytest.mark.parametrize(
    "value",
    [
        {"rollout-engine.io/owner": "x"},
        {"a": {"rollout-engine.io/owner": "x"}},
        [{"rollout-engine.io": 1}],
    ],
)
def test_no_key_of_the_engine_comes_in_with_a_map_that_is_set_as_a_whole(value: Any) -> None:
    place: Place = ("spec", "template", "metadata")

    assert "are the engine's" in (refused({"kind": "Deployment"}, place, None, value) or "")
    assert refused({"kind": "Deployment"}, place, None, {"a": "b"}) is None


@pytest.mark.parametrize("field", ["apiVersion", "kind", "status", "metadata/name"])
def test_what_inside_of_a_manifest_is_called_like_a_fixed_field_may_be_set(field: str) -> None:
    assert parse_path(f"/spec/template/{field}") is not None


def test_setting_a_value_shares_what_does_not_change_and_alters_nothing() -> None:
    changed = with_value(MANIFEST, ("spec", "containers", 1, "image"), "i:2")

    assert changed["spec"]["containers"][1] == {"name": "side", "image": "i:2"}
    assert changed["spec"]["containers"][0] is MANIFEST["spec"]["containers"][0]
    assert changed["metadata"] is MANIFEST["metadata"]
    assert "image" not in MANIFEST["spec"]["containers"][1]
    assert with_value({}, ("a", "b"), 1) == {"a": {"b": 1}}
