"""Decisions that somebody else writes bit by bit, mandatory groups without a cluster, waivers.

Rows 13 and 15, promises S19 and S20: nothing is proven by nobody, nothing goes on from decisions that
may be half written, and a waiver is for one revision.
"""

import pytest

from rollout import operate
from rollout.analysis.forecast import forecast
from rollout.analysis.snapshot import snapshot_of
from rollout.cli.explain import rollout_lines
from rollout.model import names
from rollout.model.kinds import PLACEMENT, REPLICA_SET, Obj, Ref
from rollout.operate import Who
from tests.support import make
from tests.support.changes import storing
from tests.support.story import MIN, SEC, SETTLED, T0, Story, said

WEB, P = Ref(REPLICA_SET, "default/web"), Ref(PLACEMENT, "default/p")
QUIET = 10 * SEC
CANARIES, REST = ["c00", "c01"], ["c02", "c03", "c04", "c05"]
CANARIES_FIRST = make.progressive(mandatory=["canary"], minSuccessTime="1m")
IN_ORDER = make.per_group(minSuccessTime="1m")
READY = SETTLED - 15 * SEC


def foreign(strategy: Obj, *pages: Obj) -> Story:
    """Another scheduler writes the decisions of the placement."""
    placement = make.placement(ours=False, groups=("canary",))
    return Story([placement, *pages, make.workload(strategy=strategy)])


def tell(story: Story, *groups: tuple[int, str, int]) -> None:
    """The other scheduler writes status.decisionGroups: index, name, clusters."""
    told = [
        {
            "decisionGroupIndex": index,
            "decisionGroupName": name,
            "clusterCount": count,
            "decisions": [f"p-{index}-1"],
        }
        for index, name, count in groups
    ]
    story.hub.patch_status(P, {"status": {"decisionGroups": told}})


# -- decisions that are half written -----------------------------------------------------------


@pytest.mark.parametrize("told", [False, True], ids=["no status", "status.decisionGroups"])
@pytest.mark.parametrize("strategy", [CANARIES_FIRST, IN_ORDER], ids=["mandatory", "per group"])
def test_first_decisions_written_bit_by_bit_let_nobody_go_before_the_canaries_have_soaked(
    strategy: Obj, told: bool
) -> None:
    """The page of the rest is there first, and for 2 s it looks as if that were all."""
    story = foreign(strategy, make.decision(REST, index=1))
    if told:
        tell(story, (1, "", 4))
    assert story.to(2 * SEC).works() == {}
    assert said(story)[0] == "DecisionsUnsettled"

    story.add(make.decision(CANARIES, index=0, group="canary"))
    if told:
        tell(story, (0, "canary", 2), (1, "", 4))
    story.end()

    assert story.waves() == [
        (2 * SEC + QUIET, CANARIES),
        (2 * SEC + QUIET + READY + MIN, REST),
    ]
    assert said(story) == ("Complete", 0)


def test_decisions_of_a_fleet_without_order_are_acted_upon_as_they_come() -> None:
    story = foreign(make.progressive(maxConcurrency=4), make.decision(REST, index=1)).to(2 * SEC)
    story.add(make.decision(CANARIES, index=0, group="canary"))
    story.end()

    assert story.waves()[0] == (0 * SEC, REST)
    assert said(story) == ("Complete", 0)


def test_a_cluster_that_no_decision_names_any_more_gets_no_first_work() -> None:
    """c1 frees its slot while it is not yet known whether c2 has left."""
    story = foreign(make.progressive(maxConcurrency=1), make.decision(["c1", "c2", "c3"]))
    story.to(SETTLED - SEC)
    story.decide(make.decision(["c1", "c3"]))
    story.to(SETTLED + 5 * SEC)
    assert sorted(story.works()) == ["c1"]

    story.end()
    assert story.waves() == [(0 * SEC, ["c1"]), (SETTLED - SEC + QUIET, ["c3"])]
    assert said(story) == ("Complete", 0)


