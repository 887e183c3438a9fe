"""The safety contract on a real API server: promises, and how often each was put to the test.

S9, S11 and R1: histories of the suite in `tests.safety`, with its hands, its model and its judge, on the
real server (`tests.kube.settled`).
"""

# ruff: noqa: N802  (tests are named after the ids of the contract)

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import MANIFEST_WORK, Ref, ref_of
from rollout.model.writes import Delete
from rollout.planning.plan import Write
from rollout.runtime.io import ReadSelected, WriteOutcome, WriteResult
from rollout.runtime.kube_io import KubeIo
from tests.kube.guards import check
from tests.kube.setting import PATIENCE, eventually, namespace, put, wipe
from tests.kube.settled import ServedHistory
from tests.safety.focus import draw
from tests.safety.pairs import crash_everywhere
from tests.safety.setting import Setting
from tests.safety.silence import silence
from tests.safety.suite import Tally
from tests.support import make

pytestmark = pytest.mark.kube

SEEDS = (5, 7, 8, 17, 21, 23, 25, 30, 31, 38, 59)
"""Histories that reach what is guarded. None asks for what our CustomResourceDefinitions refuse."""
CRASHES = (50, 4)
"""A seed, and after how many of its writes a controller dies."""


@dataclass
class Stage:
    """Where histories take place, one after the other, each on a server that is empty again."""

    hub: KubeHub
    last: list[ServedHistory] = field(default_factory=list)

    def make(self, setting: Setting, *, die_after: int | None = None) -> ServedHistory:
        self.clear()
        self.last.append(ServedHistory(self.hub, setting, die_after=die_after))
        return self.last[-1]

    def clear(self) -> None:
        while self.last:
            self.last.pop().served.close()
        wipe(self.hub)


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """No write is too old to be sent because the machine stood still."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("OLDEST_SECONDS", "FRESH_SECONDS"):
            patched.setattr(f"rollout.runtime.kube_io.{name}", PATIENCE)
        yield


@pytest.fixture(scope="module")
def stage(kube: KubeHub) -> Iterator[Stage]:
    found = Stage(kube)
    namespace(kube, *(f"c{n:02d}" for n in range(30)), *(f"c9{n}" for n in range(10)))
    yield found
    found.clear()


@pytest.fixture(scope="module")
def tally(stage: Stage) -> Tally:
    """All histories, once for all promises."""
    found = Tally()
    with silence():
        for seed, focus in (*((seed, "") for seed in SEEDS), (5, "pairs"), (2, "exodus")):
            history = stage.make(draw(seed, focus=focus)).run()
            found.counts.update(history.counts)
            for violation in history.violations:
                found.blame(seed, violation.promise, str(violation))
        seed, deaths = CRASHES
        blame = partial(found.blame, seed)
        crash_everywhere(found.kind, seed, found.counts, blame, deaths, stage.make)
    stage.clear()
    return found


def kept(tally: Tally, promise: str) -> None:
    """Whatever breaks in the histories is shown with each of the promises."""
    assert not tally.broken
    check(promise, tally.counts)


def test_S9_a_cluster_has_one_owner_and_one_work(tally: Tally) -> None:
    kept(tally, "S9")


def test_S11_nothing_is_removed_on_a_torn_read_or_beyond_the_brake_or_against_a_live_read(
    tally: Tally, admin: KubeHub
) -> None:
    tally.counts["S11.kept_by_live_read"], gone = removed_against_decisions(admin)
    assert gone == 0
    kept(tally, "S11")


def test_S11_whoever_does_not_read_live_is_caught(
    admin: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReadSelected, "answer", staticmethod(lambda _: frozenset()))
    assert removed_against_decisions(admin)[1] > 0


def removed_against_decisions(hub: KubeHub) -> tuple[int, int]:
    """Works are to be deleted; decisions, written since that was planned, still name half of them.

    Returns: how many of those are there afterwards, and how many are gone.
    """
    clusters = [f"c{n:02d}" for n in range(20)]
    namespace(hub, *clusters)
    named = clusters[::2]
    put(hub, make.placement(ours=False))
    put(hub, make.decision(named))
    writes = [
        Delete(
            ref_of(MANIFEST_WORK, obj),
            obj["metadata"]["uid"],
            unless_selected_by=("default/p",),
            cluster=cluster,
        )
        for cluster in clusters
        for obj in (
            hub.create(Ref(MANIFEST_WORK, f"{cluster}/web"), make.work(cluster, name="web")),
        )
    ]
    landed = {write.ref.namespace for write, outcome in carried(hub, writes) if outcome}
    left = {obj["metadata"]["namespace"] for obj in hub.list(MANIFEST_WORK).items}
    assert set(clusters[1::2]) <= landed
    return len(left.intersection(named)), len(set(named) - left)


def carried(hub: KubeHub, writes: list[Any]) -> list[tuple[Write, bool]]:
    """Each write, and whether it landed."""
    back: list[tuple[Write, bool]] = []

    def done(write: Write, outcome: WriteOutcome) -> None:
        back.append((write, outcome.result is WriteResult.LANDED))

    KubeIo(hub).send(writes, done)
    eventually("all are back", lambda: len(back) == len(writes))
    return back


def test_R1_a_crash_between_any_two_writes_changes_nothing(tally: Tally) -> None:
    kept(tally, "R1")
