"""What the verbs print, how they end, and that two people at two keyboards lose nothing."""

import getpass
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import get_completion_class

from rollout.cli.main import cli
from rollout.model import names
from rollout.model.intents import read_asked
from tests.support.halted import ran
from tests.support.shapes import run, stored, write

ADDONS = Path(__file__).parents[3] / "examples" / "addon-canary"
MWRS = "manifestworkreplicaset.work.open-cluster-management.io/web"
CMA = "clustermanagementaddon.addon.open-cluster-management.io/helloworld"
REVISION = "845b837f637ed182"
VERBS = (
    "pause",
    "resume",
    "abort",
    "retry",
    "undo",
    "approve",
    "reject",
    "skip",
    "hold",
    "release",
    "freeze",
    "unfreeze",
)
OF_WORKLOAD = VERBS[:-2]


@pytest.fixture(scope="module")
def halted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workload web has halted on six clusters; c2 and c3 failed."""
    return ran(tmp_path_factory.mktemp("halted"))


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The add-on helloworld has halted in its first canary group."""
    state = tmp_path_factory.mktemp("addon") / "state.db"
    assert run("run", "--clock", "virtual", "-f", str(ADDONS), state=state).exit_code == 1
    return state


@pytest.fixture
def state(halted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(halted, tmp_path / "fleet.db"))


@pytest.fixture
def addon_state(configured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(configured, tmp_path / "addon.db"))


def said(*words: str, state: Path, code: int = 0) -> str:
    """What a command prints on stdout, or its error."""
    found = run(*words, state=state)
    assert found.exit_code == code, found.output
    return (found.stdout if code == 0 else found.stderr).rstrip("\n")


def notes(state: Path, *words: str) -> dict[str, str]:
    """Our annotations, but for what `apply` and the memory of who asked write."""
    found = stored(state, *(words or ("mwrs", "web")))["metadata"].get("annotations") or {}
    ours = {name: value for name, value in found.items() if name.startswith("rollout-engine.io/")}
    hidden = (names.ASKED, "rollout-engine.io/last-applied")
    return {name: value for name, value in ours.items() if name not in hidden}


# -- what they say -----------------------------------------------------------------------------


def test_each_verb_says_in_a_line_what_it_did_and_that_a_second_time_changes_nothing(
    state: Path,
) -> None:
    def web(*words: str) -> str:
        return said(words[0], "mwrs", "web", *words[1:], "--by", "ann", state=state)

    by_ann = "by ann (unverified) at 2026-01-01T00:10:24Z"
    assert web("pause", "--reason", "lunch") == f"{MWRS} paused"
    assert web("pause") == f"{MWRS} unchanged: paused already {by_ann}: lunch"
    assert web("resume") == f"{MWRS} resumed"
    assert web("resume") == f"{MWRS} unchanged: it is not paused"
    assert web("abort") == f"{MWRS} aborted: revision {REVISION} is rolled out to no more clusters"
    assert web("abort") == f"{MWRS} unchanged: aborted already {by_ann}"
    assert web("retry") == f"{MWRS} retried: each cluster that has failed gets another attempt"
    of = f"(for revision {REVISION}; a later one asks for them again)"
    assert web("skip", "c3", "c2") == f"{MWRS} skipped: c2, c3 {of}"
    assert web("skip", "c2") == f"{MWRS} unchanged: skipped already: c2"
    assert web("skip", "--remove", "c2") == f"{MWRS} no longer skipped: c2"
    assert web("skip", "--remove") == f"{MWRS} no longer skipped: c3"
    assert web("hold", "c4,c5") == f"{MWRS} held: c4, c5"
    assert web("release", "c5") == f"{MWRS} released: c5"
    assert web("release") == f"{MWRS} released: c4"
    assert web("release") == f"{MWRS} unchanged: none is held"
    assert notes(state) == {names.RETRY: "2026-01-01T00:10:24.000000Z"}


def test_a_user_without_a_name_is_known_by_number(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)

    said("pause", "mwrs", "web", state=state)

    found = stored(state, "mwrs", "web")["metadata"]["annotations"]
    assert read_asked(found)["pause"].by == "uid 54321"


