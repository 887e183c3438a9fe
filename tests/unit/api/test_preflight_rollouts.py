"""What is told of placementRefs and their rollout strategies, before anything is written?"""

import pytest

from rollout.api.preflight import Finding, Severity
from rollout.model.kinds import Obj
from tests.support.preflight import (
    BINDING,
    SET,
    SURROUNDINGS,
    findings,
    of,
    placement,
    ref,
    the_one,
    told,
    workload,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [("gates", "before:rest"), ("hold", "c1"), ("skip", "c1"), ("failure-tolerance", "Strict")],
)
def test_what_profile_ocm_does_not_look_at_is_warned_of(name: str, value: str) -> None:
    key = f"rollout-engine.io/{name}"
    asked = {key: value, "rollout-engine.io/semantics": "ocm"}

    found = the_one(*SURROUNDINGS, placement(), workload(annotations=asked))

    assert (found.severity, found.path) == (Severity.WARNING, f"metadata.annotations[{key}]")
    assert "does nothing with" in found.message
    alone = findings(*SURROUNDINGS, placement(), workload(annotations={key: value}))
    assert alone == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("analysis", "slo"), ("cluster-analysis", "slo"), ("gates", "after:rest=analysis/slo")],
)
def test_analyses_in_profile_ocm_are_warned_of_as_what_holds_the_workload(
    name: str, value: str
) -> None:
    key = f"rollout-engine.io/{name}"
    asked = {key: value, "rollout-engine.io/semantics": "ocm"}

    told = findings(*SURROUNDINGS, placement(), workload(annotations=asked))
    (found,) = [
        each
        for each in told
        if each.path == f"metadata.annotations[{key}]" and "ocm" in each.message
    ]
    assert found.severity is Severity.WARNING
    assert "measures nothing: the workload is held" in found.message


REF = "spec.placementRefs[0]"
PROGRESSIVE = f"{REF}.rolloutStrategy.progressive"


def rolled(*refs: Obj, spec: Obj | None = None, name: str = "web") -> Finding:
    return the_one(*SURROUNDINGS, placement(**(spec or {})), workload(refs=list(refs), name=name))


def test_a_placement_that_is_not_there_is_a_warning() -> None:
    found = rolled(ref(), ref("other"))
    assert (found.severity, found.path) == (Severity.WARNING, "spec.placementRefs[1].name")
    assert found.message == "Placement apps/other is not in these files"
    elsewhere = {**placement(), "metadata": {"name": "other", "namespace": "else"}}
    hinted = findings(*SURROUNDINGS, elsewhere, workload(refs=[ref("other")]))
    assert hinted[-1].message.endswith("; else/other is in another namespace")


def test_a_placement_named_twice_is_a_warning() -> None:
    found = rolled(ref(), ref())
    assert (found.severity, found.path) == (Severity.WARNING, "spec.placementRefs[1].name")
    assert found.message.startswith("fleet is named twice")


def test_an_unknown_mandatory_group_is_a_warning_with_those_that_exist() -> None:
    groups: list[Obj] = [
        {"groupName": name, "groupClusterSelector": {}} for name in ("canary", "west")
    ]
    spec: Obj = {"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}}
    wanted = [{"groupName": "canary"}, {"groupName": "cannary"}, {"groupIndex": 7}]
    found = rolled(ref(mandatoryDecisionGroups=wanted), spec=spec)
    assert found.path == f"{PROGRESSIVE}.mandatoryDecisionGroups[1].groupName"
    assert found.message == "Placement fleet has no decision group 'cannary': the rollout is held"
    assert found.remedy == "its groups are: canary, west"
    assert (
        rolled(ref(mandatoryDecisionGroups=[{"groupName": "x"}])).remedy == "its groups are: none"
    )


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        (3, "3 of at most 3 is every cluster of fleet: no number of failures stops the rollout"),
        ("100%", "100% is every cluster of fleet: no number of failures stops the rollout"),
    ],
)
def test_a_budget_of_every_cluster_is_a_warning(failures: object, message: str) -> None:
    found = rolled(ref(maxFailures=failures))
    assert (found.path, found.message) == (f"{PROGRESSIVE}.maxFailures", message)


@pytest.mark.parametrize(
    ("spec", "failures", "warned"),
    [
        ({}, 2, False),
        ({"numberOfClusters": 2}, 2, True),
        ({"numberOfClusters": 9}, 2, False),
        (
            {
                "predicates": [
                    {
                        "requiredClusterSelector": {
                            "labelSelector": {"matchLabels": {"tier": "canary"}}
                        }
                    }
                ]
            },
            1,
            True,
        ),
        ({"clusterSets": ["prod"]}, 3, True),
    ],
)
def test_the_number_of_clusters_is_counted_where_it_is_known(
    spec: Obj, failures: int, warned: bool
) -> None:
    found = told(*SURROUNDINGS, placement(**spec), workload(refs=[ref(maxFailures=failures)]))
    assert found == [("warning", f"{PROGRESSIVE}.maxFailures")] * warned


