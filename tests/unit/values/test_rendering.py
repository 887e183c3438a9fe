"""What a cluster is to carry, or why nobody can tell."""

from typing import Any

import pytest

from rollout.api.values import decode_values
from rollout.model.cluster import Cluster, Taint
from rollout.model.content import content_hash
from rollout.model.kinds import Obj
from rollout.model.waits import Reason, Wait
from rollout.model.work import SIZE_LIMIT, size_of
from rollout.values.rendering import Rendering, assigned, seen_of
from rollout.values.rules import MOST_EXPRESSIONS

TEMPLATE: Obj = {
    "workload": {
        "manifests": [
            {"kind": "ConfigMap", "metadata": {"name": "app"}, "data": {"a": "1", "b": "2"}},
            {"kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "3"}},
            {"kind": "Secret", "metadata": {"name": "key"}, "stringData": {"token": "s3cret"}},
        ]
    }
}
RAW = {"metadata": {"annotations": {"rollout-engine.io/x": "mine", "other.io/y": "theirs"}}}
CLUSTER = Cluster(
    "c1",
    labels={"tier": "gold", "rollout-engine.io/registry": "us.example"},
    claims={"size": "large"},
    taints=(Taint("k", "v"),),
    raw=RAW,
)


def setting(path: str, value: Any = None, **more: Any) -> Obj:
    made = {"target": {"kind": "ConfigMap", "name": "app"}, "path": path, **more}
    return made | ({"value": value} if value is not None else {})


def rendering(*rules: Obj, **others: list[Obj]) -> Rendering:
    several = {"v": list(rules), **others}
    return Rendering(
        TEMPLATE,
        content_hash(TEMPLATE),
        {"name": "web", "namespace": "shop", "labels": {"team": "a"}},
        [
            decode_values(
                {
                    "metadata": {"name": name, "namespace": "shop"},
                    "spec": {"workload": {"name": "web"}, "rules": written},
                }
            )
            for name, written in several.items()
        ],
    )


def rendered(found: Rendering, cluster: Cluster = CLUSTER) -> list[Obj]:
    assert found.problems == ()
    made, *_ = found.render(cluster)
    assert not isinstance(made, Wait), made
    spec = assigned(TEMPLATE, made.assignments)
    assert content_hash(spec) == made.content
    manifests: list[Obj] = spec["workload"]["manifests"]
    return manifests


def held(found: Rendering, cluster: Cluster = CLUSTER) -> Wait:
    assert found.problems == ()
    made, *_ = found.render(cluster)
    assert isinstance(made, Wait)
    return made


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("cluster.name + '.example'", "c1.example"),
        ("cluster.labels['tier']", "gold"),
        ("cluster.claims.size == 'large' ? 'nine' : 'three'", "nine"),
        ("cluster.annotations['rollout-engine.io/x']", "mine"),
        ("string(size(cluster.annotations))", "1"),
        ("cluster.taints[0].key", "k"),
        ("workload.namespace + '/' + workload.name + workload.labels.team", "shop/weba"),
        ("current + '!'", "1!"),
        ("registry('eu.example', 'shop/app:' + current)", "eu.example/shop/app:1"),
        ("registry(cluster, 'a.example/app:' + current)", "us.example/app:1"),
    ],
)
def test_an_expression_sees_the_cluster_the_workload_and_what_stands_there(
    expression: str, value: str
) -> None:
    found = rendering({"set": [setting("/data/a", expression)]})

    assert rendered(found)[0]["data"]["a"] == value


def test_a_literal_is_put_in_as_it_is_and_targets_choose_manifests() -> None:
    found = rendering(
        {"set": [{"target": {"kind": "ConfigMap"}, "path": "/data/z", "literal": "x"}]}
    )

    first, second, secret = rendered(found)
    assert first["data"]["z"] == second["data"]["z"] == "x"
    assert secret == TEMPLATE["workload"]["manifests"][2]


def test_a_rule_concerns_the_clusters_that_it_names() -> None:
    selector = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    found = rendering({"clusters": selector, "set": [setting("/data/a", "'x'")]})

    assert rendered(found)[0]["data"]["a"] == "x"
    assert rendered(found, Cluster("c2"))[0]["data"]["a"] == "1"


def test_clusters_of_the_same_values_have_the_same_content() -> None:
    found = rendering({"set": [setting("/data/a", "cluster.labels['tier']")]})

    one, *_ = found.render(CLUSTER)
    other, *_ = found.render(Cluster("c2", labels={"tier": "gold", "more": "x"}))
    assert one is other


