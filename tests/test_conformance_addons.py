"""What profile strict answers where it differs from OCM over add-ons, and that the excuses are honest."""

from collections.abc import Mapping

import pytest

from tests.conformance.__main__ import KEPT
from tests.conformance.addon_config import AddOnConfigSuite, said_by_ocm
from tests.conformance.addon_excuses import EXCUSES
from tests.conformance.addon_input import answer, read, records_of
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


# -- what strict answers: vector -> (clusters whose configurations change, told that they are set) ---

STRICT: Mapping[str, tuple[str, list[str], list[str]]] = {
    "edge-manual-default-has-no-hash-yet": ("configuration missing", [], []),
    "edge-manual-own-config-replaces-same-kind": ("configuration missing", [], []),
    "edge-progressive-failed-breach": ("failure grace", ["b"], ["a", "b"]),
    "edge-two-placements-overridden-cluster-in-mandatory-group": (
        "overlapping placements",
        ["b"],
        ["a", "b"],
    ),
}


@pytest.mark.parametrize("vector", STRICT)
def test_strict_answers_as_its_row_says(vector: str) -> None:
    given = VECTORS[vector].input
    excuse, changed, configured = STRICT[vector]
    got = SUITE.run(given)
    before = {
        a["metadata"]["namespace"]: [
            r["desiredConfig"]["specHash"] for r in (a["status"].get("configReferences") or [])
        ]
        for a in given["managedClusterAddOns"]
    }

    assert excuse in matching(given)
    assert [
        c for c, refs in sorted(got["configs"].items()) if [r[4] for r in refs] != before[c]
    ] == (changed)
    assert [c for c, said in sorted(got["configured"].items()) if said == ["True"]] == configured
