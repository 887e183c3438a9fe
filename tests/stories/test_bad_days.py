"""What a person sees on a bad day, and what ends it. Each story here has its lines in docs/bad-days.md."""

from datetime import timedelta

import pytest

from rollout.account.figures import result
from rollout.account.words import age
from rollout.analysis.clusters import explain_cluster
from rollout.analysis.sentences import share_facts
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.errors import Invalid
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from tests.support import make
from tests.support.desk import WEB
from tests.support.story import HOUR, MIN, SEC, T0, US, Story

SILENT = {"defaults": {"outcome": "silent"}}
FAILING = {"defaults": {"outcome": "fail"}}


def only(*clusters: str, **behaviour: object) -> Obj:
    """Agents of these clusters behave so; all others are healthy."""
    return {"rules": [{"clusters": {"names": list(clusters)}, "behaviour": behaviour}]}


def said(story: Story) -> tuple[str, int]:
    """The reason of Progressing and the exit code of `rollout status`."""
    return story.reason, int(story.state().code)


# -- agents ------------------------------------------------------------------------------------


def test_agents_that_never_answer_time_out_by_the_hubs_clock_and_halt_the_rollout() -> None:
    strategy = make.progressive(maxConcurrency=2, progressDeadline="5m", maxFailures=1)
    story = Story([*make.fleet(6), make.workload(strategy=strategy)], SILENT)

    story.to(5 * MIN - US)
    assert said(story) == ("RollingOut", 3)
    assert (
        story.message
        == "placement p, the rest: 0 of 6 soaked, 4 waiting, 2 progressing (SlotsFull)"
    )

    story.to(5 * MIN)
    assert said(story) == ("MaxFailuresExceeded", 1)
    assert story.message.startswith(
        "placement p: 2 failed in the whole fleet, 1 tolerated; roll out"
    )
    assert "c00 (Unreachable), c01 (Unreachable) failed" in story.notes[-2].message

    story.end()
    assert list(story.touched()) == ["c00", "c01"]


def test_agents_that_never_answer_keep_their_slots_for_ever_where_there_is_no_deadline() -> None:
    strategy = make.progressive(maxConcurrency=2)
    story = Story([*make.fleet(6), make.workload(strategy=strategy)], SILENT).to(48 * HOUR)

    assert said(story) == ("RollingOut", 3)
    assert list(story.touched()) == ["c00", "c01"]

    story.annotate(names.SKIP, "c00, c01")
    story.settle()
    assert list(story.touched()) == ["c00", "c01", "c02", "c03"]


def test_a_halt_ends_when_the_budget_is_raised() -> None:
    strategy = make.progressive(maxConcurrency=2, progressDeadline="5m", maxFailures=1)
    story = Story(
        [*make.fleet(4), make.workload(strategy=strategy)], only("c00", "c01", outcome="silent")
    ).end()
    assert said(story) == ("MaxFailuresExceeded", 1)

    story.strategy(make.progressive(maxConcurrency=2, progressDeadline="5m", maxFailures=2))
    story.end()

    assert said(story) == ("CompleteWithFailures", 5)
    assert story.message == "2 clusters succeeded, 2 failed within budget"


def test_a_halt_ends_when_a_fixed_template_is_rolled_out() -> None:
    strategy = make.progressive(maxConcurrency=2, progressDeadline="5m")
    bad = {"manifests": {"path": "data.version", "equals": "1"}, "behaviour": {"outcome": "fail"}}
    story = Story([*make.fleet(4), make.workload(strategy=strategy)], {"rules": [bad]}).end()
    assert said(story) == ("MaxFailuresExceeded", 1)

    story.template(make.template("2"))
    story.end()

    assert said(story) == ("Complete", 0)
    assert set(story.versions().values()) == {"2"}


def test_a_failure_within_its_grace_halts_nothing_and_at_its_end_does() -> None:
    """Degraded stands from 12 s on; after the grace of 60 s it counts."""
    story = Story(
        [*make.fleet(4), make.workload(strategy=make.progressive(maxConcurrency=1))], FAILING
    )

    story.to(12 * SEC + MIN - US)
    assert said(story) == ("RollingOut", 3)
    story.to(12 * SEC + MIN)
    assert said(story) == ("MaxFailuresExceeded", 1)
    assert list(story.end().touched()) == ["c00"]


