import json
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.account.waits import WaitAccount
from rollout.analysis.clusters import ClusterShare, ExplainedCluster
from rollout.analysis.placements import Candidate, ExplainedPlacement
from rollout.cli.explain import cluster_lines, placement_lines
from rollout.clock import SystemClock
from rollout.hub.base import StateKey
from rollout.hub.sqlite import SqliteHub
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.kinds import KINDS, REPLICA_SET, ref_of
from rollout.strategies.base import Phase
from tests.support.halted import ran
from tests.support.shapes import MIN, T0, cluster, placement, run, workload, write


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("halted"))


def said(found: object) -> list[str]:
    return str(getattr(found, "stdout")).splitlines()  # noqa: B009


def test_a_halted_rollout_says_why_since_when_and_what_would_end_that(state: Path) -> None:
    found = run("explain", "rollout", "web", state=state)

    assert found.exit_code == 0
    assert found.stdout == (
        """\
Name:         default/web
Status:       ✖ MaxFailuresExceeded
Since:        Progressing=False for 24s
Message:      placement fleet: 2 failed in the whole fleet, 1 tolerated; roll out a fix, raise maxFailures, or skip the failed clusters
Revision:     1 (845b837f637ed182), begun 10m ago
Clusters:     6
Waiting for:  a fix is rolled out, maxFailures is raised, or failed clusters are skipped (`rollout skip`, annotation rollout-engine.io/skip) or tried again (`rollout retry`)

STAGE      STATUS     CLUSTERS   AT ONCE        MAY FAIL   NOW
the rest   ✖ Halted   6          50% of 6 = 3   1          ✔ 2 soaked  ✖ 2 failed  • 2 waiting

CLUSTER   PHASE      REASON        FOR
c2        ✖ Failed   Unreachable   24s
c3        ✖ Failed   Unreachable   24s
  until it recovers and soaks, a fix is rolled out, or somebody skips it (`rollout skip`) or has it tried again (`rollout retry`)
"""
    )


def test_a_cluster_in_line_says_how_many_are_before_it_and_what_they_wait_for(state: Path) -> None:
    assert run("explain", "cluster", "c6", state=state).stdout == (
        """\
Name:       c6
Available:  unknown

ManifestWorkReplicaSet default/web
  Selected by:  placement fleet
  Stage:        the rest, number 2 in line
  Phase:        • Waiting
  Reason:       MaxFailuresExceeded
  Waiting for:  a fix is rolled out, maxFailures is raised, or failed clusters are skipped (`rollout skip`, annotation rollout-engine.io/skip) or tried again (`rollout retry`)
  Work:         none
"""
    )


def test_a_cluster_that_is_done_shows_what_its_agent_says(state: Path) -> None:
    lines = said(run("explain", "cluster", "c1", state=state))

    assert "  Phase:        ✔ Soaked" in lines
    assert lines[-2:] == [
        "    Applied=True for 10m AppliedManifestWorkComplete: Apply manifest work complete",
        "    Available=True for 10m ResourcesAvailable: All resources are available",
    ]


