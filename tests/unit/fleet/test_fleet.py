"""What the fleet makes of events, and whom they concern."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.fleet.fleet import Fleet
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    KINDS,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    TEMPLATES_OF_OTHERS,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.names import ANALYSIS
from rollout.model.writes import Create, Delete
from tests.support import make
from tests.support.desk import WEB, Desk, decided, workload_in

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC = timedelta(seconds=1)


class Heard:
    """A fleet that is told events by hand."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.version = 0

    def tell(
        self, document: Obj, change: Change = Change.ADDED, version: int | None = None, **meta: Any
    ) -> set[str]:
        self.version += 1
        stamped = {
            "uid": f"u-{document['metadata']['name']}",
            "resourceVersion": str(version or self.version),
            "generation": 1,
            **meta,
        }
        obj = {**document, "metadata": {**document["metadata"], **stamped}}
        ref = ref_of(KINDS[document["kind"]], obj)
        event = Event(ref, change, obj, version or self.version)
        return {str(ref) for ref in self.fleet.apply(event, T0) if ref.kind is REPLICA_SET}


WEB_STRING = "ManifestWorkReplicaSet default/web"


# -- versions ----------------------------------------------------------------------------------


def test_an_event_that_is_not_newer_changes_nothing() -> None:
    heard = Heard()
    heard.tell(make.workload(), version=5)

    assert heard.tell(make.workload(), Change.MODIFIED, version=5) == set()
    assert heard.tell(make.workload(), Change.MODIFIED, version=4) == set()
    assert heard.tell(make.workload(), Change.DELETED, version=4) == set()
    assert heard.fleet.versions.exists(WEB)
    assert heard.fleet.versions.of(WEB) == 5


def test_an_event_from_before_a_deletion_does_not_bring_it_back() -> None:
    heard = Heard()
    heard.tell(make.workload(), version=5)
    heard.tell(make.workload(), Change.DELETED, version=6)

    assert heard.tell(make.workload(), Change.MODIFIED, version=5) == set()
    assert not heard.fleet.versions.exists(WEB)
    assert heard.tell(make.workload(), version=7) == {WEB_STRING}
    assert heard.fleet.versions.exists(WEB)


def test_repeated_and_late_events_end_where_each_once_in_order_ends() -> None:
    """L4 of the safety contract, on one small history."""
    d = Desk([*decided("a", "b"), make.workload()]).converge()
    events: list[Event] = []
    for kind in KINDS.values():
        d.hub.watch(kind, 0, events.append)
    in_order = sorted(events, key=lambda e: e.version)
    plain, shaken = Fleet(), Fleet()
    for event in in_order:
        plain.apply(event, T0)
    for n, event in enumerate(in_order):
        for again in (event, *in_order[max(0, n - 4) : n], event):
            shaken.apply(again, T0)

    for fleet in (plain, shaken):
        fleet.refresh(WEB, T0)
    one, other = (workload_in(f) for f in (plain, shaken))
    assert one is not None
    assert other is not None
    assert one.members == other.members == {"a": "p", "b": "p"}
    assert [one.work(c) for c in "ab"] == [other.work(c) for c in "ab"]
    assert plain.versions.known(MANIFEST_WORK) == shaken.versions.known(MANIFEST_WORK)


# -- whom it concerns --------------------------------------------------------------------------


def test_a_workload_concerns_itself() -> None:
    heard = Heard()

    assert heard.tell(make.workload()) == {WEB_STRING}
    assert heard.tell(make.workload(), Change.MODIFIED) == {WEB_STRING}
    assert heard.tell(make.workload(), Change.DELETED) == {WEB_STRING}


@pytest.mark.parametrize("document", decided("c1"), ids=["placement", "decision"])
def test_placements_and_decisions_concern_the_workloads_that_name_them(document: Obj) -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.workload("other", placements=["q", "p"]))
    heard.tell(make.workload("none", placements=["q"]))
    heard.tell(make.workload(namespace="elsewhere"))

    assert heard.tell(document) == {WEB_STRING, "ManifestWorkReplicaSet default/other"}


