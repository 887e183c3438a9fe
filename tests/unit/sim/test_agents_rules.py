"""Which rule of a scenario counts for a work, and how do agents tell of the manifests in it?"""

import pytest

from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from tests.support.stage import (
    APPLIED,
    FAILED,
    HEALTHY,
    WORK,
    S,
    Stage,
    deployment,
    staged,
    template,
)


@pytest.mark.parametrize(
    ("rule", "applies"),
    [
        ({"clusters": {"names": ["c1"]}}, True),
        ({"clusters": {"names": ["x", "c*"]}}, True),
        ({"clusters": {"names": ["c2"]}}, False),
        ({"clusters": {"matchLabels": {"region": "eu"}}}, True),
        ({"clusters": {"matchLabels": {"region": "us"}}}, False),
        ({"clusters": {"names": ["c1"], "matchLabels": {"region": "us"}}}, False),
        ({"manifests": {"image": "web:1"}}, True),
        ({"manifests": {"image": "web:2"}}, False),
        ({"manifests": {"kind": "Deployment", "name": "we*"}}, True),
        ({"manifests": {"kind": "ConfigMap"}}, False),
        ({"manifests": {"matchLabels": {"version": "web:1"}}}, True),
        ({"manifests": {"matchLabels": {"version": "web:2"}}}, False),
        (
            {"manifests": {"path": "spec.template.spec.containers[0].name", "equals": "web"}},
            True,
        ),
        ({"manifests": {"path": "spec.replicas", "equals": None}}, False),
        ({"revision": "r1*"}, True),
        ({"revision": "r2"}, False),
    ],
)
def test_a_rule_counts_only_for_what_it_selects(rule: Obj, applies: bool) -> None:
    stage = Stage(defaults=HEALTHY, rules=[{**rule, "behaviour": {"outcome": "failApply"}}])
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {"metadata": {"labels": {"region": "eu"}}})
    stage.agents.start()
    stage.create(annotations={"rollout-engine.io/revision": "r1abc"})

    assert stage.play()[0] == (2 * S, FAILED if applies else APPLIED)


def test_the_first_rule_that_matches_wins() -> None:
    stage = Stage(
        defaults=HEALTHY,
        rules=[
            {"clusters": {"names": ["c1"]}, "behaviour": {"outcome": "hang"}},
            {"behaviour": {"outcome": "failApply"}},
        ],
    )
    stage.agents.start()
    stage.create()
    stage.create(ref=Ref(MANIFEST_WORK, "c2/web"))

    assert stage.play() == [(2 * S, APPLIED), (2 * S, FAILED)]


def test_a_bad_release_is_bad_and_the_fix_is_good() -> None:
    stage = Stage(
        defaults=HEALTHY,
        rules=[{"manifests": {"image": "*:2"}, "behaviour": {"outcome": "fail"}}],
    )
    stage.agents.start()
    stage.create(template("Degraded", image="web:1"))
    for at, image in ((60, "web:2"), (120, "web:3")):
        stage.play(at * S)
        stage.change(template(image=image))

    assert [shown for _, shown in stage.play()][1::2] == [
        "Applied+@1 Available+@1 Degraded-@1",
        "Applied+@2 Available+@2 Degraded+@2",
        "Applied+@3 Available+@3 Degraded-@3",
    ]


def test_manifests_are_told_where_asked_for() -> None:
    stage = staged({}, resourceStatus=True)
    stage.play(5 * S)
    (applied,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]
    stage.play(20 * S)
    (ready,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]

    assert ready["resourceMeta"] == {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "deployments",
        "name": "web",
        "namespace": "default",
    }
    assert [c["type"] for c in applied["conditions"]] == ["Applied"]
    assert [(c["type"], c["reason"]) for c in ready["conditions"]] == [
        ("Applied", "AppliedManifestComplete"),
        ("Available", "ResourceAvailable"),
    ]
    assert ready["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:02Z"


def test_a_manifests_applied_has_a_new_transition_time_for_every_generation() -> None:
    stage = staged({}, resourceStatus=True)
    stage.play(60 * S)
    stage.change(template(image="web:2"))
    stage.play()
    (entry,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]

    assert [c["lastTransitionTime"][11:19] for c in entry["conditions"]] == ["00:01:02", "00:00:12"]


def test_conditions_of_others_stay_and_those_of_dropped_rules_go() -> None:
    stage = staged({})
    stage.play(60 * S)
    foreign = {"type": "Audited", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [foreign, *stage.hub.get(WORK)["status"]["conditions"]]
    stage.hub.patch_status(WORK, {"status": {"conditions": conditions}})
    stage.hub.patch(WORK, {"spec": {"manifestConfigs": None}})

    assert stage.play()[-1][1] == "Applied+@2 Audited+@None Available+@2"


def test_many_clusters_share_equal_conditions() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    refs = [Ref(MANIFEST_WORK, f"c{number}/web") for number in range(20)]
    for ref in refs:
        stage.create(ref=ref)
    stage.play()

    assert len({id(stage.hub.get(ref)["status"]["conditions"]) for ref in refs}) == 1


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("DaemonSet", "daemonsets"),
    ],
)
def test_a_rule_finds_its_manifest_by_the_resource_of_the_kind(kind: str, resource: str) -> None:
    spec = template("Progressing", resource=resource)
    spec["workload"]["manifests"][0]["kind"] = kind

    assert "Progressing+@1" in staged({}, spec).play()[0][1]


def test_several_manifests_with_a_rule_are_told_as_one() -> None:
    spec = template("Degraded")
    twin = {**deployment(), "metadata": {"name": "w2", "namespace": "default"}}
    spec["workload"]["manifests"].append(twin)
    stage = staged({}, spec)
    stage.play()

    assert stage.condition("Degraded")["message"] == "Aggregated from 2 manifest conditions"


def test_the_message_of_a_rule_is_told() -> None:
    spec = template("Progressing")
    spec["manifestConfigs"][0]["conditionRules"][0]["message"] = "still at it"
    stage = staged({}, spec)
    stage.play()

    assert stage.condition("Progressing")["message"] == "still at it"
