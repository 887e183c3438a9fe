"""What is said of rights that nobody uses, and of uses that nobody granted."""

import json

from tests.kube.rights import UNTRIED, Right, granted, idle, missing, used

GIVEN = {
    Right("", "configmaps", "get"),
    Right("x.io", "things", "list"),
    Right("x.io", "things/finalizers", "update"),
}


def line(verb: str, **ref: str) -> str:
    return json.dumps({"verb": verb, "objectRef": ref} if ref else {"verb": verb})


def test_a_right_that_is_never_used_and_a_use_that_is_not_granted_are_told() -> None:
    taken = used(
        [
            line("get", resource="configmaps"),
            line("patch", apiGroup="x.io", resource="things", subresource="status"),
            line("get"),
            line("create", apiGroup="authorization.k8s.io", resource="selfsubjectaccessreviews"),
        ]
    )

    assert [str(right) for right in idle(GIVEN, taken)] == ["list things.x.io"]
    assert [str(right) for right in missing(GIVEN, taken)] == ["patch things/status.x.io"]


def test_reading_back_what_is_written_needs_no_test_and_any_other_get_does() -> None:
    read, write = Right("x.io", "things", "get"), Right("x.io", "things/status", "patch")

    assert idle({read, write}, {write}) == []
    assert idle({read}, set()) == [read]


def test_reading_kinds_that_only_their_users_know_is_granted_by_these() -> None:
    assert missing(GIVEN, {Right("example.org", "tunings", "watch")}) == []


def test_only_rights_that_are_granted_are_excused() -> None:
    assert UNTRIED.keys() <= granted()


def test_rights_are_read_from_every_role_of_the_manifests() -> None:
    found = granted()

    assert Right("cluster.open-cluster-management.io", "placements/status", "patch") in found
    assert Right("coordination.k8s.io", "leases", "watch") in found
    assert Right("", "secrets", "list") not in found
