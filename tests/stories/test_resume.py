"""A run that is killed goes on identically: R1 of the safety contract, on a state file."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.errors import ConfigError
from rollout.hub.admission import admit
from rollout.hub.base import StateKey
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import KINDS, MANIFEST_WORK, REPLICA_SET, ROLLOUT_RECORD, Ref, ref_of
from rollout.sim.drives import Jump
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from tests.stories.mortal import T0, History, KilledError, day, histories, new_file, run
from tests.support import make

ROOT = Path(__file__).parents[2]
SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)
WEB = Ref(REPLICA_SET, "default/web")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file on which nothing has run yet."""
    path = tmp_path_factory.mktemp("start") / "state"
    new_file(path)
    return path


@pytest.fixture(scope="module")
def undisturbed(start: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, History]:
    """The same day without a kill: how many commits, and what happened to each object."""
    path = tmp_path_factory.mktemp("undisturbed") / "state"
    shutil.copy(start, path)
    return run(path), histories(path)


@pytest.fixture
def path(start: Path, tmp_path: Path) -> Path:
    shutil.copy(start, tmp_path / "state")
    return tmp_path / "state"


def test_the_day_is_worth_killing(undisturbed: tuple[int, History]) -> None:
    commits, day = undisturbed
    works = {ref: changes for ref, changes in day.items() if ref.startswith("ManifestWork c")}
    statuses = [obj["status"]["conditions"] for _, obj in day[str(WEB)] if "status" in obj]
    reasons = {c["reason"] for said in statuses for c in said if c["type"] == names.PROGRESSING}

    assert commits > 200
    assert len(works) == 11  # c09 leaves while it waits
    assert reasons == {"RollingOut", "CompleteWithFailures"}
    assert sum(len(changes) for changes in day.values()) > 200


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.06, 0.15, 0.3, 0.45, 0.6, 0.8, 0.95])
def test_a_killed_run_goes_on_identically(
    path: Path, undisturbed: tuple[int, History], share: float, before: bool
) -> None:
    """Killed after a commit, or just before one, of which nothing remains then."""
    commits, day = undisturbed
    with pytest.raises(KilledError):
        run(path, max(1, int(commits * share)), before=before)
    run(path)

    assert histories(path) == day


def test_a_run_that_is_killed_again_and_again_goes_on_identically(
    path: Path, undisturbed: tuple[int, History]
) -> None:
    commits, day = undisturbed
    kills = 0
    for _ in range(commits):
        try:
            run(path, 23, before=kills % 2 == 1)
        except KilledError:
            kills += 1
        else:
            break

    assert kills >= commits // 23
    assert histories(path) == day


