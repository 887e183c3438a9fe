"""The excuses of suite ``mwrs_sync`` are narrow, and each stands for an answer that strict gives."""

from collections.abc import Iterable, Mapping

import pytest

from tests.conformance.__main__ import KEPT
from tests.conformance.mwrs_excuses import EXCUSES
from tests.conformance.mwrs_scenes import ALL, LABEL, RUNNING, SLOTTED, progressive, scene, work
from tests.conformance.mwrs_sync import MwrsSyncSuite
from tests.conformance.runner import judge
from tests.conformance.suite import Json, Vector, files, vectors

SUITE = MwrsSyncSuite()
VECTORS: Mapping[str, Vector] = {v.id: v for v in vectors(files(KEPT)["mwrs_sync"])}


def matching(given: Json) -> list[str]:
    return [excuse.name for excuse in EXCUSES if excuse.applies(given)]


# -- the excuses as a whole --------------------------------------------------------------------


def test_no_excuse_covers_a_vector_that_agrees() -> None:
    """So the number excused is the number that differs."""
    agreed = {v.id for v in VECTORS.values() if judge(SUITE, v).agrees}

    assert {v.id for v in VECTORS.values() if not matching(v.input)} == agreed


def test_at_least_a_fifth_of_the_vectors_needs_no_excuse() -> None:
    free = [v.id for v in VECTORS.values() if not matching(v.input)]

    assert len(free) * 5 >= len(VECTORS)


# -- what strict answers -----------------------------------------------------------------------


def kept(vector: str) -> Json:
    return VECTORS[vector].input


NOTHING: Mapping[str, list[str]] = {"create": [], "update": [], "delete": []}


def doing(**verbs: Iterable[str]) -> Mapping[str, list[str]]:
    return {**NOTHING, **{verb: list(clusters) for verb, clusters in verbs.items()}}


VERIFIED = {"PlacementVerified": "AsExpected"}
COMPLETE = {"PlacementRolledOut": "Complete"}
ROLLING = {"PlacementRolledOut": "Progressing"}

EXPECTED: Mapping[
    str, tuple[Json, Mapping[str, list[str]], Mapping[str, str], Mapping[str, int]]
] = {
    "placement missing": (
        kept("edge-placement-missing-after-good-one"),
        doing(create=["a", "b"]),
        {"PlacementVerified": "PlacementDecisionNotFound", **ROLLING},
        {"total": 2},
    ),
    "invalid values": (
        kept("edge-two-placements-one-invalid"),
        doing(create=["c", "d"]),
        {"PlacementVerified": "NotAsExpected", **ROLLING},
        {"total": 3, "applied": 1},
    ),
    "refused by OCM alone": (
        scene(progressive(maxConcurrency="1"), [("", "ab")]),
        doing(create=["a"]),
        {**VERIFIED, **ROLLING},
        {"total": 1},
    ),
    "overlapping placements": (
        scene(ALL, [("", "ab")], [work("a"), work("b")], second=(ALL, [("", "bc")])),
        doing(create=["c"]),
        {**VERIFIED, **ROLLING},
        {"total": 3, "applied": 2},
    ),
    "name too long": (
        kept("edge-name-too-long"),
        doing(create=["a"]),
        {**VERIFIED, "ManifestworkApplied": "NotAsExpected", **ROLLING},
        {"total": 1},
    ),
    "nothing selected": (
        kept("edge-no-clusters"),
        NOTHING,
        {"PlacementVerified": "PlacementDecisionEmpty", **ROLLING},
        {"total": 0},
    ),
    "one selects nothing": (
        scene(ALL, [("", "a")], [work("a")], second=(ALL, [("", "")])),
        NOTHING,
        {**VERIFIED, **ROLLING},
        {"total": 1, "applied": 1},
    ),
    "selected counted by status": (
        kept("edge-selected-count-ahead"),
        NOTHING,
        {**VERIFIED, **COMPLETE},
        {"total": 2, "applied": 2},
    ),
    "outdated work leaves": (
        kept("edge-cluster-removed-with-old-template"),
        doing(delete=["b"]),
        {**VERIFIED, **COMPLETE},
        {"total": 1, "applied": 1},
    ),
    "leaving work counted": (
        kept("edge-cluster-removed"),
        doing(delete=["b"]),
        {"ManifestworkApplied": "AsExpected", **COMPLETE},
        {"total": 1, "applied": 1, "available": 1},
    ),
    "stale conditions counted": (
        kept("edge-stale-conditions-still-counted"),
        NOTHING,
        {"ManifestworkApplied": "NotAsExpected", **ROLLING},
        {"total": 1, "applied": 0, "available": 0},
    ),
    "work of another placement": (
        kept("edge-work-without-placement-label"),
        doing(update=["a"]),
        {"ManifestworkApplied": "AsExpected", **COMPLETE},
        {"total": 1, "applied": 1},
    ),
    "twins": (
        scene(ALL, [("", "a")], [work("a"), work("a", name="set1-x")]),
        doing(delete=["a"]),
        {"ManifestworkApplied": "AsExpected", **COMPLETE},
        {"total": 1, "applied": 1},
    ),
    "labels changed": (
        kept("edge-labels-propagate"),
        doing(create=["b"], update=["a"]),
        {**VERIFIED, **ROLLING},
        {"total": 2, "applied": 1},
    ),
    "work being deleted": (
        scene(ALL, [("", "ab")], [work("a"), work("b", RUNNING, deleting=True)]),
        doing(update=["b"]),
        {**VERIFIED, **ROLLING},
        {"total": 2, "applied": 1, "progressing": 0},
    ),
    "success unverified at the end": (
        scene(ALL, [("", "a")], [work("a", {"Applied": "True", "Available": "True"})]),
        NOTHING,
        {"ManifestworkApplied": "AsExpected", **COMPLETE},
        {"total": 1, "available": 1},
    ),
    "soak at the end": (
        scene(progressive(minSuccessTime="1m"), [("", "a")], [work("a")]),
        NOTHING,
        {"ManifestworkApplied": "AsExpected", **ROLLING},
        {"total": 1, "available": 1},
    ),
    "success unverified": (
        kept("edge-progressive-degraded-but-not-progressing"),
        NOTHING,
        {**VERIFIED, **ROLLING},
        {"total": 1, "degraded": 1},
    ),
    "soak by our clock": (
        scene(
            progressive(maxConcurrency=1, minSuccessTime="1m"),
            [("", "ab")],
            [work("a"), work("b", version="old")],
        ),
        NOTHING,
        {**VERIFIED, **ROLLING},
        {"total": 1, "applied": 1},
    ),
    "deadline by our clock": (
        kept("edge-progressive-deadline-passed"),
        NOTHING,
        {**VERIFIED, **ROLLING},
        {"total": 1, "progressing": 1},
    ),
    "failure grace": (
        kept("edge-progressive-breach"),
        doing(update=["b"]),
        {**VERIFIED, **ROLLING},
        {"total": 2, "degraded": 1},
    ),
    "in flight on an older revision": (
        scene(SLOTTED, [("", "abc")], [work("c", RUNNING, version="old")]),
        doing(update=["c"]),
        {**VERIFIED, **ROLLING},
        {"total": 1},
    ),
    "groups before names": (
        scene(SLOTTED, [("", "z"), ("", "a")]),
        doing(create=["z"]),
        {**VERIFIED, **ROLLING},
        {"total": 1},
    ),
    "mandatory group unknown": (
        scene(progressive(mandatoryDecisionGroups=[{"groupName": "canray"}]), [("", "ab")]),
        NOTHING,
        {"PlacementVerified": "NotAsExpected", **ROLLING},
        {"total": 0},
    ),
    "one stage after another": (
        scene(
            progressive(maxConcurrency=2, mandatoryDecisionGroups=[{"groupName": "canary"}]),
            [("canary", "a"), ("", "bcd")],
            [work("a"), work("b", RUNNING)],
        ),
        doing(create=["c"]),
        {**VERIFIED, **ROLLING},
        {"total": 3, "applied": 2},
    ),
    "concurrency zero": (
        scene(progressive(maxConcurrency="0%"), [("", "ab")]),
        NOTHING,
        {**VERIFIED, **ROLLING},
        {"total": 0},
    ),
}
"""For each excuse an input that no other excuse covers; strict's writes, reasons and counts."""