def test_a_cluster_that_is_not_selected_says_who_refused_it(state: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    own.write_bytes(state.read_bytes())
    tainted = cluster("c7")
    tainted["spec"]["taints"] = [{"key": "broken", "effect": "NoSelect"}]
    run("apply", "-f", write(tmp_path / "a.yaml", tainted), state=own)

    lines = said(run("explain", "cluster", "c7", state=own))

    assert any(line.startswith("  Not selected:  placement fleet: TaintTol") for line in lines)


def test_a_placement_shows_every_candidate_by_rank(state: Path) -> None:
    assert run("explain", "placement", "fleet", state=state).stdout == (
        """\
Name:        default/fleet
Status:      Success
Sets:        global
Candidates:  6
Selected:    6 of all wanted; 6 decided now

CLUSTER   RANK   TOTAL   VERDICT
c1        1      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
c2        2      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
c3        3      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
c4        4      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
c5        5      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
c6        6      200     ✔ selected  (Balance 100 x 1, Steady 100 x 1)
"""
    )


def test_a_placement_that_wants_fewer_says_who_is_behind_the_cut(
    state: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.db"
    own.write_bytes(state.read_bytes())
    smaller = write(tmp_path / "p.yaml", placement(numberOfClusters=4))
    run("apply", "-f", smaller, state=own)

    lines = said(run("explain", "placement", "fleet", state=own))

    assert "Selected:    4 of 4 wanted; 6 decided now" in lines
    assert sum("behind the cut" in line for line in lines) == 2


@pytest.mark.parametrize(
    "line",
    [
        "status web",
        "list",
        "get mwrs",
        "explain web",
        "describe web",
        "history web",
        "events",
        "pause web",
        "hold web c1 --force",
        "freeze",
    ],
)
def test_every_view_says_that_no_engine_runs(tmp_path: Path, line: str) -> None:
    place = tmp_path / "state.db"
    hub = SqliteHub(place, SystemClock(), create=True)
    for obj in (placement(), workload()):
        hub.create(ref_of(KINDS[obj["kind"]], obj), obj)
    hub.put_state(StateKey.ALIVE, b"2026-01-01T00:00:00.000000Z")
    hub.close()

    found = run(*line.split(), state=place)

    assert "no engine runs here since 2026-01-01T00:00:00Z" in found.stderr


@pytest.mark.parametrize(
    "line", ["list", "status web", "explain web", "get mwrs", "get web -o tree"]
)
def test_views_of_a_state_file_say_at_once_that_nobody_runs_what_waits(
    tmp_path: Path, line: str
) -> None:
    place = tmp_path / "state.db"
    hub = SqliteHub(place, SystemClock(), create=True, runner=True)
    for obj in (placement(), workload()):
        hub.create(ref_of(KINDS[obj["kind"]], obj), obj)
    hub.put_state(StateKey.CLOCK, b"2026-01-01T00:00:00.000000Z")
    while_run = run(*line.split(), state=place)
    hub.close()

    found = run(*line.split(), state=place)

    start = f"`rollout run --state {place} --clock virtual`"
    told = f"no engine runs here: nothing moves until one starts ({start})"
    assert while_run.stderr == ""
    assert told in found.stderr.splitlines()


def test_where_nothing_waits_no_engine_is_missed_until_something_is_asked_for(
    tmp_path: Path,
) -> None:
    path, place = write(tmp_path / "a.yaml", placement(), workload()), tmp_path / "state.db"
    run("run", "-f", path, "--clock", "virtual", state=place)
    quiet = [run(*line.split(), state=place) for line in ("list", "get mwrs", "explain web")]

    asked = run("freeze", state=place)

    assert [each.stderr for each in quiet] == ["", "", ""]
    assert asked.stderr.startswith("no engine runs here: nothing moves until one starts")


@pytest.mark.parametrize("words", [("web",), ("rollout", "web"), ("rollout", "default/web")])
def test_a_workload_is_explained_by_its_name_alone_too(state: Path, words: tuple[str, ...]) -> None:
    assert said(run("explain", *words, state=state))[0] == "Name:         default/web"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "name one of rollout, addon, cluster, placement, and then NAME"),
        (("cluster",), "name one of rollout, addon, cluster, placement, and then NAME"),
        (("clusterset", "prod"), "'clusterset' is not one of rollout, addon, cluster, placement"),
    ],
)
def test_explain_says_what_it_can_explain(state: Path, words: tuple[str, ...], fault: str) -> None:
    found = run("explain", *words, state=state)

    assert (found.exit_code, fault in found.stderr) == (2, True), found.stderr


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("nope",), "there is no workload 'nope'; `rollout list -A` shows all"),
        (("rollout", "nope"), '"nope" not found in any namespace; `rollout list -A` shows all'),
        (("rollout", "default/nope"), "`rollout list -A` lists those that exist"),
        (("placement", "nope"), "`rollout get placements -A` lists those that exist"),
        (("cluster", "nope"), "`rollout get managedclusters` lists those that exist"),
        (("cluster", "c1", "--workload", "nope"), "there is no workload 'nope'"),
    ],
)
def test_what_is_not_there_is_an_error_that_says_where_to_look(
    state: Path, words: tuple[str, ...], fault: str
) -> None:
    found = run("explain", *words, state=state)

    assert found.exit_code == 1
    assert fault in found.stderr


def test_there_is_nothing_to_explain_but_workloads_clusters_and_placements(state: Path) -> None:
    found = run("explain", "configmaps", "a", state=state)

    assert found.exit_code == 2
    assert "'configmaps' is not one of rollout, addon, cluster, placement" in found.stderr


def test_a_placement_says_why_of_one_cluster_alone(state: Path) -> None:
    found = run("explain", "placement", "fleet", "--cluster", "c2", "-o", "json", state=state)
    account = json.loads(found.stdout)

    assert [c["cluster"] for c in account["candidates"]] == ["c2"]
    assert account["selected"] == 6
    assert {"filteredPipelineResults", "prioritizeResults", "aggregatedScores"} <= set(
        account["debug"]
    )
    unknown = run("explain", "placement", "fleet", "--cluster", "nope", state=state)
    assert (unknown.exit_code, "nope" in unknown.stderr) == (1, True)


