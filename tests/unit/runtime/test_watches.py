"""Kinds that a hub lacks, or will not show: what stops, what goes on, and what is said of it."""

import logging
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Denied, HubError, NotServed, Unavailable
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.events import Event
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
)
from rollout.runtime.timers import VirtualTimers
from rollout.runtime.watches import Watches
from tests.support import make
from tests.support.addons import (
    CMA,
    MIN,
    NAME,
    T0,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)

ADDONS = (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)


class Choosy(Rig):
    """The engine's hub will not list some kinds, and can end a watch."""

    def __init__(self, documents: Iterable[Obj], **refused: HubError) -> None:
        self.refused = refused  # by plural
        self.listed: list[Kind] = []
        self.expire: dict[Kind, Callable[[], None]] = {}
        self.ends: dict[Kind, Callable[[], None]] = {}  # what ends a watch without a word
        self.slow: Kind | None = None  # to list it takes a minute
        super().__init__(documents)

    def seen(self) -> Any:
        return Sight(self)

    def lose(self, kind: Kind, error: HubError) -> "Choosy":
        """The hub no longer shows a kind, and ends its watch."""
        self.refused[kind.plural] = error
        self.expire[kind]()
        self.settle()
        return self


class Sight:
    """What the engine is shown."""

    def __init__(self, rig: Choosy) -> None:
        self._rig = rig

    def list(self, kind: Kind, *args: Any, **more: Any) -> Any:
        self._rig.listed.append(kind)
        if kind.plural in self._rig.refused:
            raise self._rig.refused[kind.plural]
        if kind is self._rig.slow:
            self._rig.clock.advance(MIN)
        return self._rig.hub.list(kind, *args, **more)

    def watch(self, kind: Kind, since: int, sink: Any, expired: Callable[[], None]) -> Any:
        self._rig.expire[kind] = expired
        self._rig.ends[kind] = self._rig.hub.watch(kind, since, sink, expired)
        return self._rig.ends[kind]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rig.hub, name)


def placed(**options: Any) -> list[Obj]:
    strategy = progressive(**options) if options else None
    placement = installed_at("p", refer("deploy"), strategy=strategy)
    return [*fleet("c0", "c1"), config("deploy"), addon(placements=[placement])]


# -- the kinds of add-ons -------------------------------------------------------------------------


@pytest.mark.parametrize("error", [NotServed("no such kind"), Denied("forbidden")], ids=repr)
def test_a_hub_without_addons_does_all_else_and_says_what_is_missing(
    error: HubError, caplog: pytest.LogCaptureFixture
) -> None:
    refused = {kind.plural: error for kind in ADDONS}
    documents = [*make.fleet(3), make.workload(rules=())]
    with caplog.at_level(logging.WARNING):
        rig = Choosy(documents, clustermanagementaddons=error, managedclusteraddons=error)
        rig.later(60 * MIN)

    assert len(rig.hub.list(MANIFEST_WORK).items) == 3
    assert [record.message for record in caplog.records] == [
        f"{error}; it is tried again now and then" for _ in refused
    ]
    assert rig.engine.fleet.outages.spans == ()


def test_addons_are_rolled_out_once_the_hub_has_them() -> None:
    error = NotServed("no such kind")
    rig = Choosy(placed(), clustermanagementaddons=error, managedclusteraddons=error)
    rig.decide(["c0", "c1"]).later(60 * MIN)
    assert rig.take_touched() == []

    rig.refused.clear()
    rig.later(5 * MIN)

    assert sorted(rig.take_touched()) == ["c0", "c1"]


@pytest.mark.parametrize("kind", ADDONS, ids=repr)
def test_nothing_is_planned_while_the_addons_cannot_be_read_for_now(kind: Kind) -> None:
    """Whoever starts without knowing what is installed would install it again."""
    rig = Choosy(placed())
    rig.decide(["c0", "c1"])
    rig.engine.stop()
    rig.manager.close()
    rig.refused[kind.plural] = Unavailable("no answer")
    with pytest.raises(Unavailable, match="no answer"):
        rig.start()

    rig.refused.clear()
    rig.take_touched()
    rig.engine.start()
    rig.settle()
    assert rig.take_touched() == []
    assert rig.set_config("new", "deploy").take_touched() == ["c0", "c1"]


# -- kinds of configurations ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [NotServed("no such kind"), Denied("forbidden"), Unavailable("no answer")], ids=repr
)
def test_a_configuration_that_cannot_be_read_holds_its_addon_alone(error: HubError) -> None:
    documents = [*placed(), make.workload(rules=())]
    rig = Choosy(documents, addondeploymentconfigs=error)
    rig.decide(["c0", "c1"])
    rig.later(60 * MIN)

    assert rig.halted() == ("True", "ConfigNotFound")
    assert len(rig.hub.list(MANIFEST_WORK).items) == 2  # of the other workload
    rig.refused.clear()
    rig.later(5 * MIN)
    assert rig.halted() == ("False", "RollingOut")


@pytest.mark.parametrize("error", [NotServed("no such kind"), Denied("forbidden")], ids=repr)
def test_why_a_configuration_cannot_be_read_is_told_on_the_addon(error: HubError) -> None:
    rig = Choosy(placed(), addondeploymentconfigs=error).decide(["c0", "c1"]).later(MIN)

    ref = "addondeploymentconfigs.addon.open-cluster-management.io/default/deploy"
    (said,) = [
        condition["message"]
        for condition in rig.progression()["conditions"]
        if condition["type"] == names.ROLLOUT_HALTED
    ]
    assert said == f"{ref} cannot be read: {error}"


