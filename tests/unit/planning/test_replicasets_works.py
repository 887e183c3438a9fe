"""What do the works of a ManifestWorkReplicaSet look like, and what becomes of those that are there?"""

import pytest

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref, ref_of
from rollout.model.writes import Create, Delete, Patch
from tests.support import make
from tests.support.desk import CONTENT, MIN, SEC, WEB, Desk, decided, desk, redecide, verbs


def creates(d: Desk) -> dict[str, Obj]:
    """The works that the plan creates, by cluster."""
    found = [w for w in d.plan().writes if isinstance(w, Create) and w.ref.kind is MANIFEST_WORK]
    return {w.ref.namespace: w.obj for w in found}


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

    assert verbs(d.plan()) == [("PatchWork", "c1")]
    assert set(d.converge().works()) == {name}


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_refused_write_is_tried_again_after_a_pause_and_not_at_once(profile: str) -> None:
    d = Desk([*decided("a"), make.workload(annotations={names.SEMANTICS: profile})])
    for write in d.plan().writes:
        if write.ref.kind is MANIFEST_WORK:
            d.fleet.attempted(write, d.clock.now(), WEB)
            d.fleet.rejected(write, "denied by policy", d.clock.now(), WEB)
        else:
            d.do(write)
    d.converge()

    plan = d.plan()
    assert [write for write in plan.writes if write.ref.kind is MANIFEST_WORK] == []
    assert plan.recheck_at == d.clock.now() + 5 * SEC
    (work,) = (w for w in d.later(5 * SEC).plan().writes if w.ref.kind is MANIFEST_WORK)
    assert work.ref.namespace == "a"


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_work_that_is_being_deleted_is_written_to_once_at_most(profile: str) -> None:
    d = desk("a", annotations={names.SEMANTICS: profile}).converge()
    (work,) = d.hub.list(MANIFEST_WORK).items
    d.hub.patch(ref_of(MANIFEST_WORK, work), {"metadata": {"finalizers": ["agents/cleanup"]}})

    d.hub.delete(ref_of(MANIFEST_WORK, work))

    d.converge()
    assert not d.later(MIN).plan().writes
    d.hub.patch(ref_of(MANIFEST_WORK, work), {"metadata": {"finalizers": None}})
    d.converge()
    (anew,) = d.hub.list(MANIFEST_WORK).items
    assert anew["metadata"]["uid"] != work["metadata"]["uid"]


def test_a_cluster_named_by_two_refs_with_the_same_placement_counts_once() -> None:
    d = Desk([*decided("c1"), make.workload(placements=["p", "p"])])

    assert verbs(d.plan()) == [("Create", "c1")]
    assert d.converge().hub.get(WEB)["status"]["summary"]["total"] == 1