def test_a_cluster_in_no_bound_set_is_no_candidate_and_the_placement_says_so(
    tmp_path: Path,
) -> None:
    state = tmp_path / "s.db"
    files = write(tmp_path / "a.yaml", cluster("lonely"), placement())
    assert run("apply", "-f", files, state=state).exit_code == 0

    lines = said(run("explain", "placement", "fleet", "--cluster", "lonely", state=state))

    assert [line for line in lines if "it is in no ManagedClusterSet that is bound" in line]


@pytest.mark.parametrize("words", [("rollout", "web"), ("cluster", "c2"), ("placement", "fleet")])
def test_every_explanation_has_a_json_form(state: Path, words: tuple[str, ...]) -> None:
    found = json.loads(run("explain", *words, "-o", "json", state=state).stdout)

    assert found["now"] == "2026-01-01T00:10:24Z"


def test_the_json_of_a_rollout_has_the_reason_the_stages_and_the_troubled(state: Path) -> None:
    found = json.loads(run("explain", "rollout", "web", "-o", "json", state=state).stdout)

    assert found["wait"]["reason"] == "MaxFailuresExceeded"
    (stage,) = found["placements"][0]["stages"]
    assert stage["phases"] == {"Waiting": 2, "Failed": 2, "Soaked": 2}
    assert [each["name"] for each in stage["groups"][0]["clusters"]] == ["c2", "c3"]


def test_a_wait_that_time_ends_says_when() -> None:
    wait = WaitAccount(
        ClusterReason.SOAKING, T0 - MIN, "it has been well for minSuccessTime", T0 + 4 * MIN
    )
    share = ClusterShare(
        kind=REPLICA_SET.name,
        workload="default/web",
        wanted="r1",
        placement="fleet",
        stage="the rest",
        phase=Phase.SOAKING,
        wait=wait,
    )

    explained = ExplainedCluster(name="c1", now=T0, known=True, available=True, shares=(share,))

    assert list(cluster_lines(explained)) == [
        "Name:       c1",
        "Available:  yes",
        "",
        "ManifestWorkReplicaSet default/web",
        "  Selected by:  placement fleet",
        "  Stage:        the rest",
        "  Phase:        ◷ Soaking",
        "  Reason:       Soaking for 60s",
        "  Waiting for:  it has been well for minSuccessTime",
        "  Next timer:   2026-01-01T00:04:00Z (in 4m)",
        "  Work:         none",
    ]


def test_refusals_that_say_the_same_are_counted_together() -> None:
    refused = "TaintToleration: broken is not tolerated"
    candidates = (
        Candidate("a", selected=True, rank=1, total=5, scores={"Steady": (1, 5)}),
        Candidate("b", selected=False, refused=refused, until=T0 + timedelta(hours=1)),
        Candidate("c", selected=False, refused=refused),
    )
    account = ExplainedPlacement(
        key="default/p",
        now=T0,
        status="Success",
        message="",
        sets=(),
        wanted=1,
        selected=1,
        decided=0,
        competing=3,
        candidates=candidates,
        reasons={refused: 2},
        recheck_at=None,
        debug={},
    )

    assert list(placement_lines(account)) == [
        "Name:        default/p",
        "Status:      Success",
        "Sets:        none is bound to the namespace and asked for",
        "Candidates:  3",
        "Selected:    1 of 1 wanted; 0 decided now",
        "",
        "Refused:",
        "  2 clusters: TaintToleration: broken is not tolerated",
        "",
        "CLUSTER   RANK   TOTAL   VERDICT",
        "a         1      5       ✔ selected  (Steady 5 x 1)",
        (
            "b                        ✖ TaintToleration: broken is not tolerated; until "
            "2026-01-01T01:00:00Z (in 60m)"
        ),
        "c                        ✖ TaintToleration: broken is not tolerated",
    ]


def test_a_server_and_a_state_file_exclude_each_other(state: Path) -> None:
    found = run("explain", "rollout", "web", "--context", "x", "--state", str(state))

    assert found.exit_code == 2
    assert "give either --state, or --kubeconfig and --context" in found.stderr


@pytest.mark.parametrize("name", ["default/web", "mwrs/web", "ManifestWorkReplicaSet/web"])
def test_a_name_may_stand_with_its_namespace_or_its_kind(name: str, state: Path) -> None:
    plain = run("explain", "rollout", "web", state=state).stdout

    assert run("explain", "rollout", name, state=state).stdout == plain
    assert run("explain", "rollout", name, "-n", "default", state=state).stdout == plain


