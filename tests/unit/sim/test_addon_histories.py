"""Whatever happens to an add-on, in whatever order, some things never do."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rollout.analysis.copies import TrialChange
from rollout.analysis.forecast import forecast
from rollout.errors import Gone
from rollout.fleet.addons import AddOns
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    Ref,
)
from rollout.planning.addons import AddOnPlanner
from tests.support.addons import (
    CMA,
    MIN,
    NAME,
    SEC,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)
from tests.support.changes import storing

CLUSTERS = ["c0", "c1", "c2", "c3", "c4"]
LIMIT = 2
SHARED = Ref(ADDON_DEPLOYMENT_CONFIG, "default/default")

which = st.sampled_from(CLUSTERS)
STEPS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([SEC, 30 * SEC, 2 * MIN, 11 * MIN])),
    st.tuples(st.just("edit"), st.sampled_from(["a", "b", "c"])),
    st.tuples(st.just("works"), which, st.sampled_from(["ready", "unready", "refused"])),
    st.tuples(st.just("own"), which, st.booleans()),
    st.tuples(st.just("drop"), which),
    st.tuples(st.just("config"), st.booleans()),
    st.tuples(st.just("placement"), st.booleans()),
    st.tuples(st.just("restart")),
)


class History:
    """One add-on on five clusters, two at a time; every write is looked at."""

    def __init__(self) -> None:
        strategy = progressive(
            maxConcurrency=LIMIT, minSuccessTime="1m", progressDeadline="10m", maxFailures=1
        )
        placed = installed_at("p", strategy=strategy)
        documents = [config(), config("own", "own"), addon("default", placements=[placed])]
        self.rig = Rig([*fleet(*CLUSTERS), *documents])
        self.rig.hub.watch(MANAGED_CLUSTER_ADDON, 0, self._look)
        self.dropped: set[str] = set()  # by hand; back once its configuration is there
        self.changed: set[str] = set()  # by a configuration of its own: that takes no slot
        self.rig.decide(CLUSTERS)

    def _look(self, event: Any) -> None:
        for reference in (event.obj.get("status") or {}).get("configReferences") or []:
            assert reference["desiredConfig"]["specHash"], "nothing is ever rolled out"

    def do(self, step: tuple[Any, ...]) -> None:
        rig = self.rig
        match step:
            case ("wait", span):
                rig.later(span)
            case ("edit", value) if self.has(SHARED):
                rig.set_config(value)
            case ("works", cluster, how) if self.has(
                Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-deploy-0")
            ):
                rig.works_do([cluster], ready=how == "ready", applied=how != "refused")
            case ("own", cluster, has) if cluster in rig.installed():
                ref = Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")
                self.changed.add(cluster)
                rig.edit(ref, {"spec": {"configs": [refer("own")] if has else None}})
            case ("drop", cluster) if cluster in rig.installed():
                self.dropped.add(cluster)
                rig.hub.delete(Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}"))
                rig.settle()
            case ("config", there):
                self._toggle(SHARED, there, config())
            case ("placement", there):
                document = fleet()[0]
                self._toggle(Ref(PLACEMENT, "default/p"), there, document)
                if there:
                    rig.decide(CLUSTERS)
            case ("restart",):
                rig.restart()

    def has(self, ref: Ref) -> bool:
        return any(
            (o["metadata"].get("namespace", ""), o["metadata"]["name"]) == (ref.namespace, ref.name)
            for o in self.rig.hub.list(ref.kind).items
        )

    def _toggle(self, ref: Ref, there: bool, document: Any) -> None:
        if there and not self.has(ref):
            self.rig.add(document)
        elif not there and self.has(ref):
            self.rig.hub.delete(ref)
        self.rig.settle()

    def check(self) -> None:
        rig = self.rig
        gone = set(CLUSTERS) - set(rig.installed())
        assert gone <= self.dropped, "nothing is uninstalled"
        workload = rig.engine.fleet.rollout(CMA)
        assert workload is not None
        for share in workload.shares.values():
            flying = {c for c, how in share.live.ledger.judged.items() if how.phase.holds_slot}
            assert len(flying - self.changed) <= LIMIT, flying
        tracker = rig.engine.fleet.tracker(AddOns)
        again = AddOnPlanner().plan(CMA.key, tracker, rig.clock.now())
        assert again.writes == (), "at rest there is nothing to write"


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=14))
@example([("works", "c0", "ready"), ("wait", 11 * MIN), ("edit", "a"), ("own", "c1", True)])
def test_no_history_uninstalls_exceeds_its_slots_or_rolls_out_nothing(
    steps: list[tuple[Any, ...]],
) -> None:
    history = History()
    for step in steps:
        history.do(step)
        history.check()


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=10))
def test_every_history_ends_well_once_everything_is_there_and_well(
    steps: list[tuple[Any, ...]],
) -> None:
    history = History()
    for step in steps:
        history.do(step)
    history.do(("placement", True))
    history.do(("config", True))
    history.do(("edit", "last"))
    for _ in range(20):
        history.rig.works_do(_with_works(history.rig)).later(timedelta(seconds=61))

    assert history.rig.halted() == ("False", "Complete")
    for cluster in CLUSTERS:
        for _, desired, applied, _ in history.rig.carries(cluster):
            assert desired == applied
        assert history.rig.says(cluster, names.CONFIGURED)[0] == "True"


def gives_own(cluster: str, *, has: bool) -> TrialChange:
    """A cluster gets a configuration of its own, or loses it."""
    ref = Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")
    patch = {"spec": {"configs": [refer("own")] if has else None}}
    return lambda hub: _if_there(lambda: hub.patch(ref, patch))


@st.composite
def changes(draw: st.DrawFn) -> TrialChange:
    """What a person could apply a file for."""
    value = draw(st.sampled_from(["a", "b", "c"]))
    written = config(value=value)
    ways: list[TrialChange] = [
        storing([written]),
        storing([config("own", value)]),
        storing([written, config("own", value)]),
        lambda hub: _if_there(lambda: hub.delete(SHARED)),
        gives_own(draw(which), has=draw(st.booleans())),
    ]
    return draw(st.sampled_from(ways))


def _if_there(act: Callable[[], object]) -> None:
    with contextlib.suppress(Gone):
        act()


@settings(max_examples=80, deadline=None)
@example([("own", "c1", True), ("config", False)], gives_own("c0", has=True))
@example([("own", "c1", True), ("config", False), ("own", "c0", True)], gives_own("c0", has=False))
@given(st.lists(STEPS, max_size=12), changes())
def test_after_every_history_a_change_touches_whom_it_is_planned_to_touch(
    steps: list[tuple[Any, ...]], change: TrialChange
) -> None:
    history = History()
    for step in steps:
        history.do(step)
    rig = history.rig
    if not rig.hub.list(PLACEMENT).items or not history.has(SHARED):
        # Only a running engine still knows whom a deleted placement selected, and what a revision
        # was made of if its configuration is deleted and no cluster carries it unchanged.
        rig.restart()
    rig.take_touched()

    found = forecast(rig.hub, change, rig.clock.now())
    change(rig.hub)
    rig.settle()

    planned = {c for plan in found.workloads for c in plan.aside}
    for plan in found.workloads:
        planned |= {c for p in plan.placements for stage in p.stages for c in stage.at_once}
    assert set(rig.take_touched()) == planned


def _with_works(rig: Rig) -> list[str]:
    return [o["metadata"]["namespace"] for o in rig.hub.list(MANIFEST_WORK).items]
