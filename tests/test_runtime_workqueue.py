"""Which key is next, and how long a failing one waits."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from rollout.runtime.workqueue import FIRST, LONGEST, WorkQueue


def drained(queue: WorkQueue[str]) -> list[str]:
    found = []
    while (key := queue.get()) is not None:
        found.append(key)
    return found


def test_keys_come_out_in_the_order_they_went_in_once_each() -> None:
    queue = WorkQueue[str]()
    for key in "abacab":
        queue.add(key)

    assert len(queue) == 3
    assert drained(queue) == ["a", "b", "c"]


def test_a_key_that_is_out_waits_until_it_is_done_and_then_comes_once_more() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert queue.get() is None
    queue.done("a")

    assert drained(queue) == ["a"]


def test_a_key_that_is_done_and_not_wanted_does_not_come_back() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.get()
    queue.done("a")

    assert queue.get() is None


def test_a_key_wanted_again_queues_behind_those_that_waited() -> None:
    queue = WorkQueue[str]()
    for key in "ab":
        queue.add(key)
    queue.get()
    queue.add("a")
    queue.done("a")

    assert drained(queue) == ["b", "a"]


def test_waits_double_up_to_five_minutes_less_up_to_a_fifth() -> None:
    queue = WorkQueue[str](seed=1)
    for n in range(40):
        full = min(FIRST * 2**n, LONGEST)
        assert 0.8 * full <= queue.backoff("a") <= full
    assert timedelta(minutes=5) == LONGEST


def test_each_key_backs_off_by_itself_and_a_success_forgets() -> None:
    queue = WorkQueue[str](seed=1)
    for _ in range(5):
        queue.backoff("a")

    assert queue.backoff("b") <= FIRST
    assert queue.backoff("a") > FIRST
    queue.forget("a")
    assert queue.backoff("a") <= FIRST


def test_the_same_seed_waits_the_same() -> None:
    one, two, other = (WorkQueue[str](seed=n) for n in (7, 7, 8))
    waits = [[queue.backoff("a") for _ in range(5)] for queue in (one, two, other)]

    assert waits[0] == waits[1] != waits[2]


KEYS = st.sampled_from("abc")


@given(st.lists(st.tuples(st.sampled_from(["add", "get", "done"]), KEYS)))
def test_no_key_is_ever_out_twice_and_none_that_was_wanted_is_lost(
    history: list[tuple[str, str]],
) -> None:
    queue = WorkQueue[str]()
    out: set[str] = set()
    wanted: set[str] = set()
    for verb, key in history:
        if verb == "add":
            queue.add(key)
            wanted.add(key)
        elif verb == "get":
            found = queue.get()
            if found is None:
                assert wanted <= out
            else:
                assert found not in out
                assert found in wanted
                out.add(found)
                wanted.discard(found)
        elif key in out:
            queue.done(key)
            out.discard(key)
    for key in list(out):
        queue.done(key)
    assert set(drained(queue)) == wanted
