"""The way of a notification from a plan to its status, attempt by attempt."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Fenced
from rollout.model.kinds import REPLICA_SET, ROLLOUT_NOTIFICATION, Ref
from rollout.model.notifications import Delivery, Notification, Trigger
from rollout.model.writes import Deliver, PatchStatus
from rollout.planning.deliveries import (
    GIVE_UP_AFTER,
    LONGEST_PAUSE,
    NotificationPlanner,
    delivery_status,
    next_try,
    tried,
)
from rollout.planning.plan import NOTHING, Plan, Write
from rollout.runtime.io import Done, WriteOutcome, WriteResult
from rollout.runtime.notification_io import (
    MOST_OF_CHANNEL,
    MOST_OF_NAMESPACE,
    MOST_WAITING,
    NotificationIo,
)

T0 = datetime(2026, 11, 22, tzinfo=UTC)
SEC = timedelta(seconds=1)
LANDED = WriteOutcome(result=WriteResult.LANDED)


def notification(name: str = "n", channel: str = "team", **more: object) -> Notification:
    return Notification(
        ref=Ref(ROLLOUT_NOTIFICATION, f"shop/{name}"),
        uid="u",
        version=7,
        workload=Ref(REPLICA_SET, "shop/web"),
        revision="r",
        trigger=Trigger.HALTED,
        channel=channel,
        id=name,
        at=T0,
        message="it stopped",
        **more,  # type: ignore[arg-type]
    )


def of_namespace(namespace: str, count: int) -> list[Notification]:
    return [
        replace(
            notification(f"n{i}", f"c{i % 50}"), ref=Ref(ROLLOUT_NOTIFICATION, f"{namespace}/n{i}")
        )
        for i in range(count)
    ]


def attempt(told: Notification) -> Deliver:
    return Deliver(ref=told.ref, notification=told)


class Waiting:
    """A channel that answers when it is told to."""

    def __init__(self) -> None:
        self.open: list[Callable[[str], None]] = []

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        self.open.append(done)


class Written:
    """Takes all writes, or none where another process leads."""

    def __init__(self, *, is_fenced: bool = False) -> None:
        self.writes: list[Write] = []
        self.is_fenced = is_fenced

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        if self.is_fenced:
            raise Fenced("another one leads")
        self.writes += writes
        for write in writes:
            done(write, LANDED)


class Sent:
    """An io with what it counted and what came of its writes."""

    def __init__(self, *, is_fenced: bool = False, late: timedelta = SEC) -> None:
        self.channel, self.inner = Waiting(), Written(is_fenced=is_fenced)
        self.counted: list[str] = []
        self.outcomes: list[WriteOutcome] = []
        clock = VirtualClock(T0 + late)
        self.io = NotificationIo(self.inner, self.channel, clock, self.counted.append)

    def send(self, *told: Notification) -> None:
        writes = [attempt(each) for each in told]
        self.io.send(writes, lambda _, outcome: self.outcomes.append(outcome))


@pytest.mark.parametrize(
    ("late", "answer", "phase", "message", "counted"),
    [
        pytest.param(SEC, "", "Delivered", None, "delivered", id="it is delivered"),
        pytest.param(SEC, "no answer", "Pending", "no answer", "failed", id="it fails"),
        pytest.param(GIVE_UP_AFTER, "no answer", "GivenUp", "no answer", "given_up", id="too late"),
    ],
)
def test_an_attempt_is_over_when_its_result_is_written_which_says_why_and_is_counted(
    late: timedelta, answer: str, phase: str, message: str | None, counted: str
) -> None:
    sent = Sent(late=late)
    sent.send(notification())
    assert sent.outcomes == []

    sent.channel.open[0](answer)

    (written,) = sent.inner.writes
    assert isinstance(written, PatchStatus)
    assert (written.status["phase"], written.status["message"]) == (phase, message)
    assert (written.status["tries"], written.version) == (1, 7)
    assert sent.outcomes == [LANDED]
    assert sent.counted == [counted]


def test_one_channel_that_hangs_takes_no_more_than_its_share_of_the_line() -> None:
    sent = Sent()
    sent.send(*(notification(f"n{i}") for i in range(MOST_OF_CHANNEL + 5)))
    assert len(sent.channel.open) == MOST_OF_CHANNEL
    assert [each.result for each in sent.outcomes] == [WriteResult.WAIT] * 5

    sent.send(notification("other", "pager"))
    assert len(sent.channel.open) == MOST_OF_CHANNEL + 1


def test_the_whole_line_is_bounded_and_goes_on_when_there_is_room() -> None:
    sent = Sent()
    for space in range(MOST_WAITING // MOST_OF_NAMESPACE):
        sent.send(*of_namespace(f"n{space}", MOST_OF_NAMESPACE))
    sent.send(notification("late", "pager"))
    assert sent.outcomes[-1].result is WriteResult.WAIT

    sent.channel.open[0]("")
    sent.send(notification("late", "pager"))
    assert len(sent.channel.open) == MOST_WAITING + 1


def test_one_namespace_takes_no_more_than_its_share_of_the_line() -> None:
    sent = Sent()
    sent.send(*of_namespace("evil", MOST_OF_NAMESPACE + 5))
    assert len(sent.channel.open) == MOST_OF_NAMESPACE

    sent.send(notification())
    assert len(sent.channel.open) == MOST_OF_NAMESPACE + 1


def test_a_process_that_leads_no_more_leaves_the_result_to_the_next_one() -> None:
    sent = Sent(is_fenced=True)
    sent.send(notification())
    sent.channel.open[0]("")

    assert [each.result for each in sent.outcomes] == [WriteResult.UNKNOWN]


# -- when ------------------------------------------------------------------------------------------


class OneNotification:
    """The view of a planner on one notification."""

    def __init__(self, told: Notification | None) -> None:
        self._told = told

    def notification(self, key: str) -> Notification | None:
        return self._told


def plan(told: Notification | None, now: datetime) -> Plan:
    return NotificationPlanner().plan("shop/n", OneNotification(told), now)


def test_what_was_never_tried_is_tried_at_once() -> None:
    told = notification()
    assert plan(told, T0).waves == ((attempt(told),),)


def test_pauses_grow_to_ten_minutes() -> None:
    delivery, now, pauses = Delivery(), T0, []
    for _ in range(40):
        delivery = tried(notification(delivery=delivery), "no", now)
        at = next_try(delivery)
        assert at is not None
        pauses.append(at - now)
        now = at
    assert pauses[:4] == [5 * SEC, 10 * SEC, 20 * SEC, 40 * SEC]
    assert pauses[-1] == LONGEST_PAUSE


def test_before_its_pause_is_over_nothing_is_tried() -> None:
    told = notification(delivery=tried(notification(), "no", T0))

    assert plan(told, T0 + SEC) == Plan(recheck_at=T0 + 5 * SEC)
    assert plan(told, T0 + 5 * SEC).waves


@pytest.mark.parametrize("late", [timedelta(0), timedelta(hours=3)])
def test_after_a_day_it_is_given_up(late: timedelta) -> None:
    given_up = tried(notification(), "no", T0 + GIVE_UP_AFTER + late)

    assert delivery_status(given_up)["phase"] == "GivenUp"
    assert plan(notification(delivery=given_up), T0 + 9 * GIVE_UP_AFTER) is NOTHING


def test_what_was_delivered_or_is_gone_is_not_tried() -> None:
    delivered = notification(delivery=tried(notification(), "", T0))

    assert plan(delivered, T0 + GIVE_UP_AFTER) is NOTHING
    assert plan(None, T0) is NOTHING
