"""`plan`, and `apply --plan`."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.account.finish import Finish
from rollout.analysis.changes import Action, ObjectChange
from rollout.analysis.forecast import Forecast, PlacementPlan, RemovalPlan, StagePlan, WorkloadPlan
from rollout.cli.plan import plan_lines
from rollout.model.kinds import REPLICA_SET, Obj
from rollout.model.waits import Reason, Wait
from tests.support.halted import HEALTHY, STRATEGY, files, ran
from tests.support.shapes import T0, cluster, placement, run, stored, workload, write

MWRS = REPLICA_SET.name


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("done"), HEALTHY)


@pytest.fixture
def state(done: Path, tmp_path: Path) -> Path:
    own = tmp_path / "own.db"
    own.write_bytes(done.read_bytes())
    return own


@pytest.fixture
def changed(tmp_path: Path) -> str:
    return write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))


def test_a_plan_says_who_gets_what_in_which_order_and_how_it_differs(
    state: Path, changed: str
) -> None:
    found = run("plan", "-f", changed, state=state)

    assert found.exit_code == 10
    assert found.stdout == (
        """\
~ ManifestWorkReplicaSet default/web configured

ManifestWorkReplicaSet default/web: revision 845b837f637ed182 -> e003e2c1bbda84f0
  placement fleet, Progressive: 6 clusters selected
    STAGE      CLUSTERS   ADD   UPDATE   KEEP   AT ONCE        MAY FAIL   RIGHT AWAY
    the rest   6          0     6        0      50% of 6 = 3   1          3
    the rest: update c1, c2, c3 ... c6
  done at the earliest 2026-01-01T00:20:24Z (in 10m), if every agent succeeds at once

  --- c1 now
  +++ c1 then, revision e003e2c1bbda84f0
  @@ -2,7 +2,7 @@
     manifests:
     - apiVersion: v1
       data:
  -      value: '1'
  +      value: '2'
       kind: ConfigMap
       metadata:
         name: settings

warning: ManifestWorkReplicaSet default/web: placement fleet, the rest: up to 3 clusters are in flight at once and 1 may fail: a bad release can fail on all 3 before it stops; set annotation rollout-engine.io/failure-tolerance: Strict, or lower maxConcurrency

