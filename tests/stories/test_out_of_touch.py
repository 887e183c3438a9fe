"""While news of a kind may be missing, time decides nothing; afterwards it goes on from what is seen then."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import Unavailable
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.events import Event
from rollout.model.kinds import (
    CLUSTER_VALUES,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.runtime.messages import Woken
from tests.support import make
from tests.support.story import MIN, SEC, Story


class Deaf:
    """A hub of which some kinds can be neither listed nor watched while nothing is heard of them."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub = hub
        self._deaf: set[Kind] = set()
        self._expire: dict[Kind, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def list(self, kind: Kind, *args: Any, **more: Any) -> Any:
        if kind in self._deaf:
            raise Unavailable(f"list {kind.plural}: 503")
        return self._hub.list(kind, *args, **more)

    def watch(self, kind: Kind, since: int, sink: Any, expired: Any) -> Any:
        self._expire[kind] = expired

        def heard(event: Event) -> None:
            if kind not in self._deaf:
                sink(event)

        return self._hub.watch(kind, since, heard, expired)

    def go_deaf(self, *kinds: Kind) -> None:
        """The watch is too old, and a new list fails."""
        self._deaf.update(kinds)
        for kind in kinds:
            self._expire[kind]()

    def hear(self, *kinds: Kind) -> None:
        self._deaf.difference_update(kinds)


def story(strategy: Any, agents: Any, **notes: str) -> tuple[Story, Deaf]:
    workload = make.workload(strategy=strategy, annotations=notes)
    return heard_by([*make.fleet(4, canary=1), workload], agents)


def heard_by(documents: list[Obj], agents: Any = None) -> tuple[Story, Deaf]:
    found: list[Deaf] = []

    def between(hub: MemoryHub) -> Any:
        found.append(Deaf(hub))
        return found[0]

    return Story(documents, agents or {"defaults": {"outcome": "silent"}}, wrap=between), found[0]


def test_a_deadline_that_passes_unheard_fails_nobody_and_takes_nothing_back() -> None:
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline="5m")
    s, hub = story(strategy, {"defaults": {"readyAfter": "60s"}}, **{names.ROLLBACK: "Automatic"})
    s.to(30 * SEC)
    hub.go_deaf(MANIFEST_WORK)
    s.to(20 * MIN)  # all have succeeded after one minute
    assert s.reason == "RollingOut"
    assert "news may be missing since 2026-01-01T00:00:30Z" in s.message

    hub.hear(MANIFEST_WORK)
    s.end()
    assert s.reason == "Complete"


def test_a_success_that_is_heard_before_the_watches_are_known_to_be_back_is_in_time() -> None:
    """A connection tells of what happened before anybody notices that it stands again."""
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline="5m")
    s, _ = story(strategy, {"defaults": {"readyAfter": "10m"}}, **{names.ROLLBACK: "Automatic"})
    since = s.to(30 * SEC).clock.now()
    s.engine.fleet.blind("watches", since)
    s.to(11 * MIN)
    assert s.reason == "RollingOut"

    s.engine.fleet.blind("watches", None)
    s.engine.fleet.out_of_touch(since, s.clock.now())
    s.engine.inbox.put(Woken(s.subject))
    s.end()
    assert s.reason == "Complete"


def test_the_rest_of_a_deadline_runs_afterwards() -> None:
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline="5m")
    s, hub = story(strategy, {"defaults": {"outcome": "silent"}})
    s.to(1 * MIN)
    hub.go_deaf(MANIFEST_WORK)
    s.to(20 * MIN)
    hub.hear(MANIFEST_WORK)
    s.to(23 * MIN)
    assert s.reason == "RollingOut"
    s.to(30 * MIN)  # 4 min that were left, a lease, and what it took until it listed again
    assert s.reason == "MaxFailuresExceeded"


def report(s: Story, cluster: str, degraded: str) -> None:
    (work,) = s.hub.list(MANIFEST_WORK, cluster).items
    of = work["metadata"]["generation"]
    said = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": degraded}
    conditions = [make.condition(kind, status, of) for kind, status in said.items()]
    s.hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": conditions}})


def test_a_soak_does_not_end_on_news_that_nobody_could_hear() -> None:
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="5m", maxConcurrency=3)
    s, hub = story(strategy, {"defaults": {"outcome": "silent"}})
    (canary,) = s.to(30 * SEC).touched()
    report(s, canary, degraded="False")
    s.to(1 * MIN)
    hub.go_deaf(MANIFEST_WORK)
    report(s, canary, degraded="True")
    s.to(20 * MIN)
    assert list(s.touched()) == [canary]

    hub.hear(MANIFEST_WORK)
    s.to(25 * MIN)
    assert list(s.touched()) == [canary]


def test_what_is_asked_for_meanwhile_is_done_nevertheless() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m")
    s, hub = story(strategy, {"defaults": {"outcome": "silent"}})
    s.to(30 * SEC)
    hub.go_deaf(MANIFEST_WORK)
    s.to(30 * SEC + timedelta(minutes=10))
    s.annotate(names.PAUSED, "true")
    assert s.settle().reason == "Paused"


def test_a_cluster_that_left_in_flight_while_no_engine_ran_is_lost_not_done() -> None:
    """Row 17; S17: losing a cluster opens no gate."""
    strategy = make.progressive(mandatory=["canary"], maxFailures=0, progressDeadline="1h")
    s, _ = story(strategy, {"defaults": {"outcome": "silent"}})
    (canary,) = s.to(30 * SEC).touched()
    s.engine.stop()
    s.hub.delete(Ref(MANAGED_CLUSTER, canary))
    s.restart().to(10 * MIN)

    assert s.reason == "MaxFailuresExceeded"
    assert list(s.touched()) == [canary]


