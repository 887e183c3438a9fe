"""What only those who will read the files can say of them: expressions, and where gates will stand."""

import pytest
import yaml

from rollout.analysis.inspection import inspect
from rollout.api.load import Loaded, load_text
from rollout.api.preflight import Finding, Severity
from rollout.model.kinds import Obj
from tests.support.preflight import RULES, SURROUNDINGS, placement, ref, workload

GATES = "metadata.annotations[rollout-engine.io/gates]"
WORK = "spec.manifestWorkTemplate.manifestConfigs[0].conditionRules[0]"
IN_GROUPS = placement(
    decisionStrategy={
        "groupStrategy": {"decisionGroups": [{"groupName": "west"}, {"groupName": "east"}]}
    }
)


def inspected(*objects: Obj) -> list[Finding]:
    documents, errors = load_text(yaml.safe_dump_all([*SURROUNDINGS, *objects]), "f.yaml")
    return inspect(Loaded(tuple(documents), tuple(errors)))


def choosing(expression: str) -> Obj:
    selector = {"celSelector": {"celExpressions": [expression]}}
    return placement(predicates=[{"requiredClusterSelector": selector}])


def ruled(expression: str, **more: str) -> Obj:
    rule = {"condition": "Progressing", "type": "CEL", "celExpressions": [expression], **more}
    return workload(configs=[{**RULES, "conditionRules": [rule]}])


def gated(gates: str, *refs: Obj) -> Obj:
    return workload(refs=list(refs) or None, annotations={"rollout-engine.io/gates": gates})


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        pytest.param("managedCluster.metadata.name ==", "1:32: Syntax error", id="cut off"),
        pytest.param("cluster.x == 1", "undeclared reference", id="another variable"),
        pytest.param("1 + 1", "true or false", id="not a bool"),
    ],
)
def test_an_expression_that_cannot_select_is_an_error(expression: str, words: str) -> None:
    (found,) = inspected(choosing(expression), workload())

    assert found.severity is Severity.ERROR
    assert found.path.endswith("celSelector.celExpressions[0]")
    assert words in found.message
    assert "\n" not in found.message


@pytest.mark.parametrize(
    ("expression", "severity", "words"),
    [
        pytest.param("object.x ==", "ERROR", "Syntax error", id="cut off"),
        pytest.param("objct.x == 1", "WARNING", "nothing called objct", id="a misspelt variable"),
        pytest.param("hasX(object.x)", "WARNING", "nothing called hasX", id="no such function"),
    ],
)
def test_a_condition_rule_that_would_fail_on_the_agent_is_told(
    expression: str, severity: str, words: str
) -> None:
    (found,) = inspected(placement(), ruled(expression))

    assert (found.severity.name, found.path) == (severity, f"{WORK}.celExpressions[0]")
    assert words in found.message


def test_the_syntax_of_a_message_is_looked_at_too() -> None:
    (found,) = inspected(placement(), ruled("object.x == 1", messageExpression="'a' +"))

    assert (found.severity, found.path) == (Severity.ERROR, f"{WORK}.messageExpression")


def test_rules_as_agents_can_read_them_have_no_findings() -> None:
    expression = (
        "hasConditions(object.status) && object.status.conditions.exists(c, c.type == 'x')"
        " && object.?spec.?replicas.orValue(0) < quantity('5').asInteger() // enough"
    )
    more = {"messageExpression": "result ? object.metadata.name : 'no'"}

    assert inspected(placement(), ruled(expression, **more)) == []


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        pytest.param("before:rset", "matches no stage", id="a misspelt word"),
        pytest.param("after:wset", "there are: west, rest", id="a misspelt group"),
        pytest.param("before:east", "there are: west, rest", id="a group that is no stage"),
    ],
)
def test_a_gate_that_would_stand_nowhere_is_a_warning(gates: str, words: str) -> None:
    (found,) = inspected(
        IN_GROUPS, gated(gates, ref(mandatoryDecisionGroups=[{"groupName": "west"}]))
    )

    assert (found.severity, found.path) == (Severity.WARNING, GATES)
    assert words in found.message


def test_a_gate_in_a_placement_that_the_workload_does_not_have_is_an_error() -> None:
    (found,) = inspected(IN_GROUPS, gated("before:flet/rest", ref()))

    assert (found.severity, found.path) == (Severity.ERROR, GATES)
    assert "no placementRef is called flet: the workload would be held" in found.message
    assert found.remedy == "did you mean fleet?"


@pytest.mark.parametrize(
    "gates", ["before:rest", "after:west", "before:*", "before:1", "after:fleet/west"]
)
def test_a_gate_that_stands_or_may_stand_is_none(gates: str) -> None:
    reference = ref(mandatoryDecisionGroups=[{"groupName": "west"}])

    assert inspected(IN_GROUPS, gated(gates, reference)) == []


def test_a_gate_at_a_placement_that_is_elsewhere_is_not_judged() -> None:
    found = inspected(placement(), gated("before:rset", ref("elsewhere")))

    assert [f.path for f in found] == ["spec.placementRefs[0].name"]


def test_a_gate_that_stands_in_one_placement_of_two_is_answered_with_how_to_write_it() -> None:
    core, edge = placement(), placement()
    core["metadata"]["name"], edge["metadata"]["name"] = "core", "edge"
    limited = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    refs = (
        {"name": "core", "rolloutStrategy": {"type": "All"}},
        {"name": "edge", "rolloutStrategy": limited},
    )

    found = inspected(core, edge, gated("before:rest", *refs))

    (wrong,) = [each for each in found if "matches no stage" in each.message]
    assert wrong.message.startswith("placement core: gate before:rest")
    assert wrong.remedy == "write before:edge/rest where it stands"
