"""Decision groups and their pages, in both profiles."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.amounts import parse_amount
from rollout.model.cluster import Cluster
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from rollout.model.placement import NamedGroup, Placement
from rollout.model.problems import Problem
from rollout.model.selectors import parse_selector
from rollout.placement.grouping import PAGE_SIZE, Grouping, Profile, cut, group, paginate

PROFILES: tuple[Profile, ...] = get_args(Profile)
both = pytest.mark.parametrize("profile", PROFILES)


def labelled(name: str, **labels: str) -> dict[str, Any]:
    return {"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": labels}}}


def placement(size: Any = None, *named: dict[str, Any]) -> Placement:
    """A Placement that both profiles read: parsed as the decoder does, and raw."""
    strategy: dict[str, Any] = {"decisionGroups": list(named)}
    if size is not None:
        strategy["clustersPerDecisionGroup"] = size
    problems: list[Problem] = []
    groups = []
    for item in named:
        selector = item["groupClusterSelector"]
        labels, bad = parse_selector(
            selector.get("labelSelector"), "spec.decisionStrategy.groupStrategy"
        )
        claims, worse = parse_selector(selector.get("claimSelector"), "spec", plain=True)
        problems += [*bad, *worse]
        groups.append(NamedGroup(item["groupName"], labels, claims))
    amount = parse_amount(size)
    if size is not None and amount is None:
        problems.append(Problem("spec.decisionStrategy.groupStrategy", size, "an amount"))
    return Placement(
        "ns",
        "p",
        group_size=amount,
        groups=tuple(groups),
        problems=tuple(problems),
        raw={"spec": {"decisionStrategy": {"groupStrategy": strategy}}},
    )


def fleet(count: int, prefix: str = "c", **labels: str) -> list[Cluster]:
    return [Cluster(f"{prefix}{n:04}", labels=labels) for n in range(count)]


def sizes(found: Grouping) -> list[tuple[str, int]]:
    return [(g.name, len(g.clusters)) for g in found.groups]


@both
def test_groups_are_named_ones_in_the_order_listed_then_the_rest(profile: Profile) -> None:
    clusters = [
        *fleet(10, "w", prod="canary-west"),
        *fleet(10, "e", prod="canary-east"),
        *fleet(290, "r"),
    ]
    asked = placement(
        150, labelled("west", prod="canary-west"), labelled("east", prod="canary-east")
    )

    found = group(asked, clusters[::-1], profile)

    assert sizes(found) == [("west", 10), ("east", 10), ("", 150), ("", 140)]
    assert [g.index for g in found.groups] == [0, 1, 2, 3]
    assert [(p.name, p.group.index, len(p.clusters)) for p in found.pages] == [
        ("p-decision-1", 0, 10),
        ("p-decision-2", 1, 10),
        ("p-decision-3", 2, 100),
        ("p-decision-4", 2, 50),
        ("p-decision-5", 3, 100),
        ("p-decision-6", 3, 40),
    ]
    assert found.status_groups[2] == (2, "", 150, ("p-decision-3", "p-decision-4"))
    assert found.pages[1].labels == {
        PLACEMENT_LABEL: "p",
        GROUP_NAME_LABEL: "east",
        GROUP_INDEX_LABEL: "1",
    }


@both
@pytest.mark.parametrize(
    ("size", "count", "lengths"),
    [
        (None, 7, [7]),
        (0, 7, [7]),
        (3, 7, [3, 3, 1]),
        (7, 7, [7]),
        (8, 7, [7]),
        ("0%", 7, [7]),
        ("14%", 7, [1] * 7),
        ("15%", 7, [2, 2, 2, 1]),
        ("100%", 7, [7]),
        ("25%", 3, [1, 1, 1]),
        ("50%", 0, [0]),
    ],
)
def test_a_group_size_is_a_count_or_a_share_of_all_selected(
    profile: Profile, size: Any, count: int, lengths: list[int]
) -> None:
    found = group(placement(size), fleet(count), profile)

    assert [n for _, n in sizes(found)] == lengths


@pytest.mark.parametrize(
    ("size", "count", "strict", "ocm"),
    [("7%", 100, 7, 8), ("28%", 25, 7, 8), ("14%", 50, 7, 8), ("55%", 100, 55, 56)],
)
def test_a_percentage_is_exact_in_strict_and_binary_in_ocm(
    size: str, count: int, strict: int, ocm: int
) -> None:
    first = {p: sizes(group(placement(size), fleet(count), p))[0][1] for p in PROFILES}

    assert first == {"strict": strict, "ocm": ocm}


def test_a_count_written_as_a_string_is_a_count_in_strict_and_refused_in_ocm() -> None:
    strict = group(placement("3"), fleet(7), "strict")
    ocm = group(placement("3"), fleet(7), "ocm")

    assert (sizes(strict), strict.misconfigured) == ([("", 3), ("", 3), ("", 1)], None)
    assert ocm == Grouping((), (), "3 invalid type: string is not a percentage")


@both
def test_a_named_group_nothing_matches_disappears(profile: Profile) -> None:
    found = group(
        placement(None, labelled("none", env="x"), labelled("a", env="a")),
        fleet(2, env="a"),
        profile,
    )

    assert [(g.index, g.name) for g in found.groups] == [(0, "a")]


@both
def test_the_first_group_that_matches_has_the_cluster(profile: Profile) -> None:
    clusters = [
        Cluster("a", labels={"x": "1", "y": "1"}),
        Cluster("b", labels={"y": "1"}),
        Cluster("c"),
    ]
    asked = placement(1, labelled("x", x="1"), labelled("y", y="1"), labelled("y", y="1"))

    found = group(asked, clusters, profile)

    assert [(g.name, g.clusters) for g in found.groups] == [
        ("x", ("a",)),
        ("y", ("b",)),
        ("", ("c",)),
    ]


@both
def test_a_group_wants_labels_and_claims_alike(profile: Profile) -> None:
    clusters = [
        Cluster("both", labels={"env": "a"}, claims={"cloud": "x"}),
        Cluster("label", labels={"env": "a"}, claims={"cloud": "y"}),
        Cluster("claim", labels={"env": "b"}, claims={"cloud": "x"}),
    ]
    selector = {
        "labelSelector": {
            "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["b"]}]
        },
        "claimSelector": {
            "matchExpressions": [{"key": "cloud", "operator": "In", "values": ["x"]}]
        },
    }
    asked = placement(None, {"groupName": "g", "groupClusterSelector": selector})

    assert group(asked, clusters, profile).groups[0].clusters == ("both",)


def operators(*operators: str) -> dict[str, Any]:
    expressions = [{"key": "env", "operator": operator} for operator in operators]
    return {
        "groupName": "g",
        "groupClusterSelector": {"labelSelector": {"matchExpressions": expressions}},
    }


@both
def test_a_label_may_be_asked_to_be_there_or_not(profile: Profile) -> None:
    clusters = [Cluster("with", labels={"env": ""}), Cluster("without")]

    there = group(placement(None, operators("Exists")), clusters, profile)
    absent = group(placement(None, operators("DoesNotExist")), clusters, profile)

    assert there.groups[0].clusters == ("with",)
    assert absent.groups[0].clusters == ("without",)


def test_a_bad_selector_keeps_the_groups_before_it_in_ocm_and_none_in_strict() -> None:
    clusters = [*fleet(3, env="a"), *fleet(4, "x")]
    asked = placement(
        2, labelled("a", env="a"), operators("Exists", "Bogus"), labelled("b", env="b")
    )

    ocm, strict = group(asked, clusters, "ocm"), group(asked, clusters, "strict")

    assert sizes(ocm) == [("a", 2), ("a", 1)]
    assert ocm.misconfigured == '"Bogus" is not a valid label selector operator'
    assert (strict.groups, strict.pages) == ((), ())
    assert strict.misconfigured is not None
    assert "Bogus" in strict.misconfigured


def test_claims_are_plain_strings_in_strict_and_label_values_in_ocm() -> None:
    clusters = [Cluster("a", labels={}, claims={"region": "eu west"})]
    selector = {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu west"]}]}
    asked = placement(None, {"groupName": "g", "groupClusterSelector": {"claimSelector": selector}})

    assert sizes(group(asked, clusters, "strict")) == [("g", 1)]
    assert group(asked, clusters, "ocm").misconfigured is not None


@both
def test_no_cluster_makes_one_empty_group_with_one_empty_page(profile: Profile) -> None:
    found = group(placement("25%", labelled("a", env="a")), [], profile)

    assert found.status_groups == ((0, "", 0, ("p-decision-1",)),)
    assert [p.clusters for p in found.pages] == [()]


def test_scores_order_the_clusters_of_each_group_best_first() -> None:
    clusters = [Cluster(n, labels={"env": "a"} if n in "ad" else {}) for n in "abcd"]
    scores = {"a": 1, "b": -5, "d": 3}

    found = group(placement(None, labelled("a", env="a")), clusters, scores=scores)

    assert [g.clusters for g in found.groups] == [("d", "a"), ("c", "b")]


@pytest.mark.parametrize(
    ("count", "pages"), [(0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (201, 3)]
)
def test_a_page_holds_a_hundred(count: int, pages: int) -> None:
    names = tuple(f"c{n}" for n in range(count))

    assert len(paginate("p", cut([("", names)], 0) or group(placement(), []).groups)) == pages


SIZES = st.none() | st.integers(0, 40) | st.integers(1, 100).map(lambda p: f"{p}%")
LABELS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=350)


@given(LABELS, SIZES, st.booleans(), st.sampled_from(PROFILES))
def test_pages_hold_each_selected_cluster_once_whatever_the_order(
    envs: list[str], size: Any, named: bool, profile: Profile
) -> None:
    clusters = [Cluster(f"c{n}", labels={"env": env} if env else {}) for n, env in enumerate(envs)]
    asked = placement(size, *(labelled(env, env=env) for env in ("b", "a") if named))

    found = group(asked, clusters, profile)

    assert sorted(n for p in found.pages for n in p.clusters) == sorted(c.name for c in clusters)
    assert [n for p in found.pages for n in p.clusters] == [
        n for g in found.groups for n in g.clusters
    ]
    assert all(list(g.clusters) == sorted(g.clusters) for g in found.groups)
    assert all(len(p.clusters) <= PAGE_SIZE for p in found.pages)
    assert found == group(asked, clusters[::-1] + clusters, profile)
