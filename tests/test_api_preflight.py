"""Every error and warning about a set of files, at once, with what to do."""

from typing import Any

import pytest
import yaml

from rollout.api.load import Document, Loaded, load_text
from rollout.api.preflight import Finding, Severity, preflight
from rollout.api.preflight.manifests import SIZE_LIMIT, plural_of, size_of
from rollout.model.kinds import KINDS, Obj


def of(kind: str, name: str, **parts: Any) -> Obj:
    meta = {"name": name, **({"namespace": "apps"} if KINDS[kind].namespaced else {})}
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta, **parts}


def manifest(kind: str = "Deployment", name: str = "web", version: str = "apps/v1") -> Obj:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}}


def identifier(name: str = "web", **more: str) -> Obj:
    return {
        "group": "apps",
        "resource": "deployments",
        "name": name,
        "namespace": "default",
        **more,
    }


PROGRESSING = {
    "condition": "Progressing",
    "type": "CEL",
    "celExpressions": ["object.status.x != 1"],
}
RULES = {"resourceIdentifier": identifier(), "conditionRules": [PROGRESSING]}


def workload(
    *manifests: Obj,
    configs: list[Obj] | None = None,
    refs: list[Obj] | None = None,
    name: str = "web",
    annotations: Obj | None = None,
) -> Obj:
    template: Obj = {"workload": {"manifests": list(manifests or [manifest()])}}
    template["manifestConfigs"] = [RULES] if configs is None else configs
    obj = of("ManifestWorkReplicaSet", name)
    obj["metadata"] = {**obj["metadata"], "annotations": annotations or {}}
    strategy = {"type": "Progressive", "progressive": {"progressDeadline": "10m"}}
    default = [{"name": "fleet", "rolloutStrategy": strategy}]
    return {**obj, "spec": {"manifestWorkTemplate": template, "placementRefs": refs or default}}


def ref(name: str = "fleet", kind: str = "Progressive", **fields: Any) -> Obj:
    member = {
        "All": "all",
        "Progressive": "progressive",
        "ProgressivePerGroup": "progressivePerGroup",
    }
    strategy = {"type": kind, member[kind]: {"progressDeadline": "10m", **fields}}
    return {"name": name, "rolloutStrategy": strategy}


def placement(name: str = "fleet", **spec: Any) -> Obj:
    return of("Placement", name, spec=spec)


def cluster(name: str, **labels: str) -> Obj:
    obj = of("ManagedCluster", name, spec={"hubAcceptsClient": True})
    member = {"cluster.open-cluster-management.io/clusterset": "prod"}
    obj["metadata"] = {**obj["metadata"], "labels": {**member, **labels}}
    return obj


SET = of("ManagedClusterSet", "prod")
BINDING = of("ManagedClusterSetBinding", "prod", spec={"clusterSet": "prod"})
CLUSTERS = [cluster("c1", tier="canary"), cluster("c2"), cluster("c3")]
SURROUNDINGS = [SET, BINDING, *CLUSTERS]


def findings(*objects: Obj) -> list[Finding]:
    documents, errors = load_text(yaml.safe_dump_all(objects), "f.yaml")
    return preflight(Loaded(tuple(documents), tuple(errors)))


def told(*objects: Obj) -> list[tuple[str, str]]:
    """Severity and path of each finding."""
    return [(f.severity.name.lower(), f.path) for f in findings(*objects)]


def the_one(*objects: Obj) -> Finding:
    (found,) = findings(*objects)
    return found


def test_a_sound_set_of_files_has_no_findings() -> None:
    assert findings(*SURROUNDINGS, placement(), workload()) == []