Plan: 1 object to change; 0 clusters to add, 6 to update, 0 to remove.
"""
    )


def test_what_is_stored_already_changes_nothing(state: Path, tmp_path: Path) -> None:
    found = run("plan", "-f", files(tmp_path), state=state)

    assert (found.exit_code, found.stdout) == (0, "\nNothing would change.\n")


def test_a_stored_object_of_a_kind_that_no_plan_rests_on_is_known(
    state: Path, tmp_path: Path
) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}}
    path = write(
        tmp_path / "a.yaml", {**settings, "metadata": {"name": "a", "namespace": "default"}}
    )
    assert run("plan", "-f", path, state=state).exit_code == 10
    run("apply", "-f", path, state=state)

    assert "Nothing would change" in run("plan", "-f", path, state=state).stdout


def test_a_plan_writes_nothing(state: Path, changed: str) -> None:
    before = state.read_bytes()

    run("plan", "-f", changed, state=state)

    assert state.read_bytes() == before


def test_without_a_state_file_the_plan_is_made_against_nothing(tmp_path: Path) -> None:
    found = run("plan", "-f", files(tmp_path))

    assert found.exit_code == 10
    assert "+ 6 x ManagedCluster created" in found.stdout
    assert "Plan: 10 objects to change; 6 clusters to add" in found.stdout


def test_all_names_every_cluster_and_every_object(tmp_path: Path) -> None:
    found = run("plan", "-f", files(tmp_path), "--all")

    assert "+ ManagedCluster c4 created" in found.stdout
    assert "the rest: add c1, c2, c3, c4, c5, c6" in found.stdout


def test_a_bad_file_is_an_error_and_no_plan(tmp_path: Path, state: Path) -> None:
    bad = placement(numberOfClusters="many")

    found = run("plan", "-f", write(tmp_path / "a.yaml", bad), state=state)

    assert (found.exit_code, found.stdout) == (1, "")
    assert "nothing was planned: correct the files first" in found.stderr


def test_a_misspelt_canary_group_is_warned_of(tmp_path: Path, state: Path) -> None:
    progressive = {**STRATEGY["progressive"], "mandatoryDecisionGroups": [{"groupName": "canery"}]}
    path = write(tmp_path / "a.yaml", workload(strategy={**STRATEGY, "progressive": progressive}))

    found = run("plan", "-f", path, state=state)

    assert "warning: ManifestWorkReplicaSet default/web" in found.stdout
    assert "'canery'" in found.stdout
    assert "will not finish: UnknownDecisionGroup" in found.stdout


def test_what_the_files_are_warned_of_is_not_said_again_of_the_rollout(
    tmp_path: Path, state: Path
) -> None:
    gated = workload(strategy=STRATEGY)
    gated["metadata"]["annotations"] = {"rollout-engine.io/gates": "after:canary"}

    found = run("plan", "-f", write(tmp_path / "a.yaml", gated), state=state)

    lines = [each for each in found.stdout.splitlines() if each.startswith("warning: ")]
    assert sum("gate after:canary matches no stage" in each for each in lines) == 1
    assert "will not finish: UnknownApprovalGroup" in found.stdout


def secretive(value: str) -> Obj:
    obj = workload(strategy=STRATEGY)
    manifests = obj["spec"]["manifestWorkTemplate"]["workload"]["manifests"]
    manifests.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {
        "password": value}})  # fmt: skip
    return obj


def test_no_secret_is_in_a_plan_unless_it_is_asked_for(tmp_path: Path, state: Path) -> None:
    kept, path = tmp_path / "plan.json", str(tmp_path / "a.yaml")
    run("apply", "-f", write(Path(path), secretive("hunter2")), state=state)
    write(Path(path), secretive("hunter3"))

    shown = run("plan", "-f", path, "--out", str(kept), state=state)
    asked = run("plan", "-f", path, "--show-secrets", state=state)

    assert "hunter" not in shown.stdout + kept.read_text()
    assert "***" in shown.stdout
    assert "hunter3" in asked.stdout


def test_the_json_form_has_the_clusters_in_order(state: Path, changed: str) -> None:
    found = json.loads(run("plan", "-f", changed, "-o", "json", state=state).stdout)

    stage = found["workloads"][0]["placements"][0]["stages"][0]
    assert stage["updated"] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert stage["atOnce"] == ["c1", "c2", "c3"]
    assert found["workloads"][0]["finish"]["takesSeconds"] == 600


# -- apply --plan


def planned(state: Path, changed: str, place: Path) -> str:
    kept = str(place / "plan.json")
    assert run("plan", "-f", changed, "--out", kept, state=state).exit_code == 10
    return kept


def test_a_plan_that_holds_is_applied(state: Path, changed: str, tmp_path: Path) -> None:
    kept = planned(state, changed, tmp_path)

    found = run("apply", "--plan", kept, state=state)

    assert found.exit_code == 0
    assert found.stdout.endswith("/web configured\n")
    assert stored(state, "mwrs", "web")["metadata"]["generation"] == 2


@pytest.mark.parametrize("what", ["the file", "a cluster", "the placement", "the rollout"])
def test_a_plan_is_refused_once_anything_that_it_rests_on_has_changed(
    what: str, state: Path, changed: str, tmp_path: Path
) -> None:
    kept = planned(state, changed, tmp_path)
    match what:
        case "the file":
            write(Path(changed), workload(strategy=STRATEGY, value="3"))
        case "a cluster":
            run("apply", "-f", write(tmp_path / "b.yaml", cluster("c9")), state=state)
        case "the placement":
            smaller = placement(numberOfClusters=3)
            run("apply", "-f", write(tmp_path / "b.yaml", smaller), state=state)
        case _:
            skipping = workload(strategy=STRATEGY)
            skipping["metadata"]["annotations"] = {"rollout-engine.io/skip": "c1"}
            run("apply", "-f", write(tmp_path / "b.yaml", skipping), state=state)
    before = stored(state, "mwrs", "web")

    found = run("apply", "--plan", kept, state=state)

    assert found.exit_code == 1
    assert "is stale" in found.stderr
    assert "`rollout plan --out`" in found.stderr
    assert stored(state, "mwrs", "web") == before


def test_a_plan_against_nothing_holds_for_a_new_state_file(tmp_path: Path) -> None:
    kept = str(tmp_path / "plan.json")
    run("plan", "-f", files(tmp_path), "--out", kept)

    found = run("apply", "--plan", kept, state=tmp_path / "new.db")

    assert found.exit_code == 0
    assert stored(tmp_path / "new.db", "mwrs", "web")["metadata"]["generation"] == 1


def test_what_is_no_plan_is_refused(tmp_path: Path, state: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")

    found = run("apply", "--plan", str(other), state=state)

    assert found.exit_code == 1
    assert f"{other} is not a plan: `rollout plan -f PATH --out {other}` makes one" in found.stderr


def test_a_plan_of_stdin_is_applied_with_the_same_on_stdin(
    tmp_path: Path, state: Path, changed: str
) -> None:
    text, kept = Path(changed).read_text(), str(tmp_path / "plan.json")
    run("plan", "-f", "-", "--out", kept, state=state, stdin=text)

    without = run("apply", "--plan", kept, state=state)
    again = run("apply", "--plan", kept, "-f", "-", state=state, stdin=text)

    assert (without.exit_code, again.exit_code) == (2, 0)
    assert "give the same again with -f" in without.stderr


def test_apply_wants_files_or_a_plan(state: Path) -> None:
    found = run("apply", state=state)

    assert (found.exit_code, "give -f PATH, or --plan FILE" in found.stderr) == (2, True)


# -- the words


def stage(**more: object) -> StagePlan:
    given: dict[str, object] = {
        "title": "the rest",
        "members": 4,
        "limit": 4,
        "asked_limit": "",
        "budget": None,
        "asked_budget": "",
        "added": (),
        "updated": (),
        "unchanged": 4,
        "at_once": (),
        "passed": True,
        "blocked": "",
        "gates": (),
    }
    return StagePlan(**{**given, **more})  # type: ignore[arg-type]  # as the fields say


def words(after: str, refs: PlacementPlan, finish: Finish, removal: RemovalPlan) -> list[str]:
    """What is said of a workload that gets this revision in place of r1."""
    plan = WorkloadPlan(
        kind=MWRS,
        key="default/web",
        before="r1",
        after=after,
        placements=(refs,),
        installed=(),
        aside=(),
        removal=removal,
        diff_of="",
        diff="",
        finish=finish,
    )
    changes = (ObjectChange("Placement", "default/p", Action.DELETED),)
    return list(plan_lines(Forecast(T0, changes, (plan,), ())))


def test_removals_say_who_loses_it_and_what_holds_the_others() -> None:
    removal = RemovalPlan(("a", "b", "c"), ("a",), "RemovalBrake: too many")
    hold = Wait(Reason.PAUSED, "somebody did")
    refs = PlacementPlan(placement="p", strategy="All", selected=4, hold=hold, stages=(stage(),))
    finish = Finish(None, None, "Paused: not until somebody resumes it")

    assert words("r1", refs, finish, removal) == [
        "- Placement default/p deleted",
        "",
        "ManifestWorkReplicaSet default/web: revision r1 as before",
        "  placement p, All: 4 clusters selected",
        "    held: Paused: somebody did",
        "    STAGE      CLUSTERS   ADD   UPDATE   KEEP   AT ONCE   MAY FAIL   RIGHT AWAY",
        "    the rest   4          0     0        4      all       any        -",
        "  1 cluster would lose it right away: a",
        "  2 clusters, no longer selected, would keep it for now: b, c",
        "    RemovalBrake: too many",
        "  will not finish: Paused: not until somebody resumes it",
        "",
        "Plan: 1 object to change; 0 clusters to add, 0 to update, 3 to remove.",
    ]


def test_percentages_are_shown_with_what_they_come_to() -> None:
    found = stage(
        members=290,
        limit=73,
        asked_limit="25%",
        budget=6,
        asked_budget="2%",
        updated=("a",),
        blocked="WaitingForStage",
    )
    refs = PlacementPlan(
        placement="p", strategy="Progressive", selected=290, hold=None, stages=(found,)
    )

    row = words("r2", refs, Finish(T0, timedelta(0)), RemovalPlan())[5]

    cells = [cell.strip() for cell in row.split("   ")]
    assert cells[-3:] == ["25% of 290 = 73", "2% = 6", "0 (WaitingForStage)"]
