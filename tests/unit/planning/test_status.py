"""What a workload's status says: numbers that add up, conditions, and what is waited for."""

from typing import Any

import pytest

from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from tests.support import make
from tests.support.desk import MIN, SEC, WEB, Desk, decided, redecide

OK = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
BUSY = {**OK, "Progressing": "True"}
BAD = {**BUSY, "Degraded": "True"}


def desk(*clusters: str, **workload: Any) -> Desk:
    return Desk([*decided(*clusters), make.workload(**workload)]).converge()


def status(d: Desk) -> Obj:
    found = d.hub.get(WEB)["status"]
    assert isinstance(found, dict)
    return found


def condition(d: Desk, kind: str = names.PROGRESSING) -> tuple[str, str, str]:
    found = {c["type"]: c for c in status(d)["conditions"]}[kind]
    return found["status"], found["reason"], found["message"]


def message(d: Desk) -> str:
    return condition(d)[2]


# -- what is waited for ------------------------------------------------------------------------


def test_the_message_counts_each_phase_of_the_stage_that_is_waited_for() -> None:
    clusters = [f"c{n}" for n in range(8)]
    strategy = make.progressive(
        maxConcurrency=5, minSuccessTime="5m", maxFailures=3, progressDeadline="1h"
    )
    d = desk(*clusters, strategy=strategy)
    d.report("c0", **OK)
    d.converge().later(5 * MIN).converge()
    d.report("c1", **OK)
    d.report("c2", **BAD)
    d.converge().later(MIN).converge()

    assert condition(d)[:2] == ("True", "RollingOut")
    assert message(d) == (
        "placement p, the rest: 1 of 8 soaked, 2 waiting, 3 progressing, 1 failing, 1 soaking "
        "(SlotsFull)"
    )


def test_each_placement_that_is_not_done_has_its_sentence() -> None:
    documents = [*decided("a", placement="one"), *decided("z", placement="two")]
    d = Desk([*documents, make.workload(placements=["one", "two"])]).converge()
    assert message(d) == (
        "placement one, all clusters: 0 of 1 soaked, 1 progressing; "
        "placement two, all clusters: 0 of 1 soaked, 1 progressing"
    )

    d.report("a", **OK)
    d.converge().later(15 * SEC).converge()
    assert message(d) == "placement two, all clusters: 0 of 1 soaked, 1 progressing"


