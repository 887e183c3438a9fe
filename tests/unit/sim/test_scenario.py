"""AgentScenario files: what is read, what is refused, and with which words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rollout.errors import ConfigError
from rollout.sim.paths import steps_of, values_at
from rollout.sim.scenario import AgentOutcome, Behaviour, Delay, Scenario
from rollout.sim.scenario_file import is_scenario, load_scenario, parse_scenario, read_scenario
from rollout.sim.timeline import draws, span

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def scenario_of(**spec: Any) -> Scenario:
    return Scenario.model_validate({"spec": spec})


def problems_of(**spec: Any) -> list[str]:
    document = {"apiVersion": "rollout-engine.io/v1alpha1", "kind": "AgentScenario", "spec": spec}
    return [str(problem) for problem in read_scenario(document)[1]]


def test_an_empty_scenario_means_healthy_agents() -> None:
    found = Scenario()

    assert found.spec.defaults.outcome is AgentOutcome.SUCCESS
    assert found.spec.finalizers
    assert found == Scenario.model_validate({})


EVERYTHING = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
metadata: {name: all}
spec:
  seed: 7
  finalizers: false
  resourceStatus: true
  defaults: {applyAfter: 1s, readyAfter: {min: 1s, max: 1m}, deleteAfter: 0s}
  rules:
  - clusters: {names: [a*, b], matchLabels: {region: eu}}
    behaviour:
      outcome: hang
      recoverAfter: {mean: 1m, sigma: 10s, min: 5s, max: 2m}
      flapping: {period: 500ms, count: 3}
      offline: [{from: 2026-01-01T00:01:00Z, to: 2026-01-01T00:02:00Z}, {from: 1h}]
      availability: False
      clockSkew: -1m30s
      flaws: {staleEvaluation: true, missedProgress: true, evaluationInterval: 15s}
  - manifests: {kind: Deployment, name: web*, image: "*:2", matchLabels: {a: b}, path: "x[*].y", equals: 3}
    revision: ab*
    behaviour: {outcome: failApply, alternative: {probability: 0.25, outcome: silent}}
  fleetEvents:
  - {at: 1m, deleteClusters: {names: [x]}}
  - {at: 2026-01-01T00:03:00Z, relabelClusters: {matchLabels: {a: b}, labels: {c: d, e: null}}}
  - {at: 2m, patch: {kind: mwrs, namespace: default, name: web, patch: {spec: {x: 1}}}}
  - {at: 3m, delete: {kind: placement, namespace: default, name: all}}
  - {at: 4m, create: {kind: ManagedCluster, metadata: {name: new}}}
"""


def test_everything_that_can_be_said_is_read() -> None:
    spec = parse_scenario(EVERYTHING).spec
    first, second = spec.rules

    assert (spec.seed, spec.finalizers, spec.resource_status) == (7, False, True)
    assert first.behaviour.clock_skew == timedelta(seconds=-90)
    assert first.behaviour.availability == "False"
    assert first.behaviour.offline[0].from_.on(T0) == T0 + timedelta(minutes=1)
    assert first.behaviour.offline[1].from_.on(T0) == T0 + timedelta(hours=1)
    assert first.behaviour.offline[1].to is None
    assert second.behaviour.alternative is not None
    assert second.behaviour.alternative.outcome is AgentOutcome.SILENT
    assert [event.at.on(T0) - T0 for event in spec.fleet_events] == [
        timedelta(minutes=m) for m in (1, 3, 2, 3, 4)
    ]


def test_a_rule_leaves_what_it_does_not_say_to_the_defaults() -> None:
    defaults = Behaviour.model_validate({"applyAfter": "7s", "outcome": "hang"})
    said = Behaviour.model_validate({"applyAfter": "1s"})

    assert said.over(defaults).apply_after == Delay.model_validate("1s")
    assert said.over(defaults).outcome is AgentOutcome.HANG
    assert Behaviour().over(defaults) == defaults


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"defaults": {"applyAfter": "3 s"}},
            "spec.defaults.applyAfter: '3 s' is not valid: a duration of 0 or more such as \"90s\"",
        ),
        (
            {"defaults": {"applyAfter": {"min": "1s"}}},
            "is not valid: min and max, or mean and sigma",
        ),
        (
            {"defaults": {"applyAfter": {"min": "2s", "max": "1s"}}},
            "is not valid: a max that is not below min",
        ),
        ({"defaults": {"readyAfter": {"mean": "2s"}}}, "is not valid: mean and sigma together"),
        (
            {"defaults": {"outcome": "nope"}},
            "spec.defaults.outcome: 'nope' is not valid: one of success, fail, failApply, hang, silent",
        ),
        (
            {"defaults": {"aplyAfter": "1s"}},
            "spec.defaults.aplyAfter: '1s' is not valid: there is no such field; did you mean applyAfter?",
        ),
        (
            {"defaults": {"alternative": {"probability": 1.5}}},
            "spec.defaults.alternative.probability: 1.5 is not valid: at most 1.0",
        ),
        ({"defaults": {"flapping": {"period": "0s"}}}, "is not valid: a period of at least 1ms"),
        (
            {"defaults": {"offline": [{"from": "5m", "to": "5m"}]}},
            "is not valid: a to that is later than from",
        ),
        ({"defaults": {"offline": [{"from": "soon"}]}}, "spec.defaults.offline[0].from: 'soon'"),
        ({"defaults": {"availability": "Maybe"}}, "is not valid: one of False, Unknown"),
        ({"seed": "x"}, "spec.seed: 'x' is not valid: a whole number"),
        ({"rules": [{"clusters": {"names": "x"}}]}, "spec.rules[0].clusters.names: 'x'"),
        ({"rules": [{"manifests": {}}]}, "is not valid: at least one of kind, name, image"),
        ({"rules": [{"manifests": {"path": "a"}}]}, "is not valid: path and equals together"),
        (
            {"rules": [{"manifests": {"path": "a[", "equals": 1}}]},
            "is not valid: a path such as",
        ),
        (
            {"rules": [{"revision": "a", "behaviour": {"offline": []}}]},
            "offline, availability and clockSkew only in rules without revision and manifests",
        ),
        ({"fleetEvents": [{"at": "1m"}]}, "is not valid: exactly one of deleteClusters,"),
        (
            {"fleetEvents": [{"at": "1m", "delete": {"kind": "pod", "name": "x"}}]},
            "spec.fleetEvents[0].delete.kind: 'pod' is not valid: a kind: one of ManagedCluster,",
        ),
        (
            {"fleetEvents": [{"at": "1m", "delete": {"kind": "placement", "name": "x"}}]},
            "is not valid: a Placement with a namespace",
        ),
        (
            {"fleetEvents": [{"at": "1m", "deleteClusters": {}}]},
            "is not valid: names or matchLabels in deleteClusters",
        ),
        (
            {
                "fleetEvents": [
                    {"at": "1m", "create": {"kind": "Placement", "metadata": {"name": "x"}}}
                ]
            },
            "is not valid: an object to create with metadata.namespace",
        ),
    ],
)
def test_a_bad_field_is_named_with_its_value_and_what_is_accepted(
    spec: dict[str, Any], expected: str
) -> None:
    found = problems_of(**spec)

    assert len(found) == 1
    assert expected in found[0]


