"""What a ManifestWorkReplicaSet's plan consists of, wave by wave: from its finalizer to its status."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.policy import DEFAULT
from rollout.model.writes import Delete, Patch, PatchStatus, RemoveFinalizer
from rollout.planning.status import RARELY
from tests.support import make
from tests.support.desk import (
    CONTENT,
    MIN,
    SEC,
    T0,
    WEB,
    Desk,
    decided,
    desk,
    kinds,
    redecide,
    verbs,
)

DONE = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}

# -- waves -------------------------------------------------------------------------------------


def test_the_first_plan_is_finalizer_then_memory_then_works_then_status() -> None:
    assert kinds(desk("c1", "c2").plan()) == [
        [("Patch", REPLICA_SET)],
        [("Create", ROLLOUT_REVISION), ("Create", ROLLOUT_RECORD)],
        [("Create", MANIFEST_WORK), ("Create", MANIFEST_WORK)],
        [("PatchStatus", REPLICA_SET)],
    ]


def test_works_are_added_before_others_are_removed() -> None:
    d = desk("c1").converge()
    redecide(d, "c2")
    assert verbs(d.plan()) == []  # row 15: while c1 may still be named again nothing is touched

    d.later(10 * SEC)
    waves = [[(type(w).__name__, w.ref.namespace) for w in wave] for wave in d.plan().waves]
    assert waves.index([("Create", "c2")]) < waves.index([("Delete", "c1")])
    (delete,) = [w for w in d.plan().writes if isinstance(w, Delete)]
    assert (delete.unless_selected_by, delete.cluster) == (("default/p",), "c1")


def test_a_verdict_is_in_the_record_a_wave_before_the_touch_that_depends_on_it() -> None:
    strategy = make.progressive(maxConcurrency=1)
    d = desk("c1", "c2", strategy=strategy).converge()
    d.report("c1", **DONE)
    d.converge().later(15 * SEC)

    plan = d.plan()

    assert verbs(plan) == [("Create", "c2")]
    (record,) = [w for w in plan.waves[0] if w.ref.kind is ROLLOUT_RECORD]
    assert isinstance(record, Patch)
    assert '"verdict": "Soaked"' in record.changes["data"]["clusters.json"]
    assert plan.waves[1][0].ref.kind is MANIFEST_WORK


def test_asking_again_after_everything_is_carried_out_gives_nothing() -> None:
    d = desk("c1", "c2", strategy=make.progressive(maxConcurrency=1, progressDeadline="5m"))

    plan = d.converge().later(10 * SEC).plan()

    assert plan.writes == ()
    assert plan.notes == ()
    assert plan.recheck_at == T0 + 5 * MIN


def test_asking_twice_without_carrying_anything_out_gives_the_same() -> None:
    """100 passes over a cache that shows nothing of what was written make one work a cluster."""
    d = desk("c1", "c2")
    first = d.plan()

    assert {str(w.ref) for _ in range(100) for w in d.plan().writes} == {
        str(w.ref) for w in first.writes
    }
    assert [w.ref for w in d.plan().writes] == [w.ref for w in first.writes]


def test_a_workload_that_is_not_there_needs_nothing() -> None:
    assert Desk().plan("default/nobody").writes == ()


# -- deletion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_a_deleted_workload_deletes_its_works_and_then_lets_go(cascade: str) -> None:
    d = desk("c1", "c2", cascade=cascade).converge()
    uids = {obj["metadata"]["uid"] for obj in d.works().values()}
    d.hub.delete(WEB)

    deletes, *rest = d.plan().waves
    assert {w.uid for w in deletes if isinstance(w, Delete)} == uids
    assert all(isinstance(w, Delete) and not w.unless_selected_by for w in deletes)
    assert rest == []
    d.do(*deletes)
    ((release,),) = d.plan().waves
    assert isinstance(release, RemoveFinalizer)
    assert release.deleting_is_gone == (cascade == "Background")
    assert release.label == (names.WORK_OWNER_LABEL, "default.web")
    assert release.kind is MANIFEST_WORK


def test_decisions_that_we_are_writing_hold_the_workload_and_are_told_only_if_they_stay() -> None:
    """One process decides both, so what is torn for a moment is no news for anybody; but nothing is
    touched or removed on it.
    """
    placement = make.placement("p") | {"status": make.told(("", 2, ["p-0-1"]))}
    d = Desk([placement, make.decision(["c1", "c2"]), make.workload()]).converge()
    page = make.decision(["c2", "c3"])["status"]
    d.hub.patch_status(Ref(PLACEMENT_DECISION, "default/p-0-1"), {"status": {"decisions": []}})

    held = d.later(2 * SEC).plan()
    assert (held.writes, held.notes) == ((), ())
    assert held.status_due_at == T0 + 7 * SEC

    (status,) = d.later(5 * SEC).plan().writes
    assert isinstance(status, PatchStatus)
    assert "TornDecisions" in str(status.status)
    d.hub.patch_status(Ref(PLACEMENT_DECISION, "default/p-0-1"), {"status": page})
    assert verbs(d.plan()) == [("Create", "c3"), ("Delete", "c1")]


def test_a_deleted_workload_without_our_finalizer_is_left_to_others() -> None:
    d = desk("c1")
    d.edit({"metadata": {"finalizers": ["example.com/theirs"]}})
    d.hub.delete(WEB)

    assert d.plan().writes == ()


# -- revisions ---------------------------------------------------------------------------------


def revisions(d: Desk) -> dict[int, str]:
    """Content by number."""
    return {
        obj["revision"]: obj["metadata"]["annotations"][names.REVISION]
        for obj in d.hub.list(ROLLOUT_REVISION).items
    }


def test_each_template_is_kept_once_as_a_revision() -> None:
    d = desk("c1")
    for version in ("1", "2", "1", "3"):
        d.template(make.template(version))
        d.converge()

    assert revisions(d) == {
        number: content_hash(make.template(version)) for number, version in enumerate("123", 1)
    }
    kept = d.hub.list(ROLLOUT_REVISION).items[0]
    assert kept["metadata"]["ownerReferences"][0]["uid"] == d.hub.get(WEB)["metadata"]["uid"]


def test_ten_revisions_are_kept_besides_the_present_one_and_those_in_use() -> None:
    """The only slot is taken by c1 on every new one, so c2 stays on the first."""
    strategy = make.progressive(maxConcurrency=1)
    d = desk("c1", "c2", strategy=strategy).converge()
    for cluster in ("c1", "c2"):
        d.report(cluster, **DONE)
        d.converge().later(15 * SEC).converge()
    for n in range(2, 17):
        d.template(make.template(str(n)))
        d.converge()

    kept = revisions(d)
    assert kept[1] == CONTENT  # c2 still carries it
    assert max(kept) == 16
    assert 10 <= len(kept) <= 12
    assert sorted(kept)[1:] == list(range(18 - len(kept), 17))


def test_drift_on_an_older_revision_is_restored_from_the_kept_template() -> None:
    strategy = make.progressive(maxConcurrency=1)
    d = desk("c1", "c2", strategy=strategy).converge()
    for cluster in ("c1", "c2"):
        d.report(cluster, **DONE)
        d.converge().later(15 * SEC).converge()
    d.template(make.template("2"))
    d.converge()
    (work,) = d.hub.list(MANIFEST_WORK, "c2").items
    d.edit({"spec": make.template("by hand")}, ref_of(MANIFEST_WORK, work))

    (patch,) = [w for w in d.plan().writes if w.ref.namespace == "c2"]

    assert isinstance(patch, Patch)
    assert patch.touch is not None
    assert (patch.touch.first, patch.touch.cause) == (False, "Restore")
    d.converge()
    (work,) = d.hub.list(MANIFEST_WORK, "c2").items
    assert content_hash(work["spec"]) == CONTENT
    assert work["metadata"]["annotations"][names.STARTED_AT] == "2026-01-01T00:00:15.000000Z"


def test_what_another_placement_owns_is_not_restored_by_this_one() -> None:
    d = desk("c1", "c2", strategy=make.progressive()).converge()
    (work,) = d.hub.list(MANIFEST_WORK, "c2").items
    d.edit({"spec": make.template("by hand")}, ref_of(MANIFEST_WORK, work))
    assert ("PatchWork", "c2") in verbs(d.plan())
    workload = d.fleet.rollout(WEB)
    assert workload is not None
    workload.members = {**workload.members, "c2": "q"}

    assert ("PatchWork", "c2") not in verbs(d.plan())


# -- profile ocm -------------------------------------------------------------------------------


def test_profile_ocm_is_asked_for_by_annotation() -> None:
    """W-1: without a Progressing rule OCM's rollout never gets past its first clusters."""
    strategy = make.progressive(maxConcurrency=1)
    strict, ocm = (
        desk("c1", "c2", strategy=strategy, rules=(), annotations={names.SEMANTICS: profile})
        for profile in ("strict", "ocm")
    )
    for d in (strict, ocm):
        d.converge()
        d.report("c1", Applied="True", Available="True")
        d.converge()

    assert len(strict.works()) == 2
    assert len(ocm.works()) == 1


