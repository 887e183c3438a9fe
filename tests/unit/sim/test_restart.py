"""The same scenario gives the same day: across runs, orders of events, and kills at any instant."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.clock import VirtualClock
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.events import Event
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref, ref_of
from rollout.sim.agents import Agents
from rollout.sim.scenario import Scenario
from rollout.sim.work import kept_agents

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
CLUSTERS = [f"c{number}" for number in range(8)]
RULE = {
    "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "*"},
    "conditionRules": [{"condition": c, "type": "CEL"} for c in ("Progressing", "Degraded")],
}
DAY = Scenario.model_validate(
    {
        "spec": {
            "seed": 11,
            "resourceStatus": True,
            "defaults": {
                "applyAfter": {"min": "1s", "max": "9s"},
                "readyAfter": {"mean": "30s", "sigma": "20s"},
                "deleteAfter": {"min": "0s", "max": "5s"},
                "alternative": {
                    "probability": 0.3,
                    "outcome": "fail",
                    "recoverAfter": {"min": "5s", "max": "50s"},
                },
            },
            "rules": [
                {
                    "clusters": {"names": ["c1", "c2"]},
                    "behaviour": {
                        "offline": [{"from": "20s", "to": "70s"}, {"from": "90s", "to": "95s"}],
                        "availability": "Unknown",
                        "clockSkew": "-40s",
                    },
                },
                {
                    "clusters": {"names": ["c3"]},
                    "behaviour": {
                        "flapping": {"period": "7s", "count": 4},
                        "flaws": {"staleEvaluation": True},
                    },
                },
                {"clusters": {"names": ["c4"]}, "behaviour": {"outcome": "silent"}},
            ],
            "fleetEvents": [
                {"at": "45s", "deleteClusters": {"names": ["c5"]}},
                {"at": "80s", "relabelClusters": {"names": ["c6"], "labels": {"a": "b"}}},
            ],
        }
    }
)


def spec_of(image: str) -> dict[str, Any]:
    return {
        "workload": {
            "manifests": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": "web"},
                    "spec": {"image": image},
                }
            ]
        },
        "manifestConfigs": [RULE],
    }


class Day:
    """The scenario on a hub, with a rollout by hand: create, update at 60 s, delete two at 100 s."""

    def __init__(
        self, hub: EmbeddedHub, clock: VirtualClock, seed: int | None = None, order: int = 0
    ) -> None:
        self.clock, self.hub, self.seed = clock, hub, seed
        self.trace: list[tuple[datetime, str, Any]] = []
        self.names = list(CLUSTERS)
        random.Random(order).shuffle(self.names)
        self.agents = Agents(hub, clock, DAY, seed, kept=True)
        self.kept = MemoryHub(clock)  # what the agents leave, change by change
        self.script = [(0, self._begin), (60, self._update), (100, self._delete)]
        for kind in (MANIFEST_WORK, MANAGED_CLUSTER):
            self.hub.watch(kind, 0, self._heard)

    def _heard(self, event: Event) -> None:
        meta = {k: v for k, v in event.obj["metadata"].items() if k in ("finalizers", "labels")}
        seen = (event.change.value, meta, event.obj.get("status"), event.obj.get("spec"))
        self.trace.append((self.clock.now(), event.ref.key, seen))

    def _begin(self) -> None:
        for name in self.names:
            self.hub.create(Ref(MANAGED_CLUSTER, name), {})
        self.agents.start()
        for name in self.names:
            self.hub.create(Ref(MANIFEST_WORK, f"{name}/web"), {"spec": spec_of("web:1")})

    def _update(self) -> None:
        for name in self.names:
            self.hub.patch(Ref(MANIFEST_WORK, f"{name}/web"), {"spec": spec_of("web:2")})

    def _delete(self) -> None:
        for name in self.names[:2]:
            self.hub.delete(Ref(MANIFEST_WORK, f"{name}/web"))

    def next_at(self) -> datetime | None:
        own = T0 + self.script[0][0] * SECOND if self.script else None
        theirs = self.agents.next_at()
        return min((at for at in (own, theirs) if at is not None), default=None)

    def step(self) -> bool:
        """One instant. Returns: whether there was one."""
        at = self.next_at()
        if at is None:
            return False
        self.clock.advance(max(at - self.clock.now(), timedelta(0)))
        if self.script and self.clock.now() >= T0 + self.script[0][0] * SECOND:
            self.script.pop(0)[1]()
        self.agents.run_due()
        self.left()
        return True

    def left(self) -> bytes:
        """What another process would find."""
        for key, value in self.agents.changes():
            self.kept.put_state(key, value)
        return kept_agents(self.kept)

    def kill(self) -> None:
        """The process ends and another takes up what it left."""
        left = self.left()
        self.agents.close()
        self.agents = Agents(self.hub, self.clock, DAY, self.seed, kept=True)
        self.agents.restore(left)
        self.agents.start()

    def play(self, kill_after: set[int] | None = None) -> list[tuple[datetime, str, Any]]:
        steps = 0
        while self.step():
            steps += 1
            if kill_after and steps in kill_after:
                self.kill()
        return self.trace


def day(seed: int | None = None, order: int = 0) -> Day:
    clock = VirtualClock(T0)
    return Day(MemoryHub(clock), clock, seed, order)


def histories(trace: list[tuple[datetime, str, Any]]) -> dict[str, list[Any]]:
    """What happened to each object, in order; one object's history leaves others aside."""
    found: dict[str, list[Any]] = {}
    for at, key, seen in trace:
        found.setdefault(key, []).append((at, seen))
    return found


