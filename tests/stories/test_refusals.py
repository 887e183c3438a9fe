"""What the server refuses fails a cluster only where it keeps the cluster from what it is to have (row 19)."""

from typing import Any

import pytest

from rollout.errors import Denied, Gone, HubError, Unauthenticated
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import (
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Ref,
)
from tests.support import make
from tests.support.addon_story import AddOnStory, addon_documents
from tests.support.story import MIN, SEC, Story, only


class Strict:
    """A hub whose admission does not let a label stand on works."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub, self.tries = hub, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def patch(self, ref: Ref, changes: Any, version: int | None = None) -> Any:
        labels = (changes.get("metadata") or {}).get("labels") or {}
        if ref.kind is MANIFEST_WORK and "secret" in labels:
            self.tries += 1
            raise Denied("label secret is not allowed on works")
        return self._hub.patch(ref, changes, version)


class Attempts:
    """A hub whose admission refuses all changes of works for a while."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub, self.refuses, self.tries = hub, False, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def patch(self, ref: Ref, changes: Any, version: int | None = None) -> Any:
        if ref.kind is MANIFEST_WORK and self.refuses:
            self.tries += 1
            raise Denied("works are not to be changed now")
        return self._hub.patch(ref, changes, version)


def story(hubs: list[Strict], **strategy: Any) -> Story:
    def between(hub: MemoryHub) -> Any:
        hubs.append(Strict(hub))
        return hubs[-1]

    notes = {names.ROLLBACK: "Automatic"}
    workload = make.workload(strategy=make.progressive(**strategy), annotations=notes)
    return Story([*make.fleet(4), workload], wrap=between)


def test_a_label_that_is_refused_fails_nobody_and_takes_nothing_back() -> None:
    hubs: list[Strict] = []
    s = story(hubs, maxConcurrency=4, maxFailures=0, minSuccessTime="10m")
    s.to(5 * MIN)
    s.edit({"metadata": {"labels": {"secret": "1"}}})
    s.to(9 * MIN)

    assert s.reason == "RollingOut"
    assert 0 < hubs[0].tries <= 4 * 8  # each after 5 s, 10 s ... 5 min
    s.to(20 * MIN)
    assert s.reason == "Complete"


def test_a_retry_that_is_refused_reaches_the_agent_once_the_server_accepts_it() -> None:
    hubs: list[Attempts] = []

    def between(hub: MemoryHub) -> Any:
        hubs.append(Attempts(hub))
        return hubs[-1]

    workload = make.workload(strategy=make.progressive(maxConcurrency=4, maxFailures=0))
    failing = only("c02", outcome="fail")
    s = Story([*make.fleet(4), workload], failing, wrap=between).to(5 * MIN)
    hubs[0].refuses = True
    s.annotate(names.RETRY, "1")
    s.on(2 * MIN)
    (before,) = [w for w in s.works().values() if w["metadata"]["namespace"] == "c02"]
    hubs[0].refuses = False
    s.on(5 * MIN)
    (after,) = [w for w in s.works().values() if w["metadata"]["namespace"] == "c02"]

    assert hubs[0].tries > 1, "after 5 s, 10 s ..."
    assert names.ATTEMPT not in (before["metadata"].get("labels") or {})
    assert after["metadata"]["labels"][names.ATTEMPT]


def test_a_template_that_is_refused_with_it_fails_the_cluster() -> None:
    hubs: list[Strict] = []
    s = story(hubs, maxConcurrency=1, maxFailures=0).end()
    s.annotate(names.ROLLBACK, "Manual")
    s.edit({"metadata": {"labels": {"secret": "1"}}})
    s.edit({"spec": {"manifestWorkTemplate": make.template("2")}})
    s.on(2 * MIN)

    assert s.reason == "MaxFailuresExceeded"
    assert set(s.versions().values()) == {"1"}


class Full:
    """A hub on which objects of one kind cannot be created for now."""

    def __init__(self, hub: MemoryHub, kind: Kind, error: HubError) -> None:
        self._hub, self._kind, self._error = hub, kind, error
        self.is_full = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def create(self, ref: Ref, obj: Any) -> Any:
        if ref.kind is self._kind and ref.namespace in ("default", "c00") and self.is_full:
            raise self._error
        return self._hub.create(ref, obj)


