"""Analyses through the whole engine: as a gate, in the background, and for each cluster."""

from datetime import timedelta
from typing import Any

import pytest

from rollout import operate
from rollout.account.interventions import GateAccount
from rollout.analysis.clusters import explain_cluster
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.errors import ConfigError
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    APPROVAL,
    MANAGED_CLUSTER,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.ownership import owned_by
from rollout.operate import Who
from tests.support import make
from tests.support.story import HOUR, MIN, READY, SEC, SETTLED, T0, Story

GATED = make.progressive(mandatoryDecisionGroups=[{"groupName": "canary"}])
ONE_BY_ONE = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
GOOD, BAD, UNCLEAR = 0.99, 0.1, 0.7
AFTER_CANARY = "after:canary=analysis/slo"
WEB = Ref(REPLICA_SET, "default/web")


def template(kind: Any = ROLLOUT_ANALYSIS, **metric: Any) -> Obj:
    """Measures three times a minute apart; above 0.9 is good, below 0.5 is bad."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": "slo", "namespace": "default"},
        "spec": {
            "metrics": [
                {
                    "name": "rate",
                    "interval": "1m",
                    "count": 3,
                    "successCondition": "result > 0.9",
                    "failureCondition": "result < 0.5",
                    "provider": {"prometheus": {"address": "http://p", "query": "rate"}},
                    **metric,
                }
            ]
        },
    }


def gives(value: object, **said: Any) -> Obj:
    return {"metric": "rate", "value": value, **said}


def fails(**said: Any) -> Obj:
    return {"metric": "rate", "error": "connection refused", **said}


def story(annotations: Obj, *measured: Obj, strategy: Obj = GATED, **metric: Any) -> Story:
    workload = make.workload(strategy=strategy, annotations=annotations)
    documents = [*make.fleet(3, canary=1), template(**metric), workload]
    return Story(documents, {"measurements": list(measured)})


def runs(told: Story) -> list[Obj]:
    return list(told.hub.list(ROLLOUT_ANALYSIS_RUN).items)


def phases(told: Story) -> list[str]:
    return sorted(str(run["status"]["phase"]) for run in runs(told))


def approve(told: Story, decision: str = "Approve") -> None:
    told.add(
        {
            "apiVersion": APPROVAL.api_version,
            "kind": APPROVAL.name,
            "metadata": {"name": "yes", "namespace": "default"},
            "spec": {
                "workload": {"name": "web"},
                "revision": told.mwrs()["status"]["updateRevision"],
                "gate": AFTER_CANARY if decision == "Approve" else "*",
                "decision": decision,
            },
        }
    )


# -- as a gate -------------------------------------------------------------------------------------


def test_a_gate_opens_when_its_analysis_is_successful() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).end()

    assert told.reason == "Complete"
    assert [span for span, _ in told.waves()] == [timedelta(0), SETTLED + 2 * MIN]
    assert phases(told) == ["Successful"]


def test_while_it_is_measured_the_gate_says_so() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN)

    assert list(told.touched()) == ["c00"]
    assert told.reason == "AnalysisRunning"
    assert "analysis slo is on its way" in told.message


def test_a_failed_analysis_halts_the_revision() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(BAD)).end()

    assert list(told.touched()) == ["c00"]
    assert told.reason == "AnalysisFailed"
    assert told.state().code == 1


def test_a_failed_analysis_takes_the_revision_back_where_the_workload_says_so() -> None:
    told = story(
        {names.GATES: AFTER_CANARY, names.ROLLBACK: "Automatic"},
        gives(GOOD),
        gives(BAD, **{"from": "10m"}),
    ).to(10 * MIN)
    told.template(make.template("2"))
    told.end()

    assert told.reason == "RolledBack"
    assert list(told.touched("2")) == ["c00"]
    assert set(told.versions().values()) == {"1"}
    assert "an analysis of it failed" in told.message


def test_an_outage_of_the_provider_neither_passes_nor_takes_back() -> None:
    told = story(
        {names.GATES: AFTER_CANARY, names.ROLLBACK: "Automatic"},
        fails(),
        gives(GOOD, **{"from": "1h"}),
    ).to(59 * MIN)

    assert told.reason == "MetricUnreachable"
    assert list(told.touched()) == ["c00"]
    told.end()
    assert told.reason == "Complete"


def test_a_person_opens_a_gate_that_cannot_be_measured() -> None:
    told = story({names.GATES: AFTER_CANARY}, fails()).to(30 * MIN)
    approve(told)
    told.end()

    assert told.reason == "Complete"
    assert phases(told) == ["Error"]
    assert runs(told)[0]["status"]["finishedAt"]


def test_what_is_not_clear_waits_for_a_person() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(UNCLEAR)).to(30 * MIN)

    assert (told.reason, told.state().code) == ("AnalysisInconclusive", 4)
    approve(told)
    assert told.end().reason == "Complete"


@pytest.mark.parametrize("named", ["", AFTER_CANARY])
def test_the_verb_opens_a_gate_that_is_not_clear_and_its_account_asks_for_that(named: str) -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(UNCLEAR)).to(5 * SEC)
    assert [gate.asks_person for gate in _gates(told)] == [False]
    told.to(30 * MIN)
    (shut,) = _gates(told)
    operate.approve(told.hub, WEB, Who("ben", told.clock.now(), "it looks well"), named)

    assert (shut.state, shut.asks_person) == ("shut", True)
    assert shut.why.startswith("analysis slo is inconclusive")
    assert told.end().reason == "Complete"


def _gates(told: Story) -> list[GateAccount]:
    found = snapshot_of(told.hub, told.clock.now()).account(WEB)
    assert found is not None
    return [gate for _, stage in found.stages for gate in stage.gates]


def test_an_approval_does_not_open_a_gate_whose_analysis_has_failed() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(BAD)).to(10 * MIN)
    approve(told)

    assert told.end().reason == "AnalysisFailed"


def test_a_retry_measures_anew() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(BAD), gives(GOOD, **{"from": "30m"})).to(
        30 * MIN
    )
    told.annotate(names.RETRY, "again")

    assert told.end().reason == "Complete"
    assert phases(told) == ["Failed", "Successful"]


def test_after_a_restart_measuring_goes_on_where_it_stood() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN + 10 * SEC)
    before = runs(told)[0]["status"]["metrics"][0]["count"]
    told.restart().end()

    assert before == 2
    assert runs(told)[0]["status"]["metrics"][0]["count"] == 3
    assert told.touched()["c01"] == SETTLED + 2 * MIN


def test_nothing_is_measured_while_the_rollout_is_paused() -> None:
    told = story({names.GATES: AFTER_CANARY, names.PAUSED: "true"}, gives(GOOD)).end()

    assert runs(told) == []


def test_another_revision_stops_what_was_measured_of_the_last() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN)
    told.template(make.template("2"))
    told.end()

    assert phases(told) == ["Inconclusive", "Successful"]
    assert "another revision" in " ".join(run["status"].get("message", "") for run in runs(told))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, []], ids=repr)
def test_a_value_that_says_nothing_opens_no_gate(value: object) -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(value)).end()

    assert told.reason == "AnalysisInconclusive"
    assert list(told.touched()) == ["c00"]


def test_a_template_that_is_not_there_holds_the_revision_and_is_named() -> None:
    told = story({names.GATES: "after:canary=analysis/other"}, gives(GOOD)).end()

    assert told.reason == "Misconfigured"
    assert "'other'" in told.message
    assert told.touched() == {}


def test_a_template_that_comes_later_ends_the_wait() -> None:
    workload = make.workload(strategy=GATED, annotations={names.GATES: AFTER_CANARY})
    told = Story([*make.fleet(3, canary=1), workload], {"measurements": [gives(GOOD)]}).end()

    assert told.reason == "Misconfigured"
    told.add(template())
    assert told.end().reason == "Complete"


def test_a_template_of_another_tool_is_read_as_it_is() -> None:
    workload = make.workload(strategy=GATED, annotations={names.GATES: AFTER_CANARY})
    documents = [*make.fleet(3, canary=1), workload]
    clock = VirtualClock(T0)  # a hub that does not look into what others write
    hub = MemoryHub(clock)
    told = Story(documents, {"measurements": [gives(GOOD)]}, hub=hub, clock=clock)
    other = template(ANALYSIS_TEMPLATE)
    told.hub.create(ref_of(ANALYSIS_TEMPLATE, other), other)

    assert told.end().reason == "Complete"


def test_a_gate_refuses_an_analysis_that_never_ends() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD), count=None).end()

    assert told.reason == "Misconfigured"
    assert "never ends" in told.message


# -- in the background -----------------------------------------------------------------------------


def test_in_the_background_a_failure_halts_what_has_not_been_touched() -> None:
    told = story(
        {names.ANALYSIS: "slo"},
        gives(GOOD),
        gives(BAD, **{"from": "20s"}),
        strategy=ONE_BY_ONE,
        count=None,
        interval="5s",
    ).end()

    assert told.reason == "AnalysisFailed"
    assert 0 < len(told.touched()) < 3


def test_in_the_background_it_ends_with_the_rollout() -> None:
    told = story({names.ANALYSIS: "slo"}, gives(GOOD), strategy=ONE_BY_ONE, count=None).end()

    assert told.reason == "Complete"
    assert runs(told)[0]["status"]["finishedAt"]
    assert phases(told) == ["Inconclusive"]


def test_in_the_background_an_outage_holds_and_its_end_goes_on() -> None:
    told = story(
        {names.ANALYSIS: "slo"},
        gives(GOOD),
        fails(**{"from": "15s", "to": "30m"}),
        strategy=ONE_BY_ONE,
        count=None,
        interval="5s",
    ).to(20 * MIN)

    assert told.reason == "MetricUnreachable"
    assert told.end().reason == "Complete"


# -- for each cluster ------------------------------------------------------------------------------


def test_a_cluster_has_soaked_when_its_analysis_is_successful() -> None:
    told = story({names.CLUSTER_ANALYSIS: "slo"}, gives(GOOD), strategy=ONE_BY_ONE).end()

    assert told.reason == "Complete"
    assert len(runs(told)) == 3
    span = READY + 2 * MIN
    assert list(told.touched().values()) == [timedelta(0), span, 2 * span]


def one_is_bad(**progressive: Any) -> Story:
    """One cluster after the other is measured, and the second one is bad."""
    return story(
        {names.CLUSTER_ANALYSIS: "slo"},
        gives(GOOD),
        gives(BAD, clusters={"names": ["c01"]}),
        strategy={**ONE_BY_ONE, "progressive": {"maxConcurrency": 1, **progressive}},
    )


def test_a_failed_analysis_is_a_failure_of_that_cluster_and_counts() -> None:
    told = one_is_bad().end()

    assert told.reason == "MaxFailuresExceeded"
    assert sorted(told.touched()) == ["c00", "c01"]
    assert phases(told) == ["Failed", "Successful"]


def test_what_was_measured_of_a_failed_cluster_stands_in_the_event_and_the_explanation() -> None:
    told = one_is_bad().end()

    failed = next(run for run in runs(told) if run["status"]["phase"] == "Failed")
    said = f"run {failed['metadata']['name']}: {failed['status']['message']}"
    assert "rate" in said
    event = next(note for note in told.notes if note.reason == "ClusterFailed")
    assert event.message.endswith(f"c01 (AnalysisFailed) failed; c01: {said}")
    explained = explain_cluster(snapshot_of(told.hub, told.clock.now()), "c01")
    assert explained is not None
    (share,) = explained.shares
    assert share.wait is not None
    assert share.wait.ends.endswith(f". Measured: {said}")


def test_a_failed_analysis_of_a_cluster_is_tolerated_within_the_budget() -> None:
    told = one_is_bad(maxFailures=1).end()

    assert told.reason == "CompleteWithFailures"
    assert sorted(told.touched()) == ["c00", "c01", "c02"]


def test_an_outage_keeps_the_cluster_soaking_and_the_next_one_waiting() -> None:
    told = story(
        {names.CLUSTER_ANALYSIS: "slo"},
        fails(),
        gives(GOOD, **{"from": "1h"}),
        strategy=ONE_BY_ONE,
    ).to(59 * MIN)

    assert list(told.touched()) == ["c00"]
    assert told.end().reason == "Complete"


def test_an_outage_is_what_the_rollout_says_that_it_waits_for() -> None:
    told = story({names.CLUSTER_ANALYSIS: "slo"}, fails(), strategy=ONE_BY_ONE).to(59 * MIN)
    account = snapshot_of(told.hub, told.clock.now()).account(Ref(REPLICA_SET, "default/web"))

    assert account is not None
    verbs = "approves it (`rollout approve --gate cluster/c00`) or skips it (`rollout skip`)"
    ends = f"the provider of the metric answers again, or somebody {verbs}"
    assert account.wait.ends == f"MetricUnreachable of c00: {ends}"


def test_a_failed_cluster_stays_failed_over_a_restart_and_without_its_run() -> None:
    told = story(
        {names.CLUSTER_ANALYSIS: "slo"}, gives(BAD), gives(GOOD, **{"from": "10m"}),
        strategy=ONE_BY_ONE,
    ).to(5 * MIN)  # fmt: skip
    for run in runs(told):
        told.hub.delete(ref_of(ROLLOUT_ANALYSIS_RUN, run))
    told.restart().end()

    assert told.reason == "MaxFailuresExceeded"
    assert list(told.touched()) == ["c00"]


def test_a_cluster_that_is_tried_again_is_measured_anew() -> None:
    told = story(
        {names.CLUSTER_ANALYSIS: "slo"}, gives(BAD), gives(GOOD, **{"from": "10m"}),
        strategy=ONE_BY_ONE,
    ).to(10 * MIN)  # fmt: skip
    assert told.reason == "MaxFailuresExceeded"
    told.annotate(names.RETRY, "again")

    assert told.end().reason == "Complete"
    assert phases(told) == ["Failed", "Successful", "Successful", "Successful"]


def test_facts_of_the_cluster_are_put_into_what_is_asked() -> None:
    workload = make.workload(strategy=ONE_BY_ONE, annotations={names.CLUSTER_ANALYSIS: "slo"})
    asked = template(provider={"prometheus": {"address": "http://p", "query": "x{c='{{args.c}}'}"}})
    asked["spec"]["args"] = [{"name": "c", "valueFrom": {"rollout": "cluster.name"}}]
    told = Story([*make.fleet(1), asked, workload], {"measurements": [gives(GOOD)]}).end()

    (run,) = runs(told)
    assert run["spec"]["metrics"][0]["provider"]["prometheus"]["query"] == "x{c='c00'}"


@pytest.mark.parametrize("fact", ["cluster.name", "cluster.labels[region]", "cluster.claims[id]"])
@pytest.mark.parametrize("asked", [{names.GATES: AFTER_CANARY}, {names.ANALYSIS: "slo"}], ids=str)
def test_what_is_not_about_one_cluster_takes_no_facts_of_a_cluster(
    asked: dict[str, str], fact: str
) -> None:
    """The query would be about a cluster without a name: what it matches says nothing."""
    measured = template()
    measured["spec"]["args"] = [{"name": "c", "valueFrom": {"rollout": fact}}]
    workload = make.workload(strategy=GATED, annotations=asked)
    documents = [*make.fleet(3, canary=1), measured, workload]
    told = Story(documents, {"measurements": [gives(GOOD)]}).end()

    assert told.reason == "Misconfigured"
    assert f"takes argument c from {fact}: cluster-analysis alone has a cluster" in told.message
    assert told.touched() == {}

    told.annotate(names.ANALYSIS_ARGS, "c=all")
    assert told.end().reason == "Complete"


def test_a_cluster_that_is_taken_back_is_not_measured_again() -> None:
    told = story(
        {names.CLUSTER_ANALYSIS: "slo", names.ROLLBACK: "Automatic"},
        gives(GOOD),
        gives(BAD, **{"from": "30m"}),
        strategy=ONE_BY_ONE,
    ).to(30 * MIN)
    assert told.reason == "Complete"
    told.template(make.template("2"))
    told.to(40 * MIN)

    assert told.reason == "RolledBack"
    assert set(told.versions().values()) == {"1"}


# -- arguments -------------------------------------------------------------------------------------


class CountingRuns(MemoryHub):
    """A hub that does not look into what others write, and counts the runs that are made."""

    made = 0

    def create(self, ref: Ref, obj: Obj) -> Obj:
        if ref.kind is ROLLOUT_ANALYSIS_RUN:
            self.made += 1
            assert self.made < 20, "runs are made and deleted without end"
        return super().create(ref, obj)


def with_argument(
    given: str | None, argument: Obj, *, checks: bool = False, **metric: Any
) -> tuple[Story, CountingRuns]:
    """A metric takes its argument n somewhere. Without ``checks`` the hub takes whatever is written."""
    clock = VirtualClock(T0)
    hub = CountingRuns(clock, admit=admit if checks else None)
    asked = template(**metric)
    asked["spec"]["args"] = [{"name": "n", **argument}]
    notes = {names.CLUSTER_ANALYSIS: "slo"}
    if given is not None:
        notes[names.ANALYSIS_ARGS] = f"n={given}"
    documents = [*make.fleet(2), asked, make.workload(strategy=ONE_BY_ONE, annotations=notes)]
    return Story(documents, {"measurements": [gives(GOOD)]}, hub=hub, clock=clock), hub


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("count", "{{args.n}}", "0"),
        ("interval", "{{args.n}}", "soon"),
        ("successCondition", "result > {{args.n}}", "0.9 &&"),
        ("failureLimit", "{{args.n}}", "-2"),
    ],
)
@pytest.mark.parametrize("by", ["annotation", "template"])
def test_an_argument_that_makes_a_field_invalid_holds_the_revision_by_field(
    field: str, text: str, value: str, by: str
) -> None:
    given = value if by == "annotation" else None
    metric: dict[str, Any] = {field: text}
    told, hub = with_argument(given, {} if given else {"value": value}, **metric)
    told.end()

    assert told.reason == "Misconfigured"
    assert f"spec.metrics[0].{field}" in told.message
    assert (told.touched(), hub.made) == ({}, 0)


@pytest.mark.parametrize("checks", [False, True])
def test_a_fact_of_a_cluster_that_cannot_stand_there_asks_for_a_person_and_measures_nothing(
    checks: bool,
) -> None:
    """Nobody knows it before the cluster is touched. The run says so, once."""
    fact = {"valueFrom": {"rollout": "cluster.name"}}
    told, hub = with_argument(None, fact, checks=checks, interval="{{args.n}}")
    told.end()

    (run,) = runs(told)
    assert (run["status"]["phase"], run["status"]["stopped"]) == ("Inconclusive", False)
    assert "spec.metrics[0].interval" in run["status"]["message"]
    assert (list(told.touched()), hub.made) == (["c00"], 1)


@pytest.mark.parametrize(
    ("argument", "given", "said"),
    [
        ({"value": "1"}, "1,strange=2", "'strange' is not valid: an argument of the analyses named: n"),
        (
            {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            "1",
            "takes argument n from a Secret",
        ),
        ({}, "{{args.n}}", "whose value names another one"),
    ],
)  # fmt: skip
def test_arguments_that_nobody_can_take_are_refused(argument: Obj, given: str, said: str) -> None:
    told, _ = with_argument(given, argument)
    told.end()

    assert told.reason == "Misconfigured"
    assert said in told.message
    assert told.touched() == {}


# -- runs that somebody else wrote -----------------------------------------------------------------


def repairs(told: Story) -> list[str]:
    return [note.message for note in told.notes if note.reason == "AnalysisRepaired"]


def good_run(annotations: Obj, strategy: Obj = GATED) -> Obj:
    """A run that found all well, of a workload that is none of this story."""
    found = runs(story(annotations, gives(GOOD), strategy=strategy, interval="5s").end())
    run = next(each for each in found if each["spec"].get("cluster", "c00") == "c00")
    assert run["status"]["phase"] == "Successful"
    return run


def forged(run: Obj, **meta: Any) -> Obj:
    kept = {"namespace": "default", "name": run["metadata"]["name"], **meta}
    return {**run, "metadata": kept}


@pytest.mark.parametrize(
    ("annotations", "strategy", "ended"),
    [
        ({names.GATES: AFTER_CANARY}, GATED, "AnalysisFailed"),
        ({names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE, "MaxFailuresExceeded"),
        ({names.ANALYSIS: "slo"}, ONE_BY_ONE, "AnalysisFailed"),
    ],
    ids=["gate", "cluster", "background"],
)
@pytest.mark.parametrize("how", ["of nobody", "of an earlier object", "of another name", "away"])
def test_a_run_that_its_workload_does_not_own_passes_nothing_and_makes_way(
    how: str, annotations: Obj, strategy: Obj, ended: str
) -> None:
    run = good_run(annotations, strategy)
    (owner,) = run["metadata"]["ownerReferences"]
    told = story(annotations, gives(BAD), strategy=strategy, interval="5s")
    cluster = told.hub.get(Ref(MANAGED_CLUSTER, "c02"))  # so that nobody collects it meanwhile
    kept = owned_by(Ref(MANAGED_CLUSTER, "c02"), cluster["metadata"]["uid"])
    of_web = {"ownerReferences": [{**owner, "uid": told.mwrs()["metadata"]["uid"]}, kept]}
    metas: dict[str, Obj] = {
        "of nobody": {},
        "of an earlier object": {"ownerReferences": [{**owner, "uid": "an-earlier-web"}, kept]},
        "of another name": {"name": "anything", **of_web},
        "away": {"namespace": "elsewhere", **of_web},
    }
    told.add(forged(run, **metas[how]))
    told.end()

    assert told.reason == ended
    assert list(told.touched()) == ["c00"]
    is_in_the_way = how in ("of nobody", "of an earlier object")
    assert len(repairs(told)) == is_in_the_way
    assert phases(told) == (["Failed"] if is_in_the_way else ["Failed", "Successful"])


def test_a_run_that_somebody_replaces_is_made_again_and_the_rollout_goes_on() -> None:
    told = story({names.CLUSTER_ANALYSIS: "slo"}, gives(GOOD), strategy=ONE_BY_ONE)
    told.to(READY + SETTLED)
    (run,) = runs(told)
    told.hub.delete(ref_of(ROLLOUT_ANALYSIS_RUN, run))
    told.add(forged(run))

    assert told.end(HOUR).reason == "Complete"
    assert len(repairs(told)) == 1


def test_what_cannot_be_read_under_the_name_of_a_run_makes_way() -> None:
    annotations = {names.GATES: AFTER_CANARY}
    clock = VirtualClock(T0)
    documents = [*make.fleet(3, canary=1), template()]
    documents.append(make.workload(strategy=GATED, annotations=annotations))
    told = Story(documents, {"measurements": [gives(GOOD)]}, hub=MemoryHub(clock), clock=clock)
    told.add({**forged(good_run(annotations)), "spec": {}, "status": {}})

    assert told.end().reason == "Complete"
    assert len(repairs(told)) == 1


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Successful", "finishedAt": "2026-01-01T00:00:30Z"},
        {"metrics": [{"name": "rate", "phase": "Successful", "count": 3, "successful": 3}]},
        {"phase": "Successful", "startedAt": None, "finishedAt": "2026-01-01T00:00:30Z", "metrics": None},
    ],
    ids=["phase", "counts", "all"],
)  # fmt: skip
def test_a_verdict_that_somebody_writes_is_put_right_and_told(status: Obj) -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(BAD), interval="5m", failureLimit=1)
    told.to(SETTLED + SEC)
    (run,) = runs(told)
    assert run["status"]["phase"] == "Running"
    fields = [{"manager": "kubectl-edit", "time": "2026-01-01T00:00:29Z"}]
    told.hub.patch(ref_of(ROLLOUT_ANALYSIS_RUN, run), {"metadata": {"managedFields": fields}})
    told.hub.patch_status(ref_of(ROLLOUT_ANALYSIS_RUN, run), {"status": status})
    told.on(MIN)

    assert told.reason == "AnalysisRunning"
    assert runs(told)[0]["status"]["phase"] == "Running"
    assert list(told.touched()) == ["c00"]
    assert "(last written by kubectl-edit)" in repairs(told)[0]
    assert told.end().reason == "AnalysisFailed"


@pytest.mark.parametrize("is_blank", [False, True])
def test_a_failure_that_somebody_takes_away_from_a_run_stays_one(is_blank: bool) -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(BAD), gives(GOOD, **{"from": "5m"}))
    told.to(10 * MIN)
    (run,) = runs(told)
    good = {**run["status"]["metrics"][0], "phase": "Successful", "failed": 0, "successful": 3}
    status: Obj = {"phase": "Successful", "metrics": [good]}
    if is_blank:
        status = dict.fromkeys(("phase", "metrics", "startedAt", "finishedAt"))
    told.hub.patch_status(ref_of(ROLLOUT_ANALYSIS_RUN, run), {"status": status})

    assert told.end().reason == "AnalysisFailed"
    assert phases(told) == ["Failed"]


def test_runs_that_are_as_they_were_measured_are_never_written_again() -> None:
    """Pending Jobs, errors and more measurements than are kept among them."""
    values = [gives(GOOD), fails(**{"from": "5m", "to": "8m"}), gives(UNCLEAR, **{"from": "20m", "to": "21m"})]  # fmt: skip
    told = story(
        {names.GATES: AFTER_CANARY}, *values, count=40, inconclusiveLimit=3, consecutiveErrorLimit=1
    ).end()

    assert told.reason == "Complete"
    assert repairs(told) == []


# -- when other analyses are asked for -------------------------------------------------------------


def named(name: str, metric: str) -> Obj:
    found = template()
    found["metadata"]["name"] = name
    found["spec"]["metrics"][0]["name"] = metric
    return found


def two_templates(name: str, annotations: Obj, strategy: Obj, *measured: Obj) -> Story:
    workload = make.workload(strategy=strategy, annotations=annotations)
    documents = [*make.fleet(3, canary=1), named("slo", "rate"), named(name, "other"), workload]
    return Story(documents, {"measurements": list(measured)})


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e", "f"])
def test_only_the_analysis_that_is_asked_for_now_counts_for_a_cluster(name: str) -> None:
    """Whatever the order of their runs is, which follows from a hash."""
    bad = {"metric": "other", "value": BAD}
    told = two_templates(name, {names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE, gives(GOOD), bad)
    told.to(30 * SEC)
    told.annotate(names.CLUSTER_ANALYSIS, name)
    told.end()

    assert told.reason == "MaxFailuresExceeded"
    assert list(told.touched()) == ["c00"]
    ended = {run["spec"]["template"]: run["status"]["phase"] for run in runs(told)}
    assert ended == {"slo": "Inconclusive", name: "Failed"}


def test_a_cluster_that_failed_an_analysis_stays_failed_when_another_one_is_asked_for() -> None:
    good = {"metric": "other", "value": GOOD}
    told = two_templates("new", {names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE, gives(BAD), good)
    told.to(10 * MIN)
    told.annotate(names.CLUSTER_ANALYSIS, "new")

    assert told.end().reason == "MaxFailuresExceeded"


@pytest.mark.parametrize("new", [None, "new"])
@pytest.mark.parametrize(
    ("annotation", "strategy"), [(names.ANALYSIS, ONE_BY_ONE), (names.GATES, GATED)]
)
def test_a_failure_that_nobody_asks_about_any_more_halts_nothing(
    annotation: str, strategy: Obj, new: str | None
) -> None:
    def asks(template_name: str | None) -> str | None:
        if annotation == names.ANALYSIS or template_name is None:
            return template_name
        return f"after:canary=analysis/{template_name}"

    good = {"metric": "other", "value": GOOD}
    told = two_templates("new", {annotation: asks("slo")}, strategy, gives(BAD), good)
    assert told.to(10 * MIN).reason == "AnalysisFailed"
    told.annotate(annotation, asks(new))

    assert told.end().reason == "Complete"


# -- where OCM's own rules decide ------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [{names.GATES: AFTER_CANARY}, {names.ANALYSIS: "slo"}, {names.CLUSTER_ANALYSIS: "slo"}],
    ids=str,
)
def test_profile_ocm_which_measures_nothing_holds_what_asks_for_an_analysis(asked: Obj) -> None:
    told = story({**asked, names.SEMANTICS: "ocm"}, gives(GOOD)).end()

    assert told.reason == "Misconfigured"
    assert "profile ocm measures nothing" in told.message
    assert told.touched() == {}

    told.annotate(names.SEMANTICS, None)
    assert told.end().reason == "Complete"


# -- what a person decides of one cluster ----------------------------------------------------------


def of_clusters(*measured: Obj) -> Story:
    return story({names.CLUSTER_ANALYSIS: "slo"}, *measured, strategy=ONE_BY_ONE)


def say_yes(told: Story, gate: str, **more: Any) -> None:
    operate.approve(told.hub, WEB, Who("ben", told.clock.now(), "it looks well"), gate, **more)


@pytest.mark.parametrize(
    "measured", [fails(clusters={"names": ["c01"]}), gives(UNCLEAR, clusters={"names": ["c01"]})]
)
def test_a_person_approves_what_is_not_clear_of_one_cluster_or_cannot_be_measured(
    measured: Obj,
) -> None:
    told = of_clusters(gives(GOOD), measured).to(HOUR)
    assert list(told.touched()) == ["c00", "c01"]
    say_yes(told, "cluster/c01")

    assert told.end().reason == "Complete"
    assert told.touched()["c02"] == HOUR
    assert [run["status"]["phase"] for run in runs(told)].count("Successful") == 2


def test_an_approval_of_one_cluster_is_about_that_cluster_and_revision_alone() -> None:
    told = of_clusters(gives(UNCLEAR)).to(HOUR)
    say_yes(told, "cluster/c01")
    assert list(told.on(HOUR).touched()) == ["c00"]
    say_yes(told, "cluster/c00")
    assert list(told.on(HOUR).touched()) == ["c00", "c01", "c02"]

    told.template(make.template("2"))
    assert list(told.on(HOUR).touched("2")) == ["c00"]


def test_an_approval_of_every_gate_is_none_of_a_cluster() -> None:
    """The verb said that the cluster was approved already, and it soaked for ever."""
    notes = {names.CLUSTER_ANALYSIS: "slo", names.GATES: "before:rest"}
    told = story(notes, gives(UNCLEAR), strategy=ONE_BY_ONE).to(MIN)
    say_yes(told, "*")
    assert list(told.on(HOUR).touched()) == ["c00"]

    say_yes(told, "cluster/c00")

    assert list(told.on(HOUR).touched()) == ["c00", "c01"]


def test_no_approval_makes_a_failed_cluster_good() -> None:
    told = of_clusters(gives(GOOD), gives(BAD, clusters={"names": ["c01"]}))
    told.settle()
    say_yes(told, "cluster/c01")

    assert told.end().reason == "MaxFailuresExceeded"


def test_an_approval_of_one_cluster_ends_when_it_expires() -> None:
    told = of_clusters(gives(GOOD), fails(**{"from": "0m", "to": "2h"}))
    told.settle()
    say_yes(told, "cluster/c00", expires=T0 + 30 * SEC)
    told.to(HOUR)

    assert list(told.touched()) == ["c00"]
    say_yes(told, "cluster/c00", expires=T0 + 2 * HOUR)
    assert list(told.to(HOUR + SEC).touched()) == ["c00", "c01"]


@pytest.mark.parametrize("gate", ["", "cluster/c00", "cluster/nobody", "*"])
def test_what_cannot_be_approved_says_why(gate: str) -> None:
    """Every gate is no cluster: what is measured of one is looked at for itself."""
    of = {"cluster/c00": {}}.get(gate, {names.CLUSTER_ANALYSIS: "slo"})
    told = story({**of}, gives(UNCLEAR), strategy=ONE_BY_ONE).to(MIN)
    said = {
        "": "name a cluster: --gate cluster/NAME",
        "cluster/c00": "has no analysis of each cluster",
        "cluster/nobody": "no cluster is called nobody",
        "*": "name a cluster: --gate cluster/NAME",
    }
    with pytest.raises(ConfigError, match=said[gate]):
        say_yes(told, gate)


@pytest.mark.parametrize("gate", ["", "*"])
def test_the_verb_approves_what_is_not_clear_in_the_background(gate: str) -> None:
    told = story({names.ANALYSIS: "slo"}, gives(UNCLEAR), strategy=ONE_BY_ONE).to(HOUR)
    assert told.reason == "AnalysisInconclusive"
    say_yes(told, gate)

    assert told.end().reason == "Complete"


# -- revisions that come and go before they are measured --------------------------------------------


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarted"])
def test_a_revision_that_comes_back_before_it_was_measured_is_measured_then(restarts: bool) -> None:
    """The other one is touched nowhere meanwhile: all clusters are held."""
    notes = {names.CLUSTER_ANALYSIS: "slo"}
    told = story(notes, fails(), gives(GOOD, **{"from": "2h"}), strategy=ONE_BY_ONE).to(10 * MIN)
    told.annotate(names.HOLD, "c00,c01,c02")
    told.template(make.template("2"))
    told.to(20 * MIN)
    assert told.touched("2") == {}
    told.template(make.template("1"))
    told.to(30 * MIN)
    if restarts:
        told.restart()
    told.annotate(names.HOLD, None)

    assert list(told.to(2 * HOUR - SEC).touched()) == ["c00"]
    assert told.end().reason == "Complete"
    assert phases(told).count("Successful") == 3


def test_what_was_left_before_it_was_measured_is_nothing_to_go_back_to() -> None:
    notes = {names.CLUSTER_ANALYSIS: "slo", names.ROLLBACK: "Automatic"}
    third = {"from": "3h"}
    told = story(
        notes,
        gives(GOOD),
        fails(**{"from": "30m", "to": "3h"}),
        gives(BAD, **third),
        strategy=ONE_BY_ONE,
    )
    told.to(HOUR)
    told.template(make.template("2"))
    told.to(2 * HOUR)
    assert told.versions() == {"c00": "2", "c01": "1", "c02": "1"}
    told.to(3 * HOUR)
    told.template(make.template("3"))

    assert told.to(5 * HOUR).reason == "RolledBack"
    assert set(told.versions().values()) == {"1"}
