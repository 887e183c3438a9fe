"""What simulated agents write and when, on the embedded hub in virtual time.

Traces are lists of (microseconds since the start, conditions that were written). A condition is
``TypeStatus@generation``, such as ``Applied+@1``.
"""

import pytest

from rollout.model.kinds import MANIFEST_WORK, Obj
from rollout.sim.agents import FINALIZER
from tests.support.stage import APPLIED, FAILED, HEALTHY, READY, WORK, S, Stage, staged, template

MS = 1000
DEGRADED = "Applied+@1 Available+@1 Degraded+@1 Progressing+@1"


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        pytest.param({}, [(2 * S, APPLIED), (12 * S, READY)], id="success"),
        pytest.param({"readyAfter": "0s"}, [(2 * S, READY)], id="ready at once"),
        pytest.param(
            {"applyAfter": "0s", "readyAfter": "0s"}, [(0, READY)], id="ready before a look"
        ),
        pytest.param({"outcome": "fail"}, [(2 * S, APPLIED), (12 * S, DEGRADED)], id="fail"),
        pytest.param(
            {"outcome": "fail", "recoverAfter": "30s"},
            [(2 * S, APPLIED), (12 * S, DEGRADED), (42 * S, READY)],
            id="fail and recover",
        ),
        pytest.param({"outcome": "failApply"}, [(2 * S, FAILED)], id="apply fails"),
        pytest.param(
            {"outcome": "failApply", "recoverAfter": "5s"},
            [(2 * S, FAILED), (7 * S, READY)],
            id="apply fails and recovers",
        ),
        pytest.param({"outcome": "hang"}, [(2 * S, APPLIED)], id="hang"),
        pytest.param(
            {"outcome": "hang", "recoverAfter": "1m"},
            [(2 * S, APPLIED), (62 * S, READY)],
            id="hang and recover",
        ),
        pytest.param({"outcome": "silent"}, [], id="silent"),
        pytest.param(
            {"outcome": "silent", "recoverAfter": "1m"}, [(60 * S, READY)], id="wakes up late"
        ),
        pytest.param(
            {"alternative": {"probability": 1.0, "outcome": "failApply"}},
            [(2 * S, FAILED)],
            id="certain alternative",
        ),
        pytest.param(
            {"alternative": {"probability": 0.0, "outcome": "failApply"}},
            [(2 * S, APPLIED), (12 * S, READY)],
            id="impossible alternative",
        ),
        pytest.param(
            {"flapping": {"period": "5s", "count": 2}},
            [
                (2 * S, APPLIED),
                (12 * S, READY),
                (17 * S, DEGRADED),
                (22 * S, READY),
                (27 * S, DEGRADED),
                (32 * S, READY),
            ],
            id="flapping",
        ),
        pytest.param(
            {"offline": [{"from": "0s", "to": "1m"}]},
            [(62 * S, APPLIED), (72 * S, READY)],
            id="out of touch when the work comes",
        ),
        pytest.param(
            {"offline": [{"from": "1s", "to": "20s"}]},
            [(20 * S, READY)],
            id="catches up with the latest only",
        ),
        pytest.param(
            {"offline": [{"from": "5s", "to": "12s"}]},
            [(2 * S, APPLIED), (12 * S, READY)],
            id="back at the very instant",
        ),
        pytest.param(
            {"offline": [{"from": "12s", "to": "15s"}, {"from": "15s", "to": "18s"}]},
            [(2 * S, APPLIED), (18 * S, READY)],
            id="two windows that touch",
        ),
        pytest.param(
            {"offline": [{"from": "2026-01-01T00:00:05Z"}]}, [(2 * S, APPLIED)], id="never back"
        ),
        pytest.param(
            {"applyAfter": "1500us", "readyAfter": "1us"},
            [(1500, APPLIED), (1501, READY)],
            id="microseconds",
        ),
    ],
)
def test_an_agent_reports_what_its_behaviour_says_at_the_instant(
    behaviour: Obj, expected: list[tuple[int, str]]
) -> None:
    assert staged(behaviour).play() == expected