def test_what_was_lost_stays_lost_though_the_records_head_is() -> None:
    """S17: the pages of its clusters are there, and tell of it."""
    strategy = make.progressive(mandatory=["canary"], maxFailures=0, progressDeadline="1h")
    s, _ = story(strategy, {"defaults": {"outcome": "silent"}})
    (canary,) = s.to(30 * SEC).touched()
    unknown = make.condition(names.CLUSTER_AVAILABLE, "Unknown")
    cluster = Ref(MANAGED_CLUSTER, canary)
    s.hub.patch_status(cluster, {"status": {"conditions": [unknown]}})
    s.to(1 * MIN)
    s.hub.delete(cluster)
    s.to(2 * MIN)
    s.engine.stop()
    (head,) = (o for o in s.hub.list(ROLLOUT_RECORD).items if o["metadata"]["name"].endswith("-0"))
    s.hub.delete(ref_of(ROLLOUT_RECORD, head))
    s.restart().to(10 * MIN)

    assert s.reason == "MaxFailuresExceeded"
    assert list(s.touched()) == [canary]


# -- what has to stand for a while ---------------------------------------------------------------


def foreign(*documents: Obj, groups: tuple[str, ...] = ()) -> list[Obj]:
    """Another scheduler writes the decisions of the placement."""
    placement = make.placement(ours=False, groups=groups)
    return [*make.clusters(4), make.cluster_set(), make.binding(), placement, *documents]


def test_decisions_are_not_still_while_they_cannot_be_read() -> None:
    """S19: the page of the canaries is written unheard, before the quiet period is over."""
    s, hub = heard_by(
        foreign(
            make.decision(["c02", "c03"], index=1, group="prod", page=1),
            make.workload(strategy=make.per_group()),
        )
    )
    s.to(4 * SEC)
    hub.go_deaf(PLACEMENT_DECISION)
    s.add(make.decision(["c00", "c01"], index=0, group="canary", page=1))
    s.to(60 * SEC)
    assert s.touched() == {}
    assert s.reason == "DecisionsUnsettled"

    hub.hear(PLACEMENT_DECISION)
    s.to(3 * MIN)
    assert sorted(s.touched()) == ["c00", "c01"]


def test_a_canary_that_left_unheard_in_flight_is_lost_not_gone() -> None:
    """S17: that it went unreachable before it left is heard when clusters can be listed again."""
    s, hub = heard_by(
        foreign(
            make.decision(["c00", "c01"], index=0, group="canary"),
            make.decision(["c02", "c03"], index=1),
            make.workload(
                strategy=make.progressive(
                    mandatory=["canary"], maxFailures=0, progressDeadline="1h"
                )
            ),
            groups=("canary",),
        )
    )
    s.to(15 * SEC)
    report(s, "c00", degraded="False")
    s.to(60 * SEC)
    hub.go_deaf(MANAGED_CLUSTER)
    unknown = make.condition(names.CLUSTER_AVAILABLE, "Unknown")
    s.hub.patch_status(Ref(MANAGED_CLUSTER, "c01"), {"status": {"conditions": [unknown]}})
    s.to(70 * SEC)
    s.decide(
        make.decision(["c00"], index=0, group="canary"), make.decision(["c02", "c03"], index=1)
    )
    s.to(3 * MIN)
    assert sorted(s.touched()) == ["c00", "c01"]

    hub.hear(MANAGED_CLUSTER)
    s.to(10 * MIN)
    assert s.reason == "MaxFailuresExceeded"
    assert sorted(s.touched()) == ["c00", "c01"]


def test_a_label_that_flaps_back_unheard_moves_nothing() -> None:
    """S22."""
    version = {
        "target": {"kind": "ConfigMap"},
        "path": "/data/version",
        "value": "cluster.labels['tier']",
    }
    values = {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"name": "tiers", "namespace": "default"},
        "spec": {"workload": {"name": "web"}, "rules": [{"set": [version]}]},
    }
    fleet = make.fleet(2)
    for obj in fleet:
        if obj["kind"] == MANAGED_CLUSTER.name:
            obj["metadata"]["labels"] |= {"tier": "a"}
    s, hub = heard_by([*fleet, values, make.workload()], {"defaults": {}})
    cluster = Ref(MANAGED_CLUSTER, "c00")
    s.to(5 * MIN)
    s.hub.patch(cluster, {"metadata": {"labels": {"tier": "b"}}})
    s.on(5 * SEC)
    hub.go_deaf(MANAGED_CLUSTER)
    s.hub.patch(cluster, {"metadata": {"labels": {"tier": "a"}}})
    s.on(5 * MIN)
    hub.hear(MANAGED_CLUSTER)
    s.on(10 * MIN)

    assert s.reason == "Complete"
    assert [line for line in s.lines if line.after > MIN] == []


# -- kept mutants --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "promise",
    [
        test_a_deadline_that_passes_unheard_fails_nobody_and_takes_nothing_back,
        test_a_soak_does_not_end_on_news_that_nobody_could_hear,
    ],
    ids=lambda test: test.__name__,
)
def test_an_engine_for_which_time_goes_on_unheard_breaks_it(
    promise: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fleet, "blind", lambda *_: None)
    with pytest.raises(AssertionError):
        promise()


def test_an_engine_that_takes_the_unseen_for_well_loses_a_cluster_that_left_in_flight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Fleet, "is_available", lambda *_: True)
    with pytest.raises(AssertionError):
        test_a_cluster_that_left_in_flight_while_no_engine_ran_is_lost_not_done()