def test_a_process_that_is_killed_by_a_signal_leaves_a_file_that_goes_on(
    path: Path, undisturbed: tuple[int, History]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.stories.mortal", str(path), "97"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    run(path)

    assert histories(path) == undisturbed[1]


def test_a_second_runner_is_refused_and_readers_are_not(path: Path) -> None:
    first = SqliteHub(path, VirtualClock(T0), runner=True)
    try:
        with pytest.raises(ConfigError, match="another runner has it"):
            run(path)
        reader = SqliteHub(path, VirtualClock(T0))
        assert reader.get(WEB)["metadata"]["name"] == "web"
        reader.close()
    finally:
        first.close()


def test_what_another_process_applies_and_deletes_beside_a_run_is_seen(path: Path) -> None:
    """The other connection writes between two instants of the run."""
    clock = VirtualClock(T0)
    hub = SqliteHub(path, clock, runner=True, admit=admit)
    other = SqliteHub(path, clock, admit=admit)
    did: list[str] = []

    def meddle(_: object) -> None:
        after = clock.now() - T0
        if after >= 30 * SEC and "applied" not in did:
            did.append("applied")
            api = make.workload("api", version="api")
            other.create(ref_of(REPLICA_SET, api), api)
        if after >= 2 * MIN and "deleted" not in did:
            did.append("deleted")
            other.delete(WEB)

    LocalRun(hub, clock, None, day()).run(meddle)
    works = hub.list(MANIFEST_WORK).items
    left = hub.list(REPLICA_SET).items
    other.close()
    hub.close()

    assert did == ["applied", "deleted"]
    assert [obj["metadata"]["name"] for obj in left] == ["api"]
    assert {obj["metadata"]["annotations"][names.OWNER] for obj in works} == {"default/api"}
    assert len(works) == 11


def test_a_clock_that_was_kept_is_where_the_last_commit_was(path: Path) -> None:
    with pytest.raises(KilledError):
        run(path, 100)
    hub = SqliteHub(path, VirtualClock(T0))
    kept = hub.get_state(StateKey.CLOCK)
    hub.close()

    assert kept is not None
    assert T0 < datetime.fromisoformat(kept.decode()) < T0 + 10 * MIN


# -- wall time ---------------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Two clusters whose agents never answer, a deadline of 60 s, one failure tolerated."""
    path = tmp_path / "real"
    strategy = make.progressive(maxConcurrency=1, progressDeadline="60s", maxFailures=1)
    hub = SqliteHub(path, VirtualClock(T0), admit=admit)
    for document in [*make.fleet(2), make.workload(strategy=strategy)]:
        ref = ref_of(KINDS[document["kind"]], document)
        hub.create(ref, document)
        if document.get("status"):
            hub.patch_status(ref, {"status": document["status"]})
    hub.close()
    return path


class StopHereError(BaseException):
    """The test has seen enough."""


class Ticking(Jump):
    """Goes on like wall time: a second, or less where a timer or an agent is due before."""

    def __init__(self, clock: VirtualClock, until: datetime) -> None:
        super().__init__(clock)
        self._until = until

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        now = self._clock.now()
        if now >= self._until:
            raise StopHereError
        return super().go(min(at or now + SEC, now + SEC), wait)


def wall_run(path: Path, begin: timedelta, end: timedelta) -> dict[str, timedelta]:
    """Run as on wall time, then be killed; returns when each cluster's work was made."""
    clock = VirtualClock(T0 + begin)
    hub = SqliteHub(path, clock, runner=True, admit=admit)
    silent = Scenario.model_validate({"spec": {"defaults": {"outcome": "silent"}}})
    local = LocalRun(hub, clock, 1, silent, drive=Ticking(clock, T0 + end))
    with suppress(StopHereError), closing(hub):
        local.run()
    hub = SqliteHub(path, clock)
    works = [obj["metadata"] for obj in hub.list(MANIFEST_WORK).items]
    hub.close()
    return {
        meta["namespace"]: datetime.fromisoformat(meta["creationTimestamp"]) - T0 for meta in works
    }


NONE, HOUR, LEASE = timedelta(0), 60 * MIN, 15 * SEC


def test_on_wall_time_the_gap_between_two_runs_is_an_outage(real: Path) -> None:
    """Row 20: c00 timed out by the clock while nobody ran; it has the rest of its deadline yet."""
    wall_run(real, NONE, 20 * SEC)
    made = wall_run(real, HOUR, HOUR + 5 * MIN)

    assert made == {"c00": NONE, "c01": HOUR + 40 * SEC + LEASE}


def test_without_a_gap_the_deadline_runs_on(real: Path) -> None:
    assert wall_run(real, NONE, 5 * MIN) == {"c00": NONE, "c01": 60 * SEC}


def test_a_third_run_still_knows_of_the_first_gap(real: Path) -> None:
    wall_run(real, NONE, 20 * SEC)
    assert sorted(wall_run(real, HOUR, HOUR + 20 * SEC)) == ["c00"]
    made = wall_run(real, 2 * HOUR, 2 * HOUR + 5 * MIN)

    # 20 s, then 5 s after the first lease, then the rest after the second
    assert made["c01"] == 2 * HOUR + LEASE + 35 * SEC


def test_a_lost_record_is_rebuilt_and_nothing_is_touched_again(path: Path) -> None:
    """Conservatively: soaks start again, so it ends later, but with the same works."""
    with pytest.raises(KilledError):
        run(path, 60)
    clock = VirtualClock(T0)
    hub = SqliteHub(path, clock, admit=admit)
    works = {ref_of(MANIFEST_WORK, o).key: o["spec"] for o in hub.list(MANIFEST_WORK).items}
    for obj in hub.list(ROLLOUT_RECORD).items:
        hub.delete(ref_of(ROLLOUT_RECORD, obj))
    hub.close()
    assert works
    told = histories(path)
    run(path)

    after = histories(path)
    for key in works:
        before, now = told[f"ManifestWork {key}"], after[f"ManifestWork {key}"]
        assert now[: len(before)] == before
        specs = [obj["spec"] for _, obj in now]
        assert sum(a != b for a, b in pairwise(specs)) <= 1
    assert after[str(WEB)][-1][1]["status"]["summary"]["total"] == 11