def test_texts_that_cannot_be_read_come_first() -> None:
    text = "kind: Deployment\n---\na: [\n---\nkind: Placement\napiVersion: v1\n"
    documents, errors = load_text(text, "f.yaml")
    found = preflight(Loaded(tuple(documents), tuple(errors)))
    assert [(f.source, f.severity, f.path) for f in found] == [
        ("f.yaml:4", Severity.ERROR, ""),
        ("f.yaml:1", Severity.ERROR, "kind"),
        ("f.yaml:5", Severity.ERROR, "apiVersion"),
    ]
    assert found[1].remedy.endswith("what clusters should run belongs in a ManifestWorkReplicaSet")
    assert "ManifestWorkReplicaSet" not in found[2].remedy


def test_documents_of_our_own_kinds_are_left_to_those_who_read_them() -> None:
    scenario = {"apiVersion": "rollout-engine.io/v1alpha1", "kind": "AgentScenario"}
    assert findings(scenario) == []


def test_a_finding_reads_as_a_line() -> None:
    found = the_one(*SURROUNDINGS, placement(sortBy="Name"))
    assert str(found) == (
        "f.yaml:42: error: Placement apps/fleet spec.sortBy: 'Name' is not valid; "
        "accepted: one of ClusterName, Score"
    )


def test_findings_are_in_the_order_of_the_objects_errors_first() -> None:
    bad = workload(
        manifest(), manifest(), refs=[ref("nowhere", maxConcurrency="0%", maxFailures=-1)]
    )
    found = told(bad, placement(numberOfClusters=-1))
    assert [severity for severity, _ in found] == ["error", "error", "warning", "error", "warning"]


def test_the_same_object_twice_is_a_warning() -> None:
    found = the_one(*SURROUNDINGS, SET)
    assert (found.severity, found.object) == (Severity.WARNING, "ManagedClusterSet prod")
    assert found.message == "is in these files already (f.yaml:1)"


@pytest.mark.parametrize(
    ("annotation", "value", "accepted"),
    [
        ("semantics", "loose", "strict, ocm"),
        ("failure-tolerance", "strict", "Soft, Strict"),
        ("paused", "yes", "true, false"),
    ],
)
def test_annotations_of_ours_have_known_values(annotation: str, value: str, accepted: str) -> None:
    key = f"rollout-engine.io/{annotation}"
    found = the_one(*SURROUNDINGS, placement(), workload(annotations={key: value}))
    assert (found.severity, found.path) == (Severity.ERROR, f"metadata.annotations[{key}]")
    assert found.remedy == f"accepted: one of {accepted}"


# Manifests ---------------------------------------------------------------------------------------

MANIFESTS = "spec.manifestWorkTemplate.workload.manifests"


@pytest.mark.parametrize(
    ("changed", "path", "message"),
    [
        ({"metadata": {}}, "[1].metadata.name", "name must be set in manifest"),
        (
            {"metadata": {"name": "a", "generateName": "a-"}},
            "[1].metadata.generateName",
            "generateName must not be set in manifest",
        ),
        ({"apiVersion": ""}, "[1].apiVersion", "is missing"),
        ({"kind": None}, "[1].kind", "is missing"),
        (
            {},
            "[1]",
            "duplicate manifest for resource default/web with resource type apps/v1.Deployment",
        ),
    ],
)
def test_what_admission_refuses_is_an_error(changed: Obj, path: str, message: str) -> None:
    second = {**manifest(), **changed}
    found = the_one(*SURROUNDINGS, placement(), workload(manifest(), second))
    assert (found.severity, found.path, found.message) == (
        Severity.ERROR,
        MANIFESTS + path,
        message,
    )


def test_same_names_of_other_kinds_or_namespaces_are_no_duplicates() -> None:
    other = {**manifest(), "metadata": {"name": "web", "namespace": "other"}}
    objects = (manifest(), other, manifest("StatefulSet"))
    assert findings(*SURROUNDINGS, placement(), workload(*objects)) == []


def test_a_work_without_manifests_is_an_error() -> None:
    found = the_one(of("ManifestWork", "w", spec={"workload": {"manifests": []}}))
    assert (found.path, found.message) == (
        "spec.workload.manifests",
        "manifests should not be empty",
    )
    bare = {**workload(), "spec": {"placementRefs": [ref()]}}
    assert told(*SURROUNDINGS, placement(), bare)[0] == ("error", MANIFESTS)


