"""No two views disagree about a workload, a stage or a cluster."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from rollout.account.build import fleet_account
from rollout.account.figures import CODE_SIGNS, SIGNS, STATE_SIGNS, status_line
from rollout.account.states import Code, state_of
from rollout.account.tree import TROUBLE, ClusterAccount, GroupAccount, WorkloadAccount
from rollout.account.waits import WaitAccount
from rollout.account.wire import as_json
from rollout.analysis.clusters import explain_cluster
from rollout.analysis.snapshot import Snapshot, snapshot_of
from rollout.cli.explain import rollout_lines
from rollout.cli.picture import fleet_picture, workload_picture
from rollout.cli.screen import stage_line
from rollout.cli.status import list_lines
from rollout.dashboard.render import environment
from rollout.model.cluster_reasons import ClusterReason, any_reason
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.waits import Reason, Scope
from rollout.sim.drives import Jump
from rollout.sim.local import LocalRun
from rollout.strategies.base import Phase
from tests.support.analysis_cases import random_question
from tests.support.shapes import MIN, T0, account, condition, shot, stage, standing

SEEDS = range(24)


def stopped(seed: int) -> tuple[Snapshot, list[WorkloadAccount]]:
    """A random moment of a random run: as read from the hub, and as the engine there has it."""
    asked = random_question(seed)
    hub, clock = asked.hub()
    passes = random.Random(seed).randint(1, 25)

    def on_change(_: object) -> None:
        nonlocal passes
        passes -= 1
        if not passes:
            raise KeyboardInterrupt

    run = LocalRun(hub, clock, None, asked.scenario, keep=False, drive=Jump(clock))
    run.run(on_change)
    now = clock.now()
    return snapshot_of(hub, now), list(fleet_account(run.engine.fleet, T0, now, {}).workloads)


def read(snapshot: Snapshot, ref: Ref) -> WorkloadAccount:
    found = snapshot.account(ref, most=None)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_who_reads_the_hub_says_what_the_engine_says(seed: int) -> None:
    snapshot, live = stopped(seed)

    for mine in live:
        theirs = read(snapshot, mine.ref)
        assert theirs.phases == mine.phases
        assert theirs.next == mine.next
        assert (theirs.reason, theirs.code) == (mine.reason, mine.code)
        assert [(t, s.state, s.phases, s.wait) for t, s in theirs.stages] == [
            (t, s.state, s.phases, s.wait) for t, s in mine.stages
        ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_of_the_tree_is_that_cluster_when_it_is_explained(seed: int) -> None:
    snapshot, _ = stopped(seed)

    for ref in snapshot.workloads():
        for title, one in read(snapshot, ref).stages:
            named = [cluster for group in one.groups for cluster in group.clusters]
            phases = Counter(cluster.phase for cluster in named)
            assert phases == +Counter(one.phases), "each is counted once, and named once"
            for cluster in named:
                explained = explain_cluster(snapshot, cluster.name, ref)
                assert explained is not None
                (share,) = explained.shares
                assert title.endswith(share.stage)
                assert (share.phase, share.wait) == (cluster.phase, cluster.wait)


def test_the_random_moments_reach_most_phases() -> None:
    seen: set[Phase] = set()
    for seed in SEEDS:
        seen.update(*(each.phases for each in stopped(seed)[1]))

    assert seen >= {
        Phase.WAITING,
        Phase.PROGRESSING,
        Phase.SOAKING,
        Phase.SOAKED,
        Phase.FAILED,
        Phase.SKIPPED,
    }


# -- words ---------------------------------------------------------------------------------------


def views(one: WorkloadAccount, now: datetime) -> Iterator[str]:
    """The text of each view of a whole workload."""
    yield "\n".join(line.plain for line in workload_picture(one, now))
    yield str(fleet_picture(shot(now, one)).renderables)  # type: ignore[union-attr]  # a Group
    yield "\n".join(rollout_lines(one))


_PAGE = environment().from_string(
    """{% from "macros.html" import legend, stage_column, state %}
    {{ state(a) }} {{ legend(a.phases) }}
    {% for title, each in a.stages %}{{ stage_column(title, each, now, "") }}{% endfor %}"""
)


def page(one: WorkloadAccount, now: datetime) -> str:
    """How the dashboard shows it: its state, its phases and its stages."""
    return _PAGE.render(a=one, now=now)


STANDING_STILL = [r for r in Reason if not r.is_done and r.scope is not Scope.CLUSTER]


@pytest.mark.parametrize("reason", STANDING_STILL, ids=str)
def test_every_reason_is_the_same_word_with_the_same_sign_in_every_view(reason: Reason) -> None:
    obj = standing(condition("Progressing", "False", reason, "because"))
    one = account(obj, stage("the rest", 4, {"Waiting": 4}, blocked=reason))
    code = Code(reason.grade.exit_code)
    sign = CODE_SIGNS[code]

    assert state_of(obj).code is code
    everywhere = (*views(one, T0), *list_lines([one])[1:], status_line(one.key, one.state))
    for text in (*everywhere, page(one, T0)):
        assert reason in text or (reason is Reason.DELETING and "being deleted" in text)
        assert sign in text
    (_, shown), *_ = one.stages
    assert (shown.blocked == "") is reason.resolves_itself
    usual = reason.resolves_itself
    assert usual or f"{shown.state.value.lower()}: {reason}" in stage_line("the rest", shown)
    assert json.loads(json.dumps(as_json(one)))["wait"]["reason"] == reason


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_counted_with_the_same_sign_and_word_in_every_view(phase: Phase) -> None:
    obj = standing(condition("Progressing", "True", "RollingOut"))
    shown = stage("the rest", 3, {phase.value: 3})
    one = account(obj, shown)
    words = f"{SIGNS[phase]} 3 {phase.value.lower()}"

    for text in views(one, T0):
        assert words in text
        assert f"{STATE_SIGNS[shown.state]} {shown.state.value}" in text
    assert f"3 {phase.value.lower()}" in stage_line("the rest", shown) or phase is Phase.SOAKED
    assert page(one, T0).count(f"3 {phase.value.lower()}") >= 2, "of the workload, and of its stage"
    assert shown.state.value in page(one, T0)
    assert STATE_SIGNS[shown.state] in page(one, T0)
    assert as_json(one)["phases"][phase.value] == 3


def test_the_next_instant_is_the_same_in_every_view() -> None:
    obj = standing(condition("Progressing", "True", "RollingOut"))
    one = account(obj, next_at=T0 + 4 * MIN, next_what="deadline of c1")

    watched, ran, explained = views(one, T0 + timedelta(minutes=1))
    for text in (watched, explained):
        assert "2026-01-01T00:04:00Z" in text
    assert "00:04:00 (in 3m)" in ran
    for text in (watched, ran, explained):
        assert "deadline of c1" in text
    assert one.kind == REPLICA_SET.name


R = ClusterReason
STANDS_IN: dict[Reason | ClusterReason, Phase] = {
    **dict.fromkeys((R.DUE, R.NOT_STAGED), Phase.WAITING),
    R.GOING_BACK: Phase.OUTDATED,
    R.SOAKING: Phase.SOAKING,
    **dict.fromkeys((R.NOT_ACKNOWLEDGED, R.PROGRESSING, R.IN_FLIGHT), Phase.PROGRESSING),
    **dict.fromkeys((R.DEGRADED, R.UNAVAILABLE, R.APPLY_FAILED), Phase.FAILING),
    R.LOST: Phase.LOST,
    **dict.fromkeys((R.TIMED_OUT, R.UNREACHABLE, R.WRITE_REJECTED, R.FAILED), Phase.FAILED),
    **dict.fromkeys((R.NOTHING_TO_GO_BACK_TO, R.COMPLETED_WORK_FROZEN), Phase.FAILED),
    **{reason: Phase.FAILED for reason in Reason if reason.scope is Scope.CLUSTER},
}
"""Each reason of a single cluster, and a phase that a cluster of this reason is in."""


def test_no_reason_of_a_cluster_is_left_out_and_none_is_a_reason_of_something_else_too() -> None:
    assert [reason for reason in ClusterReason if reason not in STANDS_IN] == []
    assert [reason for reason in ClusterReason if any_reason(reason.value) is not reason] == []


@pytest.mark.parametrize("reason", STANDS_IN, ids=str)
def test_a_reason_of_one_cluster_is_the_same_word_in_every_view_that_names_it(
    reason: Reason | ClusterReason,
) -> None:
    phase = STANDS_IN[reason]
    one_cluster = ClusterAccount("c1", phase, WaitAccount(reason, None, "somebody acts"))
    group = GroupAccount("canary", 1, {phase: 1}, (one_cluster,))
    shown = replace(stage("the rest", 1, {phase.value: 1}), groups=(group,))
    one = account(standing(condition("Progressing", "False", "RolloutHalted")), shown)

    tree, _, explained = views(one, T0)
    said = as_json(one)["placements"][0]["stages"][0]["groups"][0]["clusters"][0]
    shows = (tree, json.dumps(said), *([explained] if phase in TROUBLE else []))
    for text in shows:
        assert "c1" in text
        assert reason in text