def test_a_workload_that_names_another_placement_now_is_left_alone_by_the_first() -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.workload(placements=["q"]), Change.MODIFIED, generation=2)

    assert heard.tell(make.placement()) == set()
    assert heard.tell(make.placement("q")) == {WEB_STRING}


def test_templates_that_a_workload_names_by_an_edit_are_looked_for_and_no_more_after_another() -> (
    None
):
    heard = Heard()
    heard.tell(make.workload())
    assert not heard.fleet.measured.wanted

    heard.tell(make.workload(annotations={ANALYSIS: "slo"}), Change.MODIFIED)
    assert heard.fleet.measured.wanted == TEMPLATES_OF_OTHERS
    heard.tell(make.workload(), Change.MODIFIED)
    assert not heard.fleet.measured.wanted


def test_a_deleted_workload_is_concerned_by_nothing() -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.workload(), Change.DELETED)

    assert heard.tell(make.placement()) == set()


def test_a_placement_that_changed_in_nothing_that_selects_concerns_nobody() -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.placement())

    assert heard.tell(make.placement(), Change.MODIFIED) == set()
    assert heard.tell(make.placement(), Change.MODIFIED, generation=2) == {WEB_STRING}
    decided_now = {**make.placement(), "status": make.told(("", 0, []))}
    assert heard.tell(decided_now, Change.MODIFIED, generation=2) == {WEB_STRING}


def test_a_work_that_names_another_owner_still_concerns_its_own_alone() -> None:
    heard = Heard()
    heard.tell(make.workload())

    assert heard.tell(make.work("c1")) == {WEB_STRING}
    assert heard.tell(make.work("c1", "default.api"), Change.MODIFIED) == {WEB_STRING}
    assert heard.tell(make.work("c1", "default.api"), Change.DELETED) == {WEB_STRING}


def test_a_work_of_an_owner_that_is_gone_concerns_whom_it_names_then() -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.work("c1"))
    heard.tell(make.workload(), Change.DELETED)

    assert heard.tell(make.work("c1", "default.api"), Change.MODIFIED) == {
        WEB_STRING,
        "ManifestWorkReplicaSet default/api",
    }


def test_of_a_work_that_says_the_same_again_only_its_newer_version_is_kept() -> None:
    heard = Heard()
    heard.tell(make.workload())
    heard.tell(make.work("c1"))

    newer = make.work("c1")
    assert heard.tell(newer, Change.MODIFIED, version=7, finalizers=["the-agent's"]) == set()
    known = workload_in(heard.fleet)
    chosen = known.work("c1") if known else None
    assert known
    assert chosen
    assert chosen.version == known.works("c1")["webx7k2p"].version == 7
    applied = {"conditions": [make.condition("Applied", "True")]}
    assert heard.tell({**newer, "status": applied}, Change.MODIFIED, version=8) == {WEB_STRING}


@pytest.mark.parametrize("owner", ["", "nodots"])
def test_a_work_of_nobody_concerns_nobody(owner: str) -> None:
    assert Heard().tell(make.work("c1", owner)) == set()


def test_a_name_with_dots_is_split_at_the_first_one() -> None:
    assert Heard().tell(make.work("c1", "default.a.b")) == {"ManifestWorkReplicaSet default/a.b"}


def test_a_cluster_concerns_no_workload_by_itself() -> None:
    heard = Heard()
    heard.tell(make.workload())

    assert heard.tell(make.cluster("c1")) == set()


# -- clusters that leave -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("available", "is_available"), [("True", True), ("False", False), ("Unknown", False)]
)
def test_a_cluster_that_left_is_as_available_as_it_was(available: str, is_available: bool) -> None:
    heard = Heard()
    document = make.cluster("c1", available=available)
    heard.tell(document)
    assert heard.fleet.is_available("c1") is is_available
    heard.tell(document, Change.DELETED)
    assert heard.fleet.is_available("c1") is is_available

    heard.tell(make.cluster("c1"))
    assert heard.fleet.is_available("c1") is True


def test_of_a_cluster_that_nobody_saw_leave_nobody_knows_that_it_was_well() -> None:
    """It may have left, in flight and unreachable, before this process began (row 17)."""
    assert Fleet().is_available("c1") is False


