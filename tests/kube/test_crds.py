"""Our CustomResourceDefinitions on a real API server: accepted, strict, and as our models say."""

import copy
import json
from typing import Any

import pytest

from rollout.api.columns import declared_columns
from rollout.api.defaults import with_defaults
from rollout.api.load import load
from rollout.api.models import MODELS
from rollout.api.validation import validate
from rollout.errors import Invalid
from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import KINDS, MANIFEST_WORK, PLACEMENT, REPLICA_SET, Kind, Obj, ref_of
from tests.kube.cluster import Cluster
from tests.kube.objects import BAD, GOOD, NULLS, OURS_ALONE, SERVER_ALONE, Path, bad, case_id
from tests.kube.setting import CRD, ROOT, crd_objects, put

pytestmark = pytest.mark.kube

SERVED = [KINDS[name] for name in MODELS]


def tried(hub: KubeHub, obj: Obj) -> Obj:
    """What the server would store; nothing is stored. Raises: Invalid."""
    kind = KINDS[obj["kind"]]
    namespace = "default" if kind.namespaced else None
    meta = {**obj["metadata"], **({"namespace": "default"} if namespace else {})}
    path = path_of(kind, namespace) + "?dryRun=All"
    found: Obj = json.loads(hub.send("POST", path, {**obj, "metadata": meta}))
    return found


def examples() -> list[Obj]:
    loaded = load([ROOT / "examples"], recursive=True)
    return [obj for obj in loaded.objects if obj["kind"] in MODELS]


def test_all_are_established_under_the_names_they_ask_for(kube: KubeHub) -> None:
    served = {obj["metadata"]["name"]: obj for obj in kube.list(CRD).items}

    for wanted in crd_objects():
        found = served[wanted["metadata"]["name"]]
        conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        names, asked = found["status"]["acceptedNames"], wanted["spec"]["names"]
        assert names.get("shortNames") == asked.get("shortNames")
    assert {kind.plural for kind in SERVED} == {c["spec"]["names"]["plural"] for c in crd_objects()}


def test_the_server_drops_nothing_of_their_schemas(kube: KubeHub) -> None:
    """What a schema says and the server does not know would be checked by nobody."""
    served = {obj["metadata"]["name"]: obj for obj in kube.list(CRD).items}

    for wanted in crd_objects():
        (version,) = wanted["spec"]["versions"]
        (found,) = served[wanted["metadata"]["name"]]["spec"]["versions"]
        assert found["schema"] == version["schema"]


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_object_is_accepted_by_both_and_gets_the_same_defaults(
    kube: KubeHub, kind: str
) -> None:
    obj = GOOD[kind]

    assert validate(obj) == []
    stored = tried(kube, obj)
    assert stored.get("spec") == with_defaults(obj).get("spec")