def test_verbs_that_write_objects_name_them(state: Path) -> None:
    approval = f"approval.rollout-engine.io/web-{REVISION[:8]}"
    freeze = "freeze.rollout-engine.io/stop-the-line"
    patch = {"metadata": {"annotations": {names.GATES: "before:rest"}}}
    document = {**stored(state, "mwrs", "web"), **patch}
    said("apply", "-f", write(state.parent / "gated.yaml", _renamed(document)), state=state)

    told = said("approve", "mwrs", "web", state=state)
    assert told.startswith(f"{approval}-approve-")
    assert told.endswith(f" created: gate before:rest of revision {REVISION} is approved")
    assert said("approve", "mwrs", "web", state=state).endswith(
        f" unchanged: gate before:rest of revision {REVISION} is approved already by {getpass.getuser()} (unverified)"
    )
    told = said("reject", "mwrs", "web", "--revision", REVISION, state=state)
    assert told.startswith(f"{approval}-reject-")
    assert told.endswith(f" created: revision {REVISION} is rejected")
    told = said("freeze", "--until", "2h", "--by", "ann", state=state)
    assert told == (
        f"{freeze} created: nothing is touched or removed on this hub from now on, until "
        "2026-01-01T02:10:24Z"
    )
    assert said("unfreeze", state=state) == f"{freeze} ended: rollouts on the hub go on"
    assert said("unfreeze", state=state) == f"{freeze} unchanged: the hub is not frozen"


def _renamed(document: dict[str, Any]) -> dict[str, Any]:
    """What `get` printed, as a file: with name and annotations alone as its metadata."""
    annotations = document["metadata"].get("annotations", {})
    meta = {"name": "web", "namespace": "default", "annotations": annotations}
    return {key: value for key, value in document.items() if key != "status"} | {"metadata": meta}


@pytest.mark.parametrize("words", ["cma helloworld", "cma/helloworld"])
def test_addons_are_operated_like_other_workloads(words: str, addon_state: Path) -> None:
    def addon(verb: str, *more: str, code: int = 0) -> str:
        return said(verb, *words.split(), *more, "--by", "ann", state=addon_state, code=code)

    assert addon("pause") == f"{CMA} paused"
    assert addon("resume") == f"{CMA} resumed"
    assert addon("abort").startswith(f"{CMA} aborted: revision ")
    assert addon("retry") == f"{CMA} retried: each cluster that has failed gets another attempt"
    assert addon("skip", "aws-prod-01").startswith(f"{CMA} skipped: aws-prod-01 (for revision ")
    assert addon("hold", "aws-prod-02") == f"{CMA} held: aws-prod-02"
    assert addon("release") == f"{CMA} released: aws-prod-02"
    assert addon("reject").startswith("approval.rollout-engine.io/helloworld-")
    assert "earlier configurations are kept nowhere" in addon("undo", code=1)
    assert "asks for no approval" in addon("approve", code=1)
    skipped = notes(addon_state, "cma", "helloworld")[names.SKIP]
    assert re.fullmatch("aws-prod-01@[0-9a-f]{16}", skipped)


@pytest.mark.parametrize("verb", ["abort", "retry", "skip"])
def test_a_verb_of_the_revision_that_was_looked_at_is_done(verb: str, state: Path) -> None:
    clusters = ["c2"] if verb == "skip" else []

    said(verb, "mwrs", "web", *clusters, "--revision", REVISION, state=state)

    assert notes(state)


def test_json_tells_what_was_written_and_whether_it_changed_anything(state: Path) -> None:
    def told(*words: str) -> Any:
        return json.loads(said(*words, "-o", "json", state=state))

    workload = {"kind": "ManifestWorkReplicaSet", "namespace": "default", "name": "web"}
    assert told("hold", "mwrs", "web", "c4") == [
        {**workload, "changed": True, "message": "held: c4"}
    ]
    (again,) = told("hold", "mwrs", "web", "c4")
    assert (again["changed"], again["message"]) == (False, "held already: c4")
    (freeze,) = told("freeze")
    assert {key: freeze[key] for key in ("kind", "name", "changed")} == {
        "kind": "Freeze",
        "name": "stop-the-line",
        "changed": True,
    }
    assert "namespace" not in freeze


def test_who_asks_is_the_user_of_the_machine_unless_somebody_else_is_named(state: Path) -> None:
    said("pause", "mwrs", "web", state=state)
    said("hold", "mwrs", "web", "c1", "--by", "pipeline 7", "--reason", "rack", state=state)

    asked = read_asked(stored(state, "mwrs", "web")["metadata"]["annotations"])
    assert asked["pause"].by == getpass.getuser()
    assert (asked["hold/c1"].by, asked["hold/c1"].reason) == ("pipeline 7", "rack")


