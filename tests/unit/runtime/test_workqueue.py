"""Which key is next, and how long a failing one waits."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from rollout.runtime.workqueue import GAP, RETRY, WorkQueue

T0 = datetime(2026, 1, 1, tzinfo=UTC)


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


def in_a_row(queue: WorkQueue[str], key: str, count: int) -> list[timedelta]:
    """The pauses after so many failures, each at the end of the pause before."""
    waits: list[timedelta] = []
    for _ in range(count):
        waits.append(queue.backoff(key, T0 + sum(waits, timedelta(0))))
    return waits


def test_waits_double_up_to_five_minutes_less_up_to_a_fifth() -> None:
    queue = WorkQueue[str](seed=1)
    for n, wait in enumerate(in_a_row(queue, "a", 40)):
        full = min(timedelta(milliseconds=500) * 2**n, timedelta(minutes=5))
        assert 0.8 * full <= wait <= full


def test_each_key_backs_off_by_itself_and_a_success_forgets() -> None:
    queue = WorkQueue[str](seed=1)
    later = T0 + sum(in_a_row(queue, "a", 5), timedelta(0))

    assert queue.backoff("b", later) <= RETRY.first
    assert queue.backoff("a", later) > RETRY.first
    queue.forget("a")
    assert queue.backoff("a", later) <= RETRY.first


def test_what_fails_again_before_its_pause_is_over_counts_no_second_time() -> None:
    queue = WorkQueue[str](seed=1)

    waits = [queue.backoff("a", T0 + n * timedelta(milliseconds=10)) for n in range(30)]

    assert max(waits) <= RETRY.first


def test_the_same_seed_waits_the_same() -> None:
    waits = [in_a_row(WorkQueue[str](seed=n), "a", 5) for n in (7, 7, 8)]

    assert waits[0] == waits[1] != waits[2]


def by_namespace(key: str) -> str:
    return key.partition("/")[0]


def test_namespaces_are_served_in_turn_and_their_keys_in_order() -> None:
    queue = WorkQueue[str](turn_of=by_namespace)
    for key in ("a/1", "a/2", "a/3", "a/4", "b/1", "b/2", "c/1"):
        queue.add(key)
    first = [queue.get() for _ in range(3)]
    queue.add("d/1")

    assert first == ["a/1", "b/1", "c/1"]
    assert drained(queue) == ["a/2", "b/2", "d/1", "a/3", "a/4"]


def test_a_key_never_waits_for_more_than_one_of_each_other_namespace() -> None:
    queue = WorkQueue[str](turn_of=by_namespace)
    for n in range(500):
        queue.add(f"busy/{n}")
    for n in range(100):  # the busy one never ends
        assert queue.get() is not None
        queue.add(f"busy/more-{n}")
    queue.add("quiet/web")

    assert "quiet/web" in [queue.get() for _ in range(2)]


def test_retries_of_one_namespace_share_a_rate_and_those_of_others_do_not_wait_for_it() -> None:
    queue = WorkQueue[str](turn_of=by_namespace)
    half = timedelta(milliseconds=500)
    busy = [queue.retry_at(f"busy/{n}", half, T0) for n in range(1_000)]

    assert busy[0] == T0 + half
    assert busy[-1] == T0 + 999 * GAP
    assert queue.retry_at("quiet/web", half, T0) == T0 + half
    assert queue.retry_at("busy/late", half, T0 + timedelta(minutes=1)) == T0 + half + timedelta(
        minutes=1
    )


def test_a_long_wait_of_one_key_delays_no_other_of_its_namespace() -> None:
    queue = WorkQueue[str](turn_of=by_namespace)
    queue.retry_at("a/1", RETRY.longest, T0)

    assert queue.retry_at("a/2", RETRY.first, T0) == T0 + RETRY.first


def test_namespaces_that_retry_no_more_are_forgotten() -> None:
    queue = WorkQueue[str](turn_of=by_namespace)
    for n in range(1_000):
        queue.retry_at(f"n{n}/web", RETRY.first, T0 + n * timedelta(seconds=1))

    assert len(queue._paced) < 200


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
