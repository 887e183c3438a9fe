"""What the command line says of add-ons."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import get_completion_class

from rollout.account.states import Code, state_of
from rollout.cli.main import cli
from rollout.model import names
from rollout.model.kinds import Obj
from tests.support.addons import addon, installed_at
from tests.support.shapes import run, write

EXAMPLE = Path(__file__).parents[3] / "examples" / "addon-canary"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, run to its end."""
    path = tmp_path_factory.mktemp("addon") / "state.db"
    result = run("run", "--clock", "virtual", "-f", str(EXAMPLE), state=path)
    assert result.exit_code == Code.FAILED
    assert "✖ failed: MaxFailuresExceeded" in result.stdout
    return path


def test_status_says_why_an_addon_is_halted(state: Path) -> None:
    result = run("status", "cma", "helloworld", state=state)

    assert result.exit_code == Code.FAILED
    assert result.stdout.startswith("✖ helloworld: MaxFailuresExceeded: placement default/")


def test_addons_are_listed_with_the_columns_of_the_api(state: Path) -> None:
    assert run("get", "cma", state=state).stdout.splitlines() == [
        "NAME         DISPLAY NAME",
        "helloworld   Hello World",
    ]
    wide = run("get", "cma", "-o", "wide", state=state).stdout.splitlines()[1]
    assert "configured addons 0/40 progressing..., 4 failed 0 timeout." in wide
    assert "MaxFailuresExceeded" in wide


def test_addons_of_clusters_are_listed_with_the_columns_of_the_api(state: Path) -> None:
    found = run("get", "mca", "-n", "aws-west-1", state=state).stdout.splitlines()

    assert found == [
        "NAME         AVAILABLE   DEGRADED   PROGRESSING",
        "helloworld   False                  False",
    ]


def test_a_run_that_is_taken_up_again_after_its_end_changes_nothing(state: Path) -> None:
    before = run("get", "mca", "-A", "-o", "json", state=state).stdout
    run("run", "--clock", "virtual", state=state)

    assert run("get", "mca", "-A", "-o", "json", state=state).stdout == before


def said(*words: str, state: Path | None = None, code: int = 0) -> list[str]:
    found = run(*words, state=state)
    assert found.exit_code == code, found.output
    return found.stdout.splitlines()


def test_list_shows_addons_beside_other_workloads_by_kind(state: Path) -> None:
    assert said("list", state=state) == [
        (
            "KIND   NAME         RESULT                          STAGE                 UPDATED   FAILED"
            "   BUDGET   AGE"
        ),
        (
            "cma    helloworld   ✖ failed: MaxFailuresExceeded   prod-canary-west #0   4/40      4     "
            "   0        130m"
        ),
    ]
    (line,) = json.loads("\n".join(said("list", "-o", "json", state=state)))
    assert (line["kind"], line["name"]) == ("ClusterManagementAddOn", "helloworld")


@pytest.mark.parametrize("subject", ["addon", "cma", "clustermanagementaddons"])
def test_an_addon_says_why_it_is_halted_and_where(subject: str, state: Path) -> None:
    lines = said("explain", subject, "helloworld", state=state)

    assert lines[1:3] == [
        "Status:       ✖ MaxFailuresExceeded",
        "Since:        RolloutHalted=True for 8m25s",
    ]
    assert lines[4].startswith("Revision:     8d821d50aa44538d, begun ")
    assert (
        "the rest              ✖ Halted   32         25% of 32 = 8   2          • 32 waiting"
        in lines
    )
    assert sum("Unavailable" in line for line in lines) == 4


def test_a_cluster_shows_its_addons_and_what_each_of_them_waits_for(state: Path) -> None:
    lines = said("explain", "cluster", "aws-prod-01", state=state)

    assert lines[3:7] == [
        "ClusterManagementAddOn helloworld",
        "  Selected by:  placement default/placement-aws",
        "  Stage:        the rest, number 1 in line",
        "  Phase:        • Waiting",
    ]
    carries = "aws-prod-01/helloworld carries 495cb8b51c0382cb, not 8d821d50aa44538d"
    assert f"  Add-on:       {carries}" in lines
    alone = said("explain", "cluster", "aws-prod-01", "--workload", "cma/helloworld", state=state)
    assert alone == lines