# -- what they refuse --------------------------------------------------------------------------


@pytest.mark.parametrize("verb", OF_WORKLOAD)
def test_a_workload_that_is_not_there_ends_with_1_and_says_where_to_look(
    verb: str, state: Path
) -> None:
    more = ("c1",) if verb in ("skip", "hold", "release") else ()

    told = said(verb, "mwrs", "nope", *more, "-n", "shop", state=state, code=1)

    assert told.startswith("error: manifestworkreplicasets.work.open-cluster-management.io")
    assert told.endswith(
        '"nope" not found in namespace shop; `rollout list -A` lists those that exist'
    )


@pytest.mark.parametrize("verb", OF_WORKLOAD)
@pytest.mark.parametrize("words", ["", "mwrs", "placement fleet", "mwrs/web/x", "mcl/c1"])
def test_what_names_no_workload_is_typed_wrongly(verb: str, words: str, state: Path) -> None:
    told = said(verb, *words.split(), state=state, code=2)

    assert told.startswith("error: ")
    assert f"(see rollout {verb} --help)" in told


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("pause mwrs web api", 2, "nothing after it: not api"),
        ("hold mwrs web", 2, "name the clusters, after mwrs web"),
        ("skip mwrs web", 2, "name the clusters, after mwrs web"),
        (
            "undo mwrs web",
            1,
            "no earlier revision to go back to; abort this one, or roll out a fix",
        ),
        ("undo mwrs web --to-revision x", 2, "'x' is not a whole number"),
        ("approve mwrs web", 1, "annotation rollout-engine.io/gates would, such as before:rest"),
        ("reject mwrs web --revision 0123456789", 1, f"{REVISION} is"),
        *(
            (f"{words} --revision 0123456789", 1, f"now {REVISION} is rolled out: look at it first")
            for words in ("abort mwrs web", "retry mwrs web", "skip mwrs web c2")
        ),
        ("skip mwrs web --remove --revision 0123456789", 2, "leave --revision out"),
        ("approve mwrs web --expires soon", 2, "--expires 'soon' is neither an instant"),
        ("freeze --until yesterday", 2, "--until 'yesterday' is neither an instant such as"),
        ("freeze --until 2020-01-01T00:00:00Z", 1, "would be over already"),
        ("unfreeze nope", 1, '"nope" not found; `rollout get freezes` lists those that exist'),
    ],
)
def test_what_cannot_be_done_changes_nothing_and_says_what_to_do(
    words: str, code: int, told: str, state: Path
) -> None:
    assert told in said(*words.split(), state=state, code=code)
    assert notes(state) == {}
    assert stored(state, "freezes")["items"] == []
    assert stored(state, "approvals")["items"] == []


@pytest.mark.parametrize("verb", ["skip", "hold"])
def test_clusters_that_nobody_knows_are_refused_unless_forced(verb: str, state: Path) -> None:
    """One that joins tomorrow may be skipped today, by who says so."""
    refused = said(verb, "mwrs", "web", "c1", "c77", "c78", state=state, code=1)

    assert f"no cluster is called c77, c78; correct the name, or use --force to {verb}" in refused
    assert notes(state) == {}
    forced = said(verb, "mwrs", "web", "c77", "--force", state=state)
    assert f"{'skipped' if verb == 'skip' else 'held'}: c77" in forced
    back = ("skip", "--remove") if verb == "skip" else ("release",)
    assert said(back[0], "mwrs", "web", "c77", *back[1:], state=state).endswith(": c77")


def test_without_a_hub_a_verb_says_how_to_name_one() -> None:
    found = run("pause", "mwrs", "web")

    assert found.exit_code == 2
    assert "give --state FILE, or set ROLLOUT_STATE" in found.stderr


# -- help and completion -----------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_reason_an_actor_and_a_hub_and_begins_with_a_sentence(
    verb: str,
) -> None:
    told = run(verb, "--help").stdout

    lines = told.splitlines()
    assert lines[0].startswith(f"Usage: rollout {verb} [OPTIONS]")
    assert lines[2].endswith(".")
    assert all(option in told for option in ("--reason", "--by", "--state", "--context"))
    listed = run("--help").stdout
    (line,) = [each for each in listed.splitlines() if each.split()[:1] == [verb]]
    assert not line.endswith("...")