# -- the status --------------------------------------------------------------------------------


def test_no_status_is_written_when_it_says_everything_already() -> None:
    d = desk("c1").converge()
    version = d.hub.get(WEB)["metadata"]["resourceVersion"]
    d.later(MIN)

    assert d.plan().writes == ()
    assert d.hub.get(WEB)["metadata"]["resourceVersion"] == version


def test_the_status_has_a_precondition_but_where_the_finalizer_goes_before_it() -> None:
    d = desk("c1")
    (first,) = [w for w in d.plan().writes if isinstance(w, PatchStatus)]
    d.converge()
    d.edit({"metadata": {"annotations": {names.PAUSED: "true"}}})
    (second,) = [w for w in d.plan().writes if isinstance(w, PatchStatus)]

    assert first.version is None
    assert second.version == int(d.hub.get(WEB)["metadata"]["resourceVersion"])


def test_a_status_is_held_back_until_the_last_one_is_old_enough() -> None:
    policy = replace(DEFAULT, tell_every=SEC)
    d = Desk([*decided(*"abcde"), make.workload()], policy).converge()
    for name, at in (("a", 0), ("b", 999)):
        d.report(name, **DONE)
        held = d.later(at * SEC / 1000).plan()
        d.do(*(w for w in held.writes if w.ref.kind is ROLLOUT_RECORD))

        assert {w.ref.kind for w in held.writes} == {ROLLOUT_RECORD}, name
        assert held.status_due_at == T0 + SEC

    (told,) = d.later(SEC / 1000).plan().writes
    assert isinstance(told, PatchStatus)
    assert told.status["summary"]["applied"] == 2


