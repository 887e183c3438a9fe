"""A Placement is read whole, and every bad field of it is named."""

from typing import Any

import pytest

from rollout.api.placement import decode_placement
from rollout.model.amounts import Amount
from rollout.model.kinds import Obj
from rollout.model.placement import Coordinate, SpreadConstraint, Toleration


def placement(**spec: Any) -> Obj:
    return {"metadata": {"namespace": "ns", "name": "p", "uid": "u", "generation": 1}, "spec": spec}


def test_an_empty_placement_has_the_defaults() -> None:
    found = decode_placement(placement())
    assert (found.key, found.number, found.mode, found.sort_by) == (
        "ns/p",
        None,
        "Additive",
        "ClusterName",
    )
    assert (found.group_size, found.score_rate_limit_seconds, found.status_groups) == (
        None,
        60,
        None,
    )
    assert found.problems == ()


LABELS = {"labelSelector": {"matchLabels": {"tier": "prod"}}}
CLAIMS = {
    "claimSelector": {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1+x"]}]}
}
CEL = {"celSelector": {"celExpressions": ["true"]}}
WHOLE: Obj = {
    **placement(
        clusterSets=["a", "b"],
        numberOfClusters=3,
        predicates=[{"requiredClusterSelector": {**LABELS, **CLAIMS, **CEL}}, {}],
        prioritizerPolicy={
            "mode": "Exact",
            "configurations": [
                {"scoreCoordinate": {"builtIn": "Steady"}, "weight": 3},
                {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "example.com/Mine"}},
                {
                    "scoreCoordinate": {
                        "type": "AddOn",
                        "addOn": {"resourceName": "r", "scoreName": "s"},
                    },
                    "weight": -10,
                },
                {"scoreCoordinate": {"builtIn": "Whatever"}, "weight": 0},
            ],
        },
        tolerations=[
            {"key": "k", "value": "v", "tolerationSeconds": 5},
            {"operator": "Exists", "effect": "NoSelect"},
        ],
        spreadPolicy={
            "spreadConstraints": [
                {"topologyKey": "zone", "topologyKeyType": "Claim", "maxSkew": 2}
                | {"whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        decisionStrategy={
            "groupStrategy": {
                "clustersPerDecisionGroup": "20%",
                "decisionGroups": [
                    {"groupName": "canary", "groupClusterSelector": LABELS},
                ],
            }
        },
        sortBy="Score",
        scoreRateLimit="2h",
    ),
    "status": {
        "conditions": [{"type": "PlacementSatisfied", "status": "True"}],
        "decisionGroups": [
            {
                "decisionGroupIndex": 1,
                "decisionGroupName": "canary",
                "clusterCount": 2,
                "decisions": ["p-decision-1"],
            }
        ],
    },
}


def test_a_placement_is_read_whole() -> None:
    found = decode_placement(WHOLE)

    assert found.problems == ()
    assert (found.cluster_sets, found.number, found.mode) == (("a", "b"), 3, "Exact")
    first, second = found.predicates
    assert first.labels.matches({"tier": "prod"})
    assert first.claims.matches({"v": "1+x"})
    assert first.cel == ("true",)
    assert second.labels.matches({})
    assert found.weights == (
        (Coordinate("BuiltIn", "Steady"), 3),
        (Coordinate("BuiltIn", "example.com/Mine"), 1),
        (Coordinate("AddOn", resource="r", score="s"), -10),
    )
    assert found.tolerations == (
        Toleration("k", "Equal", value="v", effect="", seconds=5),
        Toleration("", "Exists", value="", effect="NoSelect"),
    )
    assert found.spread == (SpreadConstraint("zone", "Claim", 2, hard=True),)
    assert found.group_size == Amount(20, percent=True, written=True)
    assert [g.name for g in found.groups] == ["canary"]
    assert (found.sort_by, found.score_rate_limit_seconds) == ("Score", 7200)
    assert found.status_groups == ((1, "canary", 2, ("p-decision-1",)),)
    assert found.conditions["PlacementSatisfied"].is_true


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (None, None),
        (0, None),
        (150, Amount(150)),
        ("150", Amount(150, written=True)),
        ("100%", Amount(100, percent=True, written=True)),
    ],
)
def test_the_size_of_groups(written: object, size: Amount | None) -> None:
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": written}}
    found = decode_placement(placement(decisionStrategy=strategy))
    assert (found.group_size, found.problems) == (size, ())