def test_without_clusters_the_budget_is_not_judged() -> None:
    assert told(SET, BINDING, placement(), workload(refs=[ref(maxFailures=1000)])) == []
    limited = placement(numberOfClusters=5)
    found = told(SET, BINDING, limited, workload(refs=[ref(maxFailures=5)]))
    assert found == [("warning", f"{PROGRESSIVE}.maxFailures")]


@pytest.mark.parametrize("zero", ["0%", "0"])
def test_a_written_zero_concurrency_holds_and_is_a_warning(zero: str) -> None:
    found = rolled(ref(maxConcurrency=zero))
    assert (found.severity, found.path) == (Severity.WARNING, f"{PROGRESSIVE}.maxConcurrency")
    assert found.message == f"'{zero}' holds the rollout: no cluster is touched"


@pytest.mark.parametrize("field", ["maxConcurrency", "maxFailures"])
def test_a_quoted_number_is_a_warning(field: str) -> None:
    found = rolled(ref(**{field: "2"}))
    assert (found.severity, found.path) == (Severity.WARNING, f"{PROGRESSIVE}.{field}")
    assert found.message.startswith("'2' is a number in quotes")


def test_no_deadline_is_worth_knowing() -> None:
    found = rolled({"name": "fleet", "rolloutStrategy": {"type": "Progressive"}})
    assert (found.severity, found.path) == (Severity.INFO, f"{PROGRESSIVE}.progressDeadline")


def test_a_member_of_another_type_is_ignored_and_a_warning() -> None:
    strategy = {"type": "All", "progressive": {"maxConcurrency": 5}}
    found = rolled({"name": "fleet", "rolloutStrategy": strategy})
    assert (found.severity, found.path) == (Severity.WARNING, PROGRESSIVE)
    assert (found.message, found.remedy) == (
        "is ignored: the type is All",
        "remove it, or write type: Progressive",
    )


@pytest.mark.parametrize(("length", "found"), [(58, []), (59, [("info", "metadata.name")])])
def test_a_long_owner_label_is_worth_knowing(length: int, found: list[tuple[str, str]]) -> None:
    assert told(*SURROUNDINGS, placement(), workload(name="x" * length)) == found


GROUPED: Obj = {
    "decisionStrategy": {
        "groupStrategy": {
            "decisionGroups": [
                {
                    "groupName": "canary",
                    "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": "canary"}}},
                }
            ]
        }
    }
}
CANARY_FIRST = ref(mandatoryDecisionGroups=[{"groupName": "canary"}])


def test_a_mandatory_group_that_no_cluster_of_the_files_can_be_in_is_a_warning() -> None:
    found = rolled(CANARY_FIRST, spec=GROUPED)

    assert (found.severity, found.path) == (
        Severity.WARNING,
        f"{PROGRESSIVE}.mandatoryDecisionGroups[0].groupName",
    )
    assert "no cluster of these files can be in decision group 'canary'" in found.message
    assert "rollout-engine.io/allow-empty-groups: canary" in found.remedy


def test_of_a_group_that_may_be_empty_or_whose_clusters_are_not_in_the_files_nothing_is_said() -> (
    None
):
    allowed = {"rollout-engine.io/allow-empty-groups": "canary"}
    files = [*SURROUNDINGS, placement(**GROUPED)]
    elsewhere = [obj for obj in files if obj["kind"] != "ManagedCluster"]

    assert findings(*files, workload(refs=[CANARY_FIRST], annotations=allowed)) == []
    told_of = [f.message for f in findings(*elsewhere, workload(refs=[CANARY_FIRST]))]
    assert not [message for message in told_of if "decision group" in message]


@pytest.mark.parametrize("name", ["skip", "hold"])
@pytest.mark.parametrize("kind", ["ManifestWorkReplicaSet", "ClusterManagementAddOn"])
def test_names_that_no_cluster_has_are_an_error_where_the_files_have_clusters(
    kind: str, name: str
) -> None:
    key = f"rollout-engine.io/{name}"
    asked = {key: "c1@0123456789ab,c77,c78" if name == "skip" else "c1,c77,c78"}
    there = [*SURROUNDINGS, placement()]
    addon = of("ClusterManagementAddOn", "hello", spec={})
    addon["metadata"]["annotations"] = asked
    named = addon if kind == addon["kind"] else workload(annotations=asked)

    found = the_one(*there, named)

    assert (found.severity, found.path) == (Severity.ERROR, f"metadata.annotations[{key}]")
    assert found.message == "no cluster of these files is called c77, c78"
    elsewhere = [obj for obj in there if obj["kind"] != "ManagedCluster"]
    assert not [f.message for f in findings(*elsewhere, named) if "is called" in f.message]


def test_an_annotation_that_is_no_text_names_no_cluster_and_no_group() -> None:
    for name in ("skip", "hold", "allow-empty-groups"):
        odd = workload(refs=[CANARY_FIRST], annotations={f"rollout-engine.io/{name}": 7})

        assert "called" not in str(findings(*SURROUNDINGS, placement(**GROUPED), odd))
