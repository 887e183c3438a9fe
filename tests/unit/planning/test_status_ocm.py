"""What does the status of a workload say in profile ocm, and what strict says in its place?"""

from typing import Any

import pytest

from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from tests.support import make
from tests.support.desk import MIN, WEB, Desk, decided

OCM = {names.SEMANTICS: "ocm"}
STRICT = {names.SEMANTICS: "strict"}


def desk(*clusters: str, profile: dict[str, str] = OCM, **workload: Any) -> Desk:
    return Desk([*decided(*clusters), make.workload(annotations=profile, **workload)]).converge()


def status(d: Desk) -> Obj:
    found = d.hub.get(WEB)["status"]
    assert isinstance(found, dict)
    return found


def says(d: Desk, kind: str) -> tuple[str, str, str]:
    found = {c["type"]: c for c in status(d)["conditions"]}[kind]
    return found["status"], found["reason"], found["message"]


def reports(d: Desk, cluster: str, **said: tuple[str, int | None]) -> None:
    """Conditions of a work: status, and the generation that they say they are of, if any."""
    (work,) = (w for w in d.hub.list(MANIFEST_WORK, cluster).items)
    told = [make.condition(kind, value, of) for kind, (value, of) in said.items()]
    ref = Ref(MANIFEST_WORK, f"{cluster}/{work['metadata']['name']}")
    d.hub.patch_status(ref, {"status": {"conditions": told}})
    d.converge()


@pytest.mark.parametrize(("profile", "selected"), [(OCM, 0), (STRICT, 3)], ids=["ocm", "strict"])
def test_numbers_that_ocm_never_writes_stay_0_in_profile_ocm(
    profile: dict[str, str], selected: int
) -> None:
    told = status(desk("a", "b", "c", profile=profile))
    for summary in (told["summary"], told["placementSummary"][0]["summary"]):
        assert summary["total"] == 3
        assert (summary["desiredTotal"], summary["updated"]) == (selected, selected)


def test_a_workload_without_clusters_is_complete_in_profile_ocm() -> None:
    assert says(desk(), names.PLACEMENT_ROLLED_OUT)[:2] == ("True", "Complete")
    assert says(desk(), names.PLACEMENT_VERIFIED)[:2] == ("False", "PlacementDecisionEmpty")
    strict = desk(profile=STRICT)
    assert says(strict, names.PROGRESSING)[:2] == ("False", "NoTargets")
    assert says(strict, names.PLACEMENT_ROLLED_OUT)[:2] == ("False", "Progressing")


def test_conditions_without_a_generation_count_in_profile_ocm() -> None:
    d = desk("a")
    reports(d, "a", Applied=("True", 1), Available=("True", None), Progressing=("False", 1))
    assert status(d)["summary"]["available"] == 1
    assert says(d, names.MANIFESTWORK_APPLIED)[:2] == ("True", "AsExpected")


def test_strict_says_that_conditions_without_a_generation_do_not_count() -> None:
    d = desk("a", profile=STRICT)
    reports(d, "a", Applied=("True", 1), Available=("True", None))
    text = "1 works have conditions without observedGeneration, which do not count"
    assert status(d)["summary"]["available"] == 0
    assert text in says(d, names.MANIFESTWORK_APPLIED)[2]
    assert text in says(d, names.PROGRESSING)[2]


def test_strict_says_that_conditions_of_another_generation_do_not_count() -> None:
    d = desk("a", profile=STRICT)
    reports(d, "a", Applied=("True", 1), Available=("True", 7))
    text = "1 works have conditions of another generation, which do not count"
    assert text in says(d.later(MIN).converge(), names.MANIFESTWORK_APPLIED)[2]