def test_every_excuse_has_an_answer_that_is_expected_and_names_its_fields() -> None:
    names = [excuse.name for excuse in EXCUSES]

    assert len(names) == len(set(names))
    assert set(EXPECTED) == set(names)
    assert all(excuse.row and excuse.fields for excuse in EXCUSES)


@pytest.mark.parametrize("name", EXPECTED)
def test_strict_answers_as_its_row_says(name: str) -> None:
    given, actions, reasons, counts = EXPECTED[name]

    got = SUITE.run(given)
    said = {kind: reason for kind, _, reason in got["conditions"]}

    assert matching(given) == [name]
    assert got["actions"] == actions
    assert {kind: said[kind] for kind in reasons} == reasons
    assert {key: got["counts"][key] for key in counts} == counts


def test_a_missing_placement_removes_nothing_even_where_its_strategy_is_invalid() -> None:
    bad = progressive(progressDeadline="soon")
    given = scene(bad, [("", "ab")], [work("a"), work("b"), work("x")], missing=["p1"])

    got = SUITE.run(given)

    assert got["actions"] == NOTHING
    assert ["PlacementVerified", "PlacementDecisionNotFound"] in [
        [kind, reason] for kind, _, reason in got["conditions"]
    ]


def test_a_cluster_whose_work_is_being_deleted_gets_no_second_one() -> None:
    given = scene(ALL, [("", "a")], [work("a", version="old", deleting=True)])

    assert SUITE.run(given)["actions"] == doing(update=["a"])


def test_only_the_finalizer_is_compared_where_it_is_lacking() -> None:
    given = scene(ALL, [("", "a")])
    meta = given["manifestWorkReplicaSet"]["metadata"]
    unready = {**given, "manifestWorkReplicaSet": {**given["manifestWorkReplicaSet"]}}
    unready["manifestWorkReplicaSet"]["metadata"] = {**meta, "finalizers": ["an/other"]}

    got = SUITE.run(unready)

    assert got["actions"] == NOTHING
    assert got["finalizers"] == ["an/other", f"{LABEL}/manifest-work-cleanup"]
    assert matching(unready) == []