@pytest.mark.parametrize(
    ("spec", "behaviour", "expected"),
    [
        (template(), {}, [(2 * S, "Applied+@1"), (12 * S, "Applied+@1 Available+@1")]),
        (template(), {"outcome": "fail"}, [(2 * S, "Applied-@1")]),
        (
            template("Progressing"),
            {},
            [
                (2 * S, "Applied+@1 Progressing+@1"),
                (12 * S, "Applied+@1 Available+@1 Progressing-@1"),
            ],
        ),
        (template("Progressing"), {"outcome": "fail"}, [(2 * S, "Applied-@1")]),
        (
            template("Complete"),
            {},
            [(2 * S, "Applied+@1 Complete-@1"), (12 * S, "Applied+@1 Available+@1 Complete+@1")],
        ),
        (
            template("Progressing", resource="statefulsets"),
            {},
            [(2 * S, "Applied+@1"), (12 * S, "Applied+@1 Available+@1")],
        ),
        (
            template(),
            {"flapping": {"period": "1s"}, "readyAfter": "0s"},
            [
                (2 * S, "Applied+@1 Available+@1"),
                (3 * S, "Applied+@1 Available-@1"),
                (4 * S, "Applied+@1 Available+@1"),
            ],
        ),
    ],
    ids=[
        "no rules",
        "no rule can say degraded",
        "progressing alone",
        "progressing alone cannot say degraded",
        "complete",
        "a rule that matches no manifest",
        "flapping without rules",
    ],
)
def test_only_conditions_that_rules_define_are_written(
    spec: Obj, behaviour: Obj, expected: list[tuple[int, str]]
) -> None:
    assert staged(behaviour, spec).play() == expected


def test_words_are_those_of_the_agents() -> None:
    stage = staged({})
    stage.play()

    said = {
        c["type"]: (c["reason"], c["message"]) for c in stage.hub.get(WORK)["status"]["conditions"]
    }

    assert said == {
        "Applied": ("AppliedManifestWorkComplete", "Apply manifest work complete"),
        "Available": ("ResourcesAvailable", "All resources are available"),
        "Progressing": ("ConditionRulesAggregated", "Manifest is not Progressing"),
        "Degraded": ("ConditionRulesAggregated", "Manifest is not Degraded"),
    }


