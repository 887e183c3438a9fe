"""What every hub does that is reached over HTTP, and every other one: inherit, and give a `hub`.

Versions are numbers that only grow; nothing here says which.
"""

import threading
from typing import Any

import pytest

from rollout.errors import AlreadyExists, Conflict, Gone, Invalid
from rollout.hub import kube_calls
from rollout.hub.base import Hub
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    LEASE,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    Obj,
    Ref,
)
from tests.kube.setting import eventually

WORK = Ref(MANIFEST_WORK, "c1/web")
MAP = Ref(CONFIG_MAP, "default/page")
FINALIZER = "example.io/cleanup"


def work(**meta: Any) -> Obj:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}}
    return {"metadata": meta, "spec": {"workload": {"manifests": [manifest]}}}


def version_of(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Ear:
    """Listens to a watch, but not to what the server writes down for itself."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.expired = threading.Event()

    def __call__(self, event: Event) -> None:
        if event.ref.namespace != "kube-system":
            self.events.append(event)

    def said(self) -> list[tuple[str, str]]:
        return [(e.change.value, e.ref.key) for e in self.events]

    def hears(self, *wanted: tuple[str, str]) -> None:
        def check() -> None:
            assert self.said() == list(wanted)

        eventually("the events come", check)


class HubContract:
    """The tests. A class that inherits has a fixture ``hub`` with namespaces c1, c2 and default."""

    # Create and read

    def test_a_new_object_has_an_identity_and_is_read_as_it_was_stored(self, hub: Hub) -> None:
        stored = hub.create(WORK, work(labels={"a": "b"}))

        meta = stored["metadata"]
        assert (stored["apiVersion"], stored["kind"]) == (MANIFEST_WORK.api_version, "ManifestWork")
        assert (meta["namespace"], meta["name"], meta["labels"]) == ("c1", "web", {"a": "b"})
        assert meta["generation"] == 1
        assert len(meta["uid"]) == 36
        assert version_of(stored) > 0
        assert hub.get(WORK) == stored

    def test_a_second_create_is_refused_and_changes_nothing(self, hub: Hub) -> None:
        first = hub.create(WORK, work())

        with pytest.raises(AlreadyExists):
            hub.create(WORK, work(labels={"a": "b"}))

        assert hub.get(WORK) == first

    def test_what_is_not_there_is_gone_to_every_verb(self, hub: Hub) -> None:
        with pytest.raises(Gone):
            hub.get(WORK)
        with pytest.raises(Gone):
            hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(Gone):
            hub.patch_status(WORK, {"status": {}})
        with pytest.raises(Gone):
            hub.delete(WORK)

    def test_a_generated_name_begins_with_its_stem(self, hub: Hub) -> None:
        stored = hub.create(Ref(MANIFEST_WORK, "c1/"), work(generateName="web-"))

        assert stored["metadata"]["name"].startswith("web-")
        assert len(stored["metadata"]["name"]) > len("web-")

    @pytest.mark.parametrize(
        ("ref", "obj"),
        [
            pytest.param(Ref(MANIFEST_WORK, "c1/Web"), work(), id="upper case"),
            pytest.param(WORK, work(labels={"a": "not a label"}), id="label"),
            pytest.param(WORK, {"spec": {"workload": {"manifests": "x"}}}, id="manifests"),
            pytest.param(
                Ref(MANAGED_CLUSTER, "c1"), {"spec": {"taints": [{"effect": "x"}]}}, id="taint"
            ),
        ],
    )
    def test_a_bad_object_is_invalid_and_not_stored(self, hub: Hub, ref: Ref, obj: Obj) -> None:
        with pytest.raises(Invalid):
            hub.create(ref, obj)

        with pytest.raises(Gone):
            hub.get(ref)

    def test_kinds_that_are_no_custom_resources_keep_all_their_fields(self, hub: Hub) -> None:
        revision, lease = (
            Ref(CONTROLLER_REVISION, "default/r"),
            Ref(LEASE, "default/l"),
        )
        hub.create(MAP, {"data": {"a": "1"}})
        hub.create(revision, {"data": {"spec": {"x": 1}}, "revision": 3})
        hub.create(lease, {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}})

        assert hub.get(MAP)["data"] == {"a": "1"}
        assert (hub.get(revision)["data"], hub.get(revision)["revision"]) == ({"spec": {"x": 1}}, 3)
        assert hub.get(lease)["spec"]["holderIdentity"] == "me"
        listed = hub.list(CONFIG_MAP, "default", {}).items
        assert hub.get(MAP) in listed

    # Patch

    def test_generation_grows_with_the_spec_alone(self, hub: Hub) -> None:
        hub.create(WORK, work())

        written = [
            hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}}),
            hub.patch_status(WORK, {"status": {"conditions": []}}),
            hub.patch(WORK, {"spec": {"deleteOption": {"propagationPolicy": "Orphan"}}}),
        ]

        assert [o["metadata"]["generation"] for o in written] == [1, 1, 2]

    def test_a_patch_that_changes_nothing_writes_nothing(self, hub: Hub) -> None:
        before = hub.create(WORK, work(labels={"a": "b"}))

        after = hub.patch(WORK, {"metadata": {"labels": {"a": "b", "none": None}}})

        assert after == before

    def test_null_takes_a_field_away(self, hub: Hub) -> None:
        hub.create(WORK, work(labels={"a": "b", "c": "d"}))

        after = hub.patch(WORK, {"metadata": {"labels": {"a": None}}})

        assert after["metadata"]["labels"] == {"c": "d"}

    def test_a_patch_lands_only_on_the_version_it_names(self, hub: Hub) -> None:
        first = hub.create(WORK, work())
        second = hub.patch(WORK, {"metadata": {"labels": {"n": "2"}}}, version_of(first))

        with pytest.raises(Conflict):
            hub.patch(WORK, {"metadata": {"labels": {"n": "3"}}}, version_of(first))
        with pytest.raises(Conflict):
            hub.patch_status(WORK, {"status": {"conditions": []}}, version_of(first))

        assert hub.get(WORK) == second

    def test_spec_and_status_never_leak_into_each_other(self, hub: Hub) -> None:
        condition = {
            "type": "Applied",
            "status": "True",
            "reason": "Done",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        created = hub.create(WORK, {**work(), "status": {"conditions": [condition]}})
        patched = hub.patch(WORK, {"status": {"conditions": [condition]}})
        reported = hub.patch_status(
            WORK,
            {
                "status": {"conditions": [condition]},
                "spec": {"deleteOption": {"propagationPolicy": "Orphan"}},
            },
        )

        assert not (created.get("status") or {}).get("conditions")
        assert not (patched.get("status") or {}).get("conditions")
        assert [c["type"] for c in reported["status"]["conditions"]] == ["Applied"]
        assert reported["spec"] == created["spec"]

    # Delete

    def test_a_delete_is_for_one_uid_and_version_only(self, hub: Hub) -> None:
        first = hub.create(WORK, work())
        second = hub.patch(WORK, {"metadata": {"labels": {"n": "2"}}})

        with pytest.raises(Conflict):
            hub.delete(WORK, uid="00000000-0000-0000-0000-000000000000")
        with pytest.raises(Conflict):
            hub.delete(WORK, version=version_of(first))
        hub.delete(WORK, second["metadata"]["uid"], version_of(second))

        with pytest.raises(Gone):
            hub.get(WORK)

    def test_finalizers_hold_an_object_until_the_last_is_removed(self, hub: Hub) -> None:
        hub.create(WORK, work(finalizers=[FINALIZER]))

        hub.delete(WORK)
        assert "deletionTimestamp" in hub.get(WORK)["metadata"]

        hub.patch(WORK, {"metadata": {"finalizers": None}})
        with pytest.raises(Gone):
            hub.get(WORK)

    # List

    def test_a_list_is_by_namespace_and_labels_and_in_the_order_of_keys(self, hub: Hub) -> None:
        for key, labels in (("c2/a", {"x": "1"}), ("c1/b", {"x": "1", "y": "2"}), ("c1/a", {})):
            hub.create(Ref(MANIFEST_WORK, key), work(labels=labels))

        def keys(*arguments: Any) -> list[str]:
            items = hub.list(MANIFEST_WORK, *arguments).items
            return [f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in items]

        assert keys() == ["c1/a", "c1/b", "c2/a"]
        assert keys("c1") == ["c1/a", "c1/b"]
        assert keys(None, {"x": "1"}) == ["c1/b", "c2/a"]
        assert keys("c1", {"x": "1", "y": "2"}) == ["c1/b"]
        assert keys("c2", {"y": "2"}) == []

    def test_a_list_in_pages_is_whole_and_of_one_version(
        self, hub: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kube_calls, "PAGE", 2)
        made = [hub.create(Ref(MANIFEST_WORK, f"c1/w{n}"), work()) for n in range(5)]

        listing = hub.list(MANIFEST_WORK)

        assert list(listing.items) == made
        assert listing.version >= version_of(made[-1])

    # Watch

    def test_a_watch_tells_of_everything_after_its_version_in_order(self, hub: Hub) -> None:
        before = hub.create(Ref(MANIFEST_WORK, "c1/old"), work())
        ear = Ear()
        end = hub.watch(MANIFEST_WORK, hub.list(MANIFEST_WORK).version, ear)
        hub.create(WORK, work())
        hub.patch_status(WORK, {"status": {"conditions": []}})
        hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})
        hub.delete(WORK)

        changes = ("ADDED", "MODIFIED", "MODIFIED", "DELETED")
        ear.hears(*((change, "c1/web") for change in changes))
        versions = [e.version for e in ear.events]
        assert versions == sorted(set(versions))
        assert versions[0] > version_of(before)
        assert ear.events[-1].obj["metadata"]["labels"] == {"a": "b"}
        end()

    def test_a_watch_from_an_older_version_tells_of_the_past(self, hub: Hub) -> None:
        since = hub.list(MANIFEST_WORK).version
        hub.create(WORK, work())
        hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})
        ear = Ear()

        end = hub.watch(MANIFEST_WORK, since, ear)

        ear.hears(("ADDED", "c1/web"), ("MODIFIED", "c1/web"))
        end()

    def test_a_watch_that_was_ended_is_silent_and_can_be_ended_again(self, hub: Hub) -> None:
        ear, other = Ear(), Ear()
        since = hub.list(MANIFEST_WORK).version
        end, end_other = (hub.watch(MANIFEST_WORK, since, e) for e in (ear, other))
        hub.create(WORK, work())
        ear.hears(("ADDED", "c1/web"))

        end()
        end()
        hub.delete(WORK)

        other.hears(("ADDED", "c1/web"), ("DELETED", "c1/web"))
        assert ear.said() == [("ADDED", "c1/web")]
        end_other()

    def test_the_removal_of_the_last_finalizer_is_told_as_the_deletion(self, hub: Hub) -> None:
        hub.create(WORK, work(finalizers=[FINALIZER]))
        ear = Ear()
        end = hub.watch(MANIFEST_WORK, hub.list(MANIFEST_WORK).version, ear)

        hub.delete(WORK)
        hub.patch(WORK, {"metadata": {"finalizers": None}})

        ear.hears(("MODIFIED", "c1/web"), ("DELETED", "c1/web"))
        assert "deletionTimestamp" in ear.events[0].obj["metadata"]
        end()

    def test_watches_of_several_kinds_hear_only_their_own(self, hub: Hub) -> None:
        works, maps = Ear(), Ear()
        ends = [
            hub.watch(kind, hub.list(kind).version, ear)
            for kind, ear in ((MANIFEST_WORK, works), (CONFIG_MAP, maps))
        ]
        hub.create(MAP, {"data": {}})
        hub.create(WORK, work())

        works.hears(("ADDED", "c1/web"))
        maps.hears(("ADDED", "default/page"))
        assert all(e.change is Change.ADDED for e in works.events + maps.events)
        for end in ends:
            end()
