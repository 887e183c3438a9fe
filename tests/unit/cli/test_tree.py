"""The tree of a rollout: what is named and what is counted, frames, exit codes, terminals."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rollout.account.tree import WorkloadAccount
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import snapshot_of
from rollout.cli.options import Options, Stop
from rollout.cli.picture import fitting
from rollout.cli.remote import RemoteHub
from rollout.cli.watch import Watch, screen
from rollout.clock import SystemClock, VirtualClock
from rollout.hub.kube_access import Access
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import KINDS, REPLICA_SET, Obj, Ref, ref_of
from rollout.strategies.base import Phase
from tests.kube.facade import Facade, serving
from tests.support import make
from tests.support.halted import HEALTHY, ran
from tests.support.shapes import (
    MIN,
    T0,
    binding,
    cluster,
    cluster_set,
    condition,
    placement,
    run,
    workload,
    write,
)

WEB = Ref(REPLICA_SET, "default/web")


@pytest.fixture(scope="module")
def halted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("halted"))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("done"), HEALTHY)


def test_a_halted_rollout_names_who_failed_and_counts_the_others(halted: Path) -> None:
    found = run("get", "web", "--watch", state=halted)

    assert found.exit_code == 1
    assert found.stdout == (
        """\
Name:         default/web
Status:       ✖ MaxFailuresExceeded
Since:        Progressing=False for 24s
Message:      placement fleet: 2 failed in the whole fleet, 1 tolerated; roll out a fix, raise maxFailures, or skip the failed clusters
Strategy:     Progressive, maxConcurrency 50%, minSuccessTime 5m, progressDeadline 10m, maxFailures 1
Revision:     1 (845b837f637ed182), begun 10m ago
Progress:     ██████░░░░░░░░░░░░░░  2/6  ✔ 2 soaked  ✖ 2 failed  • 2 waiting
Budget:       2 failed, 1 allowed (the rest)
Waiting for:  a fix is rolled out, maxFailures is raised, or failed clusters are skipped (`rollout skip`, annotation rollout-engine.io/skip) or tried again (`rollout retry`)

NAME           STATUS                 CLUSTERS  INFO
⟳ default/web  ✖ MaxFailuresExceeded  2/6
└──□ the rest  ✖ Halted               2/6       2 failed, 1 allowed
   ├── c2      ✖ Failed                         Unreachable for 24s
   ├── c3      ✖ Failed                         Unreachable for 24s
   └──…                                         ✔ 2 soaked  • 2 waiting