# -- records -----------------------------------------------------------------------------------


def test_a_page_that_is_deleted_or_spoilt_by_hand_is_written_again() -> None:
    d = Desk([*decided("a"), make.workload()]).converge()
    pages = d.hub.list(ROLLOUT_RECORD).items
    assert pages
    for page in pages:
        ref = ref_of(ROLLOUT_RECORD, page)
        d.hub.patch(ref, {"data": dict.fromkeys(page["data"], "{")})
        assert d.converge().hub.get(ref)["data"] == page["data"]
        d.hub.delete(ref)
        assert d.converge().hub.get(ref)["data"] == page["data"]


def test_config_maps_of_others_are_none_of_ours() -> None:
    d = Desk([*decided("a"), make.workload()]).converge()
    ref = Ref(ROLLOUT_RECORD, "default/rollout-record-theirs-0")
    d.hub.create(ref, {"metadata": {"name": ref.name, "namespace": "default"}, "data": {"x": "y"}})

    assert d.plan().writes == ()
    assert d.hub.get(ref)["data"] == {"x": "y"}


def test_a_workload_made_anew_under_its_name_starts_from_nothing() -> None:
    """Also where its deletion was never heard of: the watch was broken."""
    d = Desk([*decided("a"), make.workload()]).converge()
    d.report("a", Applied="True", Available="True", Progressing="False", Degraded="False")
    d.converge().later(15 * SEC).converge()
    heard = workload_in(d.fleet)
    assert heard is not None
    assert heard.shares["p"].live.head.passed

    fresh = {**make.workload(version="2")}
    stamped = {"uid": "another", "resourceVersion": "9999", "generation": 1}
    fresh["metadata"] = {**fresh["metadata"], **stamped}
    d.fleet.apply(Event(WEB, Change.ADDED, fresh, 9999), d.clock.now())
    d.fleet.refresh(WEB, d.clock.now())
    now = workload_in(d.fleet)

    assert now is not None
    assert now.shares["p"].live.book.uid == "another"
    assert not now.shares["p"].live.head.passed


# -- kept templates ----------------------------------------------------------------------------


def test_a_workload_whose_present_template_is_deleted_keeps_it_again_at_once() -> None:
    """Nothing else may happen to it for a long time, and then there would be nothing to go back to."""
    d = Desk([*decided("a"), make.workload()]).converge()
    (kept,) = d.hub.list(ROLLOUT_REVISION).items
    ref = ref_of(ROLLOUT_REVISION, kept)
    version = int(kept["metadata"]["resourceVersion"])
    gone = Event(ref, Change.DELETED, kept, version + 1000)

    assert d.fleet.apply(gone, d.clock.now()) == {WEB}
    assert [(type(w), w.ref) for w in d.plan().writes] == [(Create, ref)]


def test_a_revision_of_others_that_is_deleted_concerns_nobody() -> None:
    d = Desk([*decided("a"), make.workload()]).converge()
    ref = Ref(ROLLOUT_REVISION, "default/theirs")
    theirs = {"metadata": {"name": "theirs", "namespace": "default", "resourceVersion": "9999"}}

    assert d.fleet.apply(Event(ref, Change.ADDED, theirs, 9998), d.clock.now()) == set()
    assert d.fleet.apply(Event(ref, Change.DELETED, theirs, 9999), d.clock.now()) == set()


# -- outages -----------------------------------------------------------------------------------


def test_outages_last_a_lease_longer_and_those_that_meet_are_one() -> None:
    fleet = Fleet()
    at = [T0 + n * SEC for n in range(200)]
    fleet.out_of_touch(at[0], at[10])
    fleet.out_of_touch(at[20], at[30])
    fleet.out_of_touch(at[100], at[110])

    assert fleet.outages.spans == ((at[0], at[45]), (at[100], at[125]))


def test_every_kind_that_a_workload_rests_on_is_known_by_key() -> None:
    heard = Heard()
    for document in (make.cluster("c1"), *decided("c1"), make.work("c1"), make.workload()):
        heard.tell(document)

    for kind in (MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, MANIFEST_WORK, REPLICA_SET):
        (ref,) = heard.fleet.versions.known(kind)
        assert heard.fleet.versions.exists(ref)
    assert heard.fleet.rolled_out() == [WEB]