def test_who_is_named_again_within_the_quiet_period_goes_on_as_if_nothing_had_been() -> None:
    story = foreign(make.progressive(maxConcurrency=1), make.decision(["c1", "c2"]))
    story.to(SETTLED - SEC)
    story.decide(make.decision(["c1"]))
    story.on(2 * SEC)
    story.decide(make.decision(["c1", "c2"]))
    story.end()

    assert story.removed() == {}
    assert sorted(story.touched()) == ["c1", "c2"]
    assert said(story) == ("Complete", 0)


def test_a_rollback_waits_for_decisions_to_be_still() -> None:
    bad = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
    placement = make.placement(ours=False, groups=("canary",))
    pages = [make.decision(CANARIES, index=0, group="canary"), make.decision(REST, index=1)]
    workload = make.workload(strategy=CANARIES_FIRST, annotations={names.ROLLBACK: "Manual"})
    story = Story([placement, *pages, workload], {"rules": [bad]}).end()
    story.template(make.template("2"))
    story.end()
    begun = len(story.lines)
    story.decide(make.decision(["c02", "c03", "c04"], index=1))
    story.settle()
    operate.undo(story.hub, WEB, Who("ann", story.clock.now(), ""))
    story.on(QUIET - SEC)
    assert len(story.lines) == begun

    story.on(2 * SEC)
    assert {line.version for line in story.lines[begun:] if line.version} == {"1"}


# -- mandatory groups without a cluster ----------------------------------------------------------


def with_canaries(**notes: str) -> Story:
    """Version 1 is everywhere: two canaries first, then four others."""
    workload = make.workload(strategy=CANARIES_FIRST, annotations=notes)
    return Story([*make.fleet(6, canary=2), workload]).end()


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted meanwhile"])
def test_a_new_release_without_canaries_holds_and_touches_nobody(restarted: bool) -> None:
    story = with_canaries()
    story.lose(*CANARIES)
    story.template(make.template("2"))
    story.end()
    if restarted:
        story.restart().end()

    assert said(story) == ("MandatoryGroupEmpty", 4)
    assert story.touched("2") == {}
    assert "mandatory decision group canary has no cluster" in story.message
    assert names.ALLOW_EMPTY_GROUPS in story.message


def test_canaries_that_are_there_again_end_the_hold_and_go_first() -> None:
    story = with_canaries()
    story.lose(*CANARIES)
    story.template(make.template("2"))
    story.end()
    for cluster in make.clusters(6, canary=2)[:2]:
        story.add(cluster)
    story.end()

    assert [clusters for _, clusters in story.waves("2")] == [CANARIES, REST]
    assert said(story) == ("Complete", 0)


def test_a_person_may_allow_a_group_to_be_empty() -> None:
    story = with_canaries()
    story.lose(*CANARIES)
    story.template(make.template("2"))
    story.end()
    story.annotate(names.ALLOW_EMPTY_GROUPS, "canary")
    story.end()

    assert sorted(story.touched("2")) == REST
    assert said(story) == ("Complete", 0)


def test_a_typo_in_the_canaries_selector_holds_the_first_release() -> None:
    story = Story([*make.fleet(6, canry=2), make.workload(strategy=CANARIES_FIRST)])
    story.hub.patch(P, {"spec": make.placement(groups=("canary",))["spec"]})
    story.end()

    assert said(story) == ("MandatoryGroupEmpty", 4)
    assert story.works() == {}


@pytest.mark.parametrize("gate", ["before:canary", "after:canary"])
def test_a_gate_at_a_group_that_may_be_empty_still_stands(gate: str) -> None:
    documents = make.fleet(4, rest=4)
    placement = make.placement(groups=("canary",))
    fleet = [d for d in documents if d["kind"] != "Placement"]
    notes = {names.GATES: gate, names.ALLOW_EMPTY_GROUPS: "canary"}
    workload = make.workload(strategy=CANARIES_FIRST, annotations=notes)
    story = Story([*fleet, placement, workload]).end()

    assert said(story)[0] == "ApprovalNeeded"
    assert story.works() == {}
    operate.approve(story.hub, WEB, Who("ann", story.clock.now(), ""))
    assert said(story.end()) == ("Complete", 0)