def test_a_cluster_without_the_addon_says_who_refused_it(state: Path) -> None:
    lines = said("explain", "cluster", "gcp-prod-1", state=state)

    assert lines[4:] == [
        "  Not selected:  placement default/placement-aws: Predicate: label vendor is 'GCP'",
        "  Add-on:        none",
    ]


def test_describe_has_the_explanation_the_configurations_and_the_history(state: Path) -> None:
    explained = said("explain", "cma", "helloworld", state=state)
    lines = said("describe", "cma", "helloworld", state=state)

    assert lines[: len(explained)] == explained
    rest = lines[len(explained) :]
    assert rest[rest.index("Configurations:") :][:3] == [
        "Configurations:",
        (
            "  PLACEMENT               CONFIGURATION                                  WANTED         "
            "ROLLED OUT     GOOD"
        ),
        (
            "  default/placement-aws   addondeploymentconfigs default/deploy-config   04b7fb270a75   "
            "3c471d53fe03   3c471d53fe03"
        ),
    ]
    assert any(
        line.startswith("  default/placement-aws RolloutHalted=True MaxFailuresExceeded for")
        for line in rest
    )
    past = said("history", "cma", "helloworld", state=state)
    assert rest[-len(past) :] == [f"  {line}" for line in past]
    found = json.loads("\n".join(said("describe", "cma/helloworld", "-o", "json", state=state)))
    assert found["rollout"]["kind"] == "ClusterManagementAddOn"
    assert found["conditions"][0]["placement"] == "default/placement-aws"


def test_history_has_the_revision_that_is_rolling_and_the_one_that_the_fleet_is_on(
    state: Path,
) -> None:
    rows = [line.split() for line in said("history", "cma", "helloworld", state=state)]

    assert [row[:4] for row in rows] == [
        ["REVISION", "STATE", "CLUSTERS", "AGE"],
        ["8d821d50aa44538d", "rolling", "4", "10m"],
        ["495cb8b51c0382cb", "current", "36", "64m"],
    ]
    assert rows[1][4].endswith("/default/deploy-config@04b7fb270a75")


FIXED: Obj = {
    "apiVersion": "addon.open-cluster-management.io/v1alpha1",
    "kind": "AddOnDeploymentConfig",
    "metadata": {"name": "deploy-config", "namespace": "default"},
    "spec": {
        "agentInstallNamespace": "open-cluster-management-agent-addon",
        "customizedVariables": [{"name": "IMAGE", "value": "quay.io/example/helloworld:1.3"}],
    },
}
PLAN_OF_FIXED = """\
~ AddOnDeploymentConfig default/deploy-config configured
    ~ spec.customizedVariables[0].value: quay.io/example/helloworld:1.2 -> quay.io/example/helloworld:1.3

ClusterManagementAddOn helloworld: revision 8d821d50aa44538d -> 794673d7c0522c90
  placement default/placement-aws, Progressive: 40 clusters selected
    STAGE                 CLUSTERS   ADD   UPDATE   KEEP   AT ONCE         MAY FAIL   RIGHT AWAY
    prod-canary-west #0   4          0     4        0      all             0          4
    prod-canary-east #1   4          0     4        0      all             0          0 (WaitingForStage)
    the rest              32         0     32       0      25% of 32 = 8   2          0 (WaitingForStage)
    prod-canary-west #0: update aws-west-1, aws-west-2, aws-west-3, aws-west-4
    prod-canary-east #1: update aws-east-1, aws-east-2, aws-east-3, aws-east-4
    the rest: update aws-prod-01, aws-prod-02, aws-prod-03 ... aws-prod-32
  done at the earliest 2026-01-01T02:40:00Z (in 30m), if every agent succeeds at once

  --- aws-west-1 now
  +++ aws-west-1 then, revision 794673d7c0522c90
  @@ -2,7 +2,7 @@
   - desiredConfig:
       name: deploy-config
       namespace: default
  -    specHash: 04b7fb270a75b24200af4902c7df150dcdbd9231324e9161b760425a2839feab
  +    specHash: c820a40e1688e2d4cb8464280615c0bc879e7e1c930eaebb0aec3e772cc15d17
     group: addon.open-cluster-management.io
     resource: addondeploymentconfigs
   configurations:
  @@ -10,4 +10,4 @@
       agentInstallNamespace: open-cluster-management-agent-addon
       customizedVariables:
       - name: IMAGE
  -      value: quay.io/example/helloworld:1.2
  +      value: quay.io/example/helloworld:1.3

warning: ClusterManagementAddOn helloworld: placement default/placement-aws, the rest: up to 8 clusters are in flight at once and 2 may fail: a bad release can fail on all 8 before it stops; set annotation rollout-engine.io/failure-tolerance: Strict, or lower maxConcurrency

Plan: 1 object to change; 0 clusters to add, 40 to update, 0 to remove.
"""


