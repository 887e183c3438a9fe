"""What value does an object of each kind become?"""

import json
from datetime import UTC, datetime

import pytest

from rollout.api.cluster import decode_binding, decode_cluster, decode_cluster_set
from rollout.api.decisions import decode_decision, decode_score
from rollout.api.decoding import decode, shaped
from rollout.model.cluster import Cluster, ClusterSetBinding, Taint
from rollout.model.kinds import CONFIG_MAP, PLACEMENT_DECISION, Obj
from rollout.model.placement import Decision

T0 = datetime(2026, 11, 21, 8, tzinfo=UTC)


def test_a_cluster_is_read_whole() -> None:
    obj: Obj = {
        "metadata": {
            "name": "c1",
            "uid": "u",
            "resourceVersion": "12",
            "labels": {"region": "west"},
            "deletionTimestamp": "2026-11-21T08:00:00Z",
        },
        "spec": {
            "taints": [
                {"key": "k", "effect": "NoSelect", "timeAdded": "2026-11-21T08:00:00Z"},
                {"key": "l", "value": "v", "effect": "PreferNoSelect", "timeAdded": None},
            ]
        },
        "status": {
            "allocatable": {"cpu": "3500m"},
            "capacity": {"cpu": 4, "memory": "32Gi", "bad": True},
            "clusterClaims": [
                {"name": "platform", "value": "AWS"},
                {"name": "id", "value": "1"},
                {"name": "id", "value": "2"},
            ],
            "conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}],
        },
    }
    assert decode_cluster(obj) == Cluster(
        name="c1",
        labels={"region": "west"},
        claims={"platform": "AWS", "id": "2"},
        taints=(Taint("k", "", "NoSelect", T0), Taint("l", "v", "PreferNoSelect", None)),
        allocatable={"cpu": "3500m"},
        capacity={"cpu": "4", "memory": "32Gi"},
        available=True,
        deleting=True,
        uid="u",
        version=12,
    )
    assert decode_cluster(obj).raw is obj


@pytest.mark.parametrize(
    ("status", "available"), [("True", True), ("False", False), ("Unknown", None), (None, None)]
)
def test_a_cluster_is_available_only_where_its_condition_says_so(
    status: object, available: bool | None
) -> None:
    conditions = [{"type": "Other", "status": "True"}]
    conditions.append({"type": "ManagedClusterConditionAvailable", "status": status})  # type: ignore[dict-item]  # what a server may hold
    assert decode_cluster({"status": {"conditions": conditions}}).available is available


@pytest.mark.parametrize(
    ("version", "number"),
    [("7", 7), (7, 7), ("", 0), (None, 0), ("x", 0), ("-1", 0), ("9" * 30, 0), ("\u0667", 0)],
)
def test_a_resource_version_is_a_number_or_0(version: object, number: int) -> None:
    assert decode_cluster({"metadata": {"resourceVersion": version}}).version == number


WEST, EAST = {"region": "west"}, {"region": "east"}


