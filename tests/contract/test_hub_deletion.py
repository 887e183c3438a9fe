"""What every embedded hub deletes, and what it lists."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Gone, Invalid
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import CLUSTER_SET, MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from tests.support.hubs import FINALIZER, MAP, WORK, work


def owned_by(*owners: Obj) -> list[Obj]:
    return [
        {
            "apiVersion": o["apiVersion"],
            "kind": o["kind"],
            "name": o["metadata"]["name"],
            "uid": o["metadata"]["uid"],
        }
        for o in owners
    ]


# Delete


def test_an_object_without_finalizers_is_removed_at_once(hub: EmbeddedHub) -> None:
    uid = hub.create(WORK, work())["metadata"]["uid"]

    with pytest.raises(Conflict):
        hub.delete(WORK, uid="another")
    hub.delete(WORK, uid=uid)

    with pytest.raises(Gone):
        hub.get(WORK)
    assert hub.create(WORK, work())["metadata"]["uid"] != uid


def test_finalizers_hold_a_deleted_object_until_the_last_is_removed(
    hub: EmbeddedHub, clock: VirtualClock
) -> None:
    hub.create(WORK, work(finalizers=[FINALIZER, "b.io/y"]))
    hub.delete(WORK)
    marked = hub.get(WORK)["metadata"]
    clock.advance(timedelta(minutes=1))
    hub.delete(WORK)

    assert hub.get(WORK)["metadata"] == marked
    assert marked["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert marked["generation"] == 2  # an API server counts the mark as well
    with pytest.raises(Invalid):
        hub.patch(WORK, {"metadata": {"finalizers": [FINALIZER, "b.io/y", "c.io/z"]}})
    kept = hub.patch(WORK, {"metadata": {"finalizers": ["b.io/y"], "deletionTimestamp": None}})
    assert kept["metadata"]["deletionTimestamp"] == marked["deletionTimestamp"]

    hub.patch(WORK, {"metadata": {"finalizers": None}})
    with pytest.raises(Gone):
        hub.get(WORK)


# Owners


def decision(hub: EmbeddedHub, name: str, owners: list[Obj], **meta: Any) -> Ref:
    ref = Ref(PLACEMENT_DECISION, name)
    hub.create(ref, {"metadata": {"ownerReferences": owners, **meta}})
    return ref


def exists(hub: EmbeddedHub, ref: Ref) -> bool:
    return any(o["metadata"]["name"] == ref.name for o in hub.list(ref.kind, ref.namespace).items)


def test_dependents_go_with_their_owner_and_theirs_with_them(hub: EmbeddedHub) -> None:
    placement = hub.create(Ref(PLACEMENT, "ns/p"), {})
    child = decision(hub, "ns/p-1", owned_by(placement))
    grandchild = decision(hub, "ns/p-1-1", owned_by(hub.get(child)))
    other = decision(hub, "ns/other", owned_by(hub.create(Ref(PLACEMENT, "ns/q"), {})))

    hub.delete(Ref(PLACEMENT, "ns/p"))

    assert [exists(hub, r) for r in (child, grandchild, other)] == [False, False, True]


def test_a_dependent_stays_while_one_of_its_owners_does(hub: EmbeddedHub) -> None:
    one, two = (hub.create(Ref(PLACEMENT, f"ns/{n}"), {}) for n in "pq")
    child = decision(hub, "ns/d", owned_by(one, two))

    hub.delete(Ref(PLACEMENT, "ns/p"))
    assert hub.get(child)["metadata"]["ownerReferences"] == owned_by(two)
    hub.delete(Ref(PLACEMENT, "ns/q"))
    assert not exists(hub, child)


def test_a_dependent_with_finalizers_is_marked_and_waits(hub: EmbeddedHub) -> None:
    placement = hub.create(Ref(PLACEMENT, "ns/p"), {})
    child = decision(hub, "ns/d", owned_by(placement), finalizers=[FINALIZER])

    hub.delete(Ref(PLACEMENT, "ns/p"))

    assert "deletionTimestamp" in hub.get(child)["metadata"]


def test_an_owner_counts_by_its_uid_not_by_its_name(hub: EmbeddedHub) -> None:
    first = hub.create(Ref(PLACEMENT, "ns/p"), {})
    hub.delete(Ref(PLACEMENT, "ns/p"))
    hub.create(Ref(PLACEMENT, "ns/p"), {})

    late = decision(hub, "ns/d", owned_by(first))

    assert not exists(hub, late)


def test_an_owner_is_of_the_same_namespace_or_of_none(hub: EmbeddedHub) -> None:
    cluster_scoped = hub.create(Ref(CLUSTER_SET, "s"), {})
    elsewhere = hub.create(Ref(PLACEMENT, "other/p"), {})

    kept = decision(hub, "ns/kept", owned_by(cluster_scoped))
    lost = decision(hub, "ns/lost", owned_by(elsewhere))

    assert (exists(hub, kept), exists(hub, lost)) == (True, False)
    hub.delete(Ref(CLUSTER_SET, "s"))
    assert not exists(hub, kept)


def test_an_owner_of_a_kind_that_is_not_kept_here_is_taken_to_be_there(hub: EmbeddedHub) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}

    assert exists(hub, decision(hub, "ns/d", [owner]))


def test_owners_given_up_later_do_not_take_the_object_with_them(hub: EmbeddedHub) -> None:
    placement = hub.create(Ref(PLACEMENT, "ns/p"), {})
    child = decision(hub, "ns/d", owned_by(placement))
    hub.patch(child, {"metadata": {"ownerReferences": None}})

    hub.delete(Ref(PLACEMENT, "ns/p"))

    assert exists(hub, child)


# List


def test_a_listing_is_in_the_order_of_keys_and_of_one_version(hub: EmbeddedHub) -> None:
    for key in ("b/x", "a-b/x", "a/y", "a/x"):
        hub.create(Ref(MANIFEST_WORK, key), work())
    hub.create(MAP, {})

    listing = hub.list(MANIFEST_WORK)

    assert [_key(o) for o in listing.items] == ["a-b/x", "a/x", "a/y", "b/x"]
    assert listing.version == 5
    assert [_key(o) for o in hub.list(MANIFEST_WORK, "a").items] == ["a/x", "a/y"]
    assert hub.list(MANIFEST_WORK, "none").items == ()


def test_a_listing_obeys_label_and_field_selectors(hub: EmbeddedHub) -> None:
    for key, labels in (("a/x", {"k": "1", "l": "2"}), ("a/y", {"k": "1"}), ("b/x", {"k": "2"})):
        hub.create(Ref(MANIFEST_WORK, key), work(labels=labels))
    hub.create(Ref(MANIFEST_WORK, "b/y"), work())

    def keys(**by: Any) -> list[str]:
        return [_key(o) for o in hub.list(MANIFEST_WORK, **by).items]

    assert keys(labels={"k": "1", "l": "2"}) == ["a/x"]
    assert keys(label_selector="k in (1,2),!l") == ["a/y", "b/x"]
    assert keys(label_selector="k!=1") == ["b/x", "b/y"]
    assert keys(field_selector="metadata.name=x,metadata.namespace!=a") == ["b/x"]
    assert keys(namespace="a", labels={"k": "1"}, label_selector="l") == ["a/x"]
    for bad in ({"label_selector": "a b"}, {"field_selector": "spec.n=1"}):
        with pytest.raises(Invalid):
            keys(**bad)


def _key(obj: Obj) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