def test_a_plan_of_a_config_edit_says_who_gets_it_in_which_order_and_what_changes_there(
    state: Path, tmp_path: Path
) -> None:
    found = run("plan", "-f", write(tmp_path / "fixed.yaml", FIXED), state=state)

    assert found.exit_code == 10
    assert found.stdout == PLAN_OF_FIXED


def test_a_new_addon_is_planned_to_be_installed_at_once_and_configured_by_stage() -> None:
    found = run("plan", "-f", str(EXAMPLE))

    assert found.exit_code == 10
    assert "ClusterManagementAddOn helloworld: new, revision bfb1eaa8f31348e9" in found.stdout
    assert (
        "  36 clusters would get the add-on right away; its configuration waits for their turn: "
        in found.stdout
    )
    assert "40 clusters to add, 0 to update, 0 to remove." in found.stdout


def test_a_plan_of_a_config_edit_is_applied_as_long_as_it_holds(
    state: Path, tmp_path: Path
) -> None:
    own, kept = tmp_path / "own.db", str(tmp_path / "plan.json")
    own.write_bytes(state.read_bytes())
    said("plan", "-f", write(tmp_path / "fixed.yaml", FIXED), "--out", kept, state=own, code=10)

    assert run("apply", "--plan", kept, state=own).exit_code == 0
    again = run("apply", "--plan", kept, state=own)

    assert again.exit_code == 1
    assert "is stale" in again.stderr


def test_a_fix_is_simulated_where_the_last_run_has_left_the_fleet(
    state: Path, tmp_path: Path
) -> None:
    """The edits of that run are over: they do not happen once more."""
    words = ("simulate", "-f", write(tmp_path / "fixed.yaml", FIXED))

    lines = said(*words, state=state)

    assert lines[0].startswith("✔ done after 00:3")
    assert "40 of 40 clusters touched, 40 soaked, 0 failed" in lines[0]
    assert lines[1] == "(full simulation, slower: there are add-ons to roll out)"
    found = json.loads("\n".join(said(*words, "-o", "json", state=state)))
    assert [stage["title"] for stage in found["timeline"]["stages"]] == [
        "prod-canary-west #0",
        "prod-canary-east #1",
        "the rest",
    ]


@pytest.mark.parametrize(
    ("words", "code", "fault"),
    [
        (("describe", "cma", "nope"), 1, '"nope" not found; `rollout list -A`'),
        (("explain", "addon", "nope"), 1, '"nope" not found; `rollout list -A`'),
        (("history", "cma"), 2, "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"),
        (("describe", "mca", "x"), 2, "name a ManifestWorkReplicaSet or a ClusterManagementAddOn"),
        (("explain", "cluster", "aws-west-1", "--workload", "cma/x"), 1, '"x" not found'),
    ],
)
def test_what_is_not_there_is_an_error_that_says_where_to_look(
    words: tuple[str, ...], code: int, fault: str, state: Path
) -> None:
    found = run(*words, state=state)

    assert found.exit_code == code
    assert fault in found.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("rollout describe cma ", ["helloworld"]),
        ("rollout history clustermanagementaddon hello", ["helloworld"]),
        ("rollout explain ad", ["addon"]),
        ("rollout explain addon h", ["helloworld"]),
        ("rollout explain cluster gcp-prod-", [f"gcp-prod-{n}" for n in range(1, 5)]),
        ("rollout get mca -n aws-west-1 ", ["helloworld"]),
        ("rollout describe nonsense x", []),
    ],
)
def test_names_are_completed_from_the_hub(typed: str, completed: list[str], state: Path) -> None:
    assert offered(typed, str(state)) == completed