"""
    )


def test_a_tree_can_be_had_once_and_with_every_cluster(done: Path) -> None:
    few = run("get", "mwrs", "web", "-o", "tree", state=done)
    every = run("get", "mwrs", "web", "-o", "tree", "--all", state=done)

    assert (few.exit_code, every.exit_code) == (0, 0)
    assert few.stdout.splitlines()[-1] == "└──□ the rest  ✔ Passed     6/6"
    assert [line.split()[1] for line in every.stdout.splitlines()[-6:]] == [
        f"c{i}" for i in range(1, 7)
    ]


def test_a_mandatory_group_without_a_cluster_has_its_line_and_says_that_it_holds(
    tmp_path: Path,
) -> None:
    fleet = [obj for obj in make.fleet(3) if obj["kind"] != "Placement"]
    web = make.workload(strategy=make.progressive(mandatory=["canary"]))
    file = write(tmp_path / "fleet.yaml", *fleet, make.placement(groups=("canary",)), web)
    state = tmp_path / "state.db"
    assert run("run", "-f", file, "--clock", "virtual", state=state).exit_code == 4

    tree = run("get", "web", "-o", "tree", state=state).stdout

    assert "\n├──□ canary    ‖ Held                 0/0       MandatoryGroupEmpty\n" in tree
    assert "\n└──□ the rest  ‖ Held                 0/3       MandatoryGroupEmpty\n" in tree


def test_a_name_alone_has_a_tree_too(done: Path) -> None:
    named = run("get", "web", "-o", "tree", state=done)

    assert named.exit_code == 0
    assert named.stdout == run("get", "mwrs", "web", "-o", "tree", state=done).stdout


def test_a_watch_ends_with_the_rollout_and_its_code(done: Path, halted: Path) -> None:
    assert run("get", "mwrs", "web", "--watch", state=done).exit_code == 0
    assert run("get", "mwrs/web", "--watch", "-o", "json", state=halted).exit_code == 1


def test_json_is_one_line_for_each_change(halted: Path) -> None:
    (line,) = run("get", "web", "-w", "-o", "json", state=halted).stdout.splitlines()

    found = json.loads(line)
    (stage,) = found["placements"][0]["stages"]
    assert (found["kind"], found["key"], found["code"]) == ("ManifestWorkReplicaSet", WEB.key, 1)
    assert found["wait"]["reason"] == "MaxFailuresExceeded"
    assert [c["name"] for g in stage["groups"] for c in g["clusters"]] == ["c2", "c3"]
    assert stage["failures"] == 2


def test_signs_are_ascii_where_it_is_asked_for(
    halted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run("get", "mwrs", "web", "-o", "tree", state=halted).stdout
    monkeypatch.setenv("ROLLOUT_ASCII", "1")
    plain = run("get", "mwrs", "web", "-o", "tree", state=halted).stdout

    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in usual.splitlines()]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["get", "nope", "--watch"], 1, "there is no workload 'nope'; `rollout list -A` shows all"),
        (["get", "nope"], 1, "there is no workload 'nope'; `rollout list -A` shows all"),
        (["get", "mwrs", "-o", "tree"], 2, "a tree is of one workload"),
        (["get", "mcl", "c1", "-o", "tree"], 2, "a tree is of one workload"),
        (["get", "mcl", "--timeout", "5s"], 2, "--timeout and --all are for a tree"),
        (["get", "mwrs", "web", "-o", "tree", "--timeout", "5s"], 2, "--timeout goes with --watch"),
        (["get", "web", "-w", "--timeout", "soon"], 2, "'soon' is not a duration"),
    ],
)
def test_what_cannot_be_watched_is_said(
    halted: Path, words: list[str], code: int, said: str
) -> None:
    found = run(*words, state=halted)

    assert found.exit_code == code
    assert said in found.stderr


# -- as it moves


class Recorder:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.frames: list[WorkloadAccount] = []
        self.ticks = 0

    def show(self, account: WorkloadAccount, now: datetime) -> None:
        self.frames.append(account)

    def tick(self, account: WorkloadAccount, now: datetime) -> None:
        self.ticks += 1


class Story:
    """Somebody watches a workload while things happen, one between two looks."""

    def __init__(self, *acts: Callable[[MemoryHub], object]) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        for obj in (
            cluster_set(),
            binding(),
            cluster("c1"),
            cluster("c2"),
            placement(),
            workload(),
        ):
            self.hub.create(ref_of(KINDS[obj["kind"]], obj), obj)
        self.acts, self.seen = list(acts), Recorder()

    def _pause(self, news: threading.Event) -> None:
        self.clock.advance(MIN)
        if self.acts:
            self.acts.pop(0)(self.hub)

    def watch(self, timeout: timedelta | None = None) -> int:
        watch = Watch(self.hub, self.clock, WEB)
        watch.lookout = Lookout(self.hub, self._pause)
        return watch.follow(self.seen, self.clock, timeout)


def says(*conditions: Obj) -> Callable[[MemoryHub], object]:
    return lambda hub: hub.patch_status(WEB, {"status": {"conditions": list(conditions)}})


def annotated(value: str | None) -> Callable[[MemoryHub], object]:
    changes = {"metadata": {"annotations": {"rollout-engine.io/paused": value}}}
    return lambda hub: hub.patch(WEB, changes)


def quiet(hub: MemoryHub) -> object:
    return None


DONE = says(condition("Ready", "True", "RolledOut", "2 clusters succeeded"))
HALTED = says(condition("Progressing", "False", "MaxFailuresExceeded"))
PAUSED = says(condition("Progressing", "False", "Paused"))


def test_a_frame_is_shown_for_each_change_and_none_where_only_time_goes_on() -> None:
    story = Story(*[quiet] * 6, annotated("true"), *[quiet] * 6, annotated(None), DONE)

    assert story.watch() == 0
    shown = [frame.reason for frame in story.seen.frames]
    assert shown == ["NotDecided", "Paused", "NotDecided", "RolledOut"]
    assert story.seen.ticks > 0


@pytest.mark.parametrize(("end", "code"), [(DONE, 0), (HALTED, 1)])
def test_a_watch_ends_when_the_engine_says_so(end: Any, code: int) -> None:
    assert Story(quiet, end).watch() == code


def test_a_watch_doubts_an_end_that_stands_there_when_it_begins() -> None:
    story = Story(says(condition("Progressing", "True", "RollingOut")), quiet, DONE)
    HALTED(story.hub)

    assert story.watch() == 0  # somebody had just asked for another attempt
    assert story.seen.frames[0].reason == "MaxFailuresExceeded"

    story = Story(*[quiet] * 6, DONE)
    HALTED(story.hub)
    assert story.watch() == 1  # nothing had come of it after a while
    assert story.acts


def test_a_watch_goes_on_while_a_person_is_waited_for() -> None:
    assert Story(PAUSED, quiet, DONE).watch() == 0


def test_a_watch_ends_when_the_time_is_up_with_the_code_of_how_it_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert Story().watch(5 * MIN) == 3
    assert (
        "default/web is not done after 5m; watch longer with --timeout" in capsys.readouterr().err
    )
    assert Story(PAUSED).watch(15 * MIN) == 4


def test_a_workload_that_is_deleted_meanwhile_ends_the_watch() -> None:
    story = Story(lambda hub: hub.delete(WEB))

    with pytest.raises(Stop, match="was deleted meanwhile") as stop:
        story.watch()
    assert stop.value.code == 1


# -- the values


def test_every_cluster_of_a_group_is_counted_once(halted: Path) -> None:
    hub = SqliteHub(halted, SystemClock())
    found = snapshot_of(hub, T0 + 20 * MIN).account(WEB, most=None)
    hub.close()

    assert found is not None
    for _, stage in found.stages:
        for group in stage.groups:
            assert sum(group.phases.values()) == group.members == len(group.clusters)
    assert found.phases == {Phase.SOAKED: 2, Phase.FAILED: 2, Phase.WAITING: 2}
    assert found.members == 6


def test_a_workload_that_is_not_there_has_no_tree() -> None:
    assert snapshot_of(MemoryHub(VirtualClock(T0)), T0).account(WEB) is None


@pytest.mark.parametrize("height", range(1, 30))
def test_a_picture_is_never_higher_than_the_screen(halted: Path, height: int) -> None:
    hub = SqliteHub(halted, SystemClock())
    found = Watch(hub, VirtualClock(T0 + 20 * MIN), WEB).look()
    hub.close()
    assert found is not None

    lines = fitting(found[0], T0, height)

    assert len(lines) <= height
    assert height < 15 or len(lines) > 12


# -- an API server


def _create(hub: MemoryHub, ref: Ref, obj: Obj) -> object:
    return hub.create(ref, obj)


@pytest.fixture
def facade(tmp_path: Path) -> Iterator[Facade]:
    with serving() as found:
        for obj in (cluster_set(), binding(), cluster("c1"), placement(), workload()):
            ref = ref_of(KINDS[obj["kind"]], obj)
            found.do(partial(_create, ref=ref, obj=obj))
        yield found


def test_an_api_server_is_watched_and_not_polled(facade: Facade, tmp_path: Path) -> None:
    hub = RemoteHub(Access(str(facade.kubeconfig(tmp_path))))
    seen = Recorder()
    watch = Watch(hub, SystemClock(), WEB)
    first = watch.look()
    assert first is not None
    asked = facade.count("list") + facade.count("get")

    def later() -> None:
        for i in range(3):
            facade.do(annotated(str(bool(i % 2)).lower()))
        facade.do(DONE)

    thread = threading.Timer(0.5, later)
    thread.start()
    code = watch.follow(seen, SystemClock(), timedelta(seconds=20))
    thread.join()
    hub.close()

    assert code == 0
    assert facade.count("list") + facade.count("get") == asked
    assert facade.count("watch") >= 10


@pytest.mark.parametrize("words", [["get", "web", "-w"], ["status", "mwrs", "web", "--wait"]])
def test_a_server_can_be_watched_from_the_command_line(
    facade: Facade, tmp_path: Path, words: list[str]
) -> None:
    thread = threading.Timer(0.8, lambda: facade.do(DONE))
    thread.start()

    found = run(*words, "--timeout", "20s", "--kubeconfig", str(facade.kubeconfig(tmp_path)))
    thread.join()

    assert found.exit_code == 0, found.output
    assert "RolledOut" in found.stdout


# -- terminals


def test_where_output_is_no_terminal_nothing_moves_the_cursor(halted: Path) -> None:
    assert "\x1b" not in run("get", "web", "--watch", state=halted).stdout


def test_a_screen_without_a_terminal_prints_one_frame_below_the_other(
    halted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = SqliteHub(halted, SystemClock())
    found = Watch(hub, VirtualClock(T0 + 20 * MIN), WEB).look()
    hub.close()
    assert found is not None

    with screen(Options(), "tree", watch=True) as shown:
        shown.show(found[0], T0)
        shown.tick(found[0], T0)
        shown.show(found[0], T0)

    out = capsys.readouterr().out
    assert out.count("Name:") == 2
    assert "\n\nName:" in out
