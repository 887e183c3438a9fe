"""Every selected cluster that has not soaked has exactly one reason to wait, and every wait an end."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from rollout.account.waits import block_wait
from rollout.analysis.clusters import ClusterShare, explain_cluster
from rollout.analysis.simulating import question
from rollout.analysis.snapshot import Snapshot, snapshot_of
from rollout.clock import VirtualClock
from rollout.hub.base import StateKey, away_since
from rollout.hub.memory import MemoryHub
from rollout.model.instants import rfc3339
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.names import PAUSED
from rollout.sim.drives import Jump
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from rollout.strategies.base import Phase
from tests.stories.operating import freeze
from tests.support.analysis_cases import random_question
from tests.support.changes import storing
from tests.support.fleets import spec_of
from tests.support.live import Hub
from tests.support.shapes import T0, binding, cluster, cluster_set, placement, workload

DONE = frozenset({Phase.SOAKED, Phase.SKIPPED})


def moment(seed: int) -> tuple[MemoryHub, datetime]:
    """A hub as it is at a random moment of a random run, and that moment."""
    asked = random_question(seed)
    hub, clock = asked.hub()
    run_on(hub, clock, asked.scenario, random.Random(seed).randint(1, 25))
    return hub, clock.now()


def run_on(hub: MemoryHub, clock: VirtualClock, scenario: Scenario, passes: int) -> None:
    """Run for so many pictures of the run, or to its end."""
    seen = 0

    def on_change(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen >= passes:
            raise KeyboardInterrupt

    LocalRun(hub, clock, None, scenario, keep=False, drive=Jump(clock)).run(on_change)


def shares(snapshot: Snapshot) -> Iterator[ClusterShare]:
    """Each selected cluster's share of each workload."""
    for key in snapshot.workloads():
        workload = snapshot.workload(key)
        assert workload is not None
        for name in workload.members:
            account = explain_cluster(snapshot, name, key)
            assert account is not None
            yield from account.shares


@pytest.mark.parametrize("seed", range(20))
def test_each_selected_cluster_that_has_not_soaked_has_one_reason_to_wait(seed: int) -> None:
    hub, now = moment(seed)

    for share in shares(snapshot_of(hub, now)):
        assert share.phase is not None
        assert (share.wait is None) == (share.phase in DONE), share
        if share.wait is not None:
            assert share.wait.reason.isidentifier(), share.wait
            assert share.wait.ends
            assert share.wait.until is None or share.wait.until > now, share.wait


def test_the_moments_looked_at_have_every_kind_of_wait() -> None:
    reasons = {
        share.wait.reason
        for seed in range(30)
        for share in shares(snapshot_of(*moment(seed)))
        if share.wait is not None
    }

    assert reasons >= {
        "Degraded",
        "MaxFailuresExceeded",
        "NotAcknowledged",
        "Progressing",
        "SlotsFull",
        "Soaking",
        "WaitingForStage",
    }


@pytest.mark.parametrize("seed", range(20))
def test_what_is_worked_out_anew_is_what_the_engine_had_said(seed: int) -> None:
    hub, now = moment(seed)
    snapshot = snapshot_of(hub, now)

    for key in snapshot.workloads():
        status = hub.get(key).get("status")
        if status is not None:
            account = snapshot.account(key)
            assert account is not None
            told = {c["type"]: c["reason"] for c in status["conditions"]}
            assert account.wait.reason in (told["Ready"], told["Progressing"]), key


@pytest.mark.parametrize(
    ("limit", "ends"),
    [
        (1, "the cluster in flight there is done (at most 1 at a time)"),
        (2, "one of the 2 clusters in flight there is done (at most 2 at a time)"),
    ],
)
def test_who_waits_for_a_slot_reads_how_many_clusters_hold_one(limit: int, ends: str) -> None:
    hub = Hub(spec_of(limit=limit, budget=1))
    hub.turn()
    hub.turn()

    assert block_wait(hub.live, hub.live.last.stages[0]).ends == ends


def test_a_look_at_a_hub_writes_nothing() -> None:
    hub, now = moment(3)
    before = dict(hub.everything())
    snapshot = snapshot_of(hub, now)

    for key in snapshot.workloads():
        snapshot.account(key)

    assert dict(hub.everything()) == before


def test_a_paused_rollout_says_so_and_what_resumes_it() -> None:
    hub, now = moment(0)
    (key, *_) = snapshot_of(hub, now).workloads()
    hub.patch(key, {"metadata": {"annotations": {PAUSED: "true"}}})

    account = snapshot_of(hub, now).account(key)

    assert account is not None
    assert account.wait.reason == "Paused"
    assert PAUSED in account.wait.ends
    assert account.wait.until is None


def test_what_a_freeze_holds_says_when_the_freeze_ends() -> None:
    until = T0 + timedelta(hours=1)
    frozen = freeze(until=rfc3339(until))
    objects = [cluster_set(), binding(), cluster("c1"), placement(), workload(), frozen]
    hub, clock = question(storing(objects)).hub()
    run_on(hub, clock, Scenario(), 1)

    snapshot = snapshot_of(hub, clock.now())

    account = snapshot.account(Ref(REPLICA_SET, "default/web"))
    assert account is not None
    assert (account.wait.reason, account.wait.until) == ("Frozen", until)
    (waiting,) = shares(snapshot)
    assert waiting.wait is not None
    assert (waiting.wait.reason, waiting.wait.until) == ("Frozen", until)


def test_deadlines_do_not_run_while_no_engine_runs() -> None:
    """An hour after the engine was last heard of, what was in time then has not timed out."""
    strategy = {"type": "Progressive", "progressive": {"progressDeadline": "5m"}}
    objects = [cluster_set(), binding(), cluster("c1"), placement(), workload(strategy=strategy)]
    hub, clock = question(storing(objects)).hub()
    run_on(hub, clock, Scenario(), 1)
    later = clock.now() + timedelta(hours=1)

    rash = snapshot_of(hub, later).account(Ref(REPLICA_SET, "default/web"))
    fair = snapshot_of(hub, later, away_since=clock.now()).account(Ref(REPLICA_SET, "default/web"))

    assert rash is not None
    assert fair is not None
    assert ([t.wait.reason for t in rash.troubled if t.wait], fair.troubled) == (
        ["Unreachable"],
        (),
    )


def test_an_engine_on_wall_time_is_away_once_nothing_was_heard_of_it_for_long() -> None:
    hub = MemoryHub(VirtualClock(T0))
    hub.put_state(StateKey.ALIVE, b"2026-01-01T00:00:00Z")

    assert away_since(hub, T0 + timedelta(seconds=10)) is None
    assert away_since(hub, T0 + timedelta(hours=1)) == T0


def test_virtual_time_stands_still_while_nobody_runs_it() -> None:
    hub = MemoryHub(VirtualClock(T0))
    hub.put_state(StateKey.ALIVE, b"2026-01-01T00:00:00Z")
    hub.put_state(StateKey.CLOCK, b"2026-01-01T00:00:00Z")

    assert away_since(hub, T0 + timedelta(hours=1)) is None