def test_a_namespace_is_taken_from_the_name_in_every_place(state: Path) -> None:
    assert run("status", "mwrs", "default/web", state=state).stdout.startswith("✖ default/web: ")
    named = run("explain", "cluster", "c1", "--workload", "default/web", state=state)
    assert (named.exit_code, "default/web" in named.stdout) == (0, True)
    assert "in namespace shop" in run("status", "mwrs", "shop/web", state=state).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("explain rollout shop/web -n default", "'shop/web' is not in namespace default"),
        ("explain rollout cma/web", "'cma/web' is a ClusterManagementAddOn: a ManifestWorkRep"),
        ("explain cluster default/c1", "a ManagedCluster has no namespace: write c1"),
        ("status cma default/x", "a ClusterManagementAddOn has no namespace: write x"),
        ("status mwrs a/b/c", "'a/b/c' is neither NAME nor NAMESPACE/NAME"),
        ("status mwsr web", "'mwsr' is not a workload kind; did you mean mwrs? name one"),
        ("pause", "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"),
        ("status shop/web -n default", "'shop/web' is not in namespace default"),
        ("get placment fleet", "there is no kind 'placment'; did you mean placements?"),
        ("get clusters", "there is no kind 'clusters'; did you mean managedclusters?"),
        ("get mcl/c1 c2", "do not mix KIND NAME and KIND/NAME"),
    ],
)
def test_a_name_that_cannot_be_meant_so_is_answered_in_few_words(
    words: str, told: str, state: Path
) -> None:
    found = run(*words.split(), state=state)

    assert found.exit_code == 2
    assert told in found.stderr
    assert len(found.stderr) < 200


@pytest.mark.parametrize("verb", ["status", "history", "describe"])
@pytest.mark.parametrize("name", ["web", "default/web"])
def test_a_name_alone_is_enough_where_one_workload_has_it(
    verb: str, name: str, state: Path
) -> None:
    assert said(run(verb, name, state=state)) == said(run(verb, "mwrs", "web", state=state))


def test_a_name_that_no_workload_has_is_answered_with_where_to_look(state: Path) -> None:
    found = run("pause", "nope", state=state)

    assert found.exit_code == 1
    assert "there is no workload 'nope'; `rollout list -A` shows all" in found.stderr


def test_a_name_that_two_workloads_have_must_be_told_apart(state: Path, tmp_path: Path) -> None:
    own = _with_another(state, tmp_path, "web")

    found = run("pause", "web", state=own)

    assert found.exit_code == 2
    assert "name mwrs default/web or mwrs shop/web" in found.stderr
    assert run("pause", "web", "-n", "shop", state=own).exit_code == 0
    listed = run("list", state=own)
    assert "1 workload in other namespaces: rollout list -A" in listed.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("status", "mwrs", "api"),
        ("describe", "mwrs/api"),
        ("history", "mwrs", "api"),
        ("explain", "rollout", "api"),
        ("pause", "mwrs", "api"),
        ("get", "api"),
        ("get", "shop/api"),
        ("get", "mwrs", "api"),
        ("get", "mwrs/api", "-o", "tree"),
        ("get", "mwrs", "shop/api"),
    ],
)
def test_a_workload_is_found_in_any_namespace_also_where_its_kind_is_said(
    words: tuple[str, ...], state: Path, tmp_path: Path
) -> None:
    own = _with_another(state, tmp_path, "api")

    found = run(*words, state=own)

    assert found.exit_code in (0, 3), found.output
    assert "api" in found.stdout or words[0] == "history"


def test_of_two_of_a_kind_the_one_in_the_default_namespace_is_meant(
    state: Path, tmp_path: Path
) -> None:
    own = _with_another(state, tmp_path, "web")

    told = json.loads(run("get", "mwrs", "web", "-o", "json", state=own).stdout)
    other = json.loads(run("get", "mwrs", "shop/web", "-o", "json", state=own).stdout)

    assert told["metadata"]["namespace"] == "default"
    assert other["metadata"]["namespace"] == "shop"
    assert run("get", "web", state=own).exit_code == 2


def _with_another(state: Path, place: Path, name: str) -> Path:
    """A copy of the file, with another workload, in namespace shop."""
    own = place / "own.db"
    own.write_bytes(state.read_bytes())
    obj = workload(name)
    obj = {**obj, "metadata": {"name": name, "namespace": "shop"}}
    run("apply", "-f", write(place / "w.yaml", obj), state=own)
    return own
