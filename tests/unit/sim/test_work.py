"""What agents remember of works."""

import pytest

from rollout.model.kinds import MANIFEST_WORK, Ref
from rollout.sim import work as module
from rollout.sim.members import Member
from rollout.sim.work import OF_ONE_WORK, WorksInHand


def held(*keys: str, kept: bool = False) -> WorksInHand:
    works = WorksInHand(kept=kept)
    for key in keys:
        begin(works, key)
    return works


def begin(works: WorksInHand, key: str) -> int:
    """Returns: the attempts that its agent begins with."""
    ref = Ref(MANIFEST_WORK, key)
    return works.begin(ref, key, Member(name=ref.namespace)).attempt


def changed(works: WorksInHand) -> dict[str, bytes | None]:
    found = works.changes(lambda _: None)
    return {key.removeprefix(OF_ONE_WORK): value for key, value in found}


def test_works_on_one_cluster_are_found_as_they_came_and_no_others() -> None:
    works = held("c2/web", "c1/web", "c2/db")

    assert [work.ref.key for work in works.on("c2")] == ["c2/web", "c2/db"]
    assert [work.ref.key for work in works.on("c3")] == []
    assert {work.ref.key for work in works.all()} == {"c1/web", "c2/web", "c2/db"}


def test_a_work_that_is_gone_is_on_its_cluster_no_more() -> None:
    works = held("c1/web", "c1/db")

    works.forget("c1/web")

    assert works.get("c1/web") is None
    assert [work.ref.key for work in works.on("c1")] == ["c1/db"]
    with pytest.raises(KeyError):
        works.forget("c1/web")


def test_a_work_that_comes_again_goes_on_with_the_attempts_of_the_one_that_is_gone() -> None:
    works = held("c1/web")
    works["c1/web"].attempt = 3

    works.forget("c1/web")

    assert begin(works, "c1/web") == 3


def test_only_the_works_that_went_last_are_remembered_and_the_others_leave_nothing_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_GONE", 2)
    keys = [f"c{i}/web" for i in range(4)]
    works = held(*keys, kept=True)
    changed(works)
    for attempt, key in enumerate(keys, start=1):
        works[key].attempt = attempt
        works.forget(key)

    assert changed(works) == {keys[0]: None, keys[1]: None, keys[2]: b"3", keys[3]: b"4"}
    assert [begin(works, key) for key in keys] == [0, 0, 3, 4]


def test_changes_are_told_once_and_collected_only_where_somebody_saves_them() -> None:
    kept, unkept = held("c1/web", kept=True), held("c1/web")

    assert list(changed(kept)) == ["c1/web"]
    assert changed(kept) == changed(unkept) == {}
