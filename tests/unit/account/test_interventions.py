"""What people asked is told with who asked; gates and rollbacks say how they stand."""

import copy
from datetime import datetime

import pytest

from rollout import operate
from rollout.account.finish import Finish
from rollout.account.interventions import GateAccount, remembered
from rollout.account.tree import WorkloadAccount
from rollout.account.waits import WaitAccount
from rollout.analysis.clusters import explain_cluster
from rollout.analysis.forecast import forecast
from rollout.analysis.histories import Role, history
from rollout.analysis.snapshot import snapshot_of
from rollout.cli.explain import rollout_lines
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from rollout.model.waits import Reason, Wait
from rollout.operate import Who
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import AtGate
from tests.stories.operating import freeze
from tests.support import make
from tests.support.changes import storing
from tests.support.story import HOUR, MIN, T0, Story

WEB = Ref(REPLICA_SET, "default/web")
BAD_2 = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
STRATEGY = make.progressive(maxConcurrency=2, progressDeadline="5m", minSuccessTime="1m")
GATED = make.progressive(mandatory=["canary"], maxConcurrency=2)


def rolled_out(**notes: str) -> Story:
    """Version 1 is on six clusters and has soaked; version 2 would fail."""
    workload = make.workload(strategy=STRATEGY, annotations=notes)
    return Story([*make.fleet(6), workload], {"rules": [BAD_2]}).end()


def gated(gates: str, **notes: str) -> Story:
    workload = make.workload(strategy=GATED, annotations={names.GATES: gates, **notes})
    return Story([*make.fleet(4, canary=2), workload])


def who(story: Story, by: str = "ann", reason: str = "") -> Who:
    return Who(by, story.clock.now(), reason)


def account(story: Story) -> WorkloadAccount:
    found = snapshot_of(story.hub, story.clock.now()).account(WEB)
    assert found is not None
    return found


def gates(story: Story) -> list[tuple[str, GateAccount]]:
    """Every gate, with its stage."""
    return [(title, gate) for title, stage in account(story).stages for gate in stage.gates]


def wait(story: Story, cluster: str) -> WaitAccount | None:
    found = explain_cluster(snapshot_of(story.hub, story.clock.now()), cluster, WEB)
    assert found is not None
    return found.shares[0].wait


def told(story: Story, fact: str) -> list[str]:
    """What `explain` prints after this word."""
    lines = list(rollout_lines(account(story)))
    return [line.partition(":")[2].strip() for line in lines if line.startswith(f"{fact}:")]


# -- interventions ------------------------------------------------------------------------------------


def test_everything_that_is_asked_now_is_told_with_who_asked_it() -> None:
    story = rolled_out()
    hub = story.hub
    operate.hold(hub, WEB, ["c01", "c02"], who(story, "ann", "rack"))
    operate.hold(hub, WEB, ["c03"], who(story, "ben"))
    operate.skip(hub, WEB, ["c04"], who(story, "ann"))
    operate.abort(hub, WEB, who(story, "cat"))
    operate.pause(hub, WEB, who(story, "dan", "lunch"))
    operate.freeze(hub, who(story, "eve", "incident 7"))
    story.settle()

    at = f"at {story.clock.now():%Y-%m-%dT%H:%M:%SZ}"
    revision = story.mwrs()["status"]["updateRevision"]
    assert [str(each) for each in account(story).interventions] == [
        "the hub frozen by eve (unverified): incident 7",
        f"paused by dan (unverified) {at}: lunch",
        f"aborted {revision} by cat (unverified) {at}",
        f"skipped c04 by ann (unverified) {at}",
        f"held c01, c02 by ann (unverified) {at}: rack",
        f"held c03 by ben (unverified) {at}",
    ]


def test_what_was_written_by_hand_is_told_without_a_name() -> None:
    story = rolled_out(**{names.PAUSED: "true", names.SKIP: "c1"})

    assert [str(each) for each in account(story).interventions] == ["paused", "skipped c1"]


def test_what_concerns_an_earlier_revision_is_asked_no_more() -> None:
    story = rolled_out()
    operate.abort(story.hub, WEB, who(story))
    operate.reject(story.hub, WEB, who(story))
    assert [each.what for each in account(story).interventions] == ["aborted", "rejected"]

    story.template(make.template("3"))
    story.end()

    assert account(story).interventions == ()


def test_what_is_over_is_remembered() -> None:
    story = rolled_out()
    operate.pause(story.hub, WEB, who(story))
    operate.resume(story.hub, WEB, who(story, "ben"))
    operate.retry(story.hub, WEB, who(story, "cat"))
    workload = snapshot_of(story.hub, story.clock.now()).workload(WEB)
    assert workload is not None

    assert [(wish.what, wish.by) for wish in remembered(workload)] == [
        ("resumed", "ben"),
        ("retried", "cat"),
    ]