@pytest.mark.parametrize(
    ("selector", "west", "east"),
    [
        ({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": WEST}}, True, False),
        ({"selectorType": "LabelSelector", "labelSelector": {}}, True, True),
        ({"selectorType": "LabelSelector"}, False, False),
        (
            {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": 1}}},
            False,
            False,
        ),
        ({"selectorType": "Nonsense"}, False, False),
    ],
)
def test_a_label_selector_set_matches_no_more_than_it_says(
    selector: Obj, west: bool, east: bool
) -> None:
    found = decode_cluster_set({"spec": {"clusterSelector": selector}}).selector
    assert found is not None
    assert (found.matches(WEST), found.matches(EAST)) == (west, east)


@pytest.mark.parametrize(
    "spec",
    [None, {}, {"clusterSelector": None}, {"clusterSelector": {}}]
    + [{"clusterSelector": {"selectorType": t}} for t in ("", "ExclusiveClusterSetLabel")],
)
def test_a_set_goes_by_the_exclusive_label_unless_it_says_otherwise(spec: object) -> None:
    found = decode_cluster_set({"metadata": {"name": "s"}, "spec": spec})
    assert (found.name, found.selector, found.problems) == ("s", None, ())


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (5, "spec"),
        ({"clusterSelector": 5}, "spec.clusterSelector"),
        ({"clusterSelector": {"selectorType": "X"}}, "spec.clusterSelector.selectorType"),
        (
            {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": 5}},
            "spec.clusterSelector.labelSelector",
        ),
    ],
)
def test_a_bad_set_says_where(spec: object, path: str) -> None:
    assert [p.path for p in decode_cluster_set({"spec": spec}).problems] == [path]


def test_a_binding_is_read() -> None:
    obj = {"metadata": {"namespace": "ns", "name": "s"}, "spec": {"clusterSet": "s"}}
    assert decode_binding(obj) == ClusterSetBinding(namespace="ns", name="s", cluster_set="s")


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        (None, None),
        ("2026-11-21T08:00:00Z", T0),
        ("garbage", datetime(1, 1, 1, tzinfo=UTC)),
        (5, datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_score_is_valid_until_it_says_and_never_by_mistake(
    until: object, expected: datetime | None
) -> None:
    scores = [{"name": "a", "value": 5}, {"name": "b", "value": "5"}, {"name": 1, "value": 1}, 7]
    score = decode_score(
        {
            "metadata": {"namespace": "c1", "name": "r"},
            "status": {"scores": scores, "validUntil": until},
        }
    )
    assert (score.cluster, score.name, score.values) == ("c1", "r", {"a": 5})
    assert score.valid_until == expected


def decision(index: object) -> Decision:
    return decode_decision(
        {
            "metadata": {
                "namespace": "ns",
                "name": "p-decision-1",
                "uid": "u",
                "resourceVersion": "3",
                "labels": {
                    "cluster.open-cluster-management.io/placement": "p",
                    "cluster.open-cluster-management.io/decision-group-index": index,
                    "cluster.open-cluster-management.io/decision-group-name": "canary",
                },
            },
            "status": {"decisions": [{"clusterName": "c1"}, {"clusterName": None}, {}, 5]},
        }
    )


@pytest.mark.parametrize(
    ("written", "index"),
    [("0", 0), ("12", 12), ("", None), ("-1", None), ("x", None), (3, None), ("9" * 12, None)],
)
def test_a_decision_has_the_group_of_its_labels(written: object, index: int | None) -> None:
    found = decision(written)
    assert found == Decision(
        "ns",
        "p-decision-1",
        placement="p",
        group_index=index,
        group_name="canary",
        clusters=("c1",),
        version=3,
        uid="u",
    )


def page(*entries: object) -> Decision:
    found = decode(PLACEMENT_DECISION, {"metadata": {}, "status": {"decisions": list(entries)}})
    assert isinstance(found, Decision)
    return found


@pytest.mark.parametrize(
    ("entry", "scores"),
    [
        ({"clusterName": "c1", "reason": "", "score": -100}, (-100,)),
        ({"clusterName": "c1", "reason": "", "score": 1 << 70}, (1 << 70,)),
        ({"clusterName": "c1", "reason": ""}, (0,)),
        ({"clusterName": "c1", "reason": "", "score": 0}, None),
        ({"clusterName": "c1", "reason": "", "score": True}, None),
        ({"clusterName": "c1", "reason": "", "score": "7"}, None),
        ({"clusterName": "c1", "reason": "why"}, None),
        ({"clusterName": "c1"}, None),
        ({"reason": "", "score": 7}, None),
        ({"clusterName": "c1", "reason": "", "more": 1}, None),
        (5, None),
    ],
)
def test_the_scores_of_a_page_are_known_where_it_says_nothing_else(
    entry: object, scores: tuple[int, ...] | None
) -> None:
    assert page(entry).scores == scores


def test_pages_share_the_names_of_their_clusters_and_keep_no_status() -> None:
    one, other = (page(json.loads('{"clusterName": "c-00001", "reason": ""}')) for _ in range(2))
    assert one.clusters[0] is other.clusters[0]

    kept = decision("0").raw
    assert kept.keys() == {"metadata"}
    assert kept["metadata"].keys() == {"labels"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": {"a": 1}},
        {"namespace": ["x"]},
        {"conditions": "x"},
        {"conditions": [{"type": 7}]},
        {"configReferences": [{"desiredConfig": "x"}]},
    ],
)
def test_a_progression_of_another_shape_counts_as_not_written(wrong: Obj) -> None:
    good = {"name": "p", "namespace": "a", "conditions": [{"type": "Progressing"}]}
    obj = {"status": {"installProgressions": [good, {**good, **wrong}, "x"]}}

    assert shaped(obj) == {"status": {"installProgressions": [good]}}


def test_a_kind_without_a_model_value_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="decode ConfigMap: no model value"):
        decode(CONFIG_MAP, {})
