"""A rolloutStrategy becomes a spec, or a list of what is wrong with it."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.replicaset import decode_replicaset
from rollout.api.strategy import read_strategy
from rollout.model.amounts import Amount
from rollout.model.replicaset import GroupRef, RolloutSpec

PATH = "spec.placementRefs[0].rolloutStrategy"
MINUTES = timedelta(minutes=1)


def progressive(**fields: Any) -> dict[str, Any]:
    return {"type": "Progressive", "progressive": fields}


@pytest.mark.parametrize(
    ("raw", "spec"),
    [
        (None, RolloutSpec()),
        ({}, RolloutSpec()),
        ({"type": ""}, RolloutSpec()),
        ({"type": "All", "all": {"progressDeadline": "None"}}, RolloutSpec()),
        (
            {"type": "All", "all": {"minSuccessTime": "5m"}},
            RolloutSpec(min_success_time=5 * MINUTES),
        ),
        ({"type": "Progressive"}, RolloutSpec("Progressive")),
        ({"type": "Progressive", "progressive": None}, RolloutSpec("Progressive")),
        (
            progressive(
                minSuccessTime="5m",
                progressDeadline="10m",
                maxFailures=2,
                maxConcurrency="25%",
                mandatoryDecisionGroups=[{"groupName": "canary"}, {"groupIndex": 1}, {}],
            ),
            RolloutSpec(
                "Progressive",
                min_success_time=5 * MINUTES,
                deadline=10 * MINUTES,
                max_failures=Amount(2),
                concurrency=Amount(25, percent=True, written=True),
                mandatory=(GroupRef("canary"), GroupRef(index=1), GroupRef()),
            ),
        ),
        (
            {"type": "ProgressivePerGroup", "progressivePerGroup": {"maxFailures": "10%"}},
            RolloutSpec("ProgressivePerGroup", max_failures=Amount(10, percent=True, written=True)),
        ),
        ({"type": "All", "progressive": {"maxFailures": "nonsense"}}, RolloutSpec()),
        (progressive(progressDeadline=""), RolloutSpec("Progressive")),
        (progressive(progressDeadline=None), RolloutSpec("Progressive")),
        (progressive(progressDeadline="1s"), RolloutSpec("Progressive", deadline=MINUTES / 60)),
        (progressive(maxFailures=None), RolloutSpec("Progressive")),
        (
            progressive(maxFailures="5"),
            RolloutSpec("Progressive", max_failures=Amount(5, written=True)),
        ),
        (progressive(maxConcurrency=0), RolloutSpec("Progressive")),
        (
            progressive(maxConcurrency="0"),
            RolloutSpec("Progressive", concurrency=Amount(0, written=True)),
        ),
        (
            progressive(maxConcurrency="0%"),
            RolloutSpec("Progressive", concurrency=Amount(0, percent=True, written=True)),
        ),
    ],
)
def test_what_is_well_formed_is_read(raw: object, spec: RolloutSpec) -> None:
    assert read_strategy(raw, PATH) == (spec, ())


AMOUNT = 'a whole number of 0 or more, or a percentage from "0%" to "100%"'
DEADLINE = 'a duration of 1 second or more such as "90s", "10m" or "1h30m", or "None"'
DURATION = 'a duration of 0 or more such as "90s", "10m" or "1h30m"'


@pytest.mark.parametrize(
    ("raw", "path", "value", "accepted"),
    [
        (5, "", 5, "an object"),
        ({"type": "Fast"}, ".type", "Fast", "one of All, Progressive, ProgressivePerGroup"),
        ({"type": 5}, ".type", 5, "one of All, Progressive, ProgressivePerGroup"),
        ({"type": "All", "all": []}, ".all", [], "an object"),
        (progressive(maxFailures="150%"), ".progressive.maxFailures", "150%", AMOUNT),
        (progressive(maxFailures=-1), ".progressive.maxFailures", -1, AMOUNT),
        (progressive(maxFailures=True), ".progressive.maxFailures", True, AMOUNT),
        (progressive(maxConcurrency="12.5%"), ".progressive.maxConcurrency", "12.5%", AMOUNT),
        (progressive(progressDeadline="0s"), ".progressive.progressDeadline", "0s", DEADLINE),
        (progressive(progressDeadline="999ms"), ".progressive.progressDeadline", "999ms", DEADLINE),
        (progressive(progressDeadline="xNone"), ".progressive.progressDeadline", "xNone", DEADLINE),
        (progressive(progressDeadline="-5m"), ".progressive.progressDeadline", "-5m", DEADLINE),
        (progressive(progressDeadline=600), ".progressive.progressDeadline", 600, DEADLINE),
        (progressive(minSuccessTime="5"), ".progressive.minSuccessTime", "5", DURATION),
        (progressive(minSuccessTime="-5m"), ".progressive.minSuccessTime", "-5m", DURATION),
        (progressive(minSuccessTime=5), ".progressive.minSuccessTime", 5, DURATION),
        (
            progressive(mandatoryDecisionGroups={}),
            ".progressive.mandatoryDecisionGroups",
            {},
            "a list",
        ),
        (
            progressive(mandatoryDecisionGroups=["canary"]),
            ".progressive.mandatoryDecisionGroups[0]",
            "canary",
            "an object",
        ),
        (
            progressive(mandatoryDecisionGroups=[{}, {"groupIndex": -1}]),
            ".progressive.mandatoryDecisionGroups[1].groupIndex",
            -1,
            "a whole number of 0 or more",
        ),
        (
            progressive(mandatoryDecisionGroups=[{"groupName": 5}]),
            ".progressive.mandatoryDecisionGroups[0].groupName",
            5,
            "a string: put it in quotes",
        ),
    ],
)
def test_what_cannot_be_honoured_says_where_and_what_is_accepted(
    raw: object, path: str, value: object, accepted: str
) -> None:
    spec, (problem,) = read_strategy(raw, PATH)
    assert spec is None
    assert (problem.path, problem.value, problem.accepted) == (PATH + path, value, accepted)


def test_all_problems_are_told_at_once() -> None:
    raw = progressive(minSuccessTime="x", progressDeadline="0s", maxFailures="x", maxConcurrency=-1)
    _, problems = read_strategy(raw, PATH)
    assert [p.path.rpartition(".")[2] for p in problems] == [
        "minSuccessTime",
        "progressDeadline",
        "maxFailures",
        "maxConcurrency",
    ]


def replicaset(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "ns", "name": "web", "uid": "u", "generation": 1},
        "spec": {
            "manifestWorkTemplate": {"workload": {"manifests": [{"kind": "ConfigMap"}]}},
            "placementRefs": [{"name": "p"}],
            **spec,
        },
    }


def test_a_bad_strategy_holds_its_reference_and_no_other() -> None:
    bad = progressive(maxFailures="x")
    found = decode_replicaset(
        replicaset(placementRefs=[{"name": "p"}, {"name": "q", "rolloutStrategy": bad}])
    )
    assert [(ref.name, ref.rollout) for ref in found.refs] == [("p", RolloutSpec()), ("q", None)]
    assert found.refs[1].raw is bad
    assert found.problems == ()
    path = "spec.placementRefs[1].rolloutStrategy.progressive.maxFailures"
    assert [p.path for p in found.refs[1].problems] == [path]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"placementRefs": []}, "spec.placementRefs"),
        ({"placementRefs": None}, "spec.placementRefs"),
        ({"placementRefs": [{"name": "p"}, {"name": ""}]}, "spec.placementRefs[1].name"),
        ({"placementRefs": [{"name": "p"}, {}]}, "spec.placementRefs[1].name"),
        ({"placementRefs": [{"name": "p"}, 5]}, "spec.placementRefs[1]"),
        ({"cascadeDeletionPolicy": "Never"}, "spec.cascadeDeletionPolicy"),
        ({"manifestWorkTemplate": {}}, "spec.manifestWorkTemplate.workload.manifests"),
        ({"manifestWorkTemplate": None}, "spec.manifestWorkTemplate.workload.manifests"),
        (
            {
                "manifestWorkTemplate": {
                    "workload": {"manifests": [{}]},
                    "manifestConfigs": [{"conditionRules": 5}],
                }
            },
            "spec.manifestWorkTemplate.manifestConfigs[0].conditionRules",
        ),
    ],
)
def test_what_is_wrong_with_a_replicaset_is_named(spec: dict[str, Any], path: str) -> None:
    assert [p.path for p in decode_replicaset(replicaset(**spec)).problems] == [path]


def test_the_rules_of_a_template_are_its_condition_types() -> None:
    configs = [
        {"conditionRules": [{"condition": "Progressing"}, {"condition": "Degraded"}]},
        {"conditionRules": [{"condition": "Progressing"}, {"condition": ""}, {}]},
        {},
    ]
    template = {"workload": {"manifests": [{}]}, "manifestConfigs": configs}
    found = decode_replicaset(replicaset(manifestWorkTemplate=template))
    assert found.template.rules == {"Progressing", "Degraded"}
    assert found.template.spec is template


def test_an_unchanged_generation_reuses_what_was_parsed() -> None:
    first = decode_replicaset(replicaset())
    second = decode_replicaset({**replicaset(), "status": {"summary": {}}}, first)
    assert second == first
    assert second.template is first.template
    assert second.refs is first.refs
    third = replicaset(cascadeDeletionPolicy="Foreground")
    third["metadata"]["generation"] = 2
    assert decode_replicaset(third, first).cascade == "Foreground"


@given(st.text(max_size=8) | st.integers() | st.floats(allow_nan=False) | st.none())
def test_any_value_of_a_strategy_field_is_honoured_or_named(value: object) -> None:
    for field in ("minSuccessTime", "progressDeadline", "maxFailures", "maxConcurrency"):
        spec, problems = read_strategy(progressive(**{field: value}), PATH)
        assert (spec is None) == bool(problems)
        assert [p.path for p in problems] in ([], [f"{PATH}.progressive.{field}"])
