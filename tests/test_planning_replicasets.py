"""What a ManifestWorkReplicaSet's plan consists of, wave by wave."""

from dataclasses import replace
from typing import Any

import pytest

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANIFEST_WORK,
    REPLICA_SET,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, RemoveFinalizer
from rollout.planning.policy import DEFAULT
from tests import make
from tests.sim.desk import MIN, SEC, T0, WEB, Desk, decided, kinds, redecide, verbs

DONE = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
CONTENT = content_hash(make.template())


def desk(*clusters: str, extra: tuple[Obj, ...] = (), **workload: Any) -> Desk:
    return Desk([*decided(*clusters), *extra, make.workload(**workload)])


def creates(d: Desk) -> dict[str, Obj]:
    """The works that the plan creates, by cluster."""
    found = [w for w in d.plan().writes if isinstance(w, Create) and w.ref.kind is MANIFEST_WORK]
    return {w.ref.namespace: w.obj for w in found}


# -- waves -------------------------------------------------------------------------------------


def test_the_first_plan_is_finalizer_then_memory_then_works_then_status() -> None:
    assert kinds(desk("c1", "c2").plan()) == [
        [("Patch", REPLICA_SET)],
        [("Create", CONTROLLER_REVISION), ("Create", CONFIG_MAP)],
        [("Create", MANIFEST_WORK), ("Create", MANIFEST_WORK)],
        [("PatchStatus", REPLICA_SET)],
    ]


def test_works_are_added_before_others_are_removed() -> None:
    d = desk("c1").converge()
    redecide(d, "c2")
    assert verbs(d.plan()) == [("Create", "c2")]

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
    (record,) = [w for w in plan.waves[0] if w.ref.kind is CONFIG_MAP]
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


# -- what a work looks like --------------------------------------------------------------------


def test_a_new_work_carries_the_template_itself() -> None:
    spec = make.template()
    spec["executor"] = {
        "subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "b"}}
    }
    spec["workload"]["manifests"][0]["metadata"]["creationTimestamp"] = None
    d = desk("c1", spec=spec)
    stored = d.hub.get(WEB)["spec"]["manifestWorkTemplate"]

    assert creates(d)["c1"]["spec"] is stored
    assert stored == spec


def test_a_new_work_says_whose_it_is_and_what_it_carries() -> None:
    d = desk("c1", labels={"team": "payments"})

    meta = creates(d)["c1"]["metadata"]

    assert meta["labels"] == {
        "team": "payments",
        names.WORK_OWNER_LABEL: "default.web",
        names.WORK_PLACEMENT_LABEL: "p",
    }
    assert meta["annotations"] == {
        names.OWNER: "default/web",
        names.REVISION: CONTENT,
        names.STARTED_AT: "2026-01-01T00:00:00.000000Z",
    }
    assert "ownerReferences" not in meta


@pytest.mark.parametrize("length", [1, 54, 55, 56, 110, 111, 253])
def test_names_are_deterministic_distinct_and_short_enough(length: int) -> None:
    name = "n" * length
    found = set()
    for namespace in ("default", "other"):
        placement = {**make.placement(namespace=namespace, ours=False)}
        documents = [
            placement,
            make.decision(["c1"], namespace=namespace),
            make.workload(name, namespace),
        ]
        d = Desk(documents)
        (create,) = [w for w in d.plan(f"{namespace}/{name}").writes if w.ref.namespace == "c1"]
        assert isinstance(create, Create)
        label = create.obj["metadata"]["labels"][names.WORK_OWNER_LABEL]
        plain = f"{namespace}.{name}"
        assert label == plain if len(plain) <= 63 else label.startswith("h-")
        assert len(label) <= 63
        assert create.obj["metadata"]["annotations"][names.OWNER] == f"{namespace}/{name}"
        assert len(create.ref.name) <= 121
        found.add(create.ref.name)
    assert len(found) == 2