def test_all_bad_fields_are_told_at_once() -> None:
    found = problems_of(seed="x", sed=1, defaults={"outcome": "no", "applyAfter": "no"})

    assert [line.partition(":")[0] for line in found] == [
        "spec.seed",
        "spec.defaults.applyAfter",
        "spec.defaults.outcome",
        "spec.sed",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "scenario:"),
        ("kind: ConfigMap", "expected one document of kind AgentScenario"),
        ("kind: AgentScenario\n---\nkind: AgentScenario", "found 2"),
        ("kind: AgentScenario\nspec: {seed: 1, seed: 2}", "scenario:2"),
        ("kind: AgentScenario\napiVersion: v2", "apiVersion: 'v2' is not valid"),
    ],
)
def test_a_text_that_is_no_scenario_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected.replace("[", r"\[")):
        parse_scenario(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_scenario(tmp_path / "nowhere.yaml")


def test_other_kinds_beside_the_scenario_are_passed_over() -> None:
    text = "kind: ConfigMap\n---\napiVersion: rollout-engine.io/v1alpha1\nkind: AgentScenario\n"

    assert parse_scenario(text) == Scenario()
    assert not is_scenario({"kind": "ConfigMap"})
    assert not is_scenario(["kind", "AgentScenario"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.items[0].image", ["a"]),
        ("$.spec.items[*].image", ["a", "b"]),
        ("spec['a.b']", [3]),
        ("spec.items[9].image", []),
        ("spec.items.image", []),
        ("spec.nothing", []),
    ],
)
def test_a_path_leads_to_its_values(path: str, expected: list[object]) -> None:
    document = {"spec": {"items": [{"image": "a"}, {"image": "b"}], "a.b": 3}}

    assert values_at(document, path) == expected


@pytest.mark.parametrize("path", ["", "$", "a[", "a[x]", "a]"])
def test_what_is_no_path_is_recognised(path: str) -> None:
    assert steps_of(path) is None


def test_draws_depend_on_every_argument_and_on_nothing_else() -> None:
    base = draws(1, "c/w", 1, 1)
    others = [
        draws(2, "c/w", 1, 1),
        draws(1, "c/v", 1, 1),
        draws(1, "c/w", 2, 1),
        draws(1, "c/w", 1, 2),
    ]

    assert base == draws(1, "c/w", 1, 1)
    assert len({base, *others}) == 5
    assert all(0 <= number < 1 for number in base)


def test_the_first_draw_of_a_known_seed_never_changes() -> None:
    """State files and scenarios rely on it: a new version must not deal other cards."""
    assert draws(310, "prod-us-west-01/storefront", 1, 1)[0] == pytest.approx(FIRST, abs=1e-15)


FIRST = 0.26684705032881095


@pytest.mark.parametrize(
    ("delay", "low", "high"),
    [
        ("5s", 5, 5),
        ({"min": "1s", "max": "3s"}, 1, 3),
        ({"mean": "10s", "sigma": "0s"}, 10, 10),
        ({"mean": "10s", "sigma": "5s"}, 0, 60),
        ({"mean": "10s", "sigma": "50s", "min": "4s", "max": "11s"}, 4, 11),
    ],
)
def test_a_delay_stays_within_its_bounds(delay: Any, low: int, high: int) -> None:
    found = Delay.model_validate(delay)
    spans = [span(found, number / 1000) for number in range(1000)]

    assert min(spans) >= low * SECOND
    assert max(spans) <= high * SECOND
    assert spans == sorted(spans)


def test_a_uniform_delay_reaches_both_of_its_ends() -> None:
    found = Delay.model_validate({"min": "0s", "max": "3us"})

    assert {span(found, n / 8) for n in range(8)} == {timedelta(microseconds=n) for n in range(4)}


def test_a_normal_delay_has_its_mean_in_the_middle() -> None:
    found = Delay.model_validate({"mean": "10s", "sigma": "2s"})

    assert span(found, 0.5) == 10 * SECOND
    assert span(found, 0.841344746) == pytest.approx(12 * SECOND, abs=timedelta(milliseconds=1))
