"""Which labels and claims an expression reads, and that what it gave is used again for no other ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.cluster import Cluster
from rollout.values.expressions import value_program
from rollout.values.reads import read_from
from rollout.values.rendering import seen_of
from tests.unit.values.test_rendering import rendering, setting

NOTHING_ELSE = {
    "'fixed'": (),
    "current + workload.name": (),
    "cluster.labels.tier": (("labels", "tier"),),
    "cluster.labels['tier'] + cluster.claims['size']": (("claims", "size"), ("labels", "tier")),
    "cluster.labels[?'tier'].orValue('none')": (("labels", "tier"),),
    "cluster.labels.?tier.orValue('none')": (("labels", "tier"),),
    "has(cluster.labels.tier) ? 'yes' : 'no'": (("labels", "tier"),),
    "'tier' in cluster.labels ? 1 : 2": (("labels", "tier"),),
    "['a', 'b'].map(x, x + cluster.labels.tier)": (("labels", "tier"),),
    "{'a': cluster.labels.tier}": (("labels", "tier"),),
}
MORE = (
    "cluster.name",
    "cluster.labels[workload.name]",
    "size(cluster.labels)",
    "cluster.labels.map(key, key)",
    "[cluster].map(c, c.labels.tier)[0]",
    "registry(cluster, 'nginx')",
    "cluster.annotations['rollout-engine.io/x']",
    "size(cluster.taints)",
    "has(cluster.labels)",
    "cluster.labels.tier == 'a' ? cluster.name : 'none'",
)


@pytest.mark.parametrize(("expression", "reads"), NOTHING_ELSE.items())
def test_an_expression_reads_these_labels_and_claims(
    expression: str, reads: tuple[tuple[str, str], ...]
) -> None:
    assert value_program(expression).problem is None
    assert value_program(expression).reads == reads


@pytest.mark.parametrize("expression", MORE)
def test_what_reads_more_of_a_cluster_is_worked_out_for_each(expression: str) -> None:
    assert value_program(expression).problem is None
    assert value_program(expression).reads is None


def test_a_label_that_is_empty_is_another_one_than_none() -> None:
    reads = (("labels", "tier"), ("claims", "tier"))

    assert read_from(seen_of(Cluster("c", labels={"tier": ""})), reads) == ("", None)


texts = st.dictionaries(st.sampled_from(["tier", "size", "web"]), st.sampled_from(["", "a", "b"]))
clusters = st.builds(Cluster, st.sampled_from(["c1", "c2"]), labels=texts, claims=texts)


@given(st.lists(clusters, max_size=8))
def test_clusters_rendered_together_get_what_each_gets_alone(several: list[Cluster]) -> None:
    expressions = [
        f"string({text})" for text in NOTHING_ELSE if "map(" not in text and "{" not in text
    ]
    rules: list[dict[str, Any]] = [
        {"set": [setting("/data/a", text)]} for text in (*expressions, *MORE[:2])
    ]
    for rule in rules:
        together = rendering(rule)
        for cluster in several:
            assert together.render(cluster) == rendering(rule).render(cluster)


def test_labels_of_which_each_cluster_has_its_own_value_are_not_all_remembered() -> None:
    found = rendering({"set": [setting("/data/a", "cluster.labels.tier")]})

    made = [found.render(Cluster("c", labels={"tier": f"{n % 600}"}))[0] for n in range(1_200)]

    assert len(set(made[:600])) == 600
    assert made[:600] == made[600:]
    assert max(len(filled.results) for bound in found._bounds for filled in bound.fields) <= 256