def test_names_are_not_completed_where_there_is_no_hub() -> None:
    assert offered("rollout describe cma h", "") == []


def offered(typed: str, state: str) -> list[str]:
    """What a shell would be offered at the end of a line."""
    shell = get_completion_class("bash")
    assert shell is not None
    words = typed.split(" ")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROLLOUT_STATE", state)
        found = shell(cli, {}, "rollout", "_ROLLOUT_COMPLETE").get_completions(
            words[1:-1], words[-1]
        )
    return [item.value for item in found]


def told(*conditions: Obj, generation: int = 1, **more: Any) -> Obj:
    """An add-on over one placement, of which this is said."""
    obj = addon(placements=[installed_at()], **more)
    progression = {"namespace": "default", "name": "p", "conditions": list(conditions)}
    return {
        **obj,
        "metadata": {**obj["metadata"], "generation": generation},
        "status": {"installProgressions": [progression]},
    }


def halted(status: str, reason: str) -> Obj:
    return {
        "type": names.ROLLOUT_HALTED,
        "status": status,
        "reason": reason,
        "observedGeneration": 1,
    }


@pytest.mark.parametrize(
    ("obj", "code", "reason"),
    [
        (told(halted("False", "Complete")), Code.DONE, "Complete"),
        (told(halted("False", "CompleteWithFailures")), Code.TOLERATED, "CompleteWithFailures"),
        (told(halted("False", "RollingOut")), Code.WAITING, "RollingOut"),
        (told(halted("True", "MaxFailuresExceeded")), Code.FAILED, "MaxFailuresExceeded"),
        (told(halted("True", "ConfigNotFound")), Code.PERSON, "ConfigNotFound"),
        (told(halted("True", "TornDecisions")), Code.WAITING, "TornDecisions"),
        (told(halted("False", "Complete"), generation=2), Code.WAITING, "Waiting"),
        (told(), Code.WAITING, "Waiting"),
        (addon(), Code.DONE, "Manual"),
        (addon(placements=[]), Code.PERSON, "NoTargets"),
        (told(annotations={names.ADDON_LIFECYCLE: "self"}), Code.PERSON, "NotManaged"),
        (
            {**addon(), "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            Code.FAILED,
            "Deleting",
        ),
    ],
)
def test_the_verdict_is_the_worst_of_its_placements(obj: Obj, code: Code, reason: str) -> None:
    found = state_of(obj)

    assert (found.code, found.reason) == (code, reason)


def test_an_add_on_has_a_tree_too(state: Path) -> None:
    watched = run("get", "cma", "helloworld", "--watch", state=state)
    other = run("get", "mwrs", "helloworld", "--watch", state=state)

    assert watched.exit_code == 1
    assert watched.stdout.startswith(
        "Name:         helloworld\nStatus:       ✖ MaxFailuresExceeded"
    )
    assert "├──□ prod-canary-west #0" in watched.stdout
    assert "✖ Failed" in watched.stdout
    assert (other.exit_code, other.stdout) == (1, "")
    assert "did you mean cma helloworld?" in other.stderr


@pytest.mark.parametrize("words", [("-o", "tree"), ("--watch",)])
def test_a_name_alone_is_an_addon_where_no_replica_set_has_it(
    words: tuple[str, ...], state: Path
) -> None:
    named = run("get", "helloworld", *words, state=state)

    assert named.stdout == run("get", "cma", "helloworld", *words, state=state).stdout
    assert named.stdout.startswith("Name:         helloworld\n")
    revision = next(line for line in named.stdout.splitlines() if line.startswith("Revision:"))
    assert "(" not in revision
