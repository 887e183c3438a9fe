"""What do simulated agents do when their writes fail, or their watches break?"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Denied, HubError, Throttled, Unavailable
from rollout.hub.base import Listing
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from rollout.sim.agents import Agents
from tests.support.stage import APPLIED, HEALTHY, READY, WORK, S, Stage, staged, template


class Faulty(MemoryHub):
    """A hub that fails status writes as told, after or instead of doing them."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.faults: list[HubError] = []
        self.meanwhile: Callable[[], None] | None = None
        self.unlisted = 0  # so many lists fail

    def list(self, *about: Any, **more: Any) -> Listing:
        if self.unlisted:
            self.unlisted -= 1
            raise Unavailable("the server is starting")
        return super().list(*about, **more)

    def patch_status(self, ref: Ref, changes: Any, version: int | None = None) -> Obj:
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        if self.faults:
            raise self.faults.pop(0)
        return super().patch_status(ref, changes, version)


def faulty() -> tuple[Stage, Faulty]:
    stage = Stage(defaults=HEALTHY)
    hub = Faulty(stage.clock)
    stage.hub = hub
    hub.watch(MANIFEST_WORK, 0, stage._heard)
    stage.agents = Agents(hub, stage.clock, stage.scenario)
    stage.agents.start()
    stage.create()
    return stage, hub


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([Unavailable("cut")], [(3 * S, APPLIED), (12 * S, READY)]),
        ([Throttled("slow", timedelta(seconds=4))], [(6 * S, APPLIED), (12 * S, READY)]),
        ([Conflict("twice"), Conflict("twice")], [(2 * S, APPLIED), (12 * S, READY)]),
        ([Conflict("again")] * 5, [(3 * S, APPLIED), (12 * S, READY)]),
        ([Denied("no")], [(12 * S, READY)]),
    ],
    ids=["unavailable", "throttled", "conflict", "conflict without end", "denied"],
)
def test_a_failed_write_is_made_good(faults: list[HubError], expected: list[Any]) -> None:
    stage, hub = faulty()
    hub.faults = list(faults)

    assert stage.play() == expected


def test_a_conflict_is_read_again_and_others_changes_survive() -> None:
    stage, hub = faulty()

    def label() -> None:
        hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})

    hub.meanwhile = label

    assert stage.play() == [(2 * S, APPLIED), (12 * S, READY)]
    assert hub.get(WORK)["metadata"]["labels"] == {"a": "b"}


def test_a_change_found_by_a_conflict_starts_the_new_generation() -> None:
    stage, hub = faulty()
    hub.meanwhile = lambda: stage.change(template(image="web:2"))

    assert stage.play() == [
        (4 * S, "Applied+@2 Degraded-@2 Progressing+@2"),
        (14 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_a_work_that_vanishes_under_the_write_is_forgotten() -> None:
    stage, hub = faulty()

    def vanish() -> None:
        hub.patch(WORK, {"metadata": {"finalizers": None}})
        hub.delete(WORK)

    hub.meanwhile = vanish

    assert stage.play() == [(2 * S, "gone")]
    assert stage.agents.next_at() is None


def test_a_broken_watch_loses_nothing() -> None:
    stage = staged({})
    stage.play(5 * S)
    stage.agents._broke()
    stage.create(ref=Ref(MANIFEST_WORK, "c2/web"))

    assert stage.play() == [(2 * S, APPLIED), (7 * S, APPLIED), (12 * S, READY), (17 * S, READY)]


def test_closed_agents_see_nothing_more() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    stage.agents.close()
    stage.create()

    assert stage.agents.next_at() is None


@pytest.mark.parametrize("fails", [1, 2, 3])
def test_a_list_that_fails_after_a_broken_watch_is_tried_again(fails: int) -> None:
    stage, hub = faulty()
    stage.agents._broke()
    hub.unlisted = fails

    told = stage.play()

    assert [report for _, report in told] == [APPLIED, READY]
    assert hub.unlisted == 0
    assert any("the server is starting" in note for note in stage.agents.notes)


def test_a_work_made_anew_behind_a_broken_watch_is_another_work() -> None:
    stage = staged({}, finalizers=False)
    stage.play(5 * S)
    stage.agents._broke()
    stage.hub.delete(WORK)
    stage.create()

    assert stage.play()[1:] == [(5 * S, "gone"), (7 * S, APPLIED), (17 * S, READY)]


def test_a_cluster_deleted_behind_a_broken_watch_is_gone() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {})
    stage.agents.start()
    stage.create()
    stage.play(5 * S)
    stage.agents._broke()
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c1"))

    assert stage.play() == [(2 * S, APPLIED)]


def test_a_work_for_a_deleted_cluster_is_not_taken_up() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {})
    stage.agents.start()
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c1"))
    stage.create()

    assert stage.play() == []