def test_an_update_is_reported_at_its_generation_and_moves_times_only_with_the_status() -> None:
    stage = staged({})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    trace = stage.play()

    assert trace[2:] == [
        (62 * S, "Applied+@2 Available+@1 Degraded-@2 Progressing+@2"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]
    times = {
        kind: stage.condition(kind)["lastTransitionTime"][-3:-1]
        for kind in ("Applied", "Available", "Degraded", "Progressing")
    }
    assert times == {"Applied": "02", "Available": "12", "Degraded": "02", "Progressing": "12"}
    assert stage.condition("Progressing")["lastTransitionTime"] == "2026-01-01T00:01:12Z"


def test_a_change_in_the_middle_replaces_what_was_pending() -> None:
    stage = staged({})
    stage.play(7 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[1:] == [
        (9 * S, "Applied+@2 Degraded-@2 Progressing+@2"),
        (19 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_a_change_of_labels_alone_starts_nothing() -> None:
    stage = staged({})
    stage.play(60 * S)
    stage.hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})

    assert stage.agents.next_at() is None


def test_at_most_two_status_writes_for_a_revision_that_goes_well() -> None:
    stage = staged({}, finalizers=False)
    before = stage.hub.list(MANIFEST_WORK).version
    stage.play()

    assert stage.hub.list(MANIFEST_WORK).version - before == 2


def test_the_flaw_of_stale_evaluation_claims_success_for_what_is_not_applied() -> None:
    stage = staged({"flaws": {"staleEvaluation": True}, "readyAfter": "20s"})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [
        (60 * S, "Applied+@1 Available+@2 Degraded-@2 Progressing-@2"),
        (62 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing+@2"),
        (82 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_the_flaw_of_missed_progress_keeps_the_transition_time_of_the_first_install() -> None:
    stage = staged({"flaws": {"missedProgress": True}})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [
        (62 * S, "Applied+@2 Available+@1 Degraded-@1 Progressing-@1"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]
    assert stage.condition("Progressing")["lastTransitionTime"] == "2026-01-01T00:00:12Z"


def test_flaws_concern_updates_alone() -> None:
    stage = staged({"flaws": {"staleEvaluation": True, "missedProgress": True}})

    assert stage.play() == [(2 * S, APPLIED), (12 * S, READY)]


def test_a_complete_work_is_never_applied_again() -> None:
    stage = staged({}, template("Complete"))
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [(60 * S, "Applied+@1 Available+@2 Complete+@2")]


@pytest.mark.parametrize(("skew", "shown"), [("90s", "00:01:32"), ("-1h", "23:00:02")])
def test_transition_times_are_the_agents_own_clock_in_whole_seconds(skew: str, shown: str) -> None:
    stage = staged({"clockSkew": skew, "applyAfter": "2750ms"})

    assert stage.play(5 * S) == [(2750 * MS, APPLIED)]
    assert stage.condition("Applied")["lastTransitionTime"].endswith(f"T{shown}Z")


def test_the_finalizer_is_set_with_the_first_word_and_goes_with_the_resources() -> None:
    stage = staged({"deleteAfter": "3s"})
    stage.play(20 * S)
    assert stage.hub.get(WORK)["metadata"]["finalizers"] == [FINALIZER]

    stage.hub.delete(WORK)

    assert [(at, shown.split()[-2:]) for at, shown in stage.play()[2:]] == [
        (20 * S, ["Deleting+@2", "Progressing-@1"]),
        (23 * S, ["gone"]),
    ]


def test_finalizers_of_others_are_left_alone() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    stage.create(finalizers=["example.com/other"])
    stage.play(20 * S)
    stage.hub.delete(WORK)
    stage.play(40 * S)

    assert stage.hub.get(WORK)["metadata"]["finalizers"] == ["example.com/other"]


def test_without_finalizers_a_work_is_gone_at_once() -> None:
    stage = staged({}, finalizers=False)
    stage.play(20 * S)
    stage.hub.delete(WORK)

    assert stage.play()[2:] == [(20 * S, "gone")]


def test_an_agent_out_of_touch_deletes_when_it_is_back() -> None:
    stage = staged({"offline": [{"from": "15s", "to": "1m"}], "deleteAfter": "0s"})
    stage.play(20 * S)
    stage.hub.delete(WORK)

    assert stage.play()[2:] == [(60 * S, "gone")]


def test_a_work_made_anew_is_dealt_other_cards() -> None:
    stage = staged({"readyAfter": {"min": "0s", "max": "1h"}, "deleteAfter": "0s"})
    stage.play(10 * S)
    stage.hub.delete(WORK)
    stage.play(20 * S)
    stage.create()
    stage.play(4000 * S)
    first, second = stage.trace[0][0], stage.trace[-1][0] - 20 * S

    assert stage.trace[-1][1] == READY
    assert second != first


def test_a_changed_label_has_a_refused_work_applied_again_and_an_annotation_does_not() -> None:
    refused = next(s for s in range(50) if _first(s) == FAILED)
    stage = staged({"alternative": {"probability": 0.5, "outcome": "failApply"}}, seed=refused)
    stage.play(60 * S)
    assert stage.trace == [(2 * S, FAILED)]

    stage.hub.patch(WORK, {"metadata": {"annotations": {"a": "b"}}})
    stage.play(120 * S)
    assert stage.trace == [(2 * S, FAILED)]

    for number in range(20):  # until an attempt is drawn that goes well
        stage.hub.patch(WORK, {"metadata": {"labels": {"attempt": str(number)}}})
        stage.play((180 + 60 * number) * S)
    assert stage.trace[-1][1] == READY


def test_a_changed_label_changes_nothing_where_all_is_applied() -> None:
    stage = staged({})
    stage.play(60 * S)
    before = list(stage.trace)
    stage.hub.patch(WORK, {"metadata": {"labels": {"attempt": "1"}}})

    assert stage.play(120 * S) == before


def _first(seed: int) -> str:
    tried = staged({"alternative": {"probability": 0.5, "outcome": "failApply"}}, seed=seed)
    return tried.play(60 * S)[0][1]