def group(**strategy: Any) -> dict[str, Any]:
    return {"decisionStrategy": {"groupStrategy": strategy}}


def weights(*configurations: Any) -> dict[str, Any]:
    return {"prioritizerPolicy": {"configurations": list(configurations)}}


def spread(**constraint: Any) -> dict[str, Any]:
    return {"spreadPolicy": {"spreadConstraints": [constraint]}}


GROUPS = "spec.decisionStrategy.groupStrategy"
SIZE = 'a whole number of 1 or more, or a percentage from "1%" to "100%"'
SCORES = "spec.prioritizerPolicy.configurations[0]"
SPREAD = "spec.spreadPolicy.spreadConstraints[0]"
KEY = "a label key: [prefix/]name, at most 316 characters"

BAD: list[tuple[dict[str, Any], str, object, str]] = [
    ({"clusterSets": "a"}, "spec.clusterSets", "a", "a list"),
    ({"clusterSets": ["a", 5]}, "spec.clusterSets[1]", 5, "a string: put it in quotes"),
    ({"numberOfClusters": -1}, "spec.numberOfClusters", -1, "a whole number of 0 or more"),
    (
        {"numberOfClusters": "5"},
        "spec.numberOfClusters",
        "5",
        "a whole number of 0 or more, without quotes",
    ),
    ({"predicates": {}}, "spec.predicates", {}, "a list"),
    ({"predicates": [5]}, "spec.predicates[0]", 5, "an object"),
    (
        {"prioritizerPolicy": {"mode": "Some"}},
        "spec.prioritizerPolicy.mode",
        "Some",
        "one of Additive, Exact",
    ),
    (weights({}), f"{SCORES}.scoreCoordinate", None, "this field is required"),
    (
        weights({"scoreCoordinate": {"builtIn": "Steady"}, "weight": 11}),
        f"{SCORES}.weight",
        11,
        "a whole number from -10 to 10",
    ),
    (
        weights({"scoreCoordinate": {"builtIn": "Spread"}}),
        f"{SCORES}.scoreCoordinate.builtIn",
        "Spread",
        "one of Balance, Steady, ResourceAllocatableCPU, ResourceAllocatableMemory",
    ),
    (
        weights({"scoreCoordinate": {"type": "Other"}}),
        f"{SCORES}.scoreCoordinate.type",
        "Other",
        "one of BuiltIn, AddOn",
    ),
    (
        weights({"scoreCoordinate": {"type": "AddOn", "addOn": {"scoreName": "s"}}}),
        f"{SCORES}.scoreCoordinate.addOn.resourceName",
        None,
        "the name of an AddOnPlacementScore",
    ),
    (
        {"tolerations": [{"key": ""}]},
        "spec.tolerations[0].operator",
        None,
        "Exists, since the key is empty (which stands for every key)",
    ),
    (
        {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
        "spec.tolerations[0].value",
        "v",
        "no value with operator Exists",
    ),
    (
        {"tolerations": [{"key": "k", "operator": "Like"}]},
        "spec.tolerations[0].operator",
        "Like",
        "one of Equal, Exists",
    ),
    (
        {"tolerations": [{"key": "k", "effect": "Never"}]},
        "spec.tolerations[0].effect",
        "Never",
        "one of NoSelect, PreferNoSelect, NoSelectIfNew",
    ),
    (
        {"tolerations": [{"key": "a b"}]},
        "spec.tolerations[0].key",
        "a b",
        f"{KEY}; empty for every key",
    ),
    (
        {"tolerations": [{"key": "k", "tolerationSeconds": "5"}]},
        "spec.tolerations[0].tolerationSeconds",
        "5",
        "a whole number, without quotes",
    ),
    (spread(topologyKeyType="Label"), f"{SPREAD}.topologyKey", None, KEY),
    (
        spread(topologyKey="k", topologyKeyType="Zone"),
        f"{SPREAD}.topologyKeyType",
        "Zone",
        "one of Label, Claim",
    ),
    (
        spread(topologyKey="k", topologyKeyType="Label", maxSkew=0),
        f"{SPREAD}.maxSkew",
        0,
        "a whole number of 1 or more",
    ),
    (group(clustersPerDecisionGroup="0%"), f"{GROUPS}.clustersPerDecisionGroup", "0%", SIZE),
    (group(clustersPerDecisionGroup="0"), f"{GROUPS}.clustersPerDecisionGroup", "0", SIZE),
    (group(clustersPerDecisionGroup=-2), f"{GROUPS}.clustersPerDecisionGroup", -2, SIZE),
    (group(clustersPerDecisionGroup="101%"), f"{GROUPS}.clustersPerDecisionGroup", "101%", SIZE),
    (
        group(decisionGroups=[{"groupName": "x"}]),
        f"{GROUPS}.decisionGroups[0].groupName",
        "x",
        "2 to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit",
    ),
    ({"sortBy": "Name"}, "spec.sortBy", "Name", "one of ClusterName, Score"),
    (
        {"scoreRateLimit": "1d"},
        "spec.scoreRateLimit",
        "1d",
        'a whole number and one of h, m, s, such as "1m"',
    ),
]


@pytest.mark.parametrize(("spec", "path", "value", "accepted"), BAD)
def test_a_bad_field_says_where_and_what_is_accepted(
    spec: dict[str, Any], path: str, value: object, accepted: str
) -> None:
    problems = decode_placement(placement(**spec)).problems
    assert [(p.path, p.value, p.accepted) for p in problems] == [(path, value, accepted)]


def test_all_bad_fields_are_named_at_once_and_the_rest_is_kept() -> None:
    found = decode_placement(
        placement(
            numberOfClusters=-1,
            sortBy="Name",
            scoreRateLimit="x",
            tolerations=[{"key": "ok"}, {"key": ""}],
            clusterSets=["a"],
        )
    )
    assert len(found.problems) == 4
    assert found.cluster_sets == ("a",)
    assert [t.key for t in found.tolerations] == ["ok"]


def test_a_predicate_that_cannot_be_read_matches_nothing() -> None:
    bad = {"labelSelector": {"matchLabels": {"tier": "prod", "n": 5}}}
    found = decode_placement(placement(predicates=[{"requiredClusterSelector": bad}]))
    assert not found.predicates[0].labels.matches({"tier": "prod", "n": "5"})
    path = "spec.predicates[0].requiredClusterSelector.labelSelector.matchLabels[n]"
    assert [p.path for p in found.problems] == [path]


@pytest.mark.parametrize(("length", "problems"), [(63, 0), (64, 1)])
def test_a_name_must_fit_in_a_label(length: int, problems: int) -> None:
    found = decode_placement({"metadata": {"name": "x" * length}, "spec": {}})
    assert [p.path for p in found.problems] == ["metadata.name"] * problems


def test_an_unchanged_generation_reuses_what_was_parsed() -> None:
    obj = placement(predicates=[{}])
    first = decode_placement(obj)
    status = {"conditions": [{"type": "PlacementSatisfied", "status": "True"}]}
    second = decode_placement({**obj, "status": status}, first)
    assert second.predicates is first.predicates
    assert second.conditions["PlacementSatisfied"].is_true
    third = placement(numberOfClusters=1)
    third["metadata"]["generation"] = 2
    assert decode_placement(third, first).number == 1