def on_full(kind: Kind, error: HubError) -> tuple[Story, Full]:
    hubs: list[Full] = []

    def between(hub: MemoryHub) -> Any:
        hubs.append(Full(hub, kind, error))
        return hubs[-1]

    workload = make.workload(strategy=make.progressive(maxConcurrency=1, maxFailures=2))
    return Story([*make.fleet(3), workload], wrap=between), hubs[0]


@pytest.mark.parametrize("kind", [ROLLOUT_RECORD, ROLLOUT_REVISION], ids=lambda kind: kind.name)
def test_a_record_that_the_server_refuses_holds_the_rollout_and_says_so(kind: Kind) -> None:
    s, hub = on_full(kind, Denied("exceeded quota: count/things=0"))
    s.to(10 * MIN)
    assert s.reason == "RecordRejected"
    assert "exceeded quota" in s.message
    assert f"{kind.name} default/rollout-" in s.message
    assert s.works() == {}

    hub.is_full = False
    s.end()
    assert s.reason == "Complete"


class Quota(Full):
    """A hub with room for so many objects of the kind."""

    def create(self, ref: Ref, obj: Any) -> Any:
        self.is_full = len(self._hub.list(self._kind).items) >= 3
        return super().create(ref, obj)


def test_a_full_quota_of_revisions_has_room_again_once_fewer_are_to_be_kept() -> None:
    def between(hub: MemoryHub) -> Any:
        return Quota(hub, ROLLOUT_REVISION, Denied("exceeded quota: count/things=3"))

    s = Story([*make.fleet(2), make.workload()], wrap=between).end()
    for version in "234":
        s.template(make.template(version))
        s.on(10 * MIN)
    assert s.reason == "RecordRejected"

    s.annotate(names.HISTORY_LIMIT, "1")
    s.on(10 * MIN)

    assert s.reason == "Complete"
    assert set(s.versions().values()) == {"4"}


def test_a_record_that_is_refused_again_and_again_begins_no_rollout_twice() -> None:
    s, hub = on_full(ROLLOUT_REVISION, Denied("the namespace is being terminated"))
    s.to(10 * MIN)
    assert [note.reason for note in s.notes].count("RolloutStarted") == 1
    hub.is_full = False
    s.end()
    assert [note.reason for note in s.notes].count("RolloutStarted") == 1


def test_a_cluster_without_a_namespace_fails_and_lets_the_others_go_on() -> None:
    s, hub = on_full(MANIFEST_WORK, Gone('namespaces "c00" not found'))
    s.to(10 * MIN)
    assert sorted(s.works()) == ["c01", "c02"]
    assert "1 failed" in s.message

    hub.is_full = False
    s.end()
    assert sorted(s.works()) == ["c00", "c01", "c02"]
    assert s.reason == "Complete"


def test_an_addon_that_could_not_be_installed_waits_no_longer_once_a_fix_is_asked_for() -> None:
    """L5: the pause after a refusal is for the version that was refused."""
    hubs: list[Full] = []

    def between(hub: MemoryHub) -> Any:
        hubs.append(Full(hub, MANAGED_CLUSTER_ADDON, Denied("version 1 is not allowed here")))
        return hubs[-1]

    gated = addon_documents(2, annotations={names.GATES: "before:*"})
    s = AddOnStory(gated, wrap=between)
    s.to(6 * MIN)
    missing = Ref(MANAGED_CLUSTER_ADDON, "c00/hello")
    assert not s.exists(missing), "it is tried again after 5 min"
    hubs[0].is_full = False
    s.release("2")
    s.on(5 * SEC)

    assert s.exists(missing)


def test_a_server_that_does_not_know_who_asks_fails_no_cluster() -> None:
    """As for a while after the keys of service accounts were changed. Its 401 says nothing of a cluster."""
    strategy = make.progressive(maxConcurrency=1, maxFailures=0)
    fleet = Story([*make.fleet(3), make.workload(strategy=strategy)]).end()
    for cluster in ("c00", "c01", "c02"):
        fleet.denied[cluster] = Unauthenticated("Unauthorized")
    fleet.template(make.template("2"))
    fleet.on(5 * MIN)
    assert fleet.touched("2") == {}
    assert "WriteRejected" not in str(fleet.state())
    assert fleet.reason == "RollingOut"

    fleet.denied.clear()
    assert len(fleet.end().touched("2")) == 3
