"""Every error and warning about a set of files, at once, with what to do: texts, objects, placements."""

from typing import Any

import pytest
import yaml

from rollout.api.load import Document, Loaded, load_text
from rollout.api.preflight import Severity, preflight
from rollout.model.kinds import Obj
from tests.support.documents import every_place
from tests.support.preflight import (
    BINDING,
    CLUSTERS,
    SET,
    SURROUNDINGS,
    findings,
    manifest,
    of,
    placement,
    ref,
    the_one,
    told,
    workload,
)


def test_a_sound_set_of_files_has_no_findings() -> None:
    assert findings(*SURROUNDINGS, placement(), workload()) == []


def test_texts_that_cannot_be_read_come_first() -> None:
    text = "kind: Deployment\n---\na: [\n---\nkind: Placement\napiVersion: v1\n"
    documents, errors = load_text(text, "f.yaml")
    found = preflight(Loaded(tuple(documents), tuple(errors)))
    assert [(f.source, f.severity, f.path) for f in found] == [
        ("f.yaml:4", Severity.ERROR, ""),
        ("f.yaml:1", Severity.ERROR, "kind"),
        ("f.yaml:6", Severity.ERROR, "apiVersion"),
    ]
    assert found[1].remedy.endswith("what clusters should run belongs in a ManifestWorkReplicaSet")
    assert "ManifestWorkReplicaSet" not in found[2].remedy


def test_documents_of_our_own_kinds_are_left_to_those_who_read_them() -> None:
    scenario = {"apiVersion": "rollout-engine.io/v1alpha1", "kind": "AgentScenario"}
    assert findings(scenario) == []


def test_a_finding_reads_as_a_line() -> None:
    found = the_one(*SURROUNDINGS, placement(sortBy="Name"))
    assert str(found) == (
        "f.yaml:48: error: Placement apps/fleet spec.sortBy: 'Name' is not valid; "
        "accepted: one of ClusterName, Score"
    )


def test_findings_are_in_the_order_of_the_objects_errors_first() -> None:
    bad = workload(
        manifest(), manifest(), refs=[ref("nowhere", maxConcurrency="0%", maxFailures=-1)]
    )
    found = told(bad, placement(numberOfClusters=-1))
    assert [severity for severity, _ in found] == ["error", "error", "warning", "error", "warning"]


def test_the_same_object_twice_is_an_error_since_nobody_can_tell_which_one_counts() -> None:
    found = the_one(*SURROUNDINGS, SET)
    assert (found.severity, found.object) == (Severity.ERROR, "ManagedClusterSet prod")
    assert found.message == (
        "is in these files already (f.yaml:1): which one counts would depend on the order in which "
        "they are read"
    )


class _Unread(dict[str, Any]):
    """An object of which nobody may look at more than what it is called."""

    def __getitem__(self, key: str) -> Any:
        assert key in ("kind", "apiVersion", "metadata"), f"{key} is looked at"
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]


def test_objects_beside_the_files_are_looked_at_and_not_judged() -> None:
    work = _Unread(apiVersion="work.open-cluster-management.io/v1", kind="ManifestWork")
    work.update(metadata={"name": "w", "namespace": "c1"}, spec={"nonsense": 1}, status={})
    worse = placement(name="other", numberOfClusters=-1)
    files = [Document(obj=workload(), source="f.yaml:1", index=0)]

    found = preflight(Loaded(tuple(files)), context=[*SURROUNDINGS, placement(), worse, work])

    assert found == []


@pytest.mark.parametrize(
    ("annotation", "value", "accepted"),
    [
        ("semantics", "loose", "strict or ocm"),
        ("failure-tolerance", "strict", "Soft or Strict"),
        ("paused", "yes", "false or true"),
        ("release-removals", "tomorrow", 'an instant such as "2030-01-01T12:00:00Z"'),
        ("rollback", "always", "one of None, Manual, Automatic"),
    ],
)
def test_annotations_of_ours_have_known_values(annotation: str, value: str, accepted: str) -> None:
    key = f"rollout-engine.io/{annotation}"
    found = the_one(*SURROUNDINGS, placement(), workload(annotations={key: value}))
    assert (found.severity, found.path) == (Severity.ERROR, f"metadata.annotations[{key}]")
    assert found.remedy == f"accepted: {accepted}"


@pytest.mark.parametrize(
    ("annotation", "value", "accepted"),
    [("semantics", "OCM", "strict or ocm"), ("decision-order", "Sticky", "ClusterName or sticky")],
)
def test_so_have_those_of_a_placement(annotation: str, value: str, accepted: str) -> None:
    key = f"rollout-engine.io/{annotation}"
    asking = placement()
    asking["metadata"]["annotations"] = {key: value}
    found = the_one(*SURROUNDINGS, asking)
    assert (found.severity, found.path) == (Severity.ERROR, f"metadata.annotations[{key}]")
    assert found.remedy == f"accepted: {accepted}"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("gate", "did you mean rollout-engine.io/gates?"),
        ("pausd", "did you mean rollout-engine.io/paused?"),
        ("colour", "docs/operating.md names those that there are"),
    ],
)
def test_an_annotation_of_ours_that_nobody_reads_is_a_warning(name: str, remedy: str) -> None:
    key = f"rollout-engine.io/{name}"
    found = the_one(*SURROUNDINGS, placement(), workload(annotations={key: "x"}))
    assert (found.severity, found.path) == (Severity.WARNING, f"metadata.annotations[{key}]")
    assert found.remedy == remedy


