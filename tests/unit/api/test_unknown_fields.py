"""What is misspelt in a file is told, wherever it stands; what is stored is left as it is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rollout.api.load import load
from rollout.api.validation import unknown_fields
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from tests.support.documents import GOOD, of, work, workload
from tests.support.preflight import placement, told
from tests.support.preflight import workload as sound

EXAMPLES = Path(__file__).parents[3] / "examples"
REF = "spec.placementRefs[0]"


def paths(obj: Obj) -> list[tuple[str, str]]:
    return [(found.path, found.remedy) for found in unknown_fields(obj)]


def in_groups(**group: Any) -> Obj:
    strategy = {"groupStrategy": {"decisionGroups": [group]}}
    return of("Placement", spec={"decisionStrategy": strategy})


@pytest.mark.parametrize(
    ("obj", "path", "meant"),
    [
        pytest.param(
            workload(type="Progressive", progressive={"maxConcurency": 1}),
            f"{REF}.rolloutStrategy.progressive.maxConcurency",
            "maxConcurrency",
            id="a limit",
        ),
        pytest.param(
            workload(type="Progressive", progressive={"mandatoryDecisionGroup": []}),
            f"{REF}.rolloutStrategy.progressive.mandatoryDecisionGroup",
            "mandatoryDecisionGroups",
            id="the canaries",
        ),
        pytest.param(
            workload(type="Progressive", progresive={}),
            f"{REF}.rolloutStrategy.progresive",
            "progressive",
            id="all limits",
        ),
        pytest.param(
            of("ManifestWorkReplicaSet", spec={"placementRefs": [{"rolloutStrategey": {}}]}),
            f"{REF}.rolloutStrategey",
            "rolloutStrategy",
            id="the strategy",
        ),
        pytest.param(
            workload(progressive={"mandatoryDecisionGroups": [{"groupNme": "canary"}]}),
            f"{REF}.rolloutStrategy.progressive.mandatoryDecisionGroups[0].groupNme",
            "groupName",
            id="a canary group",
        ),
        pytest.param(
            of("Placement", spec={"clusterSet": ["prod"]}),
            "spec.clusterSet",
            "clusterSets",
            id="the sets",
        ),
        pytest.param(
            of("Placement", spec={"tolerations": [{"tolerationSecond": 5}]}),
            "spec.tolerations[0].tolerationSecond",
            "tolerationSeconds",
            id="in a list",
        ),
        pytest.param(
            in_groups(groupname="a"),
            "spec.decisionStrategy.groupStrategy.decisionGroups[0].groupname",
            "groupName",
            id="by upper and lower case only",
        ),
        pytest.param(of("Placement", sepc={}), "sepc", "spec", id="the spec itself"),
        pytest.param(
            workload(progressive={"max_concurrency": 1}),
            f"{REF}.rolloutStrategy.progressive.max_concurrency",
            "maxConcurrency",
            id="as Python calls it",
        ),
    ],
)
def test_a_misspelt_field_is_named_with_the_one_that_was_meant(
    obj: Obj, path: str, meant: str
) -> None:
    assert paths(obj) == [(path, f"did you mean {meant}?")]


def test_a_field_that_is_like_no_other_is_answered_with_those_that_there_are() -> None:
    per_group = workload(type="ProgressivePerGroup", progressivePerGroup={"maxConcurrency": "10%"})

    (found,) = unknown_fields(per_group)

    assert str(found) == (
        f"{REF}.rolloutStrategy.progressivePerGroup.maxConcurrency: there is no such field; accepted"
        " here: minSuccessTime, progressDeadline, maxFailures, mandatoryDecisionGroups"
    )


@pytest.mark.parametrize("obj", GOOD, ids=lambda obj: str(obj["kind"]))
def test_what_is_well_written_has_no_unknown_field(obj: Obj) -> None:
    assert unknown_fields(obj) == []


@pytest.mark.parametrize(
    "folder", [p for p in EXAMPLES.iterdir() if p.is_dir()], ids=lambda p: p.name
)
def test_our_own_examples_have_none(folder: Path) -> None:
    assert [found for obj in load([folder]).documents for found in unknown_fields(obj.obj)] == []


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(work(workload={"manifests": [{"kind": "X", "foo": {}}]}), id="in a manifest"),
        pytest.param(of("Placement", metadata={"name": "p", "selfLink": "/x"}), id="in metadata"),
        pytest.param(of("Placement", status={"more": 1}), id="in a status"),
        pytest.param(of("ConfigMap", dta={}), id="of a kind without a model"),
        pytest.param({"kind": "Deployment", "foo": 1}, id="of a kind that we do not know"),
        pytest.param(of("Placement", spec="clusterSet"), id="below a wrong shape"),
    ],
)
def test_what_is_free_in_form_is_not_looked_into(obj: Obj) -> None:
    assert unknown_fields(obj) == []


def test_validate_calls_a_misspelt_field_an_error() -> None:
    misspelt = sound(refs=[{"name": "fleet", "rolloutStrategey": {"type": "All"}}])

    assert ("error", f"{REF}.rolloutStrategey") in told(placement(), misspelt)


def test_a_hub_keeps_the_fields_that_it_does_not_know() -> None:
    hub = MemoryHub(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    ref = Ref(REPLICA_SET, "apps/web")
    newer = workload(type="All", newLimit=5)

    hub.create(ref, newer)
    hub.patch(ref, {"metadata": {"labels": {"a": "b"}}})

    strategy = hub.get(ref)["spec"]["placementRefs"][0]["rolloutStrategy"]
    assert strategy["newLimit"] == 5