MINIMAL: list[tuple[Kind, Obj]] = [
    (PLACEMENT, {}),
    (PLACEMENT, {"prioritizerPolicy": {}, "spreadPolicy": {}, "decisionStrategy": {}}),
    (PLACEMENT, {"decisionStrategy": {"groupStrategy": {}}, "tolerations": [{}]}),
    (PLACEMENT, {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {}}]}}),
    (REPLICA_SET, {"placementRefs": [{"name": "p"}]}),
    (REPLICA_SET, {"placementRefs": [{"name": "p", "rolloutStrategy": {}}]}),
    *(
        (REPLICA_SET, {"placementRefs": [{"name": "p", "rolloutStrategy": {"type": t, field: {}}}]})
        for t, field in (
            ("All", "all"),
            ("Progressive", "progressive"),
            ("ProgressivePerGroup", "progressivePerGroup"),
        )
    ),
    (MANIFEST_WORK, {}),
    (MANIFEST_WORK, {"deleteOption": {}, "workload": {}}),
    (
        MANIFEST_WORK,
        {
            "manifestConfigs": [
                {
                    "resourceIdentifier": {"resource": "a", "name": "b"},
                    "updateStrategy": {"serverSideApply": {"ignoreFields": [{}]}},
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("kind", "spec"), MINIMAL, ids=lambda value: str(value)[:60])
def test_defaults_are_filled_in_as_we_do(kube: KubeHub, kind: Kind, spec: Obj) -> None:
    obj = {**GOOD[kind.name], "spec": spec}

    assert tried(kube, obj)["spec"] == with_defaults(obj)["spec"]


def test_kinds_without_a_spec_get_the_defaults_of_the_whole(kube: KubeHub) -> None:
    for name in ("ManagedCluster", "ManagedClusterSet"):
        obj = {k: v for k, v in GOOD[name].items() if k != "spec"}
        assert tried(kube, obj).get("spec") == with_defaults(obj).get("spec"), name


@pytest.mark.parametrize("case", BAD, ids=case_id)
def test_a_bad_object_is_refused_by_both(kube: KubeHub, case: tuple[Kind, Path, Any]) -> None:
    obj = bad(*case)

    assert validate(obj)
    with pytest.raises(Invalid):
        tried(kube, obj)


@pytest.mark.parametrize("case", SERVER_ALONE, ids=case_id)
def test_the_server_alone_refuses_it(kube: KubeHub, case: tuple[Kind, Path, Any]) -> None:
    obj = bad(*case)

    assert validate(obj) == []
    with pytest.raises(Invalid):
        tried(kube, obj)


@pytest.mark.parametrize("case", OURS_ALONE, ids=case_id)
def test_our_checks_alone_refuse_it(kube: KubeHub, case: tuple[Kind, Path, Any]) -> None:
    obj = bad(*case)

    assert validate(obj)
    tried(kube, obj)


@pytest.mark.parametrize("case", NULLS, ids=case_id)
def test_null_is_as_if_it_were_absent(kube: KubeHub, case: tuple[Kind, Path, Any]) -> None:
    _, path, _ = case
    absent = bad(*case)
    node: Any = absent
    for part in path[:-1]:
        node = node[part]
    del node[path[-1]]

    assert validate(bad(*case)) == []
    assert tried(kube, bad(*case))["spec"] == tried(kube, absent)["spec"]


def test_every_example_is_accepted_and_stored_as_we_would(kube: KubeHub) -> None:
    found = examples()
    assert {obj["kind"] for obj in found} >= {"ManagedCluster", "Placement", REPLICA_SET.name}
    seen: set[str] = set()
    for obj in found:
        if (spec := json.dumps([obj["kind"], obj.get("spec")])) in seen:
            continue  # of 310 clusters there are few different ones
        seen.add(spec)
        stored = tried(kube, obj)
        assert stored.get("spec") == with_defaults(obj).get("spec"), obj["metadata"]["name"]


def test_the_statuses_of_examples_are_accepted_whole(admin: KubeHub) -> None:
    cluster = next(obj for obj in examples() if obj["kind"] == "ManagedCluster")

    assert put(admin, cluster)["status"] == cluster["status"]


def test_manifests_are_kept_to_the_letter_and_unknown_fields_beside_them_are_not(
    kube: KubeHub,
) -> None:
    manifest = {
        "apiVersion": "example.io/v1",
        "kind": "Odd",
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {"deep": [{"n": 1.5, "empty": {}, "none": None}], "0": False},
        "anything": ["", 0, []],
    }
    work = copy.deepcopy(GOOD[MANIFEST_WORK.name])
    work["spec"]["workload"] = {"manifests": [manifest], "unknown": 1}
    work["spec"]["unknown"] = {"x": 1}

    stored = tried(kube, work)["spec"]

    assert stored["workload"] == {"manifests": [manifest]}
    assert "unknown" not in stored


@pytest.mark.parametrize("kind", [k for k in SERVED if k.name in GOOD], ids=repr)
def test_printer_columns_are_those_of_our_tables(
    server: Cluster, admin: KubeHub, kind: Kind
) -> None:
    obj = put(admin, GOOD[kind.name])

    table = json.loads(server.fetch(path_of(kind), "application/json;as=Table;v=v1;g=meta.k8s.io"))

    names = [column["name"] for column in table["columnDefinitions"]]
    declared = declared_columns(kind)
    assert names == ["Name", *([c.name for c in declared] or ["Age"])]
    (row,) = table["rows"]
    for column, cell in zip(declared, row["cells"][1:], strict=False):
        if column.type.value != "date":
            shown = column.value(obj)
            assert (cell or "") == ("" if shown is None else shown), column.name


def test_a_stored_object_has_the_key_it_was_given(admin: KubeHub) -> None:
    stored = put(admin, GOOD[PLACEMENT.name])

    assert ref_of(PLACEMENT, stored).key == "default/x"