def test_annotations_that_the_engine_writes_are_known() -> None:
    written = {"rollout-engine.io/asked": "{}", "rollout-engine.io/last-applied": "{}"}
    assert findings(*SURROUNDINGS, placement(), workload(annotations=written)) == []


# Placements --------------------------------------------------------------------------------------


def test_a_namespace_without_a_binding_is_a_warning() -> None:
    found = the_one(SET, placement())
    assert (found.severity, found.path) == (Severity.WARNING, "metadata.namespace")
    assert found.message == "namespace apps has no ManagedClusterSetBinding in these files"


def test_a_set_that_is_not_bound_is_a_warning() -> None:
    first, second = findings(*SURROUNDINGS, placement(clusterSets=["dev"]))
    assert (first.path, first.remedy) == ("spec.clusterSets[0]", "bind it, or choose from: prod")
    assert second.path == "spec.predicates"


def test_a_binding_is_called_like_its_set() -> None:
    found = the_one(*SURROUNDINGS, of("ManagedClusterSetBinding", "x", spec={"clusterSet": "prod"}))
    assert (found.severity, found.path) == (Severity.ERROR, "spec.clusterSet")


def test_a_binding_of_a_set_that_is_not_there_is_a_warning() -> None:
    found = the_one(BINDING)
    assert found.message == "ManagedClusterSet prod is not in these files"


def test_a_set_without_clusters_is_a_warning() -> None:
    found = the_one(*SURROUNDINGS, of("ManagedClusterSet", "dev"))
    assert (found.object, found.path) == ("ManagedClusterSet dev", "spec.clusterSelector")
    everything = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
    assert findings(*SURROUNDINGS, of("ManagedClusterSet", "dev", spec=everything)) == []


def test_a_placement_that_selects_nothing_is_a_warning() -> None:
    assert the_one(*SURROUNDINGS, placement(numberOfClusters=0)).message == "0 selects no cluster"
    selector = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    found = the_one(*SURROUNDINGS, placement(predicates=[{"requiredClusterSelector": selector}]))
    assert found.message == "none of the 3 clusters in these files can be selected"


def test_a_quoted_group_size_is_a_warning() -> None:
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": "150"}}
    found = the_one(*SURROUNDINGS, placement(decisionStrategy=strategy))
    assert found.path == "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"


def test_groups_of_no_cluster_are_a_warning_since_they_are_one_group_of_all() -> None:
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": 0}}
    found = the_one(*SURROUNDINGS, placement(decisionStrategy=strategy))
    assert found.message == (
        "0 is read as not set: all clusters of no named group are one decision group"
    )


def test_objects_without_a_namespace_are_in_the_one_asked_for() -> None:
    def here(obj: Obj) -> Obj:
        return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "namespace"}}

    objects = [SET, *CLUSTERS, here(BINDING), here(placement()), here(workload())]
    documents, _ = load_text(yaml.safe_dump_all(objects), "f.yaml")
    assert preflight(Loaded(tuple(documents)), "team") == []


VALUES: list[object] = [None, True, -1, 1.5, "", "x y", [], [[]], {}, {"a": 0}]


@pytest.mark.parametrize("value", VALUES)
def test_no_value_in_any_place_makes_it_raise(value: object) -> None:
    whole = [
        SET,
        BINDING,
        CLUSTERS[0],
        placement(decisionStrategy={"groupStrategy": {}}),
        workload(),
    ]
    for i, good in enumerate(whole):
        for odd in every_place(good, value):
            if isinstance(odd, dict):
                objects = [*whole[:i], odd, *whole[i + 1 :]]
                found = preflight(loaded(objects))
                assert all(f.message and f.remedy for f in found)


def loaded(objects: list[Obj]) -> Loaded:
    return Loaded(
        tuple(Document(obj=obj, source=f"f:{i}", index=i) for i, obj in enumerate(objects))
    )


@pytest.mark.parametrize("digits", ["9" * 5_000, "²", "٣"])
def test_text_that_only_looks_like_a_number_ends_no_check(digits: str) -> None:
    """int() refuses thousands of digits, and signs that isdigit() takes for one."""
    sound = [
        workload(refs=[ref(maxConcurrency=1, maxFailures=1)], annotations={f"a/{digits[:9]}": "x"}),
        placement(decisionStrategy={"groupStrategy": {"clustersPerDecisionGroup": 5}}),
    ]
    for obj in (changed for each in sound for changed in every_place(each, digits)):
        assert isinstance(findings(obj), list)


def test_a_gate_at_a_group_of_thousands_of_digits_ends_no_check() -> None:
    gates = {"rollout-engine.io/gates": f"before:{'9' * 5_000},after:²"}
    assert findings(*SURROUNDINGS, placement(), workload(annotations=gates)) == []