def completed(line: str, state: Path) -> list[str]:
    """What the shell offers for the last word of a line."""
    *words, begun = line.split(" ")
    words = [f"--state={state}", *words]
    shell = get_completion_class("bash")
    assert shell is not None
    found = shell(cli, {}, "rollout", "_ROLLOUT_COMPLETE").get_completions(words, begun)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pause m", ["mwrs", "manifestworkreplicasets"]),
        ("pause c", ["cma", "cmas", "clustermanagementaddons"]),
        ("pause pl", []),
        ("pause mwrs ", ["web"]),
        ("pause mwrs/w", ["mwrs/web"]),
        ("pause mwrs web ", []),
        ("pause mcl ", []),
        ("hold mwrs web c1", ["c1"]),
        ("hold mwrs web c1 ", ["c1", "c2", "c3", "c4", "c5", "c6"]),
        ("hold mwrs/web c6", ["c6"]),
        ("skip mwrs web c5", ["c5"]),
        ("release mwrs web ", ["c2", "c4"]),
        ("release mwrs/web c4", ["c4"]),
        ("release mwrs nope ", []),
        ("approve mwrs web --gate ", ["before:rest", "after:rest"]),
        ("approve mwrs web --gate a", ["after:rest"]),
        ("approve mwrs nope --gate ", []),
        ("undo cma h", []),
    ],
)
def test_the_shell_completes_workloads_clusters_and_gates(
    line: str, words: list[str], state: Path
) -> None:
    said("hold", "mwrs", "web", "c4", "c2", state=state)
    annotations = {names.GATES: "before:rest,after:rest"}
    document = _renamed(stored(state, "mwrs", "web"))
    document["metadata"]["annotations"] = annotations
    said("apply", "-f", write(state.parent / "gated.yaml", document), state=state)

    assert completed(line, state) == words


# -- two at once -------------------------------------------------------------------------------


def test_two_people_at_two_keyboards_lose_nothing(state: Path) -> None:
    clusters = [f"c{n}" for n in range(1, 7)]

    def hold(cluster: str) -> int:
        return run("hold", "mwrs", "web", cluster, "--state", str(state)).exit_code

    with ThreadPoolExecutor(2) as people:
        assert set(people.map(hold, clusters)) == {0}

    assert notes(state) == {names.HOLD: ",".join(clusters)}


def test_what_was_asked_beside_a_run_is_done_by_the_next(state: Path) -> None:
    """c2 and c3 are waived: the rollout goes on to its end without them."""
    said("skip", "mwrs", "web", "c2", "c3", state=state)

    found = run("run", "--clock", "virtual", state=state)

    assert found.exit_code == 0, found.output
    assert "✔ done" in found.stdout
    assert "4 clusters succeeded, 2 skipped" in said("status", "mwrs", "web", state=state)


# -- what is told of it ------------------------------------------------------------------------


def test_explain_and_describe_tell_who_asked_for_what(state: Path) -> None:
    for words in ("hold mwrs web c5 --reason rack", "pause mwrs web", "resume mwrs web"):
        said(*words.split(), "--by", "ann", state=state)

    by_ann = "by ann (unverified) at 2026-01-01T00:10:24Z"
    described = said("describe", "mwrs", "web", state=state)
    assert f"Asked:        held c5 {by_ann}: rack" in described
    assert f"Before:       resumed {by_ann}" in described
    assert names.ASKED not in described
    told = said("explain", "cluster", "c5", state=state)
    assert "  Reason:       Held" in told
    assert f"  Asked:        held {by_ann}: rack" in told
    assert "Asked" not in said("explain", "cluster", "c6", state=state)
    account = json.loads(said("describe", "mwrs", "web", "-o", "json", state=state))
    assert account["rollout"]["interventions"] == [
        {
            "what": "held",
            "about": ["c5"],
            "by": "ann",
            "at": "2026-01-01T00:10:24Z",
            "reason": "rack",
        }
    ]


def test_a_skipped_cluster_says_so_and_who_waived_it(state: Path) -> None:
    said("skip", "mwrs", "web", "c2", "--by", "ann", state=state)

    told = said("explain", "cluster", "c2", state=state)
    assert "  Reason:       Skipped" in told
    assert "  Asked:        skipped by ann" in told