@pytest.mark.parametrize(
    ("expression", "reason", "said"),
    [
        ("cluster.labels['none']", Reason.VALUES_MISSING, "no such key: none"),
        ("cluster.claims.none", Reason.VALUES_MISSING, "no such key: none"),
        ("1 / (size(cluster.name) - 2) == 1 ? 'a' : 'b'", Reason.VALUES_INVALID, "zero"),
        ("3", Reason.VALUES_INVALID, "takes a string, not number"),
        ("b'x'", Reason.VALUES_INVALID, "bytes"),
        ("null", Reason.VALUES_INVALID, "takes a string, not null"),
    ],
)
def test_what_has_no_value_holds_the_cluster_and_says_which_rule(
    expression: str, reason: Reason, said: str
) -> None:
    wait = held(rendering({"set": [setting("/data/a", expression)]}))

    assert wait.reason is reason
    assert wait.message.startswith("c1: ClusterValues v rules[0].set[0]: ")
    assert said in wait.message


@pytest.mark.parametrize("expression", ["cluster.labels[?'none']", "optional.none()"])
def test_an_optional_without_a_value_is_something_that_the_cluster_lacks(expression: str) -> None:
    wait = held(rendering({"set": [setting("/data/a", expression)]}))

    assert wait.reason is Reason.VALUES_MISSING
    assert "it is optional.none()" in wait.message


@pytest.mark.parametrize(
    "value", [{"value": "2.0 * 3.0"}, {"literal": 6.0}, {"literal": 6}, {"value": "6u"}]
)
def test_a_whole_number_is_written_as_a_server_would_keep_it(value: Obj) -> None:
    manifest = {"kind": "Deployment", "spec": {"replicas": 1}}
    target = {"target": {"kind": "Deployment"}, "path": "/spec/replicas"}
    found = within(manifest, **target, **value)

    made, *_ = found.render(CLUSTER)
    assert not isinstance(made, Wait)
    assert [repr(each.value) for each in made.assignments] == ["6"]


def test_what_no_secret_can_hold_is_told_without_it() -> None:
    target = {"target": {"kind": "Secret"}}
    wait = held(rendering({"set": [setting("/data/token", "'hunter2!'", **target)]}))

    assert wait.reason is Reason.VALUES_INVALID
    assert "it takes base64" in wait.message
    assert "hunter2" not in wait.message


def selected(*texts: str) -> Obj:
    """A rule for the clusters of which these expressions are true."""
    return {
        "clusters": {"celSelector": {"celExpressions": list(texts)}},
        "set": [setting("/data/a", "'x'")],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense(", "Syntax error"),
        ("1 + 1", "it can never be true or false"),
        ("region == 'x'", "undeclared reference to 'region'"),
        (
            "managedCluster.scores('cost').all(s, s.value > 1)",
            "scores are for Placements: a rule goes by what the cluster is",
        ),
    ],
)
def test_a_selector_that_can_be_followed_for_no_cluster_is_a_problem_of_the_object(
    text: str, said: str
) -> None:
    (problem,) = rendering(selected("true", text)).problems

    at = "spec.rules[0].clusters.celSelector.celExpressions[1]"
    assert problem.startswith(f"ClusterValues shop/v: {at}: ")
    assert said in problem


def test_a_selector_that_asks_for_what_a_cluster_lacks_says_so() -> None:
    raw = {"metadata": {"labels": {"tier": "gold"}}}
    wait = held(
        rendering(selected("managedCluster.metadata.labels.none == 'x'")), Cluster("c1", raw=raw)
    )

    assert wait.reason is Reason.VALUES_MISSING
    assert "clusters: no such key: none" in wait.message


def test_expressions_that_choose_clusters_count_among_those_that_are_accepted_together() -> None:
    several = [selected(*[f"{n} < {r}" for n in range(13)]) for r in range(1, 6)]

    (problem,) = rendering(*several).problems

    assert "66 expressions" in problem


def test_two_values_of_one_field_are_a_conflict_that_names_both() -> None:
    found = rendering(
        {"set": [setting("/data/a", "'x'")]}, w=[{"set": [setting("/data/a", "'y'")]}]
    )

    wait = held(found)
    assert wait.reason is Reason.VALUES_CONFLICT
    assert "v rules[0].set[0]" in wait.message
    assert "w rules[0].set[0]" in wait.message