def test_a_cluster_tells_what_is_asked_of_it_alone() -> None:
    story = rolled_out()
    operate.hold(story.hub, WEB, ["c01", "c02"], who(story, "ann", "rack"))
    snapshot = snapshot_of(story.hub, story.clock.now())

    held, other = (explain_cluster(snapshot, name, WEB) for name in ("c01", "c03"))

    assert held is not None
    assert other is not None
    assert held.shares[0].asked is not None
    assert (held.shares[0].asked.what, held.shares[0].asked.by) == ("held", "ann")
    assert other.shares[0].asked is None


# -- gates -------------------------------------------------------------------------------------


def test_a_gate_is_shut_then_approved_then_open() -> None:
    story = gated("before:rest")
    story.settle()
    assert told(story, "Gate") == ["before:rest (the rest): shut, nobody has approved it"]

    operate.approve(story.hub, WEB, who(story, "ben"))
    story.settle()
    assert told(story, "Gate") == [
        "before:rest (the rest): approved by ben (unverified); it opens when the rollout gets there"
    ]

    story.end()
    assert story.reason == "Complete"
    assert told(story, "Gate") == ["before:rest (the rest): open, approved by ben (unverified)"]


@pytest.mark.parametrize("gate", ["before:*", "before:canary", "before:0", "before:p/canary"])
def test_a_gate_is_open_by_whatever_name_it_is_asked_for(gate: str) -> None:
    story = gated(gate)
    story.settle()
    operate.approve(story.hub, WEB, who(story))
    story.end()

    assert story.reason == "Complete"
    assert {gate.state for _, gate in gates(story)} == {"open"}


def test_an_open_gate_stays_open_when_nobody_knows_any_more_who_opened_it() -> None:
    story = gated("before:rest").end()
    (approval,) = operate.approve(story.hub, WEB, who(story))
    story.end()
    story.hub.delete(approval.ref)
    story.settle()

    assert told(story, "Gate") == ["before:rest (the rest): open"]


def test_one_gate_may_stand_at_every_stage() -> None:
    story = gated("before:*")
    story.settle()

    assert [(g.gate, stage, g.state) for stage, g in gates(story)] == [
        ("before:*", "canary #0", "shut"),
        ("before:*", "the rest", "shut"),
    ]


def test_a_gate_that_is_asked_for_behind_the_rollout_is_passed() -> None:
    story = gated("before:rest")
    story.annotate(names.GATES, None)
    story.end()
    story.annotate(names.GATES, "before:canary,after:rest")
    story.settle()

    assert [(g.gate, g.state) for _, g in gates(story)] == [
        ("before:canary", "passed"),
        ("after:rest", "passed"),
    ]


def test_an_approval_that_expires_says_until_when_it_opens_the_gate() -> None:
    story = gated("before:rest")
    story.settle()
    end = story.clock.now() + 5 * HOUR
    operate.approve(story.hub, WEB, who(story, "ben"), expires=end)
    story.settle()

    (line,) = told(story, "Gate")
    assert f"approved by ben (unverified) until {end:%Y-%m-%dT%H:%M:%SZ}; it opens when" in line


def test_a_gate_that_is_no_approval_says_what_keeps_it_shut_and_asks_nobody_to_approve() -> None:
    story = gated("before:rest=analysis/slo")
    story.settle()

    ((_, gate),) = gates(story)
    assert (gate.state, gate.asks_person) == ("shut", False)
    assert "nobody has approved it" not in told(story, "Gate")[0]
    assert "analysis slo" in told(story, "Gate")[0]


# -- the earliest finish -----------------------------------------------------------------------


def test_what_waits_for_a_person_is_not_done_by_itself() -> None:
    story = gated("before:rest")
    story.settle()
    running = account(story).finish
    story.end()
    waiting = account(story)
    operate.approve(story.hub, WEB, who(story, "ben"))
    story.settle()
    approved = account(story).finish

    assert running is not None
    assert running.at is not None
    assert waiting.reason == "ApprovalNeeded"
    assert waiting.finish is not None
    assert waiting.finish.at is None
    assert waiting.finish.why == f"ApprovalNeeded: not until {waiting.wait.ends}"
    assert approved is not None
    assert approved.at is not None


def foreseen(*freezes: Obj) -> Finish:
    """The finish of two stages that soak for five minutes each, planned for the first time."""
    strategy = make.progressive(mandatory=["canary"], maxConcurrency=2, minSuccessTime="5m")
    objects = [*make.fleet(4, canary=2), *freezes, make.workload(strategy=strategy)]
    found = account(Story(objects).settle()).finish
    assert found is not None
    return found


def test_what_a_freeze_holds_is_done_after_the_freeze_ends() -> None:
    ends = T0 + 2 * HOUR

    assert foreseen().at == T0 + 10 * MIN
    assert foreseen(freeze(until=rfc3339(ends))).at == ends + 10 * MIN
    lasting = foreseen(freeze())
    assert (lasting.at, lasting.why.partition(":")[0]) == (None, "Frozen")


# -- rollbacks ---------------------------------------------------------------------------------


def taking_back() -> Story:
    """Two clusters got the bad version; one at a time gets version 1 back."""
    story = rolled_out(**{names.ROLLBACK: "Automatic", names.ROLLBACK_CONCURRENCY: "1"})
    story.template(make.template("2"))
    story.settle()
    while story.reason != "RollingBack":
        story.to(story.now + 10 * (MIN / 60))
    return story