ONCE = day().play()


def test_a_day_is_long_enough_to_be_worth_comparing() -> None:
    assert len(ONCE) > 90
    assert len({at for at, _, _ in ONCE}) > 50


def test_the_same_seed_gives_the_same_day() -> None:
    assert day().play() == ONCE


def test_another_seed_gives_another_day() -> None:
    assert day(seed=12).play() != ONCE
    assert day(seed=11).play() == ONCE


@pytest.mark.parametrize("order", range(1, 6))
def test_the_order_of_clusters_changes_nothing_for_any_of_them(order: int) -> None:
    """Deletions aside: they are of the first two in the order."""
    plain, shuffled = histories(ONCE), histories(day(order=order).play())
    until = T0 + 100 * SECOND

    assert {k: [e for e in v if e[0] < until] for k, v in shuffled.items()} == {
        k: [e for e in v if e[0] < until] for k, v in plain.items()
    }


@settings(max_examples=25, deadline=None)
@given(kills=st.sets(st.integers(1, 110), min_size=1, max_size=12))
def test_a_run_that_is_killed_goes_on_identically(kills: set[int]) -> None:
    assert day().play(kills) == ONCE


def test_a_run_that_is_killed_after_every_instant_goes_on_identically() -> None:
    assert day().play(set(range(1000))) == ONCE


def test_what_is_left_and_taken_up_is_left_again() -> None:
    stage = day()
    for _ in range(40):
        stage.step()
        before = stage.left()
        stage.kill()

        assert stage.left() == before


def test_only_the_works_that_have_changed_are_left_anew() -> None:
    stage = day()
    stage.step()
    list(stage.agents.changes())
    stage.step()

    changed = [key for key, _ in stage.agents.changes()]

    assert changed == []  # `step` has left them
    work = Ref(MANIFEST_WORK, "c5/web")
    stage.hub.patch(work, {"spec": spec_of("web:3")})
    assert [key for key, _ in stage.agents.changes()] == ["agents/c5/web"]
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c5"))
    assert [key for key, _ in stage.agents.changes()] == ["agents"]


def test_what_an_older_release_left_is_taken_up() -> None:
    """It left all of it as one value."""
    stage = day()
    for _ in range(20):
        stage.step()
    older = MemoryHub(stage.clock)
    older.put_state("agents", stage.left())

    assert kept_agents(older) == stage.left()
    for key, value in stage.agents.changes():
        older.put_state(key, value)
    assert kept_agents(older) == stage.left()
    assert kept_agents(MemoryHub(stage.clock)) == b""


def test_a_killed_run_on_a_file_goes_on_identically(tmp_path: Path) -> None:
    clock = VirtualClock(T0)
    hub = SqliteHub(tmp_path / "state", clock, seed="rollout")
    try:
        trace = Day(hub, clock).play({3, 17, 18, 40})
    finally:
        hub.close()

    assert trace == ONCE


def test_a_write_that_had_landed_before_the_kill_is_not_made_twice() -> None:
    """The dump is older than the hub: what it has pending is already there."""
    stage = day()
    for _ in range(6):
        stage.step()
    left, clock_then = stage.left(), stage.clock.now()
    stage.step()
    stage.agents.close()
    version = stage.hub.list(MANIFEST_WORK).version
    stage.clock = VirtualClock(clock_then)
    stage.agents = Agents(stage.hub, stage.clock, DAY, kept=True)
    stage.agents.restore(left)
    stage.agents.start()
    stage.step()

    assert stage.hub.list(MANIFEST_WORK).version == version


def test_agents_without_a_memory_do_not_take_back_what_was_said() -> None:
    stage = day()
    stage.script.pop()  # nothing is deleted
    stage.play()
    stage.agents.close()
    works = stage.hub.list(MANIFEST_WORK).items
    ready = [work for work in works if is_ready(work)]
    fresh = Agents(stage.hub, stage.clock, Scenario())
    fresh.start()
    stage.clock.advance(3600 * SECOND)
    fresh.run_due()

    assert len(ready) == 6  # all but the silent one, and the one whose cluster was deleted
    assert all(stage.hub.get(ref_of(MANIFEST_WORK, work)) is work for work in ready)
    assert is_ready(stage.hub.get(Ref(MANIFEST_WORK, "c4/web")))  # silent no more


def test_a_cluster_deleted_while_nobody_ran_is_gone() -> None:
    stage = day()
    for _ in range(3):
        stage.step()
    left = stage.left()
    stage.agents.close()
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c0"))
    before = stage.hub.get(Ref(MANIFEST_WORK, "c0/web"))
    stage.agents = Agents(stage.hub, stage.clock, DAY, kept=True)
    stage.agents.restore(left)
    stage.agents.start()
    stage.clock.advance(50 * SECOND)
    stage.agents.run_due()

    assert stage.hub.get(Ref(MANIFEST_WORK, "c0/web")) is before


def is_ready(work: Obj) -> bool:
    said = work.get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c["observedGeneration"]) for c in said} == {
        "Applied": ("True", 2),
        "Available": ("True", 2),
        "Degraded": ("False", 2),
        "Progressing": ("False", 2),
    }


@pytest.mark.parametrize("left", [b"", b"{}x", b"[]", b'{"format": 2}', b'{"works": [[1]]}'])
def test_foreign_bytes_are_refused(left: bytes) -> None:
    clock = VirtualClock(T0)

    with pytest.raises(ConfigError, match="cannot read"):
        Agents(MemoryHub(clock), clock, DAY).restore(left)
