"""Jobs that measure a cluster on the cluster itself: the real providers, on the embedded hub, in virtual time.

Simulated agents apply works and say that all is well; how the Jobs in them end is written here, as an agent
reports it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from rollout.api.analysis_run import decode_run
from rollout.api.work import decode_work
from rollout.clock import VirtualClock
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.measuring.cluster_jobs import UNBOUNDED
from rollout.measuring.values import Measure, Sample
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS_RUN,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.analyses import run_name
from rollout.planning.analysis_runs import AnalysisRunPlanner
from rollout.providers.hosts import HostPolicy
from rollout.providers.kinds import installed
from rollout.providers.measurer import ProviderMeasurer
from tests.safety.replicasets import ReplicaSets
from tests.stories.test_analyses import AFTER_CANARY, GATED, ONE_BY_ONE, phases, runs, template
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, SETTLED, T0, Story

SMOKE: Obj = {
    "onCluster": True,
    "metadata": {"namespace": "shop", "labels": {"app": "smoke"}},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}},
}
EXECUTOR: Obj = {
    "subject": {
        "type": "ServiceAccount",
        "serviceAccount": {"namespace": "shop", "name": "deployer"},
    }
}


class Waited:
    """The providers of a controller, whose answers are waited for: time stands still meanwhile."""

    def __init__(self, hub: MemoryHub, clock: VirtualClock) -> None:
        self.inner = ProviderMeasurer(hub, clock, installed(()), HostPolicy())

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        back = threading.Event()
        found: dict[str, Sample] = {}

        def told(samples: Mapping[str, Sample]) -> None:
            found.update(samples)
            back.set()

        self.inner.measure(write, told)
        assert back.wait(60), "no sample came"
        done(found)


Begin = Callable[..., Story]


@pytest.fixture
def begin() -> Iterator[Begin]:
    made: list[ProviderMeasurer] = []

    def story(strategy: Obj = ONE_BY_ONE, job: Obj = SMOKE, **notes: str) -> Story:
        clock = VirtualClock(T0)
        hub = MemoryHub(clock, admit=admit)
        measurer = Waited(hub, clock)
        made.append(measurer.inner)
        metric = {"name": "smoke", "provider": {"job": job}}
        asked = {**template(), "spec": {"metrics": [metric]}}
        notes = notes or {names.CLUSTER_ANALYSIS: "slo", names.ROLLBACK: "Automatic"}
        workload = make.workload(strategy=strategy, annotations=notes)
        workload["spec"]["manifestWorkTemplate"]["executor"] = EXECUTOR
        documents = [*make.fleet(3, canary=1), asked, workload]
        return Story(documents, hub=hub, clock=clock, measurer=measurer)

    yield story
    for measurer in made:
        measurer.close()


def jobs(told: Story) -> dict[str, Obj]:
    """The works that carry Jobs, by cluster; two on one cluster are a failure."""
    found: dict[str, Obj] = {}
    for work in told.hub.list(MANIFEST_WORK).items:
        if names.ANALYSIS_RUN in (work["metadata"].get("labels") or {}):
            assert work["metadata"]["namespace"] not in found
            found[work["metadata"]["namespace"]] = work
    return found


def ends(told: Story, cluster: str, how: str) -> None:
    """The agent reports that the Job has ended."""
    value = {"name": how, "fieldValue": {"type": "String", "string": "True"}}
    meta = {"ordinal": 0, "group": "batch", "kind": "Job", "resource": "jobs"}
    manifest = {"resourceMeta": meta, "statusFeedback": {"values": [value]}}
    status = {"resourceStatus": {"manifests": [manifest]}}
    told.hub.patch_status(ref_of(MANIFEST_WORK, jobs(told)[cluster]), {"status": status})


def test_each_cluster_runs_its_job_before_the_next_one_is_touched(begin: Begin) -> None:
    told = begin()
    for i, cluster in enumerate(("c00", "c01", "c02")):
        told.on(10 * MIN)
        assert sorted(told.touched()) == [f"c{n:02}" for n in range(i + 1)]
        assert list(jobs(told)) == [cluster], "only who is measured has a Job"
        ends(told, cluster, "Complete")
    told.end()

    assert told.reason == "Complete"
    assert phases(told) == ["Successful"] * 3
    assert jobs(told) == {}


def test_the_work_says_what_to_run_where_and_as_whom(begin: Begin) -> None:
    told = begin().to(MIN)
    work = jobs(told)["c00"]
    (job,) = work["spec"]["workload"]["manifests"]
    (config,) = work["spec"]["manifestConfigs"]

    assert job["metadata"] == {
        "namespace": "shop",
        "name": work["metadata"]["name"],
        "labels": {"app": "smoke"},
    }
    assert job["spec"] == SMOKE["spec"]
    assert work["spec"]["executor"] == EXECUTOR
    assert config["resourceIdentifier"]["name"] == job["metadata"]["name"]
    assert config["updateStrategy"] == {"type": "CreateOnly"}
    assert work["metadata"]["name"] != told.works()["c00"]["metadata"]["name"]
    assert told.summary()["total"] == 1, "it is no work of the workload"


def test_a_job_that_fails_is_a_failure_of_its_cluster(begin: Begin) -> None:
    told = begin(**{names.CLUSTER_ANALYSIS: "slo"}).to(10 * MIN)
    ends(told, "c00", "Failed")
    told.end()

    assert told.reason == "MaxFailuresExceeded"
    assert list(told.touched()) == ["c00"]
    assert jobs(told) == {}


def test_an_agent_that_never_reports_is_an_error_and_neither_passes_nor_takes_back(
    begin: Begin,
) -> None:
    told = begin().to(UNBOUNDED + HOUR)

    assert phases(told) == ["Error"]
    assert "c00 reports no end of the Job" in runs(told)[0]["status"]["message"]
    assert list(told.touched()) == ["c00"]
    assert told.reason == "RollingOut"
    assert list(jobs(told)) == ["c00"], "one that comes late still counts"
    ends(told, "c00", "Complete")
    told.on(10 * MIN)
    assert sorted(told.touched()) == ["c00", "c01"]


def test_a_job_is_waited_for_as_long_as_it_may_take(begin: Begin) -> None:
    told = begin(job={**SMOKE, "spec": {**SMOKE["spec"], "activeDeadlineSeconds": 4 * 3600}})

    assert phases(told.to(4 * HOUR)) == ["Running"]
    assert phases(told.to(5 * HOUR)) == ["Error"]


def test_a_job_that_the_agent_cannot_apply_is_an_error_that_says_why(begin: Begin) -> None:
    told = begin().to(MIN)
    work = jobs(told)["c00"]
    said = make.condition("Applied", "False", 1, message='namespaces "shop" not found')
    told.hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": [said]}})
    told.on(SEC)

    (metric,) = runs(told)[0]["status"]["metrics"]
    assert metric["error"] == 1
    assert 'c00 does not run the Job: namespaces "shop" not found' in str(metric["measurements"])
    assert list(told.touched()) == ["c00"]


def test_nobody_asks_the_hub_again_and_again_how_a_job_stands(begin: Begin) -> None:
    told = begin().to(10 * MIN)
    before = runs(told)[0]["metadata"]["resourceVersion"]

    assert runs(told.to(50 * MIN))[0]["metadata"]["resourceVersion"] == before


def test_over_a_restart_a_job_runs_once(begin: Begin) -> None:
    told = begin().to(MIN)
    before = jobs(told)["c00"]["metadata"]["uid"]
    told.restart().on(10 * MIN)

    assert jobs(told)["c00"]["metadata"]["uid"] == before
    ends(told, "c00", "Complete")
    assert sorted(told.on(10 * MIN).touched()) == ["c00", "c01"]


def test_another_revision_ends_the_job_of_the_last_and_has_its_own(begin: Begin) -> None:
    told = begin().to(MIN)
    before = jobs(told)["c00"]["metadata"]["name"]
    told.template(make.template("2"))
    told.on(10 * MIN)

    assert jobs(told)["c00"]["metadata"]["name"] != before


def test_a_job_goes_with_its_run(begin: Begin) -> None:
    told = begin().to(MIN)
    assert jobs(told)
    told.hub.delete(Ref(REPLICA_SET, "default/web"))
    for run in runs(told):  # as the garbage collector of a real hub does
        told.hub.delete(ref_of(ROLLOUT_ANALYSIS_RUN, run))
    told.on(MIN)

    assert jobs(told) == {}


def test_a_job_that_somebody_deletes_runs_anew(begin: Begin) -> None:
    told = begin().to(MIN)
    before = jobs(told)["c00"]
    told.hub.delete(ref_of(MANIFEST_WORK, before))
    told.on(MIN)

    assert jobs(told)["c00"]["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize(("cluster", "is_measured"), [("c00", True), ("elsewhere", False)], ids=str)
def test_a_run_that_somebody_made_up_reaches_no_cluster_but_those_of_its_workload(
    cluster: str, is_measured: bool, begin: Begin
) -> None:
    """Even where all else of it is as it would be of a run of the workload."""
    told = begin().to(MIN)
    (run,) = runs(told)
    spec = {**run["spec"], "cluster": cluster, "attempt": "another"}
    read = decode_run(Ref(ROLLOUT_ANALYSIS_RUN, "default/x"), {**run, "spec": spec})
    assert read is not None
    (unmeasured,) = run["status"]["metrics"]
    made_up = {
        **run,
        "metadata": {**run["metadata"], "name": run_name(read.subject), "uid": "of-nobody"},
        "spec": spec,
        "status": {**run["status"], "metrics": [{**unmeasured, "measurements": []}]},
    }
    ref, fleet, now = ref_of(ROLLOUT_ANALYSIS_RUN, made_up), told.engine.fleet, told.clock.now()
    fleet.apply(Event(ref, Change.ADDED, made_up, 1_000_000), now)
    plan = AnalysisRunPlanner().plan(ref.key, fleet.measured, now)

    assert [isinstance(write, Measure) for write in plan.writes] == [True] * is_measured


def test_the_judges_of_random_histories_take_such_a_work_for_none_of_the_workload(
    begin: Begin,
) -> None:
    told = begin().to(MIN)
    works = (told.works()["c00"], jobs(told)["c00"])

    assert [decode_work(work).owner for work in works] == ["default/web", ""]
    assert [ReplicaSets().is_ours(work) for work in works] == [True, False]


def test_a_gate_has_no_cluster_to_run_a_job_on(begin: Begin) -> None:
    told = begin(GATED, **{names.GATES: AFTER_CANARY}).to(SETTLED + MIN)

    assert told.reason == "Misconfigured"
    assert "cluster-analysis alone has one" in told.message
