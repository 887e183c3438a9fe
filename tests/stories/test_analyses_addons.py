"""Analyses and notifications of add-ons: runs, templates and channels are in the controller's namespace."""

from datetime import timedelta
from typing import Any

import pytest

from rollout import operate
from rollout.model import names
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, ROLLOUT_NOTIFICATION, Obj, ref_of
from rollout.operate import Who
from tests.stories.test_analyses import (
    AFTER_CANARY,
    BAD,
    GATED,
    GOOD,
    ONE_BY_ONE,
    UNCLEAR,
    fails,
    gives,
    phases,
    repairs,
    runs,
    template,
)
from tests.support.addon_story import HOME, AddOnStory, addon_documents
from tests.support.addons import CMA
from tests.support.story import HOUR, MIN, SEC

READY = 12 * SEC
"""So long after a touch an add-on is Available; success counts without a settle time."""


def at_home(document: Obj) -> Obj:
    return {**document, "metadata": {**document["metadata"], "namespace": HOME}}


def story(
    annotations: dict[str, str], *measured: Obj, strategy: Obj = GATED, **metric: Any
) -> AddOnStory:
    documents = addon_documents(3, canary=1, strategy=strategy, annotations=annotations)
    return AddOnStory([*documents, at_home(template(**metric))], {"measurements": list(measured)})


def test_a_gate_opens_when_its_analysis_is_successful_and_the_run_is_the_addons() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).end()

    assert told.reason == "Complete"
    assert [span for span, _ in told.waves()] == [timedelta(0), READY + 2 * MIN]
    (run,) = runs(told)
    (owner,) = run["metadata"]["ownerReferences"]
    assert (run["metadata"]["namespace"], owner["kind"]) == (HOME, CMA.kind.name)


@pytest.mark.parametrize(
    ("annotations", "strategy", "reason"),
    [
        ({names.GATES: AFTER_CANARY}, GATED, "AnalysisFailed"),
        ({names.ANALYSIS: "slo"}, ONE_BY_ONE, "AnalysisFailed"),
        ({names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE, "MaxFailuresExceeded"),
    ],
    ids=["gate", "background", "cluster"],
)
def test_what_fails_halts_the_addon_and_a_retry_measures_anew(
    annotations: dict[str, str], strategy: Obj, reason: str
) -> None:
    told = story(annotations, gives(BAD), gives(GOOD, **{"from": "1h"}), strategy=strategy)
    assert told.to(HOUR).reason == reason
    assert list(told.touched()) == ["c00"]
    told.annotate(names.RETRY, "again")

    assert told.end().reason == "Complete"


@pytest.mark.parametrize(
    ("annotations", "strategy"),
    [
        ({names.GATES: AFTER_CANARY}, GATED),
        ({names.ANALYSIS: "slo"}, ONE_BY_ONE),
        ({names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE),
    ],
    ids=["gate", "background", "cluster"],
)
def test_an_outage_passes_nothing_until_it_is_over(
    annotations: dict[str, str], strategy: Obj
) -> None:
    told = story(
        annotations, fails(), gives(GOOD, **{"from": "2h"}), strategy=strategy,
        consecutiveErrorLimit=0,
    ).to(2 * HOUR - SEC)  # fmt: skip
    assert list(told.touched()) == ["c00"]

    assert told.end().reason == "Complete"


def test_a_person_approves_a_gate_and_a_cluster_that_is_not_clear() -> None:
    both = {names.GATES: AFTER_CANARY, names.CLUSTER_ANALYSIS: "slo"}
    told = story(both, gives(UNCLEAR)).to(HOUR)
    who = Who("ben", told.clock.now(), "it looks well")
    operate.approve(told.hub, CMA, who, "cluster/c00")
    assert list(told.on(HOUR).touched()) == ["c00"]
    operate.approve(told.hub, CMA, who, AFTER_CANARY)

    assert sorted(told.on(HOUR).touched()) == ["c00", "c01", "c02"]


def test_runs_in_the_namespace_of_a_tenant_or_of_an_earlier_addon_say_nothing() -> None:
    good = runs(story({names.GATES: AFTER_CANARY}, gives(GOOD)).end())[0]
    told = story({names.GATES: AFTER_CANARY}, gives(BAD))
    kept = {"name": good["metadata"]["name"], "namespace": HOME}
    owners = [
        {**good["metadata"]["ownerReferences"][0], "uid": told.hub.get(CMA)["metadata"]["uid"]}
    ]
    told.add({**good, "metadata": {**kept, "namespace": "tenant", "ownerReferences": owners}})
    told.add({**good, "metadata": kept})
    told.end()

    assert told.reason == "AnalysisFailed"
    assert list(told.touched()) == ["c00"]
    assert phases(told) == ["Failed", "Successful"]
    assert len(repairs(told)) == 1


def test_a_failed_analysis_of_an_addon_is_told_with_its_halt() -> None:
    told = story({names.GATES: AFTER_CANARY, names.NOTIFY: "team"}, gives(BAD)).end()

    found = told.hub.list(ROLLOUT_NOTIFICATION).items
    assert {each["spec"]["trigger"] for each in found} >= {"on-analysis-failed", "on-halted"}
    assert {ref_of(ROLLOUT_NOTIFICATION, each).namespace for each in found} == {HOME}
    assert {each["spec"]["workload"]["kind"] for each in found} == {CMA.kind.name}
    assert {each["status"]["phase"] for each in found} == {"Delivered"}


def test_runs_go_with_the_addon() -> None:
    told = story({names.CLUSTER_ANALYSIS: "slo"}, gives(GOOD), strategy=ONE_BY_ONE).end()
    assert len(told.hub.list(ROLLOUT_ANALYSIS_RUN).items) == 3
    told.hub.delete(CMA)
    told.on(HOUR)

    assert runs(told) == []
