"""Which clusters are whose, which works count, and what is out of place."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.model import names
from rollout.model.intents import read_intents
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, Obj, Ref, ref_of
from rollout.model.work import work_name
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload
from tests.support import make
from tests.support.desk import SEC, WEB, Desk, decided, redecide, workload_in

OK = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
US = timedelta(microseconds=1)


def desk(*clusters: str, extra: tuple[Obj, ...] = (), **workload: Any) -> Desk:
    return Desk([*decided(*clusters), *extra, make.workload(**workload)])


def workload(d: Desk) -> ReplicaSetWorkload:
    d.fleet.refresh(WEB, d.clock.now())
    found = workload_in(d.fleet)
    assert found is not None
    return found


def carrying(d: Desk) -> set[str]:
    """The clusters that have a work."""
    return {key.partition("/")[0] for key in d.works()}


def name_of(d: Desk, cluster: str) -> Ref:
    (work,) = d.hub.list(MANIFEST_WORK, cluster).items
    return ref_of(MANIFEST_WORK, work)


# -- members -----------------------------------------------------------------------------------


def test_members_are_the_clusters_of_all_placements_each_with_its_first() -> None:
    documents = [*decided("a", "b", placement="one"), *decided("b", "c", placement="two")]
    d = Desk([*documents, make.workload(placements=["one", "two"])])

    assert workload(d).members == {"a": "one", "b": "one", "c": "two"}
    assert {name: share.selected for name, share in workload(d).shares.items()} == {
        "one": 2,
        "two": 1,
    }


def test_behind_a_placement_that_cannot_be_read_nobody_keeps_what_an_earlier_one_selects() -> None:
    placements = ["one", "two", "three"]
    decisions = zip(placements, ("a", "", "c"), strict=True)
    documents = [each for name, chosen in decisions for each in decided(*chosen, placement=name)]
    d = Desk([*documents, make.workload(placements=placements)])
    assert workload(d).members == {"a": "one", "c": "three"}
    half_written = {"status": make.told(("", 1, ["two-0-1"]))}
    d.hub.patch_status(Ref(PLACEMENT, "default/two"), half_written)
    assert workload(d).members == {"a": "one", "c": "three"}

    redecide(d, "a", "c", placement="one")

    assert workload(d).members == {"a": "one", "c": "one"}
    assert [share.selected for share in workload(d).shares.values()] == [2, 0, 0]


def test_members_follow_a_placement_that_comes_and_one_that_goes() -> None:
    d = Desk([make.workload()])
    assert workload(d).members == {}
    hold = workload(d).shares["p"].hold
    assert hold is not None
    assert hold.reason == "PlacementNotFound"

    for document in decided("a"):
        d.add(document)
    assert workload(d).members == {"a": "p"}
    assert workload(d).shares["p"].hold is None
    d.hub.delete(Ref(PLACEMENT, "default/p"))
    assert workload(d).members == {"a": "p"}  # nothing says that it is selected no more


def test_a_placement_of_ours_that_was_never_decided_deselects_nobody() -> None:
    """It was made anew under its old name, and all works once went before it was decided."""
    d = desk("a").converge()
    d.hub.delete(Ref(PLACEMENT, "default/p"))
    for obj in d.hub.list(PLACEMENT_DECISION).items:
        d.hub.delete(ref_of(PLACEMENT_DECISION, obj))
    d.add(make.placement())
    found = workload(d)

    assert found.members == {"a": "p"}
    assert not found.shares["p"].is_settled
    hold = found.shares["p"].hold
    assert hold is not None
    assert hold.reason == "NotDecided"


def test_a_cluster_that_seems_deselected_stays_a_member_for_the_quiet_period() -> None:
    d = desk("a", "b").converge().later(60 * SEC)
    redecide(d, "a")
    assert workload(d).members == {"a": "p", "b": "p"}
    assert workload(d.later(10 * SEC - US)).members == {"a": "p", "b": "p"}
    assert workload(d.later(US)).members == {"a": "p"}
    assert workload(d).strays == {"b"}


def test_a_cluster_that_moves_to_another_placement_overlaps_with_nothing_in_the_quiet_period() -> (
    None
):
    documents = [*decided("a", placement="one"), *decided("b", "c", placement="two")]
    d = Desk([*documents, make.workload(placements=["one", "two"])]).converge().later(60 * SEC)
    redecide(d, "a", "b", placement="one")
    redecide(d, "c", placement="two")

    assert workload(d).members == {"a": "one", "b": "one", "c": "two"}
    assert workload(d).shares["two"].overlapped == 0


def test_terms_are_agreed_anew_only_where_something_they_depend_on_changed() -> None:
    d = desk("a").converge()
    share = workload(d).shares["p"]
    d.hub.patch_status(WEB, {"status": {"summary": {"total": 9}}})
    assert workload(d).shares["p"] is share
    d.edit({"metadata": {"labels": {"x": "y"}}})
    assert workload(d).shares["p"] is not share


def lost_by_the_first(slots: int) -> Desk:
    """Of two placements, one has just lost the cluster a."""
    d = Desk(
        [
            *decided("a", "b", placement="one"),
            *decided("d", placement="two"),
            make.cluster("a", available="Unknown"),
            make.workload(
                placements=["one", "two"],
                strategy=make.progressive(maxConcurrency=slots, maxFailures=0),
            ),
        ]
    ).converge()
    redecide(d, "b", placement="one")
    return d.later(10 * SEC).converge()


def test_a_cluster_that_one_placement_lost_and_another_selects_is_no_failure_of_the_first() -> None:
    """Rows 17, 21: the first would stay halted for ever, over a cluster that nobody misses."""
    d = lost_by_the_first(slots=1)
    one = workload(d).shares["one"].live
    assert dict(one.lost) == {"a": "rest"}
    assert one.last.halt is not None
    assert carrying(d) == {"d"}

    redecide(d, "a", "d", placement="two")
    workload(d)
    assert dict(one.lost) == {}
    d.converge()
    assert one.last.halt is None
    assert carrying(d) == {"b", "d"}

    d.restarted()
    one = workload(d).shares["one"].live
    assert dict(one.lost) == {}


@pytest.mark.parametrize("slots", [1, 2], ids=["untouched", "touched"])
def test_a_lost_cluster_that_passes_through_another_placement_is_that_ones_only_if_touched(
    slots: int,
) -> None:
    """Else nobody would be left in whose rollout it is missed, and the gate would open over it."""
    d = lost_by_the_first(slots)
    redecide(d, "a", "d", placement="two")
    if slots > 1:
        d.converge()
    workload(d)
    redecide(d, "d", placement="two")
    d.later(10 * SEC).converge()
    one, two = (workload(d).shares[name].live for name in ("one", "two"))

    assert (set(one.lost), set(two.lost)) == (({"a"}, set()) if slots == 1 else (set(), {"a"}))
    assert bool(one.line("a").cause) is (slots == 1)
    assert one.last.halt is not None or two.last.halt is not None


# -- works -------------------------------------------------------------------------------------


def test_the_oldest_work_counts_and_then_the_first_by_name() -> None:
    d = Desk()
    for name in ("w2", "w1"):
        d.add(make.work("a", name=name))
    d.later(SEC).add(make.work("a", name="w0"))
    for document in [*decided("a"), make.workload()]:
        d.add(document)
    found = workload(d)

    work = found.work("a")
    assert work is not None
    assert work.name == "w1"
    assert found.twins == {"a"}
    assert set(found.works("a")) == {"w0", "w1", "w2"}


def test_a_work_that_is_being_deleted_counts_no_more() -> None:
    work = make.work("a")
    work["metadata"]["finalizers"] = ["example.com/agent"]
    d = desk("a", extra=(work,))
    d.hub.delete(name_of(d, "a"))

    assert workload(d).work("a") is None
    assert set(workload(d).works("a")) == {"webx7k2p"}
    assert workload(d).strays == set()


def test_strays_are_works_in_clusters_that_nobody_selects() -> None:
    d = desk("a", extra=(make.work("a"), make.work("z")))
    assert workload(d).strays == {"z"}
    d.hub.delete(name_of(d, "z"))
    assert workload(d).strays == set()


def test_a_work_belongs_to_the_workload_that_its_annotation_or_label_names() -> None:
    annotated = make.work("b", "h-hash", annotations={names.OWNER: "default/web"})
    d = desk("a", extra=(make.work("a"), annotated, make.work("c", "default.api")))

    assert workload(d).clusters == ["a", "b"]


def test_a_work_that_is_labelled_as_another_workloads_stays_with_its_own_and_is_put_right() -> None:
    d = desk("a", extra=(make.work("a"),)).converge()
    d.edit({"metadata": {"labels": {names.WORK_OWNER_LABEL: "default.api"}}}, name_of(d, "a"))

    assert workload(d).clusters == ["a"]
    assert workload_in(d.fleet, "default/api") is None
    assert [note.reason for note in d.plan().notes] == ["WorkRepaired"]
    d.converge()
    (work,) = d.works().values()
    assert work["metadata"]["labels"][names.WORK_OWNER_LABEL] == "default.web"


def test_a_work_of_our_name_is_its_workloads_whatever_it_says_of_itself() -> None:
    """Also where it was seen before its workload, and names another one that exists."""
    lying = {names.OWNER: "default/api"}
    mine = make.work("a", "default.api", annotations=lying)
    mine["metadata"]["name"] = work_name("default/web")
    other = make.workload("api")
    d = Desk([*decided("a"), mine, other, make.workload()])

    assert workload(d).clusters == ["a"]
    api = workload_in(d.fleet, "default/api")
    assert api is not None
    assert api.clusters == []
    d.converge()
    (work,) = (w for w in d.works().values() if w["metadata"]["name"] == work_name("default/web"))
    assert work["metadata"]["annotations"][names.OWNER] == "default/web"


@pytest.mark.parametrize(
    ("labels", "is_mislabelled"),
    [
        ({}, False),
        ({"theirs": "kept"}, False),
        ({names.WORK_PLACEMENT_LABEL: "another"}, True),
        ({names.WORK_PLACEMENT_LABEL: None}, True),
        ({"team": None}, True),
    ],
)
def test_works_that_lack_a_label_of_ours_are_mislabelled(
    labels: dict[str, str | None], is_mislabelled: bool
) -> None:
    d = desk("a", labels={"team": "payments"}).converge()
    d.edit({"metadata": {"labels": labels}}, name_of(d, "a"))

    assert (workload(d).mislabelled == {"a"}) == is_mislabelled


# -- counts ------------------------------------------------------------------------------------


def counts(d: Desk) -> tuple[int, ...]:
    found = workload(d).shares["p"].counts
    return (found.updated, found.applied, found.available, found.progressing, found.degraded)


def test_counts_are_kept_report_by_report() -> None:
    d = desk("a", "b").converge()
    assert counts(d) == (2, 0, 0, 0, 0)
    d.report("a", **OK)
    assert counts(d) == (2, 1, 1, 0, 0)
    d.report("b", **{**OK, "Progressing": "True"})
    assert counts(d) == (2, 2, 2, 1, 0)
    d.report("a", Applied="True", Degraded="True")
    assert counts(d) == (2, 2, 1, 1, 1)
    d.hub.delete(name_of(d, "a"))
    assert counts(d) == (1, 1, 1, 1, 0)


def test_what_is_reported_of_an_older_generation_is_not_counted() -> None:
    d = desk("a").converge()
    d.report("a", **OK)
    d.edit({"spec": make.template("by hand")}, name_of(d, "a"))
    assert counts(d) == (0, 0, 0, 0, 0)
    d.converge()
    assert counts(d) == (1, 0, 0, 0, 0)


def test_counts_after_any_history_are_those_of_a_fresh_look() -> None:
    d = desk("a", "b", "c", strategy=make.progressive(maxConcurrency=2)).converge()
    d.report("a", **OK)
    d.converge().later(15 * SEC).converge()
    d.template(make.template("2"))
    d.converge()
    d.report("b", Applied="False")
    redecide(d, "a", "b")
    d.later(10 * SEC).converge()
    kept = counts(d)

    assert counts(d.restarted()) == kept


def test_skipped_clusters_are_listed_with_commas() -> None:
    listed = {names.SKIP: " a, b ,,c@3f2b1c9d, a@00000001"}

    assert read_intents(listed).waivers == {
        "a": {"", "00000001"},
        "b": {""},
        "c": {"3f2b1c9d"},
    }
    assert read_intents({}).waivers == {}
    (problem,) = read_intents({names.SKIP: "a@next"}).problems
    assert "CLUSTER@REVISION" in str(problem)


def test_many_removals_are_remembered_by_the_minute_and_rather_longer() -> None:
    """R8: the record does not grow with every removal, and none is forgotten early."""
    found, window = workload(d := desk("a").converge()), timedelta(minutes=10)
    began = d.clock.now()
    for n in range(250):
        live, at = found.shares["p"].live, began + n * SEC
        live.remember(live.head.removing({f"gone-{n}": False}, at, window))
        found.note_removal(f"gone-{n}", window, at)

    removals = found.shares["p"].live.head.removals
    assert len(removals) <= 110
    assert sum(count for _, count in removals) == 250
    assert all(at >= began for at, _ in removals)