def test_manifests_may_have_500_kb_and_not_one_byte_more() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": ""}}
    room = SIZE_LIMIT - size_of(config)

    def filled(count: int) -> Obj:
        return {**config, "data": {"k": "x" * count}}

    fits = room - 2  # the length of the longer text takes two bytes more
    assert size_of(filled(fits)) == SIZE_LIMIT
    for count, paths in ((fits, []), (fits + 1, ["spec.workload.manifests"])):
        work = of("ManifestWork", "w", spec={"workload": {"manifests": [filled(count)]}})
        assert [f.path for f in findings(work)] == paths
    message = findings(
        of("ManifestWork", "w", spec={"workload": {"manifests": [filled(fits + 1)]}})
    )[0].message
    assert message == "the size of manifests is 512001 bytes which exceeds the 512000 limit"


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Deployment", "deployments"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
    ],
)
def test_resources_are_guessed_from_kinds(kind: str, resource: str) -> None:
    assert plural_of(kind) == resource


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "other"},
        {"namespace": ""},
        {"group": ""},
        {"resource": "deployment"},
        {"name": "w*x"},
    ],
)
def test_a_configuration_that_matches_nothing_is_a_warning_with_advice(
    wrong: dict[str, str],
) -> None:
    config = {"resourceIdentifier": identifier(**wrong)}
    found = the_one(*SURROUNDINGS, placement(), workload(configs=[RULES, config]))
    path = "spec.manifestWorkTemplate.manifestConfigs[1].resourceIdentifier"
    assert (found.severity, found.path) == (Severity.WARNING, path)
    assert found.message == "matches no manifest of this template: it is unused"
    assert "Deployment default/web" in found.remedy


@pytest.mark.parametrize(
    "right", [{"name": "*"}, {"name": "w*b"}, {"namespace": "*"}, {"namespace": "def*"}]
)
def test_names_and_namespaces_may_hold_wildcards(right: dict[str, str]) -> None:
    config = {**RULES, "resourceIdentifier": identifier(**right)}
    assert findings(*SURROUNDINGS, placement(), workload(configs=[config])) == []


# Progress ----------------------------------------------------------------------------------------

RULE = "spec.manifestWorkTemplate.manifestConfigs[0].conditionRules[0]"


def only(config: Obj, *manifests: Obj, **more: Any) -> list[Finding]:
    return findings(*SURROUNDINGS, placement(), workload(*manifests, configs=[config], **more))


def test_a_progressing_rule_that_matches_nothing_can_never_report() -> None:
    first, second = only({**RULES, "resourceIdentifier": identifier("other")})
    assert (first.severity, first.path) == (Severity.ERROR, RULE)
    assert first.message.startswith("nothing can ever report progress: ")
    assert second.message.endswith("its condition rules never apply")


def test_a_well_known_progressing_rule_can_never_report() -> None:
    rule = {"condition": "Progressing", "type": "WellKnownConditions"}
    first, second = only({**RULES, "conditionRules": [rule]})
    assert first.message.startswith("nothing can ever report progress: ")
    assert (
        second.message == "sets nothing: WellKnownConditions knows only Complete, for Jobs and Pods"
    )


def test_rules_behind_an_earlier_configuration_never_apply() -> None:
    first = {
        "resourceIdentifier": identifier("*"),
        "conditionRules": [{"condition": "Degraded", "type": "CEL", "celExpressions": ["x"]}],
    }
    (found,) = findings(*SURROUNDINGS, placement(), workload(configs=[first, RULES]))
    assert found.path == "spec.manifestWorkTemplate.manifestConfigs[1].conditionRules[0]"
    assert found.message.startswith("nothing can ever report progress: ")