@pytest.mark.parametrize(
    ("soaks", "reports", "due"),
    [
        ("0s", "ab", 1 * SEC),  # 3 are left: more than came
        ("0s", "abc", RARELY * SEC),  # 2 are left: the end comes sooner than another second
        ("0s", "abcde", 1 * SEC),  # that is the end
        ("1h", "abcde", 1 * SEC),  # it is not, but nothing is left that comes soon
    ],
)
def test_a_status_does_not_keep_the_end_waiting_that_comes_right_after_it(
    soaks: str, reports: str, due: timedelta
) -> None:
    strategy = make.progressive(maxConcurrency="100%", minSuccessTime=soaks)
    policy = replace(DEFAULT, tell_every=SEC)
    d = Desk([*decided(*"abcde"), make.workload(strategy=strategy)], policy).converge()
    for name in reports:
        d.report(name, **DONE)

    plan = d.plan()
    assert plan.status_due_at == T0 + due
    assert plan.pressing is (due > SEC)  # the end is looked for all the more often


@pytest.mark.parametrize(
    ("strategy", "pressing"),
    [
        (make.everywhere(), False),
        (make.progressive(maxConcurrency=1), True),
        (make.progressive(maxConcurrency="0%"), False),
    ],
    ids=["nobody waits", "for a slot", "for a person"],
)
def test_a_plan_is_pressing_where_clusters_wait_for_clusters(
    strategy: Obj, *, pressing: bool
) -> None:
    assert desk("c1", "c2", strategy=strategy).converge().plan().pressing is pressing


def test_every_condition_says_which_generation_it_is_about() -> None:
    d = desk("c1").converge()
    d.template(make.template("2"))
    d.converge()

    conditions = d.hub.get(WEB)["status"]["conditions"]
    assert {c["observedGeneration"] for c in conditions} == {2}
    assert {c["type"] for c in conditions} == {
        names.PLACEMENT_VERIFIED,
        names.MANIFESTWORK_APPLIED,
        names.PLACEMENT_ROLLED_OUT,
        names.PROGRESSING,
        names.READY,
    }


def test_a_plan_never_alters_what_it_read() -> None:
    d = desk("c1", "c2")
    before = repr([d.hub.list(kind).items for kind in (REPLICA_SET, MANIFEST_WORK)])
    d.plan()

    assert repr([d.hub.list(kind).items for kind in (REPLICA_SET, MANIFEST_WORK)]) == before


def test_record_and_revision_go_with_their_owner() -> None:
    d = desk("c1").converge()
    d.hub.delete(WEB)
    d.converge()

    assert d.hub.list(ROLLOUT_RECORD).items == ()
    assert d.hub.list(ROLLOUT_REVISION).items == ()
    assert not d.fleet.versions.exists(Ref(REPLICA_SET, "default/web"))