def test_the_end_says_how_it_went() -> None:
    strategy = make.progressive(maxFailures=1)
    d = desk("a", "b", "c", strategy=strategy, annotations={names.SKIP: "c"})
    d.report("a", **OK)
    d.report("b", **BAD)
    d.converge().later(MIN).converge()

    text = "1 clusters succeeded, 1 failed within budget, 1 skipped"
    assert condition(d) == ("False", "CompleteWithFailures", text)
    assert condition(d, names.READY) == ("True", "RolledOutWithFailures", text)
    assert condition(d, names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing", text)


def test_a_stop_is_told_before_what_is_waited_for_and_names_its_placement() -> None:
    documents = [*decided("a", placement="one"), *decided("z", placement="two")]
    d = Desk([*documents, make.workload(placements=["one", "two"])])
    d.hub.delete(Ref(PLACEMENT, "default/two"))
    d.converge()

    assert condition(d)[:2] == ("False", "PlacementNotFound")
    assert message(d) == (
        "placement two: placement default/two does not exist; create it, or correct the "
        "placementRef"
    )
    assert [ref.rpartition("/")[0] for ref in d.works()] == ["a"]


def test_ready_has_the_reason_of_progressing_until_it_is_true() -> None:
    d = desk("a")
    assert condition(d, names.READY)[:2] == ("False", "RollingOut")
    d.edit({"metadata": {"annotations": {names.PAUSED: "true"}}})
    d.converge()
    assert condition(d, names.READY)[:2] == condition(d)[:2] == ("False", "Paused")


def test_a_brake_is_told_rather_than_that_no_cluster_is_left() -> None:
    """It once said NoTargets, and not that eleven works were held."""
    d = desk(*(f"c{n:02d}" for n in range(11))).later(60 * MIN)
    redecide(d)
    d.later(10 * SEC).converge()

    assert condition(d)[1] == "RemovalBrake"
    assert len(d.works()) == 11


@pytest.mark.parametrize("rules", [(), ("Degraded",)])
def test_success_without_a_progressing_rule_says_that_health_is_unverified(
    rules: tuple[str, ...],
) -> None:
    d = desk("a", rules=rules)
    d.report("a", **OK)
    d.converge().later(15 * SEC).converge()

    assert condition(d)[1] == "Complete"
    assert "HealthUnverified" in message(d)


# -- numbers -----------------------------------------------------------------------------------


def test_numbers_are_of_works_that_carry_this_template_at_this_generation() -> None:
    d = desk("a", "b", "c", "d")
    d.report("a", **OK)
    d.report("b", **BUSY)
    d.report("c", **BAD)
    d.converge()
    expected = {
        "desiredTotal": 4, "total": 4, "updated": 4,
        "applied": 3, "available": 3, "progressing": 2, "degraded": 1,
    }  # fmt: skip
    assert status(d)["summary"] == expected
    assert status(d)["placementSummary"] == [
        {
            "name": "p",
            "availableDecisionGroups": "1 (4 / 4 clusters applied)",
            "summary": expected,
        }
    ]

    d.template(make.template("2"))
    d.converge()
    counts = status(d)["summary"]
    assert {key: n for key, n in counts.items() if n} == {
        "desiredTotal": 4,
        "total": 4,
        "updated": 4,
    }


def test_only_works_that_were_written_to_count_as_updated() -> None:
    d = desk("a", "b", "c", strategy=make.progressive(maxConcurrency=1))

    assert status(d)["summary"]["desiredTotal"] == 3
    assert status(d)["summary"]["updated"] == status(d)["summary"]["total"] == 1


def test_a_cluster_that_is_tried_again_counts_once() -> None:
    """It once said that 5 of 3 clusters were applied."""
    d = desk("a", "b", "c", strategy=make.progressive(maxFailures=3))
    d.report("a", **OK)
    d.report("b", **BAD)
    d.report("c", **BAD)
    d.converge().later(MIN).converge()
    told: list[int] = []
    d.hub.watch(WEB.kind, 0, lambda e: told.append(updated(e.obj)))

    d.edit({"metadata": {"annotations": {names.RETRY: "1"}}})
    d.converge()

    assert condition(d)[:2] == ("True", "RollingOut"), "it tries again"
    assert max(told) == 3


def test_a_cluster_that_is_given_back_what_it_had_counts_no_more() -> None:
    clusters = [f"c{n}" for n in range(8)]
    d = desk(*clusters, strategy=make.progressive())
    for cluster in clusters:
        d.report(cluster, **OK)
    d.converge().later(MIN).converge()
    d.template(make.template("2"))
    d.converge()
    found: list[tuple[str, int]] = []
    d.hub.watch(WEB.kind, 0, lambda e: found.append((_reason(e.obj), updated(e.obj))))

    d.edit({"metadata": {"annotations": {names.UNDO: status(d)["updateRevision"]}}})
    d.converge()

    back = [count for reason, count in found if reason == "RollingBack"]
    assert set(back) == {6}, "a quarter of them goes at once"


def test_a_cluster_that_could_not_be_given_back_what_it_had_counts_once_when_it_is_tried_again() -> (
    None
):
    d = desk("a", "b", strategy=make.progressive())
    for revision in ("1", "2"):
        d.template(make.template(revision))
        d.converge()
        d.report("a", **OK)
        d.report("b", **OK)
        d.converge().later(MIN).converge()
    d.edit({"metadata": {"annotations": {names.UNDO: status(d)["updateRevision"]}}})
    for write in d.plan().writes:
        if write.ref.kind is MANIFEST_WORK:
            d.fleet.attempted(write, d.clock.now(), WEB)  # and it does not land
        else:
            d.do(write)
    told: list[int] = []
    d.hub.watch(WEB.kind, 0, lambda e: told.append(updated(e.obj)))

    d.edit({"metadata": {"annotations": {names.UNDO: None, names.RETRY: "1"}}})
    d.converge()

    assert max(told) == 2


def updated(workload: Obj) -> int:
    return int((workload.get("status") or {}).get("summary", {}).get("updated", 0))


def _reason(workload: Obj) -> str:
    listed = (workload.get("status") or {}).get("conditions") or []
    return next((c["reason"] for c in listed if c["type"] == names.PROGRESSING), "")


@pytest.mark.parametrize("broken", ["placement", "strategy"])
def test_a_ref_that_could_not_be_evaluated_has_no_entry(broken: str) -> None:
    d = Desk([*decided("a", placement="one"), *decided("z", placement="two"), make.workload()])
    refs: list[Obj] = [{"name": "one"}, {"name": "two"}]
    if broken == "placement":
        refs[1] = {"name": "nowhere"}
    else:
        redecide(d, placement="two")
        refs[1]["rolloutStrategy"] = make.everywhere(progressDeadline="soon")
    d.edit({"spec": {"placementRefs": refs}})
    d.later(10 * SEC).converge()

    assert [entry["name"] for entry in status(d)["placementSummary"]] == ["one"]


def test_groups_are_those_of_the_decisions() -> None:
    pages = [make.decision([f"c{n}"], index=n, page=1) for n in range(3)]
    d = Desk([make.placement(ours=False), *pages, make.workload()]).converge()

    (entry,) = status(d)["placementSummary"]
    assert entry["availableDecisionGroups"] == "3 (3 / 3 clusters applied)"


def test_the_summary_follows_the_spec_when_a_ref_goes() -> None:
    documents = [*decided("a", placement="one"), *decided("z", placement="two")]
    d = Desk([*documents, make.workload(placements=["one", "two"])]).converge()
    d.edit({"spec": {"placementRefs": [{"name": "two"}]}})
    d.converge()

    assert [entry["name"] for entry in status(d)["placementSummary"]] == ["two"]
    assert status(d)["summary"]["desiredTotal"] == 1


# -- OCM's conditions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        pytest.param(None, ("True", "AsExpected"), id="read"),
        pytest.param("placement", ("False", "PlacementDecisionNotFound"), id="no placement"),
        pytest.param("decision", ("False", "NotAsExpected"), id="torn"),
        pytest.param("empty", ("False", "PlacementDecisionEmpty"), id="nothing selected"),
        pytest.param("strategy", ("False", "NotAsExpected"), id="bad strategy"),
        pytest.param("both", ("False", "NotAsExpected"), id="bad strategy, nothing selected"),
    ],
)
def test_whether_the_placement_was_verified(broken: str | None, says: tuple[str, str]) -> None:
    d = Desk([*decided("a"), make.workload()])
    match broken:
        case "placement":
            d.hub.delete(Ref(PLACEMENT, "default/p"))
        case "decision":
            d.hub.delete(Ref(PLACEMENT_DECISION, "default/p-0-1"))
        case "empty":
            redecide(d)
        case "strategy" | "both":
            if broken == "both":
                redecide(d)
            bad = make.everywhere(progressDeadline="soon")
            d.edit({"spec": {"placementRefs": [{"name": "p", "rolloutStrategy": bad}]}})
    d.later(10 * SEC).converge()

    assert condition(d, names.PLACEMENT_VERIFIED)[:2] == says
    applied = condition(d, names.MANIFESTWORK_APPLIED)[1]
    assert applied == ("PlacementDecisionEmpty" if broken == "empty" else "NotAsExpected")


def test_transition_times_move_only_when_the_status_does() -> None:
    d = desk("a", "b", strategy=make.progressive(maxConcurrency=1))
    first = {c["type"]: c["lastTransitionTime"] for c in status(d)["conditions"]}
    d.later(MIN)
    for cluster in ("a", "b"):
        d.report(cluster, **OK)
        d.converge().later(15 * SEC).converge()

    last = {c["type"]: c["lastTransitionTime"] for c in status(d)["conditions"]}
    moved = {kind for kind in last if last[kind] != first[kind]}
    assert moved == {
        names.MANIFESTWORK_APPLIED,
        names.PLACEMENT_ROLLED_OUT,
        names.PROGRESSING,
        names.READY,
    }


def test_conditions_of_others_are_kept() -> None:
    d = Desk([*decided("a"), make.workload()])
    theirs = make.condition("example.com/Theirs")
    d.hub.patch_status(WEB, {"status": {"conditions": [theirs]}})
    d.converge()

    assert theirs in status(d)["conditions"]