@pytest.mark.parametrize(
    ("expression", "severity", "message"),
    [
        ("true", Severity.ERROR, "nothing can ever finish: "),
        (" false ", Severity.WARNING, "Progressing is always False: "),
    ],
)
def test_a_constant_progressing_rule_is_reported(
    expression: str, severity: Severity, message: str
) -> None:
    (found,) = only({**RULES, "conditionRules": [{**PROGRESSING, "celExpressions": [expression]}]})
    assert (found.severity, found.path) == (severity, f"{RULE}.celExpressions")
    assert found.message.startswith(message)


def test_complete_freezes_a_work() -> None:
    rule = {"condition": "Complete", "type": "WellKnownConditions"}
    job = manifest("Job", "j", "batch/v1")
    config = {
        "resourceIdentifier": {**identifier("j", group="batch", resource="jobs")},
        "conditionRules": [rule, PROGRESSING],
    }
    (found,) = only(config, job)
    assert (found.severity, found.path) == (Severity.WARNING, RULE)
    assert found.message.startswith("once Complete is True")


def test_degraded_on_several_manifests_hides_a_failure() -> None:
    rule = {"condition": "Degraded", "type": "CEL", "celExpressions": ["x"]}
    config = {"resourceIdentifier": identifier("*"), "conditionRules": [rule, PROGRESSING]}
    assert only(config, manifest()) == []
    (found,) = only(config, manifest(), manifest(name="api"))
    assert (found.severity, found.path) == (Severity.WARNING, RULE)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("ReadOnly", "every manifest is ReadOnly: "),
        ("CreateOnly", "every manifest is CreateOnly: "),
    ],
)
def test_a_rollout_that_changes_nothing_is_a_warning(strategy: str, message: str) -> None:
    (found,) = only({**RULES, "updateStrategy": {"type": strategy}})
    assert found.path == "spec.manifestWorkTemplate.manifestConfigs"
    assert found.message.startswith(message)
    assert (
        only({**RULES, "updateStrategy": {"type": strategy}}, manifest(), manifest(name="b")) == []
    )


@pytest.mark.parametrize(
    ("annotations", "kind", "severity"),
    [
        ({}, "Progressive", Severity.INFO),
        ({"rollout-engine.io/semantics": "strict"}, "All", Severity.INFO),
        ({"rollout-engine.io/semantics": "ocm"}, "Progressive", Severity.ERROR),
        ({"rollout-engine.io/semantics": "ocm"}, "All", Severity.WARNING),
    ],
)
def test_a_template_without_a_progressing_rule(
    annotations: Obj, kind: str, severity: Severity
) -> None:
    web = workload(configs=[], refs=[ref(kind=kind)], annotations=annotations)
    found = the_one(*SURROUNDINGS, placement(), web)
    assert (found.severity, found.path) == (severity, "spec.manifestWorkTemplate.manifestConfigs")


# Rollouts ----------------------------------------------------------------------------------------


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


def test_objects_without_a_namespace_are_in_the_one_asked_for() -> None:
    def here(obj: Obj) -> Obj:
        return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "namespace"}}

    objects = [SET, *CLUSTERS, here(BINDING), here(placement()), here(workload())]
    documents, _ = load_text(yaml.safe_dump_all(objects), "f.yaml")
    assert preflight(Loaded(tuple(documents)), "team") == []


VALUES: list[object] = [None, True, -1, 1.5, "", "x y", [], [[]], {}, {"a": 0}]


def every_place(obj: Any, value: object) -> list[Any]:
    """Copies of ``obj``, each with ``value`` in another place."""
    places: list[Any] = [value]
    if isinstance(obj, dict):
        for name, inner in obj.items():
            places += [{**obj, name: new} for new in every_place(inner, value)]
    elif isinstance(obj, list):
        for i, inner in enumerate(obj):
            places += [[*obj[:i], new, *obj[i + 1 :]] for new in every_place(inner, value)]
    return places


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
    return Loaded(tuple(Document(obj, f"f:{i}", i) for i, obj in enumerate(objects)))
