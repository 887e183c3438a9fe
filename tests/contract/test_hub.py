"""What every embedded hub does with one object after another."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import AlreadyExists, Invalid
from rollout.hub.base import EmbeddedHub, Listing
from rollout.model.kinds import CONFIG_MAP, MANAGED_CLUSTER, MANIFEST_WORK, Kind, Obj, Ref
from tests.support.hubs import MAP, WORK, Make, version_of, work

CONTROLLER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u", "controller": True}

# Create


def test_a_new_object_gets_identity_version_generation_and_time(
    hub: EmbeddedHub, clock: VirtualClock
) -> None:
    clock.advance(timedelta(seconds=90, microseconds=7))

    stored = hub.create(WORK, work(labels={"a": "b"}))

    meta = stored["metadata"]
    assert (stored["apiVersion"], stored["kind"]) == (
        "work.open-cluster-management.io/v1",
        "ManifestWork",
    )
    assert (meta["name"], meta["namespace"], meta["labels"]) == ("web", "c1", {"a": "b"})
    assert (meta["generation"], meta["resourceVersion"]) == (1, "1")
    assert meta["creationTimestamp"] == "2026-01-01T00:01:30Z"
    assert [len(part) for part in meta["uid"].split("-")] == [8, 4, 4, 4, 12]
    assert hub.get(WORK) == stored


def test_a_kind_without_a_status_subresource_has_no_generation(hub: EmbeddedHub) -> None:
    hub.create(MAP, {"data": {"a": "1"}})

    assert "generation" not in hub.patch(MAP, {"data": {"a": "2"}})["metadata"]


def test_the_same_writes_give_the_same_uids_in_every_run_and_no_two_are_alike(make: Make) -> None:
    names = [f"c{i}/web" for i in range(20)]

    one, other = (
        [hub.create(Ref(MANIFEST_WORK, n), work())["metadata"]["uid"] for n in names]
        for hub in (make(), make())
    )

    assert one == other
    assert len(set(one)) == len(names)


def test_what_only_the_server_may_set_is_not_taken_from_a_create(hub: EmbeddedHub) -> None:
    stored = hub.create(
        WORK,
        work(
            uid="mine",
            generation=7,
            creationTimestamp="1999-01-01T00:00:00Z",
            deletionTimestamp="1999-01-01T00:00:00Z",
        ),
    )

    meta = stored["metadata"]
    assert meta["uid"] != "mine"
    assert (meta["generation"], meta["creationTimestamp"]) == (1, "2026-01-01T00:00:00Z")
    assert "deletionTimestamp" not in meta


def test_create_drops_a_status_that_is_a_subresource_and_keeps_one_that_is_not(
    hub: EmbeddedHub,
) -> None:
    assert "status" not in hub.create(WORK, {**work(), "status": {"a": 1}})
    assert hub.create(MAP, {"status": {"a": 1}})["status"] == {"a": 1}


def test_a_second_create_of_a_name_is_refused_and_changes_nothing(hub: EmbeddedHub) -> None:
    first = hub.create(WORK, work())

    with pytest.raises(AlreadyExists):
        hub.create(WORK, work(labels={"a": "b"}))

    assert hub.get(WORK) == first
    assert hub.list(MANIFEST_WORK).version == 1


def test_a_generated_name_has_the_stem_and_five_more_characters(hub: EmbeddedHub) -> None:
    nameless = Ref(MANIFEST_WORK, "c1/")

    made = [hub.create(nameless, work(generateName="web-")) for _ in range(50)]
    long = hub.create(nameless, work(generateName="x" * 80))

    names = {o["metadata"]["name"] for o in made}
    assert len(names) == 50
    assert all(len(n) == 9 and n.startswith("web-") for n in names)
    assert all(hub.get(Ref(MANIFEST_WORK, f"c1/{n}"))["metadata"]["name"] == n for n in names)
    assert len(long["metadata"]["name"]) == 63


@pytest.mark.parametrize(
    ("ref", "obj"),
    [
        pytest.param(Ref(MANIFEST_WORK, "c1/Web"), {}, id="upper case"),
        pytest.param(Ref(MANIFEST_WORK, "c1/" + "x" * 254), {}, id="name too long"),
        pytest.param(Ref(MANIFEST_WORK, "web"), {}, id="no namespace"),
        pytest.param(Ref(MANIFEST_WORK, "a.b/web"), {}, id="namespace is not a valid label"),
        pytest.param(Ref(MANAGED_CLUSTER, "ns/c1"), {}, id="namespace where there is none"),
        pytest.param(Ref(MANIFEST_WORK, "c1/"), {}, id="no name at all"),
        pytest.param(WORK, work(name="other"), id="another name inside"),
        pytest.param(WORK, work(namespace="other"), id="another namespace inside"),
        pytest.param(WORK, {**work(), "kind": "ConfigMap"}, id="another kind inside"),
        pytest.param(WORK, {**work(), "apiVersion": "v1"}, id="another apiVersion inside"),
        pytest.param(WORK, work(resourceVersion="1"), id="a resourceVersion"),
        pytest.param(WORK, {"metadata": []}, id="metadata is a list"),
        pytest.param(WORK, work(labels={"a": "x" * 64}), id="label value too long"),
        pytest.param(WORK, work(labels={"-": "x"}), id="label key"),
        pytest.param(WORK, work(labels={"a": 1}), id="label is a number"),
        pytest.param(WORK, work(labels=["a"]), id="labels are a list"),
        pytest.param(WORK, work(annotations={"a": 1}), id="annotation is a number"),
        pytest.param(WORK, work(finalizers="x"), id="finalizers are a string"),
        pytest.param(WORK, work(ownerReferences=[{"uid": "u"}]), id="owner without a name"),
        pytest.param(WORK, work(ownerReferences=[CONTROLLER, CONTROLLER]), id="two controllers"),
    ],
)
def test_a_malformed_object_is_invalid_and_nothing_is_stored(
    hub: EmbeddedHub, ref: Ref, obj: Obj
) -> None:
    with pytest.raises(Invalid):
        hub.create(ref, obj)

    assert hub.list(ref.kind) == Listing((), 0)


# Patch, and the status beside it


def test_generation_grows_with_the_spec_and_with_nothing_else(hub: EmbeddedHub) -> None:
    hub.create(WORK, work())
    written = [
        hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}}),
        hub.patch_status(WORK, {"status": {"x": 1}}),
        hub.patch(WORK, {"spec": {"executor": "e"}}),
        hub.patch(WORK, {"spec": {"executor": "e"}}),
        hub.patch(WORK, {"extra": 1}),
        hub.patch(WORK, {"metadata": {"generation": 99}, "extra": 1}),
        hub.patch(WORK, {"extra": None}),
    ]

    assert [o["metadata"]["generation"] for o in written] == [1, 1, 2, 2, 3, 3, 4]


def test_a_patch_that_changes_nothing_writes_nothing(hub: EmbeddedHub) -> None:
    hub.create(WORK, work(labels={"a": "b"}))
    hub.patch_status(WORK, {"status": {"n": 1}})
    before = hub.get(WORK)

    hub.patch(WORK, {})
    hub.patch(WORK, {"metadata": {"labels": {"a": "b", "gone": None}}, "status": {"n": 9}})
    hub.patch(WORK, {"spec": {"workload": {"manifests": [{"kind": "ConfigMap"}]}}})
    hub.patch(WORK, [{"op": "replace", "path": "/metadata/labels/a", "value": "b"}])
    hub.patch_status(WORK, {"status": {"n": 1}, "spec": {"other": 1}})
    hub.replace(WORK, {**work(labels={"a": "b"}), "status": {"n": 7}})

    assert hub.get(WORK) == before
    assert hub.list(MANIFEST_WORK).version == 2


def test_true_is_not_one_and_one_is_not_a_float(hub: EmbeddedHub) -> None:
    hub.create(WORK, {"spec": {"n": 1}})

    assert hub.patch(WORK, {"spec": {"n": True}})["metadata"]["generation"] == 2
    assert (
        hub.patch(WORK, [{"op": "replace", "path": "/spec/n", "value": 1}])["spec"]["n"] is not True
    )


def test_status_and_spec_never_leak_into_each_other(hub: EmbeddedHub) -> None:
    hub.create(WORK, work())
    hub.patch_status(WORK, {"status": {"mine": 1}})

    patched = hub.patch(WORK, {"spec": {"a": 1}, "status": {"evil": 1}})
    reported = hub.patch_status(
        WORK, {"spec": {"evil": 1}, "status": {"b": 2}, "metadata": {"labels": {"evil": "1"}}}
    )
    replaced = hub.replace(WORK, {"spec": {"c": 1}, "status": {"evil": 2}})

    assert patched["status"] == {"mine": 1}
    assert (reported["spec"], reported["status"]) == (patched["spec"], {"mine": 1, "b": 2})
    assert "labels" not in reported["metadata"]
    assert (replaced["spec"], replaced["status"]) == ({"c": 1}, {"mine": 1, "b": 2})


def test_without_a_subresource_status_is_a_field_like_any_other(hub: EmbeddedHub) -> None:
    hub.create(MAP, {"data": {}})

    assert hub.patch(MAP, {"status": {"a": 1}})["status"] == {"a": 1}
    assert hub.patch_status(MAP, {"data": {"b": "c"}})["data"] == {"b": "c"}


def test_a_status_can_be_taken_away_but_must_be_an_object(hub: EmbeddedHub) -> None:
    hub.create(WORK, work())
    hub.patch_status(WORK, {"status": {"a": 1}})

    with pytest.raises(Invalid):
        hub.patch_status(WORK, {"status": "done"})

    assert "status" not in hub.patch_status(WORK, {"status": None})


def test_a_json_patch_edits_lists_in_place(hub: EmbeddedHub) -> None:
    hub.create(WORK, work(finalizers=["a.io/x", "b.io/y"]))

    stored = hub.patch(
        WORK,
        [
            {"op": "test", "path": "/metadata/finalizers/0", "value": "a.io/x"},
            {"op": "remove", "path": "/metadata/finalizers/0"},
            {"op": "add", "path": "/metadata/labels", "value": {"k": "v"}},
        ],
    )
    reported = hub.patch_status(WORK, [{"op": "add", "path": "/status", "value": {"n": 1}}])

    assert stored["metadata"]["finalizers"] == ["b.io/y"]
    assert stored["metadata"]["labels"] == {"k": "v"}
    assert (reported["status"], reported["metadata"]["generation"]) == ({"n": 1}, 1)
    with pytest.raises(Invalid):
        hub.patch(WORK, [{"op": "test", "path": "/metadata/name", "value": "other"}])


def test_objects_handed_out_are_never_changed_afterwards(hub: EmbeddedHub) -> None:
    given = work(labels={"a": "b"})
    first = hub.create(WORK, given)
    frozen = repr(first), repr(given)

    hub.patch(WORK, {"metadata": {"labels": {"a": "c"}}, "spec": {"workload": {"manifests": []}}})
    hub.patch_status(WORK, {"status": {"n": 1}})
    hub.delete(WORK)

    assert (repr(first), repr(given)) == frozen


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"metadata": {"name": "other"}}, id="name"),
        pytest.param({"metadata": {"namespace": "other"}}, id="namespace"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, id="deletion"),
        pytest.param({"metadata": {"labels": {"a": "not a label"}}}, id="label"),
        pytest.param({"metadata": 3}, id="metadata"),
        pytest.param({"kind": "Placement"}, id="kind"),
        pytest.param({"apiVersion": "v2"}, id="apiVersion"),
        pytest.param([{"op": "remove", "path": "/spec/nothing"}], id="json patch"),
    ],
)
def test_a_change_that_is_not_allowed_is_invalid_and_changes_nothing(
    hub: EmbeddedHub, changes: Any
) -> None:
    before = hub.create(WORK, work())

    with pytest.raises(Invalid):
        hub.patch(WORK, changes)

    assert hub.get(WORK) == before


def test_what_only_the_server_may_set_is_restored_on_update(hub: EmbeddedHub) -> None:
    before = hub.create(WORK, work())["metadata"]

    after = hub.patch(
        WORK, {"metadata": {"creationTimestamp": None, "uid": None, "labels": {"a": "b"}}}
    )["metadata"]

    assert {k: after[k] for k in ("uid", "creationTimestamp")} == {
        k: before[k] for k in ("uid", "creationTimestamp")
    }


def test_replace_puts_the_whole_object_and_keeps_identity(hub: EmbeddedHub) -> None:
    before = hub.create(WORK, work(labels={"a": "b"}, annotations={"c": "d"}))

    after = hub.replace(WORK, {"metadata": {"labels": {"x": "y"}}, "spec": {"n": 1}})

    meta = after["metadata"]
    assert (after["spec"], meta["labels"], "annotations" in meta) == ({"n": 1}, {"x": "y"}, False)
    assert meta["uid"] == before["metadata"]["uid"]
    assert (meta["generation"], version_of(after)) == (2, 2)


# Admission


def test_admission_defaults_and_refuses_what_is_to_be_stored(make: Make) -> None:
    def admit(ref: Ref, new: Obj, old: Obj | None) -> Obj:
        if new["spec"].get("bad"):
            raise Invalid("spec.bad is not accepted")
        return {**new, "spec": {"defaulted": True, **new["spec"]}, "status": {"evil": 1}}

    hub = make(admit)
    stored = hub.create(WORK, work())
    assert (stored["spec"]["defaulted"], "status" in stored) == (True, False)

    for write in (hub.patch, hub.replace):
        with pytest.raises(Invalid):
            write(WORK, {"spec": {"bad": True}})
    assert hub.get(WORK) == stored
    assert hub.patch(WORK, {"spec": {"defaulted": None}}) == stored


@pytest.mark.parametrize("kind", [MANIFEST_WORK, CONFIG_MAP])
def test_admission_sees_the_new_object_and_the_old_one(make: Make, kind: Kind) -> None:
    seen: list[tuple[str, Any, Any]] = []

    def admit(ref: Ref, new: Obj, old: Obj | None) -> Obj:
        seen.append((ref.key, new.get("x"), None if old is None else old.get("x")))
        return new

    hub, ref = make(admit), Ref(kind, "ns/a")
    hub.create(ref, {"x": 1})
    hub.patch(ref, {"x": 2})
    hub.patch_status(ref, {"status": {"y": 1}})
    hub.delete(ref)

    assert seen == [("ns/a", 1, None), ("ns/a", 2, 1), ("ns/a", 2, 2)]