def test_the_same_value_twice_is_no_conflict() -> None:
    found = rendering(
        {"set": [setting("/data/a", "'x'")]}, w=[{"set": [setting("/data/a", "'x'")]}]
    )

    assert rendered(found)[0]["data"]["a"] == "x"


def test_the_same_map_in_another_order_is_no_conflict() -> None:
    one, other = {"a": "x", "b": "y"}, {"b": "y", "a": "x"}
    found = rendering(
        {"set": [setting("/data", literal=one)]}, w=[{"set": [setting("/data", literal=other)]}]
    )

    assert rendered(found)[0]["data"] == one


def test_a_field_inside_of_another_one_that_is_set_is_a_conflict() -> None:
    found = rendering(
        {"set": [setting("/data", literal={"a": "x"}), setting("/data/a", "'y'")]},
    )

    assert held(found).reason is Reason.VALUES_CONFLICT


def test_no_rule_reads_a_secret_and_its_values_are_marked() -> None:
    target = {"target": {"kind": "Secret"}}
    read = rendering({"set": [setting("/stringData/token", "current", **target)]})
    assert "s3cret" not in str(held(read))

    found = rendering({"set": [setting("/stringData/token", "'new'", **target)]})
    assert rendered(found)[2]["stringData"]["token"] == "new"
    shown = found.shown(CLUSTER)
    assert not isinstance(shown, Wait)
    assert [value.is_secret for value in shown] == [True]


def within(manifest: Obj, **setting: Any) -> Rendering:
    """One setting over a template of one manifest."""
    return of_template({"workload": {"manifests": [manifest]}}, {"set": [setting]})


def of_template(template: Obj, rule: Obj) -> Rendering:
    meta = {"name": "v", "namespace": "shop"}
    values = decode_values(
        {"metadata": meta, "spec": {"workload": {"name": "web"}, "rules": [rule]}}
    )
    return Rendering(template, content_hash(template), {}, [values])


def test_no_rule_reads_a_secret_that_stands_in_another_manifest() -> None:
    inner = {"kind": "Secret", "metadata": {"name": "key"}, "stringData": {"token": "pin"}}
    bundle = {"kind": "Bundle", "objects": [inner]}
    path = {"target": {"kind": "Bundle"}, "path": "/objects[0]/stringData/token"}

    wait = held(within(bundle, value="current + '!'", **path))
    assert "current" not in wait.message

    (problem,) = within(bundle, value="'hunter2' +", **path).problems
    assert "hunter2" not in problem


@pytest.mark.parametrize("kind", ["Listing", "t", "st", "ist", "List2", "Allowlist", "Test"])
def test_what_only_looks_like_a_list_may_be_a_target(kind: str) -> None:
    found = within({"kind": kind, "spec": {}}, literal=2, target={"kind": kind}, path="/spec/a")

    assert found.problems == ()


@pytest.mark.parametrize("kind", ["List", "ConfigMapList", "SecretList"])
def test_no_rule_sets_a_field_of_an_item_of_a_list(kind: str) -> None:
    items = {"kind": kind, "items": [TEMPLATE["workload"]["manifests"][0]]}

    (problem,) = within(items, literal="x", target={"kind": kind}, path="/items[0]/data/a").problems

    assert problem.startswith("ClusterValues shop/v: spec.rules[0].set[0].target.kind: ")
    assert "write each of its items as a manifest of its own" in problem


@pytest.mark.parametrize(
    ("expression", "reason", "said"),
    [
        ("'hunter2' + cluster.labels['none']", Reason.VALUES_MISSING, "no such key: none"),
        ("string(int('hunter2'))", Reason.VALUES_INVALID, "it gives no value"),
        ("size('hunter2')", Reason.VALUES_INVALID, "takes a string, not number"),
    ],
)
def test_what_is_put_into_a_secret_is_quoted_in_no_message(
    expression: str, reason: Reason, said: str
) -> None:
    target = {"target": {"kind": "Secret"}}
    wait = held(rendering({"set": [setting("/stringData/token", expression, **target)]}))

    assert wait.reason is reason
    assert said in wait.message
    assert "v rules[0].set[0]" in wait.message
    assert "hunter2" not in wait.message

    (problem,) = rendering(
        {"set": [setting("/stringData/token", "'hunter2' +", **target)]}
    ).problems
    assert "spec.rules[0].set[0].value" in problem
    assert "hunter2" not in problem


