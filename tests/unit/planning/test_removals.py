"""Which works go, and what holds them."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rollout.model import names
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    Ref,
    ref_of,
)
from rollout.model.writes import Delete
from rollout.planning.plan import Plan
from rollout.rollouts.record import HEAD
from tests.support import make
from tests.support.desk import MIN, SEC, T0, WEB, Desk, decided, redecide

QUIET = 10 * SEC
US = timedelta(microseconds=1)


def clusters(count: int) -> list[str]:
    return [f"c{n:02d}" for n in range(count)]


def settled(count: int) -> Desk:
    """A workload on so many clusters, an hour after anybody touched anything."""
    return Desk([*decided(*clusters(count)), make.workload()]).converge().later(60 * MIN)


def leaves(desk: Desk, count: int, first: int = 0) -> Plan:
    """The plan once the first clusters are selected no more, and decisions are still again."""
    left = [c for c in clusters(60)[first + count :] if desk.hub.list(MANIFEST_WORK, c).items]
    redecide(desk, *left)
    return desk.later(QUIET).plan()


def going(plan: Plan) -> list[str]:
    return [w.ref.namespace for w in plan.writes if isinstance(w, Delete)]


def progressing(desk: Desk) -> str:
    found = desk.hub.get(WEB)["status"]["conditions"]
    return str(next(c["reason"] for c in found if c["type"] == names.PROGRESSING))


def test_the_brake_counts_what_went_within_ten_minutes() -> None:
    desk = settled(30)
    leaves(desk, 6)
    went = desk.clock.now()
    desk.converge().later(MIN)

    held = leaves(desk, 5, first=6)
    assert going(held) == []
    eased = held.recheck_at
    assert eased is not None
    assert went + 10 * MIN <= eased <= went + 11 * MIN
    desk.converge().later(eased - US - desk.clock.now())
    assert going(desk.plan()) == []
    assert going(desk.later(US).plan()) == clusters(11)[6:]


@pytest.mark.parametrize("restarted", [False, True])
def test_works_without_finalizers_count_as_removed_too(restarted: bool) -> None:
    """Their deletion is heard of before the write is answered; it once was not counted."""
    desk = settled(30)
    leaves(desk, 6)
    desk.converge()
    if restarted:
        desk = desk.restarted()

    assert going(leaves(desk, 5, first=6)) == []


P = Ref(PLACEMENT, "default/p")


def test_an_edit_of_the_placements_or_of_which_are_named_lifts_the_brake_for_ten_minutes() -> None:
    for ref in (WEB, P):
        desk = settled(30)
        if ref is WEB:
            for document in decided(placement="none"):
                desk.add(document)
            refs = desk.hub.get(WEB)["spec"]["placementRefs"]
            desk.edit({"spec": {"placementRefs": [*refs, {**refs[0], "name": "none"}]}})
        else:
            desk.edit({"spec": {"numberOfClusters": 10}}, ref)
        desk.converge()
        edited = desk.clock.now()
        assert len(going(leaves(desk, 20))) == 20
        desk.later(edited + 10 * MIN - desk.clock.now())
        assert going(desk.plan()) == []


@pytest.mark.parametrize("edits", [0, 2])
def test_a_placement_that_is_made_again_with_the_same_spec_lifts_no_brake(edits: int) -> None:
    """S11: its generation begins anew."""
    desk = settled(30)
    for number in range(edits):
        desk.edit({"spec": {"numberOfClusters": (40, None)[number]}}, P)
        desk.converge().later(30 * MIN)
    assert going(leaves(desk, 20)) == []
    found = desk.hub.get(P)

    desk.hub.delete(P)
    desk.converge()
    desk.add({**found, "metadata": {"name": "p", "namespace": "default"}})
    redecide(desk, *clusters(30)[20:])

    assert going(desk.later(MIN).plan()) == []


def test_a_release_lifts_no_brake() -> None:
    """Whom the placements select does not follow from the template."""
    desk = settled(30)
    desk.template(make.template("2"))
    desk.converge()

    assert going(leaves(desk, 20)) == []


@pytest.mark.parametrize("edited", [False, True])
def test_a_record_of_an_older_version_tells_whether_somebody_edited_meanwhile(edited: bool) -> None:
    desk = settled(30)
    page = next(p for p in desk.hub.list(ROLLOUT_RECORD).items if HEAD in p["data"])
    told = json.loads(page["data"][HEAD])
    told["basis"] = {"workload": 1, "placement": 1, "since": None}
    desk.edit({"data": {HEAD: json.dumps(told)}}, ref_of(ROLLOUT_RECORD, page))
    if edited:
        desk.edit({"spec": {"numberOfClusters": 10}}, P)
    desk = desk.restarted()
    desk.plan()

    assert len(going(leaves(desk, 20))) == (20 if edited else 0)


def test_a_person_releases_removals_until_an_instant() -> None:
    desk = settled(30)
    leaves(desk, 20)
    until = (desk.clock.now() + 5 * MIN).isoformat()
    desk.edit({"metadata": {"annotations": {names.RELEASE_REMOVALS: until}}})
    assert len(going(desk.plan())) == 20

    desk.later(5 * MIN)
    assert going(desk.plan()) == []


@pytest.mark.parametrize("text", ["yes", "", "2030-13-01T00:00:00Z", "soon"])
def test_a_release_that_is_no_instant_releases_nothing(text: str) -> None:
    desk = settled(30)
    desk.edit({"metadata": {"annotations": {names.RELEASE_REMOVALS: text}}})

    assert going(leaves(desk, 20)) == []


def test_a_delete_names_the_uid_the_placements_and_the_cluster() -> None:
    desk = settled(3)
    uid = desk.hub.list(MANIFEST_WORK, "c00").items[0]["metadata"]["uid"]

    (delete,) = [w for w in leaves(desk, 1).writes if isinstance(w, Delete)]

    assert (delete.uid, delete.unless_selected_by, delete.cluster) == (uid, ("default/p",), "c00")


def test_nothing_goes_while_any_placement_is_torn_or_not_still() -> None:
    documents = [*decided("a", placement="one"), *decided("z", placement="two")]
    desk = Desk([*documents, make.workload(placements=["one", "two"])]).converge().later(MIN)
    redecide(desk, placement="one")
    desk.later(9 * SEC)
    redecide(desk, "z", "y", placement="two")
    desk.later(9 * SEC)
    assert going(desk.plan()) == []  # two is not still yet: it could have taken it over
    desk.later(SEC)
    assert going(desk.plan()) == ["a"]
    page = Ref(PLACEMENT_DECISION, "default/two-0-1")
    desk.hub.patch_status(page, {"status": {"decisions": []}})
    assert going(desk.plan()) == []
    assert going(desk.later(60 * MIN).plan()) == []  # torn


@pytest.mark.parametrize("restarted", [False, True])
def test_nothing_goes_while_a_placement_does_not_exist_which_could_select_any_cluster(
    restarted: bool,
) -> None:
    documents = [*decided("a", "b", placement="one"), *decided("b", "z", placement="two")]
    desk = Desk([*documents, make.workload(placements=["one", "two"])]).converge().later(MIN)
    desk.hub.delete(Ref(PLACEMENT, "default/two"))
    redecide(desk, "a", placement="one")
    desk = (desk.restarted() if restarted else desk).later(QUIET)

    assert going(desk.plan()) == []


def test_works_that_are_going_already_are_not_deleted_again() -> None:
    desk = settled(3)
    ref = ref_of(MANIFEST_WORK, desk.hub.list(MANIFEST_WORK, "c00").items[0])
    desk.edit({"metadata": {"finalizers": ["example.com/agent"]}}, ref)
    for wave in leaves(desk, 1).waves:
        desk.do(*wave)

    assert going(desk.plan()) == []


def test_a_cluster_selected_again_while_its_work_goes_gets_a_new_one_when_it_is_gone() -> None:
    desk = settled(3)
    ref = ref_of(MANIFEST_WORK, desk.hub.list(MANIFEST_WORK, "c00").items[0])
    desk.edit({"metadata": {"finalizers": ["example.com/agent"]}}, ref)
    leaves(desk, 1)
    desk.converge()
    redecide(desk, *clusters(3))
    assert all(w.ref != ref for w in desk.plan().writes if type(w).__name__ == "Create")
    desk.edit({"metadata": {"finalizers": None}}, ref)
    desk.converge().later(MIN)

    assert set(desk.converge().works()) == {f"{c}/{ref.name}" for c in clusters(3)}
    assert desk.clock.now() > T0


def registered(count: int, **workload: Any) -> Desk:
    """As `settled`, and each cluster has its ManagedCluster."""
    names_ = clusters(count)
    documents = [*decided(*names_), *make.clusters(count), make.workload(**workload)]
    return Desk(documents).converge().later(60 * MIN)


# Only of a fleet whose ManagedClusters are known does anybody know that it is small.
@pytest.mark.parametrize(
    ("made", "total", "leaving", "held"),
    [
        pytest.param(settled, 55, 11, False, id="11 of 55: exactly 20 %"),
        pytest.param(settled, 54, 11, True, id="11 of 54: more than 20 %, more than 10"),
        pytest.param(settled, 50, 10, False, id="10 of 50"),
        pytest.param(settled, 20, 10, False, id="10 of 20: half of them, but not more than 10"),
        pytest.param(settled, 20, 11, True, id="11 of 20"),
        pytest.param(settled, 10, 10, False, id="all 10"),
        pytest.param(settled, 11, 11, True, id="all 11"),
        pytest.param(registered, 1, 1, True, id="small: the only one"),
        pytest.param(registered, 2, 1, False, id="small: half of two"),
        pytest.param(registered, 2, 2, True, id="small: both"),
        pytest.param(registered, 3, 1, False, id="small: 1 of 3"),
        pytest.param(registered, 3, 2, True, id="small: 2 of 3"),
        pytest.param(registered, 10, 5, False, id="small: half of 10"),
        pytest.param(registered, 10, 6, True, id="small: 6 of 10"),
    ],
)
def test_the_brake_holds_more_than_a_fifth_and_more_than_ten_and_most_of_a_small_fleet(
    made: Callable[[int], Desk], total: int, leaving: int, held: bool
) -> None:
    desk = made(total)

    assert going(leaves(desk, leaving)) == ([] if held else clusters(leaving))
    desk.converge()
    assert (progressing(desk) == "RemovalBrake") == held


def test_a_fleet_that_dwindles_keeps_its_last_cluster() -> None:
    desk = registered(3)
    assert going(leaves(desk, 1)) == ["c00"]
    desk.converge()
    assert going(leaves(desk, 1, first=1)) == []  # 2 of 3 within ten minutes

    assert going(desk.later(10 * MIN).plan()) == ["c01"]
    desk.converge()
    leaves(desk, 1, first=2)
    assert going(desk.later(60 * MIN).plan()) == []


def test_a_cluster_that_another_one_takes_the_place_of_goes() -> None:
    desk = Desk([*decided("c00"), *make.clusters(2), make.workload()]).converge().later(60 * MIN)
    redecide(desk, "c01")

    assert going(desk.later(QUIET).plan()) == ["c00"]


def test_what_holds_the_last_cluster_ends_when_its_managed_cluster_is_deleted() -> None:
    desk = registered(1)
    leaves(desk, 1)
    desk.converge()
    assert progressing(desk) == "RemovalBrake"

    desk.hub.delete(Ref(MANAGED_CLUSTER, "c00"))
    assert going(desk.plan()) == ["c00"]


def test_a_deleted_cluster_goes_while_the_brake_holds_the_others() -> None:
    desk = registered(3)
    desk.hub.delete(Ref(MANAGED_CLUSTER, "c01"))

    assert going(leaves(desk, 3)) == ["c01"]


def test_a_person_releases_or_edits_away_the_last_cluster() -> None:
    desk = registered(1)
    leaves(desk, 1)
    until = (desk.clock.now() + 5 * MIN).isoformat()
    desk.edit({"metadata": {"annotations": {names.RELEASE_REMOVALS: until}}})
    assert going(desk.plan()) == ["c00"]

    desk = registered(1)
    desk.edit({"spec": {"numberOfClusters": 0}}, Ref(PLACEMENT, "default/p"))
    desk.converge()
    assert going(leaves(desk, 1)) == ["c00"]


def test_profile_ocm_removes_most_clusters_of_a_small_fleet_as_ocm_does() -> None:
    desk = registered(2, annotations={"rollout-engine.io/semantics": "ocm"})

    assert going(leaves(desk, 2)) == clusters(2)


def test_a_work_whose_deletion_was_accepted_is_not_deleted_again_before_that_is_heard() -> None:
    desk = settled(12)
    (of_another, accepted) = (w for w in leaves(desk, 2).writes if isinstance(w, Delete))

    desk.fleet.landed(accepted, desk.clock.now())
    desk.fleet.landed(replace(of_another, uid="of a work before it"), desk.clock.now())

    assert going(desk.plan()) == [of_another.ref.namespace]


def test_a_held_cluster_that_nobody_selects_keeps_its_work_and_the_status_names_it() -> None:
    desk = registered(6)
    desk.edit({"metadata": {"annotations": {names.HOLD: "c00"}}})
    assert going(leaves(desk, 2)) == ["c01"]
    desk.converge().later(MIN).converge()
    (said,) = (
        c for c in desk.hub.get(WEB)["status"]["conditions"] if c["type"] == names.PROGRESSING
    )
    assert "1 cluster is selected no more, and held" in said["message"]
    assert "(c00)" in said["message"]

    desk.edit({"metadata": {"annotations": {names.HOLD: None}}})
    assert going(desk.plan()) == ["c00"]


def test_in_profile_ocm_a_hold_keeps_no_removal_back() -> None:
    notes = {names.HOLD: "c00", names.SEMANTICS: "ocm"}
    desk = registered(6, annotations=notes)

    assert going(leaves(desk, 1)) == ["c00"]
