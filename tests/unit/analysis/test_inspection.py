"""What only those who will read the files can say of them: expressions, and where gates will stand."""

from typing import Any

import pytest
import yaml

from rollout.analysis.inspection import inspect
from rollout.api.load import Loaded, load_text
from rollout.api.preflight import Finding, Severity
from rollout.model.kinds import Obj
from tests.support.preflight import RULES, SURROUNDINGS, of, placement, ref, workload

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


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("analisys/slo", "did you mean analysis?"),
        ("weekday=Tue", "correct the word, or install its package here, too"),
    ],
)
def test_a_gate_of_a_kind_that_is_not_installed_is_a_warning(kind: str, remedy: str) -> None:
    (found,) = inspected(IN_GROUPS, gated(f"before:rest={kind}", ref()))

    assert (found.severity, found.path, found.remedy) == (Severity.WARNING, GATES, remedy)
    assert f"no kind of gate is called {kind.partition('/')[0]!r}; there are: " in found.message


def test_a_gate_in_a_placement_that_the_workload_does_not_have_is_an_error() -> None:
    (found,) = inspected(IN_GROUPS, gated("before:flet/rest", ref()))

    assert (found.severity, found.path) == (Severity.ERROR, GATES)
    assert "no placementRef is called flet: the workload would be held" in found.message
    assert found.remedy == "did you mean fleet?"


@pytest.mark.parametrize("gates", ["before:flet/rest", "before:rset"])
def test_a_gate_that_stands_nowhere_holds_nothing_in_profile_ocm(gates: str) -> None:
    workload = gated(gates, ref())
    workload["metadata"]["annotations"]["rollout-engine.io/semantics"] = "ocm"

    assert [f for f in inspected(IN_GROUPS, workload) if "held" in f.message] == []


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


def window(action: str, schedule: str, duration: str) -> Obj:
    return {"name": action.lower(), "action": action, "schedule": schedule, "duration": duration}


NIGHT = window("Allow", "0 22 * * *", "2h")
DATED = {"name": "once", "action": "Allow", "from": "2020-01-01T00:00", "until": "2020-01-02T00:00"}


def calendar(*windows: Obj, **spec: Any) -> Obj:
    return of("ClusterCalendar", "nights", spec={"windows": list(windows or [NIGHT]), **spec})


def cluster(**labels: str) -> Obj:
    obj = of("ManagedCluster", "one", spec={"hubAcceptsClient": True})
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("windows", "never"),
    [
        pytest.param([NIGHT], False, id="nights"),
        pytest.param([NIGHT, window("Deny", "0 22 * * *", "1h")], False, id="a part is left"),
        pytest.param([NIGHT, window("Deny", "0 21 * * *", "3h")], True, id="nothing is left"),
        pytest.param([window("Deny", "0 0 * * *", "25h")], True, id="always denied"),
        pytest.param([DATED], False, id="once, and over"),
        pytest.param([{**DATED, "action": "Deny"}, NIGHT], False, id="not for a day"),
        pytest.param([DATED, {**DATED, "name": "no", "action": "Deny"}], True, id="both at once"),
    ],
)
def test_a_calendar_that_never_opens_is_a_warning(windows: list[Obj], never: bool) -> None:
    found = [each for each in inspected(calendar(*windows)) if each.path == "spec.windows"]

    assert [each.severity for each in found] == [Severity.WARNING] * never
    assert all("it never opens in UTC" in each.message for each in found)


@pytest.mark.parametrize(
    ("labels", "spec", "words"),
    [
        pytest.param({"zone": "UTC"}, {}, "", id="it has it"),
        pytest.param({"Zone": "UTC"}, {}, "all of them stay closed", id="another label"),
        pytest.param({}, {"timeZone": "Asia/Tokyo"}, "taken to be in Asia/Tokyo", id="a fallback"),
        pytest.param(
            {}, {"clusters": {"labelSelector": {"matchLabels": {"x": "y"}}}}, "", id="of nobody"
        ),
    ],
)
def test_a_label_for_zones_that_no_cluster_has_is_a_warning(
    labels: dict[str, str], spec: Obj, words: str
) -> None:
    named = inspected(cluster(**labels), calendar(timeZoneFrom={"label": "zone"}, **spec))
    found = [each for each in named if each.path == "spec.timeZoneFrom.label"]

    assert len(found) == bool(words)
    assert all(words in each.message for each in found)


def test_an_expression_of_a_calendar_knows_no_time() -> None:
    text = "now > timestamp('2026-01-01T00:00:00Z')"
    (found,) = inspected(calendar(clusters={"celSelector": {"celExpressions": [text]}}))

    assert found.severity is Severity.ERROR
    assert found.path == "spec.clusters.celSelector.celExpressions[0]"
    assert "undeclared reference to 'now'" in found.remedy