def test_a_name_that_is_cut_still_differs_from_its_neighbours() -> None:
    stem = "n" * 150
    documents = [*decided("c1"), make.workload(f"{stem}a"), make.workload(f"{stem}b")]
    d = Desk(documents)

    refs = {w.ref for k in "ab" for w in d.plan(f"default/{stem}{k}").writes}

    assert len([ref for ref in refs if ref.kind is MANIFEST_WORK]) == 2


# -- works that are there ----------------------------------------------------------------------


def test_a_work_made_by_ocm_is_adopted_without_a_write() -> None:
    d = desk("c1", extra=(make.work("c1"),))

    assert verbs(d.plan()) == []
    assert set(d.converge().works()) == {"c1/webx7k2p"}


def test_a_work_made_by_ocm_with_another_template_is_patched_under_its_own_name() -> None:
    d = desk("c1", extra=(make.work("c1", spec=make.template("0")),))

    (patch,) = [w for w in d.plan().writes if w.ref.kind is MANIFEST_WORK]

    assert isinstance(patch, Patch)
    assert patch.ref.key == "c1/webx7k2p"
    manifests = d.hub.get(WEB)["spec"]["manifestWorkTemplate"]["workload"]["manifests"]
    assert patch.changes["spec"] == {"workload": {"manifests": manifests}}
    assert patch.version == int(d.works()["c1/webx7k2p"]["metadata"]["resourceVersion"])


def test_what_others_put_on_a_work_is_left_alone() -> None:
    theirs = {"example.com/theirs": "kept"}
    mine = make.work("c1", spec=make.template("0"), labels=theirs, annotations=theirs)
    mine["metadata"]["finalizers"] = ["example.com/theirs"]

    work = desk("c1", extra=(mine,)).converge().works()["c1/webx7k2p"]

    assert theirs.items() <= work["metadata"]["labels"].items()
    assert theirs.items() <= work["metadata"]["annotations"].items()
    assert work["metadata"]["finalizers"] == ["example.com/theirs"]
    assert content_hash(work["spec"]) == CONTENT


def test_a_field_that_the_template_lacks_goes() -> None:
    spec = {**make.template(), "deleteOption": {"propagationPolicy": "Orphan"}}

    (patch,) = [
        w
        for w in desk("c1", extra=(make.work("c1", spec=spec),)).plan().writes
        if isinstance(w, Patch) and w.ref.kind is MANIFEST_WORK
    ]

    assert patch.changes["spec"] == {"deleteOption": None}


def test_labels_of_the_workload_reach_works_without_a_touch() -> None:
    d = desk("c1").converge()
    d.edit({"metadata": {"labels": {"team": "payments"}}})

    (write,) = [w for w in d.plan().writes if w.ref.kind is MANIFEST_WORK]

    assert isinstance(write, Patch)
    assert write.touch is not None
    assert not write.touch.first
    assert set(write.changes) == {"metadata"}
    d.converge()
    assert d.works()[write.ref.key]["metadata"]["labels"]["team"] == "payments"
    assert d.works()[write.ref.key]["metadata"]["generation"] == 1


# -- overlap and twins -------------------------------------------------------------------------


def overlapping() -> Desk:
    documents = [
        *decided("a", "both", placement="one"),
        *decided("both", "z", placement="two"),
        make.workload(placements=["one", "two"]),
    ]
    return Desk(documents)


def test_the_first_ref_that_selects_a_cluster_owns_it() -> None:
    found = {c: o["metadata"]["labels"] for c, o in creates(overlapping()).items()}

    assert {c: labels[names.WORK_PLACEMENT_LABEL] for c, labels in found.items()} == {
        "a": "one",
        "both": "one",
        "z": "two",
    }


