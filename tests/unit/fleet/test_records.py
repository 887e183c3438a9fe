"""Which workload does a page of a record, or a kept revision, belong to?"""

import pytest

from rollout.fleet.records import Records
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    REPLICA_SET,
    ROLLOUT_RECORD,
    WORKLOADS,
    Obj,
    Ref,
)
from rollout.rollouts.record import page_object, page_ref, record_id
from tests.support.bulletins import BULLETIN

HOME = "rollout-system"
SET, ADDON, OTHER = (
    Ref(REPLICA_SET, "default/web"),
    Ref(CLUSTER_MANAGEMENT_ADDON, "web"),
    Ref(BULLETIN, "default/web"),
)


def page(owner: Ref, placement: str, change: Change = Change.ADDED) -> Event:
    rid, namespace = record_id(owner, placement), owner.namespace or HOME
    obj: Obj = page_object(rid, owner, f"uid of {owner}", placement, 0, {}, namespace)
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
