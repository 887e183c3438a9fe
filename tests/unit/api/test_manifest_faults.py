"""What is told of single manifests that an agent could not apply, or finds broken?"""

from typing import Any

import pytest

from rollout.api.manifest_faults import LONGEST
from rollout.api.work import decode_work
from rollout.model.kinds import Obj


def entry(*conditions: Obj, kind: str = "ConfigMap", name: str = "x", **meta: Any) -> Obj:
    return {
        "resourceMeta": {"kind": kind, "namespace": "ns", "name": name, **meta},
        "conditions": list(conditions),
    }


def said(kind: str, status: str, message: str = "", generation: int | None = 2) -> Obj:
    found: Obj = {"type": kind, "status": status, "reason": "R", "message": message}
    return found if generation is None else {**found, "observedGeneration": generation}


def faults(*manifests: Obj, whole: Obj | None = None, spec: Obj | None = None) -> tuple[str, ...]:
    """Of a work of generation 2 that says of itself what ``whole`` says."""
    return decode_work(
        {
            "metadata": {"namespace": "c1", "name": "w", "generation": 2},
            "spec": spec or {},
            "status": {
                "conditions": [whole or said("Applied", "False")],
                "resourceStatus": {"manifests": list(manifests)},
            },
        }
    ).faults


def test_where_secrets_cannot_be_told_from_the_rest_nothing_is_quoted() -> None:
    spec: Obj = {}
    for _ in range(970):
        spec = {"data": spec}

    told = faults(entry(said("Applied", "False", "it holds hunter2")), spec=spec)

    assert told == ("manifests that are not well: 1",)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (said("Applied", "False", "Failed to apply"), ("ConfigMap ns/x: Failed to apply",)),
        (said("Degraded", "True", "no progress"), ("ConfigMap ns/x: no progress",)),
        (said("Available", "False", "not there", None), ("ConfigMap ns/x: not there",)),
        (said("Applied", "False"), ("ConfigMap ns/x: Applied=False R",)),
        (said("Applied", "True", "fine"), ()),
        (said("Applied", "False", "of before", 1), ()),
        (said("Available", "Unknown", "?"), ()),
    ],
)
def test_what_is_wrong_with_a_manifest_is_told_at_its_own_generation(
    condition: Obj, told: tuple[str, ...]
) -> None:
    assert faults(entry(condition)) == told


def test_why_it_was_not_applied_comes_before_that_it_is_not_there() -> None:
    both = entry(said("Available", "False", "not there"), said("Applied", "False", "refused"))

    assert faults(both) == ("ConfigMap ns/x: refused",)


def test_of_a_work_that_is_well_nothing_is_kept() -> None:
    assert faults(entry(said("Applied", "False", "x")), whole=said("Applied", "True")) == ()


def test_what_is_kept_is_bounded() -> None:
    long = said("Applied", "False", "y" * 100_000)
    found = faults(*(entry(long, name=f"n{i}") for i in range(50)))

    assert len(found) == 4
    assert found[-1] == "47 more manifests are not well"
    assert max(map(len, found)) == LONGEST


def test_nothing_of_a_secret_is_told() -> None:
    spec = {
        "workload": {
            "manifests": [
                {"apiVersion": "v1", "kind": "Secret", "stringData": {"p": "hunter2hunter2"}}
            ]
        }
    }
    quoting = said("Applied", "False", "cannot use hunter2hunter2 here")
    found = faults(entry(quoting, kind="Secret"), entry(quoting), spec=spec)

    assert found == ("Secret ns/x: Applied=False R", "ConfigMap ns/x: cannot use *** here")


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, [{"conditions": 1}], [{"resourceMeta": 1}]])
def test_odd_reports_do_no_harm(odd: object) -> None:
    work = decode_work(
        {
            "metadata": {"namespace": "c1", "name": "w", "generation": 2},
            "status": {
                "conditions": [said("Applied", "False")],
                "resourceStatus": {"manifests": odd},
            },
        }
    )
    assert work.faults == ()
