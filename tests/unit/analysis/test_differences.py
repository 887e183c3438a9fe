"""A diff shows what changes and no Secret's data; a fingerprint changes with all that a plan rests on."""

from datetime import UTC, datetime

import pytest
import yaml

from rollout.account.wire import as_json
from rollout.analysis.changes import Action, object_changes
from rollout.analysis.copies import holding
from rollout.analysis.differences import manifest_diff
from rollout.analysis.seals import fingerprint, is_sealed, seal
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, REPLICA_SET, Kind, Obj, Ref
from rollout.model.secrets import Masks
from tests.support.changes import storing
from tests.support.shapes import cluster, placement, workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("before", "after")
MASKS = Masks(b"a key of this test alone")


def secret(name: str = "login", api: str = "v1", **data: str) -> Obj:
    return {"apiVersion": api, "kind": "Secret", "metadata": {"name": name}, "data": data}


def spec(*manifests: Obj) -> Obj:
    return {"workload": {"manifests": list(manifests)}}


def test_a_changed_value_of_a_secret_is_seen_to_change_and_not_shown() -> None:
    old, new = secret(user="anna", password="aGVucmll"), secret(user="anna", password="YmVydGhh")

    diff = manifest_diff(spec(old), spec(new), NAMES, MASKS).splitlines()

    minus, plus = (next(line for line in diff if line.startswith(sign + "   ")) for sign in "-+")
    assert minus.startswith(("-      password: '*** (", "-      password: *** ("))
    assert minus[1:] != plus[1:]
    assert next(line for line in diff if "user: " in line).startswith("       user: ")
    assert not any("anna" in line for line in diff)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(secret(password="hunter2"), id="a secret"),
        pytest.param({**secret(), "stringData": {"password": "hunter2"}}, id="its stringData"),
        pytest.param(
            {"apiVersion": "v1", "kind": "List", "items": [secret(password="hunter2")]},
            id="in a list",
        ),
        pytest.param(
            {"kind": "ManifestWork", "spec": spec(secret(password="hunter2"))}, id="in a work"
        ),
        pytest.param(
            {
                "kind": "ConfigMap",
                "metadata": {
                    "annotations": {
                        "kubectl.kubernetes.io/last-applied-configuration": '{"password":"hunter2"}'
                    }
                },
            },
            id="in what kubectl remembers",
        ),
    ],
)
@pytest.mark.parametrize("side", ["added", "removed", "changed"])
def test_the_data_of_a_secret_is_shown_nowhere(manifest: Obj, side: str) -> None:
    other = yaml.safe_load(yaml.safe_dump(manifest).replace("hunter2", "hunter3"))
    old = None if side == "added" else spec(manifest)
    new = None if side == "removed" else spec(other if side == "changed" else manifest)

    assert "hunter" not in manifest_diff(old, new, NAMES, MASKS)
    assert "hunter" in manifest_diff(old, new, NAMES, None)


def test_a_secret_that_changed_its_place_keeps_its_mask() -> None:
    one, two = secret("one", a="x"), secret("two", a="y")

    diff = manifest_diff(spec(one, two), spec(two, one), NAMES, MASKS).splitlines()

    gone = sorted(line[1:] for line in diff if line.startswith("-  "))
    come = sorted(line[1:] for line in diff if line.startswith("+  "))
    assert gone == come


def test_equal_specs_have_no_diff() -> None:
    assert manifest_diff(spec(secret(a="x")), spec(secret(a="x")), NAMES, MASKS) == ""


def test_a_seal_is_of_one_fingerprint_and_another_each_time() -> None:
    one, two = seal("sha256:1"), seal("sha256:1")

    assert one != two
    assert is_sealed(one, "sha256:1")
    assert not is_sealed(one, "sha256:2")


@pytest.mark.parametrize("sealed", ["", "sha256:1", "scrypt", "scrypt::", "scrypt:zz:1"])
def test_what_is_no_seal_seals_nothing(sealed: str) -> None:
    assert not is_sealed(sealed, "sha256:1")


def hub_of(*objects: Obj) -> MemoryHub:
    hub, _ = holding({}, NOW)
    storing(objects)(hub)
    return hub


def edited(hub: MemoryHub, kind: Kind, key: str, changes: Obj) -> str:
    hub.patch(Ref(kind, key), changes)
    return fingerprint([], hub)


OBJECTS = (cluster("c1", {"region": "eu"}), placement(numberOfClusters=3), workload())


@pytest.mark.parametrize(
    ("kind", "key", "changes"),
    [
        (MANAGED_CLUSTER, "c1", {"metadata": {"labels": {"region": "us"}}}),
        (MANAGED_CLUSTER, "c1", {"spec": {"taints": [{"key": "a", "effect": "NoSelect"}]}}),
        (PLACEMENT, "default/fleet", {"spec": {"numberOfClusters": 4}}),
        (REPLICA_SET, "default/web", {"metadata": {"annotations": {"a": "b"}}}),
        (REPLICA_SET, "default/web", {"spec": {"cascadeDeletionPolicy": "Foreground"}}),
    ],
)
def test_a_fingerprint_changes_with_what_a_plan_rests_on(
    kind: Kind, key: str, changes: Obj
) -> None:
    hub = hub_of(*OBJECTS)
    before = fingerprint([], hub)

    assert edited(hub, kind, key, changes) != before


def test_a_fingerprint_is_of_the_documents_in_any_order() -> None:
    hub = hub_of(*OBJECTS)
    one, two = workload("one"), workload("two")

    assert fingerprint([one, two], hub) == fingerprint([two, one], hub)
    assert fingerprint([one], hub) != fingerprint([two], hub)


@pytest.mark.parametrize(
    ("kind", "status", "is_news"),
    [
        pytest.param("HubAcceptedManagedCluster", "True", False, id="an agent says the same"),
        pytest.param("ManagedClusterConditionAvailable", "Unknown", True, id="it is not heard of"),
    ],
)
def test_of_what_agents_say_only_an_availability_that_changes_changes_a_fingerprint(
    kind: str, status: str, is_news: bool
) -> None:
    hub = hub_of(*OBJECTS)
    before = fingerprint([], hub)
    told = {"type": kind, "status": status, "reason": "Said", "message": ""}
    condition = {**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    hub.patch_status(Ref(MANAGED_CLUSTER, "c1"), {"status": {"conditions": [condition]}})

    assert (fingerprint([], hub) != before) is is_news


def test_objects_are_created_configured_or_deleted() -> None:
    hub = hub_of(*OBJECTS)
    old = dict(hub.everything())
    hub.patch(Ref(PLACEMENT, "default/fleet"), {"spec": {"numberOfClusters": 4}})
    hub.patch(Ref(REPLICA_SET, "default/web"), {"metadata": {"annotations": {
        "rollout-engine.io/last-applied": "{}"}}})  # fmt: skip
    hub.delete(Ref(MANAGED_CLUSTER, "c1"))
    hub.create(Ref(MANAGED_CLUSTER, "c2"), cluster("c2"))

    found = object_changes(old, dict(hub.everything()))

    assert [(each.key, each.action) for each in found] == [
        ("c1", Action.DELETED),
        ("c2", Action.CREATED),
        ("default/fleet", Action.CONFIGURED),
    ]


def test_a_value_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        as_json({"a": object()})
