"""What is said of rights that nobody uses, of uses that nobody granted, and of excuses that are none."""

import json
from pathlib import Path

import pytest

from tests.kube.rights import HERE, SELDOM, Right, excuse, granted, idle, main, missing, used

CONTROLLER, DASHBOARD = "rollout-controller", "rollout-dashboard"
GIVEN = {
    Right("", "configmaps", "get"),
    Right("x.io", "things", "list"),
    Right("x.io", "things/finalizers", "update"),
}


def line(verb: str, account: str = CONTROLLER, **ref: str) -> str:
    user = {"username": f"system:serviceaccount:rollout-system:{account}"}
    said = {"verb": verb, "user": user}
    return json.dumps({**said, "objectRef": ref} if ref else said)


def test_a_right_that_is_never_used_and_a_use_that_is_not_granted_are_told() -> None:
    taken = used(
        [
            line("get", resource="configmaps"),
            line("patch", apiGroup="x.io", resource="things", subresource="status"),
            line("get"),
            line("create", apiGroup="authorization.k8s.io", resource="selfsubjectaccessreviews"),
        ]
    )[CONTROLLER]

    assert [str(right) for right in idle(CONTROLLER, GIVEN, taken)] == ["list things.x.io"]
    assert [str(right) for right in missing(GIVEN, taken)] == ["patch things/status.x.io"]


def test_reading_back_what_is_written_has_to_be_tried_as_well() -> None:
    read, write = Right("x.io", "things", "get"), Right("x.io", "things/status", "patch")

    assert idle(CONTROLLER, {read, write}, {write}) == [read]


def test_what_one_account_uses_is_no_use_of_another() -> None:
    taken = used([line("list", DASHBOARD, apiGroup="x.io", resource="things")])

    assert taken[CONTROLLER] == set()
    assert taken[DASHBOARD] == {Right("x.io", "things", "list")}


@pytest.mark.parametrize("verb", ["get", "list", "watch"])
def test_reading_kinds_that_only_their_users_know_is_granted_by_these(verb: str) -> None:
    assert missing(GIVEN, {Right("example.org", "tunings", verb)}) == []


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_writing_kinds_that_only_their_users_know_is_granted_by_nobody(verb: str) -> None:
    written = Right("example.org", "tunings", verb)

    assert missing(GIVEN, {written}) == [written]


def lease(verb: str, namespace: str) -> str:
    return line(verb, apiGroup="coordination.k8s.io", resource="leases", namespace=namespace)


LEASES = {
    Right("coordination.k8s.io", "leases", "patch", HERE),
    Right("coordination.k8s.io", "leases", "list"),
}
"""As a Role and a ClusterRole grant them."""


def test_what_a_role_grants_in_its_namespace_may_be_used_nowhere_else() -> None:
    taken = used([lease("patch", "elsewhere"), lease("list", "elsewhere")])[CONTROLLER]

    said = [str(right) for right in missing(LEASES, taken)]
    assert said == ["patch leases.coordination.k8s.io"]
    said = [str(right) for right in idle(CONTROLLER, LEASES, taken)]
    assert said == [f"patch leases.coordination.k8s.io in {HERE}"]


def test_what_a_cluster_role_grants_may_be_used_in_every_namespace() -> None:
    taken = used([lease("patch", HERE), lease("list", HERE)])[CONTROLLER]

    assert missing(LEASES, taken) == []
    assert idle(CONTROLLER, LEASES, taken) == []


def test_a_use_that_a_role_grants_is_no_use_of_the_cluster_role_that_grants_it_too() -> None:
    everywhere = Right("coordination.k8s.io", "leases", "patch")
    taken = used([lease("patch", HERE)])[CONTROLLER]

    assert idle(CONTROLLER, LEASES | {everywhere}, taken) == [
        Right("coordination.k8s.io", "leases", "list"),
        everywhere,
    ]


def test_roles_are_about_the_namespace_of_the_accounts_and_no_other() -> None:
    here = {right for rights in granted().values() for right in rights if right.namespace}

    assert {right.namespace for right in here} == {HERE}
    assert {right.resource for right in here} == {"leases"}
    health = Right("coordination.k8s.io", "leases", "watch")
    assert health in granted()[CONTROLLER]
    assert health._replace(namespace=HERE) not in granted()[CONTROLLER]


def test_only_rights_that_are_granted_may_be_used_or_not() -> None:
    assert all(right in granted()[account] for account, right in SELDOM)


def test_rights_are_read_from_every_role_of_the_manifests_by_account() -> None:
    found = granted()

    assert found.keys() == {CONTROLLER, DASHBOARD}
    assert (
        Right("cluster.open-cluster-management.io", "placements/status", "patch")
        in found[CONTROLLER]
    )
    assert Right("events.k8s.io", "events", "list") in found[DASHBOARD] - found[CONTROLLER]
    assert Right("", "secrets", "list") not in found[CONTROLLER] | found[DASHBOARD]


def record(folder: Path, **changed: set[Right]) -> Path:
    """What test servers wrote down if each account used all of its rights, but for these."""
    told = {
        account: sorted(
            {right for right in rights if not excuse(right)} ^ changed.get(account[8:], set())
        )
        for account, rights in granted().items()
    }
    (folder / "1.json").write_text(json.dumps(told))
    return folder


def test_all_is_well_where_every_account_uses_its_rights_and_no_others(tmp_path: Path) -> None:
    assert main(record(tmp_path)) == 0


@pytest.mark.parametrize(
    ("account", "right", "said"),
    [
        ("controller", Right("rollout-engine.io", "freezes", "watch"), "granted and never used"),
        ("controller", Right("", "pods", "list"), "used and not granted"),
        ("controller", Right("example.org", "tunings", "patch"), "used and not granted"),
        (
            "controller",
            Right("coordination.k8s.io", "leases", "get", HERE),
            "granted and never used",
        ),
        ("controller", Right("coordination.k8s.io", "leases", "patch"), "used and not granted"),
        ("controller", Right("events.k8s.io", "events", "list"), "used and not granted"),
        (
            "controller",
            min(r for r in granted()[CONTROLLER] if excuse(r)),
            "excused, and used",
        ),
        ("dashboard", Right("rollout-engine.io", "freezes", "watch"), "granted and never used"),
        ("dashboard", Right("events.k8s.io", "events", "create"), "used and not granted"),
    ],
)
def test_what_is_wrong_with_one_right_fails_the_whole(
    account: str, right: Right, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(record(tmp_path, **{account: {right}})) == 1
    assert f"rollout-{account}: {said}: {right}" in capsys.readouterr().out


def test_nothing_written_down_is_a_failure(tmp_path: Path) -> None:
    assert main(tmp_path) == 1
