"""What agents remember of works."""

import pytest

from rollout.model.kinds import MANIFEST_WORK, Ref
from rollout.sim.members import Member
from rollout.sim.work import WorkInHand, WorksInHand


def held(*keys: str) -> WorksInHand:
    works = WorksInHand()
    for key in keys:
        ref = Ref(MANIFEST_WORK, key)
        works.put(WorkInHand(ref, key, 0, Member(name=ref.namespace)))
    return works


def test_works_on_one_cluster_are_found_as_they_came_and_no_others() -> None:
    works = held("c2/web", "c1/web", "c2/db")

    assert [work.ref.key for work in works.on("c2")] == ["c2/web", "c2/db"]
    assert [work.ref.key for work in works.on("c3")] == []
    assert {work.ref.key for work in works.all()} == {"c1/web", "c2/web", "c2/db"}


def test_a_work_that_is_gone_is_on_its_cluster_no_more() -> None:
    works = held("c1/web", "c1/db")

    assert works.pop("c1/web").ref.key == "c1/web"
    assert works.get("c1/web") is None
    assert [work.ref.key for work in works.on("c1")] == ["c1/db"]
    with pytest.raises(KeyError):
        works.pop("c1/web")
