"""How many writes may be in flight: the window's arithmetic, and a server that grants only so much."""

import heapq

import pytest

from rollout.hub.kube_window import FIRST, LEAST, MOST, RequestWindow


def serve(window: RequestWindow, capacity: int, answers: int, took: float = 0.01) -> RequestWindow:
    """A server that works on ``capacity`` requests at once and lets the others queue."""
    now = 0.0
    busy: list[tuple[float, float]] = []  # (done, sent)
    free = [0.0] * capacity
    for _ in range(answers):
        while window.is_open(now):
            start = max(heapq.heappop(free), now)
            heapq.heappush(free, start + took)
            heapq.heappush(busy, (start + took, now))
            window.sent()
        now, sent = heapq.heappop(busy)
        window.answered(sent, now, "create")
    return window


def test_it_grows_while_answers_come_as_fast_as_usual() -> None:
    assert serve(RequestWindow(), capacity=1_000, answers=2_000).size == MOST


def test_it_does_not_grow_while_nobody_fills_it() -> None:
    window = RequestWindow()
    for n in range(100):
        window.sent()
        window.answered(n, n + 0.01)

    assert window.size == FIRST


def test_a_server_that_falls_behind_is_not_piled_upon() -> None:
    window = serve(RequestWindow(), capacity=1, answers=2_000, took=0.02)

    assert LEAST <= window.size < 60


@pytest.mark.parametrize("refusals", [1, 16])
def test_the_refusals_of_one_round_trip_halve_it_once(refusals: int) -> None:
    window = RequestWindow()
    for _ in range(16):
        window.sent()
    for n in range(refusals):
        window.overloaded(sent_at=0.0, now=0.1 + n / 1000)

    assert window.size == FIRST / 2
    assert window.in_flight == 16 - refusals


def test_it_never_closes_for_good() -> None:
    window = RequestWindow()
    for n in range(100):
        window.sent()
        window.overloaded(n, n + 0.5)

    assert window.size == LEAST
    assert window.is_open(101)


@pytest.mark.parametrize(
    ("waits", "paused"),
    [
        pytest.param([1.0], False, id="the usual second, once: the window is enough"),
        pytest.param([1.0, 1.0], True, id="again at once: it is meant"),
        pytest.param([5.0], True, id="more than the usual"),
        pytest.param([0.0, 0.0, 0.0], False, id="nothing asked"),
    ],
)
def test_a_server_that_asks_to_wait_and_means_it_hears_nothing_until_then(
    waits: list[float], paused: bool
) -> None:
    window, now = RequestWindow(), 0.0
    for wait in waits:
        window.sent()
        window.overloaded(now, now + 0.1, wait)
        now += 0.1

    assert window.is_open(now) is not paused
    assert window.is_open(now + waits[-1])


def test_an_answer_between_two_setbacks_makes_them_two_first_ones() -> None:
    window = RequestWindow()
    for now in (0.0, 1.0):
        window.sent()
        window.overloaded(now, now + 0.1, 1.0)
        window.sent()
        window.answered(now + 0.1, now + 0.2)

    assert window.is_open(1.2)


def test_after_a_setback_it_holds_still_and_then_grows_by_one_a_round_trip() -> None:
    def round_trip(at: float) -> None:
        for _ in range(int(window.size)):
            while window.is_open(at):
                window.sent()
            window.answered(at, at + 0.01)

    window = RequestWindow()
    for _ in range(16):
        window.sent()
    for _ in range(16):
        window.overloaded(0.0, 0.1)
    before = window.size
    for n in range(5):
        round_trip(0.2 + n / 10)
    held = window.size
    for n in range(3):
        round_trip(2.0 + n)

    assert held == before == 8
    assert before + 2 < window.size < before + 4


def test_an_idle_window_that_was_never_full_shrinks_to_what_was_in_use() -> None:
    window = RequestWindow(size=MOST)
    for _ in range(4):
        window.sent()
    window.overloaded(0.0, 0.1)

    assert window.size == 2


def slow_after(usual: str, slow: str | None) -> RequestWindow:
    """Ten answers of 5 ms, then one that took two seconds."""
    window = RequestWindow()
    for n in range(10):
        window.sent()
        window.answered(n, n + 0.005, usual)
    window.sent()
    window.answered(20.0, 22.0, slow)
    return window


@pytest.mark.parametrize(
    ("slow", "shrinks"),
    [
        pytest.param("patch", True, id="of what usually takes 5 ms"),
        pytest.param("create", False, id="of what nobody has asked for yet"),
        pytest.param(None, False, id="of a list, which takes as long as it is"),
    ],
)
def test_what_is_slow_is_told_from_requests_of_the_same_kind(
    slow: str | None, shrinks: bool
) -> None:
    assert (slow_after("patch", slow).size < FIRST) is shrinks
