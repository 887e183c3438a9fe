import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from rollout.cli.get import Viewer
from rollout.cli.hiding import veil
from rollout.cli.naming import Target
from rollout.clock import VirtualClock
from rollout.hub.base import StateKey
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, Ref
from rollout.model.selectors import EVERYTHING
from tests.support.shapes import MIN, PLACEMENTS, T0, cluster, placement, run

SET = "cluster.open-cluster-management.io"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A fleet of three clusters and two placements, made at T0 on virtual time; it is T0 + 5 min."""
    path = tmp_path / "state.db"
    hub = SqliteHub(path, VirtualClock(T0))
    for name, env in (("c1", "prod"), ("c2", "test"), ("c3", "prod")):
        hub.create(Ref(MANAGED_CLUSTER, name), cluster(name, {"env": env}))
    hub.create(Ref(PLACEMENT, "default/fleet"), placement())
    other = placement()
    other["metadata"]["namespace"] = "other"
    hub.create(Ref(PLACEMENT, "other/fleet"), other)
    hub.put_state(StateKey.CLOCK, rfc3339_micro(T0 + 5 * MIN).encode())
    hub.close()
    return path


def test_a_table_has_the_columns_of_the_kind_and_ages_on_the_hubs_own_clock(state: Path) -> None:
    result = run("get", "mcl", state=state)

    assert result.stdout.splitlines() == [
        "NAME   HUB ACCEPTED   MANAGED CLUSTER URLS   JOINED   AVAILABLE   AGE",
        "c1     true                                                       5m",
        "c2     true                                                       5m",
        "c3     true                                                       5m",
    ]


@pytest.mark.parametrize(
    "kind", ["mcl", "mcls", "ManagedCluster", "managedclusters", "MANAGEDCLUSTERS.v1." + SET]
)
def test_a_kind_is_known_by_all_its_names(state: Path, kind: str) -> None:
    assert run("get", kind, "c1", "-o", "name", state=state).stdout == f"managedcluster.{SET}/c1\n"


def test_one_object_is_printed_as_itself_and_several_as_a_list(state: Path) -> None:
    one = json.loads(run("get", "mcl", "c1", "-o", "json", state=state).stdout)
    all_of_them = json.loads(run("get", "mcl", "-o", "json", state=state).stdout)
    two = json.loads(run("get", "mcl", "c1", "c2", "-o", "json", state=state).stdout)

    assert one["kind"] == "ManagedCluster"
    assert (all_of_them["kind"], all_of_them["apiVersion"]) == ("List", "v1")
    assert [item["metadata"]["name"] for item in all_of_them["items"]] == ["c1", "c2", "c3"]
    assert len(two["items"]) == 2


def test_a_kind_without_objects_is_an_empty_list_in_json(state: Path) -> None:
    result = run("get", "mwrs", "-o", "json", state=state)

    assert json.loads(result.stdout)["items"] == []


def test_yaml_says_the_same_as_json(state: Path) -> None:
    as_json = json.loads(run("get", "mcl", "-o", "json", state=state).stdout)
    as_yaml = yaml.safe_load(run("get", "mcl", "-o", "yaml", state=state).stdout)

    assert as_yaml == as_json


def test_a_selector_picks_by_labels(state: Path) -> None:
    names = run("get", "mcl", "-l", "env in (prod),!gone", "-o", "name", state=state).stdout

    assert names.split() == [f"managedcluster.{SET}/c1", f"managedcluster.{SET}/c3"]


def test_a_namespace_is_default_unless_another_or_all_are_asked_for(state: Path) -> None:
    default = run("get", "placements", state=state).stdout.splitlines()
    other = run("get", "placements", "-n", "other", "-o", "json", state=state).stdout
    everywhere = run("get", "placements", "-A", state=state).stdout.splitlines()

    assert len(default) == 2
    assert json.loads(other)["items"][0]["metadata"]["namespace"] == "other"
    assert [line.split()[:2] for line in everywhere] == [
        ["NAMESPACE", "NAME"],
        ["default", "fleet"],
        ["other", "fleet"],
    ]


def test_several_kinds_are_told_apart_by_full_names(state: Path) -> None:
    told = run("get", "placement,mcl", state=state).stdout.splitlines()

    assert told[1].split()[0] == f"{PLACEMENTS}/fleet"
    assert told[2] == ""
    assert told[4].split()[0] == f"managedcluster.{SET}/c1"


def test_wide_adds_columns(state: Path) -> None:
    narrow = run("get", "mcl", "--no-headers", state=state).stdout
    wide = run("get", "mcl", "-o", "wide", state=state).stdout

    assert "NAME" not in narrow
    assert wide.splitlines()[0].split()[-1] == "SET"


def test_an_object_that_is_not_there_is_said_as_kubectl_says_it(state: Path) -> None:
    result = run("get", "placement/nope", "placement/fleet", state=state)

    assert result.exit_code == 1
    assert result.stderr == (f'error: placements.{SET} "nope" not found in namespace default\n')
    assert "fleet" in result.stdout


def test_nothing_found_is_said_on_stderr_and_is_no_failure(state: Path) -> None:
    namespaced = run("get", "mwrs", state=state)
    everywhere = run("get", "mwrs", "-A", state=state)

    assert (namespaced.exit_code, namespaced.stdout) == (0, "")
    assert namespaced.stderr == "No resources found in default namespace.\n"
    assert everywhere.stderr == "No resources found\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get"], "name a kind"),
        (["get", ""], "there is no kind ''; `rollout get --help` lists them"),
        (["get", "placments"], "there is no kind 'placments'; did you mean placements?"),
        (["get", "ns,mcl"], "there is no kind 'ns'; `rollout get --help` lists them"),
        (["get", "pods", "web"], "there is no kind 'pods'; `rollout get --help` lists them"),
        (["get", "mwrs", "shop/web", "-n", "other"], "'shop/web' is not in namespace other"),
        (["get", "mcl", "c1", "-l", "a=b"], "give names or --selector"),
        (["get", "mcl", "-l", "a b"], "is not a label selector"),
        (["get", "mcl/c1", "c2"], "do not mix KIND NAME and KIND/NAME"),
        (["get", "mcl/"], "is not KIND/NAME"),
        (["get", "placement", "fleet", "-A"], "leave out -A or the name"),
        (["get", "mcl,placement", "-w"], "one kind at a time"),
        (["get", "mcl", "-o", "xml"], "'xml' is not one of"),
    ],
)
def test_what_is_typed_wrongly_is_one_line_and_exit_code_2(
    state: Path, words: list[str], said: str
) -> None:
    result = run(*words, state=state)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_get_does_not_make_a_state_file(tmp_path: Path) -> None:
    result = run("get", "mcl", state=tmp_path / "nope.db")

    assert result.exit_code == 1
    assert "there is no state file" in result.stderr
    assert list(tmp_path.iterdir()) == []


CLUSTERS = Target(MANAGED_CLUSTER)
HIDE = veil(show_secrets=False)


def follow(
    capsys: pytest.CaptureFixture[str],
    acts: list[Callable[[MemoryHub], object]],
    output: str = "table",
    target: Target = CLUSTERS,
) -> list[str]:
    """What --watch prints while these acts happen, one between two looks."""
    hub = MemoryHub(clock := VirtualClock(T0), history=4)
    hub.create(Ref(MANAGED_CLUSTER, "c1"), cluster("c1"))

    def pause() -> bool:
        if not acts:
            return False
        acts.pop(0)(hub)
        clock.advance(MIN)
        return True

    Viewer(hub, clock, [target], "default", labels=EVERYTHING, output=output, hide=HIDE).follow(
        pause
    )
    return capsys.readouterr().out.splitlines()


def accept(name: str, accepted: bool) -> Callable[[MemoryHub], object]:
    return lambda hub: hub.patch(
        Ref(MANAGED_CLUSTER, name), {"spec": {"hubAcceptsClient": accepted}}
    )


def test_watch_prints_a_row_for_each_object_that_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def add(hub: MemoryHub) -> object:
        return hub.create(Ref(MANAGED_CLUSTER, "c2"), cluster("c2"))

    told = follow(capsys, [accept("c1", False), lambda hub: None, add])

    assert [line.split() for line in told[1:]] == [
        ["c1", "true", "0s"],
        ["c1", "false", "60s"],
        ["c2", "true", "60s"],
    ]


def test_watch_prints_a_removed_object_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    told = follow(capsys, [lambda hub: hub.delete(Ref(MANAGED_CLUSTER, "c1"))], "name")

    assert told == [f"managedcluster.{SET}/c1"] * 2


def test_watch_of_one_object_says_nothing_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    def add(hub: MemoryHub) -> object:
        return hub.create(Ref(MANAGED_CLUSTER, "c2"), cluster("c2"))

    told = follow(capsys, [add], "name", Target(MANAGED_CLUSTER, "c1"))

    assert told == [f"managedcluster.{SET}/c1"]


def test_watch_of_a_kind_without_objects_begins_with_the_header_when_one_comes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def add(hub: MemoryHub) -> object:
        return hub.create(Ref(PLACEMENT, "default/fleet"), placement())

    told = follow(capsys, [lambda hub: None, add], target=Target(PLACEMENT))

    assert [line.split()[0] for line in told] == ["NAME", "fleet"]


def test_watch_sees_what_another_process_writes_even_more_than_the_history_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    clock = VirtualClock(T0)
    ours = SqliteHub(tmp_path / "s.db", clock, history=2)
    theirs = SqliteHub(tmp_path / "s.db", clock, history=2)
    ours.create(Ref(MANAGED_CLUSTER, "c1"), cluster("c1"))
    rounds = iter([True, True, False])

    def pause() -> bool:
        for accepted in (False, True, False, True, False):
            theirs.patch(Ref(MANAGED_CLUSTER, "c1"), {"spec": {"hubAcceptsClient": accepted}})
        return next(rounds)

    Viewer(
        ours, clock, [Target(MANAGED_CLUSTER)], None, labels=EVERYTHING, output="table", hide=HIDE
    ).follow(pause)
    told = capsys.readouterr().out.splitlines()
    ours.close()
    theirs.close()

    assert [line.split()[1] for line in told[1:]] == ["true", "false", "false"]