def test_a_rollback_tells_how_far_it_is_and_each_cluster_what_it_waits_for() -> None:
    story = taking_back()

    (line,) = told(story, "Rollback")
    assert line.endswith("0 of 2 back, 1 on their way (at most 1 at once), 1 to go")
    first, second = wait(story, "c00"), wait(story, "c01")
    assert first is not None
    assert second is not None
    assert first.reason == "GoingBack"
    assert first.until is not None
    assert second.ends == "its turn comes to go back: at most 1 are on their way at once"
    past = history(story.hub, snapshot_of(story.hub, story.clock.now()), WEB)
    assert past is not None
    assert past.revisions[0].role is Role.BARRED

    story.end()
    (line,) = told(story, "Rollback")
    assert line.endswith("2 of 2 back")
    last = wait(story, "c00")
    assert last is not None
    assert last.reason == "RolledBack"


def test_a_paused_rollback_says_that_nothing_moves() -> None:
    story = taking_back()
    operate.pause(story.hub, WEB, who(story))
    story.settle()

    (line,) = told(story, "Rollback")
    assert line.endswith("nothing moves now")


def test_a_cluster_without_an_earlier_revision_says_that_it_has_nothing_to_go_back_to() -> None:
    workload = make.workload(
        strategy=STRATEGY, version="2", annotations={names.ROLLBACK: "Automatic"}
    )
    story = Story([*make.fleet(4), workload], {"rules": [BAD_2]}).end()

    found = wait(story, "c00")
    assert found is not None
    assert found.reason == "NothingToGoBackTo"
    assert told(story, "Rollback")[0].endswith("0 of 0 back, 2 have nothing to go back to")


def test_an_undone_release_that_soaked_everywhere_waits_cluster_by_cluster() -> None:
    story = rolled_out(**{names.ROLLBACK_CONCURRENCY: "2"})
    story.template(make.template("3"))
    story.end()
    operate.undo(story.hub, WEB, who(story))
    story.settle()

    waits = [wait(story, f"c{n:02d}") for n in range(6)]
    assert [each.reason for each in waits if each is not None] == (
        ["RollingBack"] * 4 + ["GoingBack"] * 2
    )
    story.to(story.now + HOUR)
    assert set(story.versions().values()) == {"1"}


# -- before it happens -------------------------------------------------------------------------


def plan(story: Story, **notes: str) -> tuple[list[tuple[str, ...]], str]:
    """The gates of each stage, and all warnings, if version 3 were rolled out with these notes."""
    obj = story.mwrs()
    meta = {**obj["metadata"], "annotations": notes}
    spec = {**obj["spec"], "manifestWorkTemplate": make.template("3")}
    change = storing([{**obj, "metadata": meta, "spec": spec}])
    found = forecast(story.hub, change, story.clock.now())
    stages = found.workloads[0].placements[0].stages
    return [stage.gates for stage in stages], "\n".join(map(str, found.warnings))


def test_a_plan_lists_the_gates_that_the_new_revision_has_to_pass_by_stage() -> None:
    story = gated("before:rest").end()
    operate.approve(story.hub, WEB, who(story))
    story.end()

    gates, _ = plan(story, **{names.GATES: "after:canary,before:rest,after:rest"})

    assert gates == [("after:canary",), ("before:rest", "after:rest")]


def test_a_plan_asks_for_no_gate_again_that_is_open() -> None:
    story = gated("before:0,after:*").end()
    operate.approve(story.hub, WEB, who(story), gate="before:0")
    story.end()
    obj = copy.deepcopy(story.mwrs())
    obj["spec"]["placementRefs"][0]["rolloutStrategy"] = make.progressive(mandatory=["canary"])

    found = forecast(story.hub, storing([obj]), story.clock.now())

    stages = found.workloads[0].placements[0].stages
    assert [stage.gates for stage in stages] == [("after:*",), ("after:*",)]


@pytest.mark.parametrize("mode", ["Automatic", "Manual", "None"])
def test_a_plan_warns_where_automatic_rollback_would_have_nothing_to_give_back(mode: str) -> None:
    fresh = Story([*make.fleet(3), make.workload(strategy=STRATEGY)])
    _, warned = plan(fresh, **{names.ROLLBACK: mode})

    words = "on 3 of the 3 clusters to be touched no earlier revision has soaked"
    assert (words in warned) == (mode == "Automatic")


def test_a_plan_does_not_warn_where_every_cluster_can_go_back() -> None:
    _, warned = plan(rolled_out(), **{names.ROLLBACK: "Automatic"})

    assert "rollback" not in warned


class Desk:
    """A gate of a package that an approval opens."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        return Wait(Reason.APPROVAL_NEEDED, "the desk has not said yes")


def test_a_gate_of_a_package_that_waits_for_an_approval_asks_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(GATES, "desk", Desk())
    story = gated("before:rest=desk/one")
    story.settle()

    assert [(gate.state, gate.asks_person) for _, gate in gates(story)] == [("shut", True)]