def test_a_template_that_grows_beyond_what_ocm_takes_holds_the_cluster() -> None:
    def grown(size: int) -> Rendering:
        return rendering(
            {"set": [setting("/data/a", literal="x" * size), setting("/data/b", "'short'")]}
        )

    room = SIZE_LIMIT - sum(map(size_of, rendered(grown(0)))) - 2  # its length takes two bytes more
    assert sum(map(size_of, rendered(grown(room)))) == SIZE_LIMIT

    wait = held(grown(room + 1))
    assert wait.reason is Reason.VALUES_INVALID
    assert wait.message.startswith("c1: ClusterValues v rules[0].set[0]: /data/a: ")
    assert f"{room + 3} characters" in wait.message
    assert f"all manifests together have {SIZE_LIMIT + 1} bytes" in wait.message
    assert f"ConfigMap app alone {size_of(rendered(grown(room))[0]) + 1}" in wait.message
    assert f"at most {SIZE_LIMIT} in one work" in wait.message


def test_a_template_that_is_too_large_by_itself_is_no_matter_of_values() -> None:
    manifest = {"kind": "ConfigMap", "data": {"a": "x" * SIZE_LIMIT}}
    some = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    template = {"workload": {"manifests": [manifest]}}
    rule = {
        "clusters": some,
        "set": [setting("/data/b", literal="x", target={"kind": "ConfigMap"})],
    }

    found = of_template(template, rule)

    assert held(found).reason is Reason.VALUES_INVALID
    assert not isinstance(found.render(Cluster("c2"))[0], Wait)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"set": [setting("/data/a/b", "'x'")]},
            "spec.rules[0].set[0].path: ConfigMap app: /data/a/b",
        ),
        (
            {"set": [setting("/data/a", "'x'", target={"kind": "Pod"})]},
            "no manifest of the template is Pod",
        ),
        ({"set": [setting("/data/a", "'")]}, "spec.rules[0].set[0].value: "),
        ({"set": [setting("/data/a")]}, "either value, a CEL expression, or literal"),
        ({"set": []}, "spec.rules[0].set"),
    ],
)
def test_what_fits_no_cluster_at_all_is_a_problem_of_the_object(rule: Obj, said: str) -> None:
    (problem,) = rendering(rule).problems

    assert problem.startswith("ClusterValues shop/v: ")
    assert said in problem


def test_so_many_expressions_are_accepted_together() -> None:
    def several(count: int) -> Rendering:
        numbers = [f"'{n}'" for n in range(count)]
        rules = [{"set": [setting(f"/data/k{n}", text)]} for n, text in enumerate(numbers)]
        return rendering(*rules[:32], w=rules[32:64], x=rules[64:] or rules[:1])

    assert several(MOST_EXPRESSIONS).problems == ()
    (problem,) = several(MOST_EXPRESSIONS + 1).problems
    assert "65 expressions" in problem


def test_the_revision_is_that_of_the_template_unless_there_are_rules() -> None:
    content = content_hash(TEMPLATE)
    one = rendering({"set": [setting("/data/a", "'x'")]})
    other = rendering({"set": [setting("/data/a", "'y'")]})

    assert Rendering(TEMPLATE, content, {}, []).revision == content
    assert len({content, one.revision, other.revision}) == 3


def test_expressions_see_nothing_of_the_cluster_but_what_is_documented() -> None:
    assert set(seen_of(CLUSTER)) == {"name", "labels", "claims", "annotations", "taints"}


def test_what_would_take_the_compiler_too_long_is_not_given_to_it() -> None:
    doubled = "optional.of(1)" + ".optMap(x, x)" * 30 + ".orValue(1)"

    (problem,) = rendering({"set": [setting("/data/a", doubled)]}).problems

    assert "optMap and optFlatMap 30 times" in problem


def test_too_many_expressions_are_counted_before_any_is_compiled() -> None:
    many = [{"set": [setting(f"/data/k{n}", f"no such CEL {n}")]} for n in range(32)]
    others = {
        f"w{i}": [{"set": [setting("/data/a", f"nor {i} {n}")]} for n in range(32)]
        for i in range(3)
    }

    (problem,) = rendering(*many, **others).problems

    assert "128 expressions" in problem


def test_so_many_fields_are_accepted_together() -> None:
    rules = [
        {"set": [setting(f"/data/k{r}x{n}", literal="x") for n in range(32)]} for r in range(9)
    ]

    (problem,) = rendering(*rules).problems

    assert "288 fields to set" in problem
