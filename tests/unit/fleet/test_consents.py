"""Approvals by workload, and freezes, kept event by event."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.fleet.consents import Consents
from rollout.model.events import Change, Event
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    APPROVAL,
    CLUSTER_MANAGEMENT_ADDON,
    FREEZE,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
)
from tests.support.fleets import MIN, SEC, T0

REV = "5f3a9c"


def told(kind: Kind, key: str, obj: Obj, change: Change = Change.MODIFIED) -> Event:
    return Event(Ref(kind, key), change, obj, 1)


def approval(name: str, workload: str = "web", namespace: str = "apps", **spec: Any) -> Event:
    kind = spec.pop("kind", "ManifestWorkReplicaSet")
    said = {"workload": {"kind": kind, "name": workload}, "revision": REV, "decision": "Approve"}
    obj = {"metadata": {"name": name, "namespace": namespace}, "spec": {**said, **spec}}
    return told(APPROVAL, f"{namespace}/{name}", obj)


def freeze(name: str, until: timedelta | None = None) -> Event:
    spec = {} if until is None else {"until": rfc3339(T0 + until)}
    return told(FREEZE, name, {"metadata": {"name": name}, "spec": spec})


def gone(event: Event) -> Event:
    return Event(event.ref, Change.DELETED, event.obj, event.version)


WEB, API = Ref(REPLICA_SET, "apps/web"), Ref(REPLICA_SET, "apps/api")


def names_of(consents: Consents, workload: Ref = WEB, namespace: str = "apps") -> list[str]:
    return [each.name for each in consents.approvals(workload, namespace)]


def test_an_approval_is_of_the_workload_that_it_names_in_its_own_namespace() -> None:
    consents = Consents()

    assert consents.take_approval(approval("b")) == {WEB}
    assert consents.take_approval(approval("a")) == {WEB}
    consents.take_approval(approval("c", namespace="others"))
    consents.take_approval(approval("d", workload="api"))

    assert names_of(consents) == ["a", "b"], "by name"
    assert names_of(consents, API) == ["d"]
    assert names_of(consents, Ref(REPLICA_SET, "others/web"), "others") == ["c"]


def test_an_approval_that_changes_its_mind_concerns_both_workloads() -> None:
    consents = Consents()
    consents.take_approval(approval("a"))

    assert consents.take_approval(approval("a", workload="api")) == {WEB, API}
    assert (names_of(consents), names_of(consents, API)) == ([], ["a"])


def test_an_approval_that_is_taken_away_counts_no_more() -> None:
    consents = Consents()
    consents.take_approval(approval("a"))

    assert consents.take_approval(gone(approval("a"))) == {WEB}
    assert names_of(consents) == []
    assert consents.take_approval(gone(approval("a"))) == set()


def test_approvals_of_add_ons_are_kept_by_their_namespace_and_concern_the_add_on() -> None:
    consents = Consents()
    event = approval("a", "logs", "hub", kind="ClusterManagementAddOn")

    assert consents.take_approval(event) == {Ref(CLUSTER_MANAGEMENT_ADDON, "logs")}
    assert names_of(consents, Ref(CLUSTER_MANAGEMENT_ADDON, "logs"), "hub") == ["a"]
    assert names_of(consents, Ref(CLUSTER_MANAGEMENT_ADDON, "logs"), "apps") == []


def test_an_approval_of_a_kind_that_is_rolled_out_by_nobody_concerns_nobody() -> None:
    assert Consents().take_approval(approval("a", kind="Deployment")) == set()


FROZEN: list[tuple[list[tuple[str, timedelta | None]], str | None]] = [
    ([], None),
    ([("a", None)], "a"),
    ([("a", MIN)], "a"),
    ([("a", timedelta(0))], None),
    ([("a", -SEC)], None),
    ([("a", 2 * MIN), ("b", MIN)], "a"),
    ([("a", MIN), ("b", None)], "b"),
    ([("a", -SEC), ("b", SEC)], "b"),
]


@pytest.mark.parametrize(("freezes", "wanted"), FROZEN)
def test_of_several_freezes_the_one_that_stands_longest_is_told(
    freezes: list[tuple[str, timedelta | None]], wanted: str | None
) -> None:
    consents = Consents()
    for name, until in freezes:
        consents.take_freeze(freeze(name, until))

    found = consents.freeze(T0)

    assert (found.name if found else None) == wanted


def test_a_freeze_that_is_deleted_or_shortened_holds_no_longer() -> None:
    consents = Consents()
    consents.take_freeze(freeze("a"))
    consents.take_freeze(freeze("b"))
    consents.take_freeze(gone(freeze("a")))
    consents.take_freeze(freeze("b", MIN))

    assert consents.freeze(T0 + MIN - SEC) is not None
    assert consents.freeze(T0 + MIN) is None


CHANGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["web", "api", None])), max_size=30
)


@given(CHANGES)
def test_after_any_history_what_is_kept_is_what_there_is(
    changes: list[tuple[str, str | None]],
) -> None:
    consents, there = Consents(), dict[str, str]()
    for name, workload in changes:
        if workload is None:
            there.pop(name, None)
            consents.take_approval(gone(approval(name)))
        else:
            there[name] = workload
            consents.take_approval(approval(name, workload))
        for ref in (WEB, API):
            assert names_of(consents, ref) == sorted(n for n, w in there.items() if w == ref.name)
