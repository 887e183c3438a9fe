"""What profile strict answers where it differs from OCM over add-ons, and that the excuses are honest."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.__main__ import KEPT
from tests.conformance.addon_config import AddOnConfigSuite, carried, said_by_ocm
from tests.conformance.addon_excuses import EXCUSES
from tests.conformance.addon_input import answer, read, records_of
from tests.conformance.addon_scenes import Placed, cluster_addon, reference, scene
from tests.conformance.suite import Json, files, vectors

SUITE = AddOnConfigSuite()
VECTORS = {v.id: v for v in vectors(files(KEPT)["addon_config"])}


def matching(given: Json) -> list[str]:
    return [excuse.name for excuse in EXCUSES if excuse.applies(given)]


def test_a_vector_that_matches_no_excuse_agrees_completely() -> None:
    for vector in VECTORS.values():
        if not matching(vector.input):
            assert SUITE.run(vector.input) == said_by_ocm(vector.answers[0], vector.input), (
                vector.id
            )


def test_at_least_a_fifth_of_the_vectors_needs_no_excuse() -> None:
    free = [v.id for v in VECTORS.values() if not matching(v.input)]

    assert len(free) * 5 >= len(VECTORS)


def test_the_reading_that_excuses_rest_on_is_ocms() -> None:
    """Statuses of all add-ons, and the numbers of every placement, are those of the vectors."""
    for vector in VECTORS.values():
        (expected,) = vector.answers
        if expected["error"] or "own configuration twice" in matching(vector.input):
            continue
        given = read(vector.input)
        said = {node["placement"]: node for node in expected["nodes"]}
        told = said_by_ocm(expected, vector.input)["progressing"]
        for node in given.nodes:
            statuses = {a["cluster"]: a["rolloutStatus"] for a in said[node.key]["addons"]}
            assert statuses == {c: r.status.value for c, r in records_of(node).items()}, vector.id
            found = answer(node, records_of(node), given.now)
            wanted = len(said[node.key]["configuredClusters"])
            done = found.done == wanted > 0
            first = found.done if done else found.done + found.moving
            ((_, _, message),) = told[node.key]
            assert f"{first}/{wanted} " in message, vector.id
            assert message.endswith(f"{found.failed} failed {found.timed_out} timeout."), vector.id


# -- what strict answers --------------------------------------------------------------------------


def told(given: Json) -> tuple[list[str], list[str]]:
    """Clusters whose configurations strict changes, and those that it tells that they are set."""
    got, before = SUITE.run(given), carried(given)
    changed = [c for c, configs in sorted(got["configs"].items()) if configs != before[c]]
    return changed, [c for c, said in sorted(got["configured"].items()) if said == ["True"]]


def one_at_a_time(**options: Any) -> Json:
    return {"type": "Progressive", "progressive": {"maxConcurrency": 1, **options}}


ALL: Json = {"type": "All"}
GROUPS: Json = {"type": "ProgressivePerGroup"}
OWN = cluster_addon("a", "done", [reference("d2", "v9", "v9")], own=["d2", "d2"])
SWAPPED = [reference("d1", "v2", "v2"), reference("d2", "v9", "v9")]
KNOWS, DIFFERS = (
    cluster_addon(cluster, "done", [reference("d2", value, value)], own=["d2"])
    for cluster, value in (("a", "v1"), ("b", "v0"))
)

ROWS = [
    # Only the placement that is there rolls out; OCM stops the whole add-on.
    ("placement missing",
     scene({"a": "old", "b": "old"}, Placed(ALL, [["a"]], exists=False), Placed(ALL, [["b"]])),
     ["b"], ["b"]),
    # What is said is invalid, nobody is touched; who carries the right thing stays configured.
    ("invalid values",
     scene({"a": "old", "b": "done"}, Placed(one_at_a_time(maxFailures="many"), [["a", "b"]])),
     [], ["b"]),
    # A number in digits is a number.
    ("refused by OCM alone",
     scene({"a": "old", "b": "done"}, Placed(one_at_a_time(maxFailures="10"), [["a", "b"]])),
     ["a"], ["a", "b"]),
    # The spec is what counts: one slot, not all at once as one of the defaults.
    ("progression behind the spec",
     scene({"a": "old", "b": "old"}, Placed(one_at_a_time(), [["a", "b"]]), progressions=False),
     ["a"], ["a"]),
    # Nothing is never rolled out.
    ("configuration missing",
     scene({"a": "old", "b": "old"}, Placed(ALL, [["a", "b"]]), known={"d1": ""}),
     [], []),
    # Named twice it is one configuration, so that the cluster is done and leaves its slot.
    ("own configuration twice",
     scene({"a": OWN, "b": "old"}, Placed(one_at_a_time(), [["a", "b"]])),
     ["b"], ["a", "b"]),
    # What a placement gave that selects it no more is kept; nobody uninstalls it.
    ("left over by a placement",
     scene(
         {"a": "done", "x": cluster_addon("x", "done", [reference("d2", "v9", "v9")])},
         Placed(ALL, [["a"]]),
         known={"d2": "v9"},
     ),
     [], ["a"]),
    # A cluster of the later placement holds up no group of the earlier one.
    ("overlap without an add-on",
     scene({"a": "old"}, Placed(GROUPS, [["c"], ["a"]]), Placed(ALL, [["c"]])),
     ["a"], ["a"]),
    # An object has one content, whichever cluster refers to it.
    ("hash of an own configuration",
     scene({"a": KNOWS, "b": DIFFERS}, Placed(ALL, [["a", "b"]])),
     ["b"], ["a", "b"]),
    # Another order is another configuration; it is rolled out as any other.
    ("order within a resource is kept",
     scene(
         {c: cluster_addon(c, "done", SWAPPED) for c in ("a", "b")},
         Placed(one_at_a_time(), [["a", "b"]], ["d2", "d1"]),
         known={"d2": "v9"},
     ),
     ["a"], ["a"]),
    # The first group lost its only cluster to the later placement, so the second waits for nobody.
    ("overlapping placements",
     scene({"a": "old", "b": "old"}, Placed(GROUPS, [["a"], ["b"]]), Placed(ALL, [["a"]])),
     ["a", "b"], ["a", "b"]),
    # No clock of an agent ends a soak: it begins when the hub first sees the success.
    ("soak by our clock",
     scene({"a": "done", "b": "old"}, Placed(one_at_a_time(minSuccessTime="5m"), [["a", "b"]])),
     [], ["a"]),
    # Nor a deadline: the slot is held until ours has run.
    ("deadline by our clock",
     scene(
         {"a": "stuck", "b": "old"},
         Placed(one_at_a_time(progressDeadline="5m", maxFailures=1), [["a", "b"]]),
     ),
     [], ["a"]),
    # A failure that has not stood for the grace is under way, and so there is a slot for another.
    ("failure grace", VECTORS["edge-progressive-failed-breach"].input, ["b"], ["a", "b"]),
    # The first group goes first, whatever its clusters are called.
    ("groups before names",
     scene({"a": "old", "b": "old"}, Placed(one_at_a_time(), [["b"], ["a"]])),
     ["b"], ["b"]),
    # Whoever is under way keeps its slot ahead of an earlier name.
    ("slots are kept",
     scene({"a": "old", "b": "moving"}, Placed(one_at_a_time(), [["a"], ["b"]])),
     [], ["b"]),
    # A group that nobody knows holds; OCM takes it for passed.
    ("mandatory group unknown",
     scene(
         {"a": "old", "b": "done"},
         Placed(one_at_a_time(mandatoryDecisionGroups=[{"groupName": "x"}]), [["a", "b"]]),
     ),
     [], ["b"]),
    # The mandatory group goes although a cluster beyond it is under way, and takes no slot from it.
    ("one stage after another",
     scene(
         {"a": "old", "b": "moving"},
         Placed(one_at_a_time(mandatoryDecisionGroups=[{"groupName": "g0"}]), [["a"], ["b"]]),
     ),
     ["a"], ["a", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("excuse", "given", "changed", "configured"), ROWS, ids=[r[0] for r in ROWS]
)
def test_strict_answers_as_the_row_of_each_excuse_says(
    excuse: str, given: Json, changed: list[str], configured: list[str]
) -> None:
    assert excuse in matching(given)
    assert told(given) == (changed, configured)


def test_no_excuse_is_without_the_answer_that_strict_gives_instead() -> None:
    assert [row[0] for row in ROWS] == [excuse.name for excuse in EXCUSES]


# Vectors that one excuse explains: clusters that strict changes, and those told that they are set.
KEPT_ANSWERS: Mapping[str, tuple[str, list[str], list[str]]] = {
    "edge-manual-default-has-no-hash-yet": ("configuration missing", [], []),
    "edge-manual-own-config-replaces-same-kind": ("configuration missing", [], []),
    "edge-progressive-failed-breach": ("failure grace", ["b"], ["a", "b"]),
    "rnd-00045": (
        "invalid values",
        [],
        [
            "cluster17",
            "cluster18",
            "cluster19",
            "cluster20",
            "cluster21",
            "cluster24",
            "cluster36",
            "cluster37",
            "cluster39",
            "cluster40",
        ],
    ),
    "rnd-00105": (
        "invalid values",
        [],
        ["c-020", "c-021", "c-022", "c-025", "c-027", "c-028", "c-029", "c-033"],
    ),
    "rnd-00145": ("configuration missing", [], ["w33"]),
    "rnd-00155": ("hash of an own configuration", ["b1", "u17"], ["b1", "u17", "y1"]),
    "rnd-00195": (
        "invalid values",
        [],
        ["a.b-45", "ab-119", "eu-30", "eu-70", "prod-65", "west-114"],
    ),
    "rnd-00215": (
        "overlap without an add-on",
        ["a-b-7a", "eu6f", "us110"],
        [
            "a-b-7a",
            "a7",
            "ab.c1",
            "abea",
            "eu-12d",
            "eu6f",
            "eub5",
            "us.14",
            "us110",
            "west.173",
            "west.85",
            "x.10f",
        ],
    ),
    "rnd-00225": ("invalid values", [], ["a-16", "a.b-87", "lab-93"]),
    "rnd-00245": ("invalid values", [], ["c-019", "c-020"]),
    "rnd-00255": ("order within a resource is kept", ["c-028"], ["c-028", "c-029"]),
    "rnd-00285": ("invalid values", [], ["e13", "h13", "i46", "j71", "p40", "p46", "s31", "v57"]),
}


@pytest.mark.parametrize("vector", KEPT_ANSWERS)
def test_strict_answers_a_vector_that_one_excuse_explains(vector: str) -> None:
    excuse, changed, configured = KEPT_ANSWERS[vector]
    given = VECTORS[vector].input

    assert matching(given) == [excuse]
    assert told(given) == (changed, configured)


def test_no_vector_that_one_excuse_explains_is_without_its_answer() -> None:
    alone = {
        v.id
        for v in VECTORS.values()
        if len(matching(v.input)) == 1 and SUITE.run(v.input) != said_by_ocm(v.answers[0], v.input)
    }

    assert alone == set(KEPT_ANSWERS)
