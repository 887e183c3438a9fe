"""Which workload does a page of a record, or a kept revision, belong to?"""

from collections.abc import Mapping

import pytest

from rollout.api.replicaset import decode_replicaset
from rollout.fleet.records import Records
from rollout.model.content import content_hash
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    REPLICA_SET,
    ROLLOUT_RECORD,
    WORKLOADS,
    Obj,
    Ref,
)
from rollout.model.replicaset import ReplicaSet
from rollout.planning.revisions import Revision, content_object, revision_object, spec_kept
from rollout.rollouts.record import page_object, page_ref, record_id
from rollout.values.rendering import Assignment
from tests.support import make
from tests.support.bulletins import BULLETIN

HOME = "rollout-system"
SET, ADDON, OTHER = (
    Ref(REPLICA_SET, "default/web"),
    Ref(CLUSTER_MANAGEMENT_ADDON, "web"),
    Ref(BULLETIN, "default/web"),
)


def page(owner: Ref, placement: str, change: Change = Change.ADDED) -> Event:
    rid, namespace = record_id(owner, placement), owner.namespace or HOME
    obj: Obj = page_object(
        rid, owner, f"uid of {owner}", placement, page=0, data={}, namespace=namespace
    )
    stored = {**obj, "metadata": {**obj["metadata"], "uid": f"{owner}", "resourceVersion": "7"}}
    return Event(page_ref(namespace, rid, 0), change, stored, 7)


@pytest.mark.parametrize("owner", [SET, ADDON, OTHER], ids=str)
def test_a_page_tells_of_its_workload_by_where_it_lies(owner: Ref) -> None:
    records = Records(HOME, (*WORKLOADS, BULLETIN))

    found = records.take_page(page(owner, "p"))

    assert found is not None
    assert (found.workload, found.placement) == (owner, "p")


def test_a_page_of_a_kind_that_nobody_here_rolls_out_is_of_no_workload() -> None:
    found = Records(HOME).take_page(page(OTHER, "p"))

    assert found is not None
    assert found.workload is None


def test_workloads_of_two_kinds_with_one_name_do_not_share_their_pages() -> None:
    records = Records(HOME, (*WORKLOADS, BULLETIN))
    records.take_page(page(SET, "kept"))
    records.take_page(page(OTHER, "other"))

    assert records.abandoned(SET, {"kept"}) == []
    assert [ref.kind for ref, _ in records.abandoned(OTHER, set())] == [ROLLOUT_RECORD]


def test_nothing_is_kept_of_a_workload_with_its_last_page() -> None:
    records = Records(HOME, (*WORKLOADS, BULLETIN))
    records.take_page(page(OTHER, "p"))

    records.take_page(page(OTHER, "p", Change.DELETED))

    assert records.abandoned(OTHER, set()) == []


# -- contents that were rendered for clusters --------------------------------------------------------


def workload_of(uid: str) -> ReplicaSet:
    document = make.workload()
    document["metadata"]["uid"] = uid
    return decode_replicaset(document)


class Shelves:
    """Records, and what is written to them of workload default/web."""

    def __init__(self) -> None:
        self.records, self._version = Records(HOME), 0

    def add(self, kept: tuple[Ref, Obj]) -> tuple[Ref, Obj]:
        """Somebody creates or replaces this object."""
        ref, obj = kept
        self._version += 1
        stored = {**obj, "metadata": {**obj["metadata"], "uid": f"uid {self._version}"}}
        self.records.take_revision(Event(ref, Change.ADDED, stored, self._version))
        return ref, obj

    def base(self, owner: str = "u-1") -> tuple[Ref, Obj]:
        asked = workload_of(owner)
        return self.add(revision_object(SET, asked, asked.template.content, 1))

    def content(self, value: str, said: str | None = None, owner: str = "u-1") -> tuple[Ref, str]:
        """A content with this value; ``said``: the one that its object has by now."""
        asked = workload_of(owner)
        name = content_hash(make.template(value))
        values = [Assignment(0, ("data", "version"), said or value)]
        ref, _ = self.add(content_object(SET, asked, name, asked.template.content, values))
        return ref, name


def test_an_altered_content_is_none_and_makes_way_whichever_is_seen_first() -> None:
    for base_first in (True, False):
        shelves = Shelves()
        if base_first:
            shelves.base()
        good, good_name = shelves.content("a")
        bad, bad_name = shelves.content("b", said="evil")
        if not base_first:
            shelves.base()

        known = shelves.records.revisions(SET, "u-1")
        assert (good_name in known, bad_name in known) == (True, False)
        assert shelves.records.occupant(good, "u-1") is None
        assert shelves.records.occupant(bad, "u-1") is not None


def test_whoever_edits_a_content_has_its_workload_looked_at() -> None:
    shelves = Shelves()
    shelves.base()
    ref, name = shelves.content("a")
    values = [Assignment(0, ("data", "version"), "evil")]
    asked = workload_of("u-1")
    _, obj = content_object(SET, asked, name, asked.template.content, values)

    assert shelves.records.take_revision(Event(ref, Change.MODIFIED, obj, 99)) == SET


def test_a_content_is_held_against_its_base_once_however_often_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelves, asked = Shelves(), list[str]()

    def counted(content: str, kept: Mapping[str, Revision]) -> Obj | None:
        asked.append(content)
        return spec_kept(content, kept)

    monkeypatch.setattr("rollout.fleet.records.spec_kept", counted)
    shelves.base()
    contents = [shelves.content(value) for value in ("a", "b")]
    for _ in range(10):
        shelves.records.revisions(SET, "u-1")
        for ref, _name in contents:
            shelves.records.occupant(ref, "u-1")
    assert len(asked) == 2

    shelves.content("a", said="evil")
    assert len(shelves.records.revisions(SET, "u-1")) == 2
    shelves.content("a")
    assert len(shelves.records.revisions(SET, "u-1")) == 3
    assert len(asked) == 4


def test_nothing_of_a_workload_that_is_gone_is_put_back() -> None:
    shelves = Shelves()
    ref, obj = shelves.base()
    edited = {**obj, "revision": 7, "metadata": {**obj["metadata"], "uid": "uid 1"}}
    shelves.records.take_revision(Event(ref, Change.MODIFIED, edited, 99))
    (known,) = shelves.records.edited(SET, "u-1")
    assert (known.number, shelves.records.edited(SET, "u-2")) == (1, [])

    shelves.records.forget_edited(SET)

    assert shelves.records.edited(SET, "u-1") == []


def test_a_revision_that_was_made_anew_meanwhile_counts_as_it_is() -> None:
    """Events are missed: it went with its number, and was rolled out again under another one."""
    shelves = Shelves()
    ref, obj = shelves.base()

    shelves.add((ref, {**obj, "revision": 7}))

    (found,) = shelves.records.revisions(SET, "u-1").values()
    assert (found.number, shelves.records.edited(SET, "u-1")) == (7, [])