def test_a_change_of_owner_relabels_and_never_deletes() -> None:
    d = overlapping().converge()
    redecide(d, "a", placement="one")
    for _ in range(2):  # in the quiet period it is still the first one's; then it is not
        d.later(10 * SEC)
        assert "Delete" not in [verb for verb, _ in verbs(d.plan())]
        d.converge()

    (work,) = d.hub.list(MANIFEST_WORK, "both").items
    assert work["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] == "two"
    assert work["metadata"]["generation"] == 1


def test_the_order_of_refs_decides_and_exchanging_them_relabels() -> None:
    d = overlapping().converge()
    d.edit({"spec": {"placementRefs": [{"name": "two"}, {"name": "one"}]}})

    assert verbs(d.plan()) == [("Patch", "both")]
    d.converge()
    (work,) = d.hub.list(MANIFEST_WORK, "both").items
    assert work["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] == "two"


def test_of_twins_the_oldest_stays_and_the_others_go_after_it_was_written_to() -> None:
    d = Desk(decided("c1"))
    d.add(make.work("c1", name="oldest", spec=make.template("0")))
    d.later(SEC)
    uid = d.add(make.work("c1", name="a-later-one"))["metadata"]["uid"]
    d.add(make.workload())

    first = d.plan()
    for wave in first.waves:
        d.do(*wave)

    (patch,) = [w for w in first.writes if w.ref.kind is MANIFEST_WORK]
    (delete,) = [w for w in d.plan().writes if w.ref.kind is MANIFEST_WORK]
    assert (patch.ref.key, delete.ref.key) == ("c1/oldest", "c1/a-later-one")
    assert isinstance(delete, Delete)
    assert delete.uid == uid
    assert set(d.converge().works()) == {"c1/oldest"}


def test_a_twin_stays_for_as_long_as_the_one_that_counts_is_not_what_it_should_be() -> None:
    d = desk("c1").converge()
    (name,) = d.works()
    d.later(SEC)
    d.add(make.work("c1", name="twin"))
    d.edit({"spec": make.template("by hand")}, Ref(MANIFEST_WORK, name))

    assert verbs(d.plan()) == [("Patch", "c1")]
    assert set(d.converge().works()) == {name}


def test_a_cluster_named_by_two_refs_with_the_same_placement_counts_once() -> None:
    d = Desk([*decided("c1"), make.workload(placements=["p", "p"])])

    assert verbs(d.plan()) == [("Create", "c1")]
    assert d.converge().hub.get(WEB)["status"]["summary"]["total"] == 1


# -- deletion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_a_deleted_workload_deletes_its_works_and_then_lets_go(cascade: str) -> None:
    d = desk("c1", "c2", cascade=cascade).converge()
    uids = {obj["metadata"]["uid"] for obj in d.works().values()}
    d.hub.delete(WEB)

    deletes, *rest = d.plan().waves
    assert {w.uid for w in deletes if isinstance(w, Delete)} == uids
    assert all(isinstance(w, Delete) and not w.unless_selected_by for w in deletes)
    if cascade == "Foreground":
        assert rest == []
        d.do(*deletes)
        rest = list(d.plan().waves)
    (release,) = rest[0]
    assert isinstance(release, RemoveFinalizer)
    assert release.deleting_is_gone == (cascade == "Background")
    assert release.labels == ((names.WORK_OWNER_LABEL, "default.web"),)
    assert release.kind is MANIFEST_WORK


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
        for obj in d.hub.list(CONTROLLER_REVISION).items
    }


def test_each_template_is_kept_once_as_a_revision() -> None:
    d = desk("c1")
    for version in ("1", "2", "1", "3"):
        d.template(make.template(version))
        d.converge()

    assert revisions(d) == {
        number: content_hash(make.template(version)) for number, version in enumerate("123", 1)
    }
    kept = d.hub.list(CONTROLLER_REVISION).items[0]
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
    d = Desk([*decided("c1", "c2"), make.workload()], policy).converge()
    for name, at in (("c1", 0), ("c2", 999)):
        d.report(name, **DONE)
        held = d.later(at * SEC / 1000).plan()
        d.do(*(w for w in held.writes if w.ref.kind is CONFIG_MAP))

        assert {w.ref.kind for w in held.writes} == {CONFIG_MAP}, name
        assert held.status_due_at == T0 + SEC

    (told,) = d.later(SEC / 1000).plan().writes
    assert isinstance(told, PatchStatus)
    assert told.status["summary"]["applied"] == 2


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

    assert d.hub.list(CONFIG_MAP).items == ()
    assert d.hub.list(CONTROLLER_REVISION).items == ()
    assert not d.fleet.exists(Ref(REPLICA_SET, "default/web"))