ONE_BY_ONE = make.progressive(maxConcurrency=1)


def deleted_when_done() -> tuple[Desk, list[Obj]]:
    """A workload went all the way and was deleted; and its record's pages, not collected yet.

    Their owner is of a kind that this hub collects nothing for.
    """
    d = Desk([*decided("a", "b", "c"), make.workload(strategy=ONE_BY_ONE)])
    d.converge()
    for cluster in "abc":
        d.report(cluster, Applied="True", Available="True", Progressing="False", Degraded="False")
        d.converge().later(15 * SEC).converge()
    pages = d.hub.list(ROLLOUT_RECORD).items
    d.hub.delete(WEB)
    d.converge()
    left: list[Obj] = []
    for page in pages:
        meta = {k: v for k, v in page["metadata"].items() if k not in ("uid", "resourceVersion")}
        theirs = {**meta["ownerReferences"][0], "kind": "Deployment", "apiVersion": "apps/v1"}
        left.append({**page, "metadata": {**meta, "ownerReferences": [theirs]}})
    return d, left


def test_a_record_that_is_still_to_be_collected_says_nothing_of_a_new_workload() -> None:
    """Deleted and made anew at once: to "restore" all works would pass every gate."""
    d, left = deleted_when_done()
    for page in left:
        d.add(page)
    d.add(make.workload(strategy=ONE_BY_ONE))

    touched = [w for w in d.plan().writes if w.ref.kind is MANIFEST_WORK]
    assert [w.ref.namespace for w in touched] == ["a"]


@pytest.mark.parametrize("heard", ["before the workload", "after it was planned"])
def test_a_page_that_an_earlier_workload_left_makes_way_before_anything_is_touched(
    heard: str,
) -> None:
    """To create it under the same name is refused until it is collected."""
    d, left = deleted_when_done()
    if heard == "before the workload":
        there = [d.add(page) for page in left]
    d.add(make.workload(strategy=ONE_BY_ONE))
    d.plan()
    if heard == "after it was planned":
        there = [d.add(page) for page in left]
    head, clusters = (ref_of(ROLLOUT_RECORD, page) for page in there)
    clear, remember, touch, *_ = d.plan().waves

    assert [w for w in clear if isinstance(w, Delete)] == [
        Delete(head, there[0]["metadata"]["uid"])
    ]
    assert [w.ref for w in remember if w.ref.kind is ROLLOUT_RECORD] == [head]
    assert [w.ref.kind for w in touch] == [MANIFEST_WORK]
    d.converge()
    uid = d.hub.get(WEB)["metadata"]["uid"]
    for ref, earlier in zip((head, clusters), there, strict=True):
        kept = d.hub.get(ref)["metadata"]
        assert kept["uid"] != earlier["metadata"]["uid"]
        assert [owner["uid"] for owner in kept["ownerReferences"]] == [uid]
    assert d.plan().writes == ()


def test_a_page_that_an_earlier_workload_left_and_that_was_collected_is_not_in_the_way() -> None:
    d, (page, _) = deleted_when_done()
    ref = ref_of(ROLLOUT_RECORD, d.add(page))
    d.add(make.workload(strategy=ONE_BY_ONE))
    before = d.plan()
    d.hub.delete(ref)

    assert [w for w in before.writes if w.ref == ref and isinstance(w, Delete)]
    assert not [w for w in d.plan().writes if isinstance(w, Delete)]
    d.do(*(w for w in before.writes if w.ref == ref))  # it may be planned already, and lands too
    assert d.converge().plan().writes == ()


def test_further_pages_that_an_earlier_workload_left_are_left_to_the_collector() -> None:
    d, (page, _) = deleted_when_done()
    name = page["metadata"]["name"].removesuffix("-0") + "-7"
    ref = ref_of(ROLLOUT_RECORD, d.add({**page, "metadata": {**page["metadata"], "name": name}}))
    d.add(make.workload(strategy=ONE_BY_ONE))
    d.converge()

    assert d.hub.get(ref)["data"] == page["data"]
