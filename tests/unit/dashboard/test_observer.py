"""Holds the observer to looking at the hub, and to answering, however much it is asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.dashboard import observer as watched
from rollout.dashboard.observer import Observer
from rollout.dashboard.view import DashboardView
from rollout.errors import Unavailable
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.operate import Who, abort
from tests.support import make
from tests.support.dashboards import comes_true, opening, story_on
from tests.support.operated import notes
from tests.support.story import MIN, Story

WEB = Ref(REPLICA_SET, "default/web")


@contextmanager
def _observed(path: Path, after: int = 120) -> Iterator[tuple[Story, Observer]]:
    with story_on(path, after=after) as story, Observer(opening(path, story.clock)) as observer:
        yield story, observer


def test_a_change_is_seen_while_one_question_follows_another(tmp_path: Path) -> None:
    with _observed(tmp_path / "state.db") as (story, observer):
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                observer.ask(lambda _: threading.Event().wait(0.01))

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for each in asking:
            each.start()
        story.add(make.workload("late"))
        seen = comes_true(lambda: any(row.account.name == "late" for row in observer.view.rows))
        over.set()
        for each in asking:
            each.join()

    assert seen


def test_what_was_said_to_have_failed_is_not_done_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "ANSWER_SECONDS", 0.5)
    busy, over = threading.Event(), threading.Event()

    def block() -> None:
        busy.set()
        over.wait(60)

    with _observed(tmp_path / "state.db") as (story, observer):
        blocking = threading.Thread(target=_swallowed, args=(observer, block))
        blocking.start()
        busy.wait(60)
        with pytest.raises(Unavailable, match="nothing was done"):
            observer.ask(
                lambda reading: abort(reading.hub, WEB, Who("ann", story.clock.now(), "late"))
            )
        over.set()
        blocking.join()
        observer.ask(lambda _: None)
        after = notes(story.hub, WEB)

    assert names.ABORT not in after


def test_what_takes_too_long_once_it_has_begun_is_not_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "ANSWER_SECONDS", 0.3)
    with (
        _observed(tmp_path / "state.db") as (_, observer),
        pytest.raises(Unavailable, match="look at what has come of it"),
    ):
        observer.ask(lambda _: threading.Event().wait(2))


def test_a_look_that_finds_nothing_new_leaves_open_pages_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "LONGEST", timedelta(seconds=0.2))
    with _observed(tmp_path / "state.db", after=1200) as (story, observer):
        heard: list[DashboardView] = []
        observer.listen(heard.append)
        first = observer.view
        for _ in range(3):
            seen = observer.view
            _pass(story)
            assert comes_true(lambda seen=seen: observer.view.now > seen.now)  # type: ignore[misc]  # a lambda with defaults
        idle = observer.view.number, list(heard)
        story.add(make.workload("late"))
        assert comes_true(lambda: observer.view.number > first.number)

    assert idle == (first.number, [])
    assert [view.number for view in heard] == [first.number + 1]


def test_what_was_asked_is_asked_anew_when_the_hub_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "LONGEST", timedelta(seconds=0.2))
    with _observed(tmp_path / "state.db", after=1200) as (story, observer):
        first = observer.ask(lambda reading: reading.snapshot.now, "now")
        assert observer.ask(lambda reading: reading.snapshot.now, "now") == first
        _pass(story)

        assert comes_true(
            lambda: observer.ask(lambda reading: reading.snapshot.now, "now") == first + MIN
        )


def _pass(story: Story) -> None:
    assert isinstance(story.clock, VirtualClock)
    story.clock.advance(MIN)


def _swallowed(observer: Observer, doing: Callable[[], object]) -> None:
    with suppress(Unavailable):
        observer.ask(lambda _: doing())