@pytest.mark.parametrize("profile", ["ocm", "strict"])
def test_a_controller_that_begins_without_its_configurations_changes_no_cluster(
    profile: str,
) -> None:
    """What cannot be read is held in both profiles, whatever clusters have of their own."""
    managed = addon("default", placements=[installed_at()], annotations={names.SEMANTICS: profile})
    rig = Choosy([*fleet("c0", "c1"), config(), config("own", "own"), managed])
    rig.decide(["c0", "c1"])
    rig.edit(Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}"), {"spec": {"configs": [refer("own")]}})
    rig.take_touched()

    rig.engine.stop()
    rig.refused[ADDON_DEPLOYMENT_CONFIG.plural] = Denied("forbidden")
    rig.restart().later(60 * MIN)
    assert rig.take_touched() == []
    rig.refused.clear()
    rig.later(60 * MIN)

    assert rig.take_touched() == []


def test_when_its_definition_goes_a_configuration_is_gone_and_clusters_keep_what_they_have() -> (
    None
):
    rig = Choosy(placed())
    rig.decide(["c0", "c1"]).works_do(["c0", "c1"]).take_touched()

    rig.lose(ADDON_DEPLOYMENT_CONFIG, NotServed("no such kind"))
    rig.later(60 * MIN)

    assert (rig.take_touched(), rig.halted()) == ([], ("True", "ConfigNotFound"))
    rig.refused.clear()
    rig.later(5 * MIN)
    assert (rig.take_touched(), rig.halted()) == ([], ("False", "Complete"))
    assert rig.engine.fleet.outages.spans == ()


def test_what_may_no_longer_be_read_is_still_known_and_deadlines_do_not_run() -> None:
    rig = Choosy(placed(progressDeadline="10m", maxConcurrency=1))
    rig.decide(["c0", "c1"]).take_touched()

    rig.lose(MANAGED_CLUSTER_ADDON, Denied("forbidden"))
    rig.later(5 * MIN)
    rig.refused.clear()
    rig.later(6 * MIN)

    assert rig.message().endswith("0 failed 0 timeout.")
    assert rig.later(20 * MIN).message().endswith("0 failed 1 timeout.")


def test_a_kind_that_a_slow_list_makes_known_is_read_before_anything_is_planned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Choosy([*fleet("c0", "c1"), config("deploy"), addon(placements=[installed_at("p")])])
    rig.decide(["c0", "c1"]).later(MIN)
    rig.ends[CLUSTER_MANAGEMENT_ADDON]()
    placements = [installed_at("p", refer("deploy"))]
    rig.hub.patch(CMA, {"spec": {"installStrategy": {"placements": placements}}})

    rig.slow = CLUSTER_MANAGEMENT_ADDON
    caplog.clear()
    with caplog.at_level(logging.INFO):
        rig.expire[CLUSTER_MANAGEMENT_ADDON]()
        rig.settle()

    assert rig.listed[-2:] == [CLUSTER_MANAGEMENT_ADDON, ADDON_DEPLOYMENT_CONFIG]
    assert "RolloutStarted" in caplog.text
    assert "RolloutHeld" not in caplog.text


def test_a_watch_that_ends_after_its_kind_is_wanted_no_more_is_of_no_interest() -> None:
    rig = Choosy(placed())
    rig.decide(["c0"])
    expired = rig.expire[ADDON_DEPLOYMENT_CONFIG]
    rig.edit(CMA, {"spec": {"installStrategy": {"placements": [installed_at()]}}})
    rig.listed.clear()

    expired()
    rig.later(10 * MIN)

    assert rig.listed == []


def test_the_time_that_a_list_takes_is_a_time_in_which_nobody_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Choosy(placed())
    rig.start()
    begin, shown = rig.clock.now(), Sight.list

    def slow(self: Sight, kind: Kind, *args: Any, **more: Any) -> Any:
        rig.clock.advance(MIN)
        return shown(self, kind, *args, **more)

    monkeypatch.setattr(Sight, "list", slow)
    rig.expire[MANIFEST_WORK]()
    rig.settle()

    ((since, until),) = rig.engine.fleet.outages.spans
    assert since == begin
    assert until > begin + MIN


def test_a_list_that_cannot_be_taken_in_for_a_fault_of_ours_is_made_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock(T0)
    hub, fleet, due = MemoryHub(clock), Fleet(), list[Hashable]()
    timers = VirtualTimers(clock, due.append)
    is_broken = False

    def see(event: Event, now: datetime) -> None:
        if is_broken:
            raise RecursionError("nested too deeply")
        fleet.apply(event, now)

    watches = Watches(
        hub, fleet, timers, post=lambda _: None, see=see, want=lambda *_: None, time=clock.now
    )
    watches.start(clock.now())
    hub.create(Ref(MANAGED_CLUSTER, "c0"), make.cluster("c0"))
    is_broken = True
    watches.again(MANAGED_CLUSTER, clock.now())
    assert "taking in managedclusters failed" in caplog.text
    assert fleet.outages.blind_since == T0, "no deadline runs meanwhile"

    is_broken = False
    clock.advance(5 * MIN)
    timers.run_due()
    assert due == [("list", MANAGED_CLUSTER)]
    watches.again(MANAGED_CLUSTER, clock.now())
    assert fleet.cluster("c0") is not None
    assert fleet.outages.blind_since is None