@pytest.mark.parametrize(
    ("recovers", "halted"),
    [
        pytest.param("59999ms", False, id="within the grace: never counted"),
        pytest.param("3m", True, id="later: halted, then on again"),
    ],
)
def test_degraded_that_recovers_goes_on(recovers: str, halted: bool) -> None:
    agents = only("c00", outcome="fail", recoverAfter=recovers)
    strategy = make.progressive(maxConcurrency=1, progressDeadline="10m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], agents)

    story.to(2 * MIN)
    assert (story.reason == "MaxFailuresExceeded") == halted
    story.end()

    assert said(story) == ("Complete", 0)
    assert len(story.touched()) == 3


def test_an_agent_that_freezes_complete_works_is_a_failure_that_says_so() -> None:
    rules = ("Progressing", "Complete")
    documents = [*make.fleet(2), make.workload(rules=rules)]
    story = Story(documents).end()
    assert said(story) == ("Complete", 0)

    story.template(make.template("2", rules=rules))
    story.end()

    assert said(story) == ("CompleteWithFailures", 5)
    assert any("CompletedWorkFrozen" in note.message for note in story.notes)

    for cluster, work in story.works().items():
        story.hub.delete(Ref(MANIFEST_WORK, f"{cluster}/{work['metadata']['name']}"))
    assert said(story.end()) == ("Complete", 0)
    assert set(story.versions().values()) == {"2"}


@pytest.mark.parametrize("skew", ["-2h", "-61s", "90s", "3h"])
def test_an_agents_clock_changes_nothing(skew: str) -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="2m", progressDeadline="5m")
    documents = [*make.fleet(3), make.workload(strategy=strategy)]

    plain = Story(documents).end()
    skewed = Story(documents, {"defaults": {"clockSkew": skew}}).end()

    assert (
        skewed.waves()
        == plain.waves()
        == [(n * (12 * SEC + 2 * MIN), [f"c0{n}"]) for n in range(3)]
    )
    assert said(skewed) == ("Complete", 0)


def test_an_agent_that_stamps_an_old_evaluation_with_the_new_generation_is_not_believed() -> None:
    """OCM's agents can say Progressing=False of the old object at the new generation."""
    flaws = {"staleEvaluation": True, "evaluationInterval": "10s"}
    agents = {"defaults": {"readyAfter": "1m", "flaws": flaws}}
    story = Story([*make.fleet(1), make.workload(strategy=make.progressive())], agents).end()
    story.template(make.template("2"))
    start = story.settle().now

    story.to(start + 61 * SEC)
    assert story.reason == "RollingOut"
    story.to(start + 62 * SEC + 15 * SEC)
    assert said(story) == ("Complete", 0)


def test_a_template_without_condition_rules_finishes_and_says_that_health_is_unverified() -> None:
    strategy = make.progressive(maxConcurrency=1)
    story = Story([*make.fleet(3), make.workload(strategy=strategy, rules=())]).end()

    assert story.waves() == [(n * 12 * SEC, [f"c0{n}"]) for n in range(3)]
    assert said(story) == ("Complete", 0)
    assert "HealthUnverified" in story.message
    assert result(story.state()) == "✔ done, HealthUnverified"


def test_a_cluster_that_timed_out_is_told_since_its_deadline_and_not_since_its_touch() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="2m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], SILENT).to(10 * MIN)
    since = f"Unreachable for {age(8 * MIN)}"

    explained = explain_cluster(snapshot_of(story.hub, story.clock.now()), "c00")
    assert explained is not None
    assert dict(share_facts(explained.shares[0], explained.now))["Reason"] == since

    story.strategy(make.progressive(maxConcurrency=1, progressDeadline="2h"))
    story.on(MIN)
    explained = explain_cluster(snapshot_of(story.hub, story.clock.now()), "c00")
    assert explained is not None
    reason = dict(share_facts(explained.shares[0], explained.now))["Reason"]
    assert reason == "Unreachable", "the deadline of now says nothing of when that was"


# -- what was asked for ------------------------------------------------------------------------


def test_a_misspelt_mandatory_group_holds_everything_until_it_is_corrected() -> None:
    strategy = make.progressive(mandatory=["canray"])
    story = Story([*make.fleet(4, canary=2), make.workload(strategy=strategy)]).end()

    assert said(story) == ("UnknownDecisionGroup", 4)
    assert "mandatory decision group canray is neither" in story.message
    assert story.message.endswith("known names: canary")
    assert story.works() == {}

    story.strategy(make.progressive(mandatory=["canary"]))
    assert said(story.end()) == ("Complete", 0)
    assert [clusters for _, clusters in story.waves()] == [["c00", "c01"], ["c02", "c03"]]


def test_a_mandatory_group_that_loses_all_its_clusters_holds_and_is_no_passed_gate() -> None:
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="10m")
    story = Story([*make.fleet(4, canary=2), make.workload(strategy=strategy)]).to(MIN)
    story.lose("c00", "c01")
    story.end()

    assert said(story) == ("MandatoryGroupEmptied", 4)
    assert sorted(story.touched()) == ["c00", "c01"]


def test_more_failures_tolerated_than_there_are_clusters_means_all_of_them() -> None:
    strategy = make.progressive(maxFailures=50, progressDeadline="2m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], FAILING).end()

    assert said(story) == ("CompleteWithFailures", 5)
    assert story.said(names.READY) == ("True", "RolledOutWithFailures")
    assert story.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    assert story.message == "0 clusters succeeded, 3 failed within budget"


@pytest.mark.parametrize("zero", ["0%", "0"])
def test_a_written_zero_as_max_concurrency_never_means_all(zero: str) -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.progressive(maxConcurrency=zero))])

    assert said(story.end()) == ("ConcurrencyZero", 4)
    assert story.message == "placement p, the rest: maxConcurrency is zero; raise it to go on"
    assert story.works() == {}

    story.strategy(make.progressive(maxConcurrency="34%"))
    assert said(story.end()) == ("Complete", 0)