def test_an_empty_mandatory_group_is_shown_as_a_stage_with_no_cluster_and_its_reason() -> None:
    story = with_canaries()
    story.lose(*CANARIES)
    story.template(make.template("2"))
    story.end()
    snapshot = snapshot_of(story.hub, story.clock.now())
    account = snapshot.account(WEB)
    assert account is not None

    explained = [" ".join(line.split()) for line in rollout_lines(account)]
    assert any(line.startswith("canary ‖ Held 0 ") for line in explained)
    title, first = account.stages[0]
    assert (title, first.members) == ("canary", 0)
    assert first.wait is not None
    assert first.wait.reason == "MandatoryGroupEmpty"
    assert str(story.state()).startswith("MandatoryGroupEmpty: placement p: mandatory")


def test_a_plan_shows_the_empty_stage_and_warns_of_it_and_of_who_is_skipped() -> None:
    notes = {names.ALLOW_EMPTY_GROUPS: "canary", names.SKIP: "c03"}
    fleet = [d for d in make.fleet(4) if d["kind"] != "Placement"]
    placement = make.placement(groups=("canary",))
    for annotations in ({}, notes):
        workload = make.workload(strategy=CANARIES_FIRST, annotations=annotations)
        found = forecast(None, storing([*fleet, placement, workload]), T0)

        (planned,) = found.workloads[0].placements
        assert (planned.stages[0].title, planned.stages[0].members) == ("canary", 0)
        told = " | ".join(map(str, found.warnings))
        if annotations:
            assert "mandatory decision group canary has no cluster, and may be empty" in told
            assert "skipped for this revision, and so a member of no stage: c03" in told
        else:
            assert planned.hold is not None
            assert planned.hold.reason == "MandatoryGroupEmpty"
            assert "MandatoryGroupEmpty holds it until clusters are selected" in told


# -- waivers -----------------------------------------------------------------------------------


def canary_fails(*versions: str) -> Story:
    """Canary c00 fails on these versions, and on no other."""
    rules = [
        {
            "clusters": {"names": ["c00"]},
            "manifests": {"path": "data.version", "equals": version},
            "behaviour": {"outcome": "fail"},
        }
        for version in versions
    ]
    workload = make.workload(strategy=CANARIES_FIRST)
    return Story([*make.fleet(6, canary=2), workload], {"rules": rules}).end()


def skip(story: Story, by_hand: bool) -> Story:
    """Canary c00 is waived."""
    if by_hand:
        story.annotate(names.SKIP, "c00")
    else:
        operate.skip(story.hub, WEB, ["c00"], Who("ann", story.clock.now(), ""))
    return story.end()


BY_HAND = pytest.mark.parametrize("by_hand", [True, False], ids=["annotation", "rollout skip"])


@BY_HAND
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted meanwhile"])
def test_a_waiver_of_one_release_does_not_let_the_next_one_pass(
    by_hand: bool, restarted: bool
) -> None:
    story = skip(canary_fails("1", "2"), by_hand)
    assert said(story) == ("Complete", 0)
    if restarted:
        story.restart().end()

    story.template(make.template("2"))
    story.end()

    assert sorted(story.touched("2")) == CANARIES
    assert said(story)[0] == "MaxFailuresExceeded"


@BY_HAND
def test_a_waiver_counts_again_for_the_release_that_it_was_for(by_hand: bool) -> None:
    story = skip(canary_fails("1", "2"), by_hand)
    story.template(make.template("2"))
    story.end()
    story.template(make.template("1"))
    story.end()

    assert said(story) == ("Complete", 0)


def test_a_waiver_taken_back_and_given_again_is_for_the_release_of_then() -> None:
    story = skip(canary_fails("1", "2"), by_hand=True)
    story.annotate(names.SKIP, None)
    story.end()
    story.template(make.template("2"))
    story.end()
    assert said(skip(story, by_hand=True)) == ("Complete", 0)
