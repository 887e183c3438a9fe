"""What is told of manifests and of how their progress is to be read, before anything is written?"""

from typing import Any

import pytest

from rollout.api.preflight import Finding, Severity
from rollout.api.preflight.manifests import plural_of
from rollout.model.kinds import Obj
from rollout.model.work import SIZE_LIMIT, size_of
from tests.support.preflight import (
    PROGRESSING,
    RULES,
    SURROUNDINGS,
    findings,
    identifier,
    manifest,
    of,
    placement,
    ref,
    the_one,
    told,
    workload,
)

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

GUARD = "object.?status.?observedGeneration.orValue(0) >= object.metadata.generation"
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
        "conditionRules": [{"condition": "Degraded", "type": "CEL", "celExpressions": [GUARD]}],
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
    rule = {"condition": "Degraded", "type": "CEL", "celExpressions": [GUARD]}
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


@pytest.mark.parametrize(
    ("expressions", "warned"),
    [
        (["object.status.replicas == 0"], True),
        ([f"{GUARD} && object.status.replicas == 0"], False),
        ([GUARD, "object.status.replicas == 0"], False),
    ],
)
def test_a_degraded_rule_on_a_deployment_that_is_not_guarded_is_a_warning(
    expressions: list[str], warned: bool
) -> None:
    rule = {"condition": "Degraded", "type": "CEL", "celExpressions": expressions}
    config = {"resourceIdentifier": identifier(), "conditionRules": [rule]}
    found = [f for f in only(config) if "observedGeneration" in f.message]

    assert [(f.severity, f.path) for f in found] == (
        [(Severity.WARNING, f"{RULE}.celExpressions")] if warned else []
    )
    assert all(GUARD in f.remedy for f in found)