def test_a_zero_without_quotes_is_what_go_clients_write_for_unset() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.progressive(maxConcurrency=0))])

    assert story.settle().waves() == [(timedelta(0), ["c00", "c01", "c02"])]


def test_an_invalid_duration_is_refused_with_the_field_the_value_and_what_is_accepted() -> None:
    with pytest.raises(Invalid) as refusal:
        Story([make.workload(strategy=make.progressive(progressDeadline="10 minutes"))])

    message = str(refusal.value)
    assert "spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline" in message
    assert "'10 minutes'" in message or '"10 minutes"' in message
    assert "a duration of 1 second or more" in message


def test_an_invalid_duration_that_is_stored_all_the_same_holds_that_object_and_no_other() -> None:
    """On a cluster whose CRDs are older than ours nothing refuses it."""
    clock = VirtualClock(T0)
    bad = make.workload("bad", strategy=make.progressive(progressDeadline="10 minutes"))
    good = make.workload("good", strategy=make.progressive())
    documents = [*make.fleet(3), bad, good]
    story = Story(documents, hub=MemoryHub(clock), clock=clock).end()

    assert story.said(names.PROGRESSING, "bad") == ("False", "Misconfigured")
    assert int(story.state("bad").code) == 1
    assert "10 minutes" in story.condition(names.PROGRESSING, "bad").message
    assert story.works("bad") == {}
    assert int(story.state("good").code) == 0

    strategy = make.progressive(progressDeadline="10m")
    story.edit({"spec": {"placementRefs": [{"name": "p", "rolloutStrategy": strategy}]}}, "bad")
    story.end()
    assert int(story.state("bad").code) == 0


def test_an_invalid_edit_keeps_what_is_there_and_restores_nothing() -> None:
    clock = VirtualClock(T0)
    strategy = make.progressive(maxConcurrency=1)
    documents = [*make.fleet(3), make.workload(strategy=strategy)]
    story = Story(documents, hub=MemoryHub(clock), clock=clock).end()
    story.strategy(make.progressive(minSuccessTime="soon"))
    story.template(make.template("2"))
    story.end()

    assert said(story) == ("Misconfigured", 1)
    assert set(story.versions().values()) == {"1"}
    assert len(story.works()) == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.SEMANTICS, "OCM"),
        (names.RELEASE_REMOVALS, "tomorrow"),
        (names.GATES, "canary"),
        (names.GATES, "before:typo/rest"),
    ],
)
def test_an_annotation_of_ours_that_cannot_be_read_holds_the_workload(
    name: str, value: str
) -> None:
    story = Story([*make.fleet(3), make.workload(annotations={name: value})]).end()

    assert story.reason == "Misconfigured"
    assert f"metadata.annotations[{name}]: '{value}'" in story.message
    assert story.works() == {}

    story.annotate(name, None)
    assert story.end().reason == "Complete"


def test_a_manifest_that_clusters_refuse_is_named_with_its_reason_wherever_the_failure_is() -> None:
    agents = {"defaults": {"outcome": "failApply"}, "resourceStatus": True}
    strategy = make.progressive(maxFailures=0, maxConcurrency=2)
    story = Story([*make.fleet(4), make.workload(strategy=strategy)], agents).end()

    assert story.reason == "MaxFailuresExceeded"
    why = "; c00: ConfigMap default/app: Failed to apply manifest: refused (and 1 more clusters)"
    assert story.message.endswith(why)
    failed = [note.message for note in story.notes if note.reason == "BudgetExhausted"]
    assert failed == [story.message]
    snapshot = snapshot_of(story.hub, story.clock.now())
    account = explain_cluster(snapshot, "c00")
    assert account is not None
    (share,) = account.shares
    assert share.work is not None
    assert share.work.faults == ("ConfigMap default/app: Failed to apply manifest: refused",)


def test_a_deletion_that_hangs_says_on_whom_and_how_each_view_sees_it() -> None:
    workload = make.workload(cascade="Foreground")
    story = Story([*make.fleet(3), workload], only("c01", deleteAfter="10h")).end()
    story.hub.delete(WEB)
    story.on(MIN)

    assert list(story.works()) == ["c01"]
    found = story.state()
    assert (found.reason, int(found.code)) == ("Deleting", 1)
    assert found.message == (
        "the workload is being deleted, and waits for its works (cascadeDeletionPolicy Foreground): "
        "1 still there, c01 (its agent is deleting what it applied, and holds the work by its "
        "finalizer)"
    )
    account = snapshot_of(story.hub, story.clock.now()).account(WEB)
    assert account is not None
    assert (account.wait.reason, account.done) == ("Deleting", False)
    assert account.message == found.message
