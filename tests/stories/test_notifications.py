"""Who is told of what, through the whole engine."""

from collections.abc import Callable
from datetime import timedelta

from rollout.model import names
from rollout.model.instants import parse_instant
from rollout.model.kinds import ROLLOUT_NOTIFICATION, Obj, ref_of
from rollout.model.writes import Deliver
from rollout.planning.notifications import OPENINGS_KEPT
from tests.stories.test_analyses import AFTER_CANARY, BAD, GATED, GOOD, gives, template
from tests.support import make
from tests.support.story import MIN, SEC, SETTLED, Story

HOUR = timedelta(hours=1)
BROKEN = {"defaults": {"outcome": "fail"}}


def story(annotations: Obj, agents: Obj | None = None, *documents: Obj) -> Story:
    asked = {names.NOTIFY: "team", **annotations}
    kept = {key: value for key, value in asked.items() if value is not None}
    workload = make.workload(strategy=GATED, annotations=kept)
    return Story([*make.fleet(3, canary=1), *documents, workload], agents)


def told(by: Story) -> list[Obj]:
    """All notifications, in the order in which they were made."""
    found = by.hub.list(ROLLOUT_NOTIFICATION).items
    return sorted(found, key=lambda each: int(each["metadata"]["resourceVersion"]))


def triggers(by: Story) -> list[str]:
    return [each["spec"]["trigger"] for each in told(by)]


def test_a_rollout_tells_that_it_starts_which_stages_pass_and_that_it_is_done() -> None:
    by = story({}).end()

    assert triggers(by) == [
        "on-rollout-started",
        "on-stage-passed",
        "on-stage-passed",
        "on-completed",
    ]
    assert {each["status"]["phase"] for each in told(by)} == {"Delivered"}
    assert len({each["spec"]["id"] for each in told(by)}) == 4


def test_a_channel_is_told_of_what_it_asks_for_alone() -> None:
    by = story({names.NOTIFY: "team=on-completed; pager=on-halted"}).end()

    assert [(each["spec"]["channel"], each["spec"]["trigger"]) for each in told(by)] == [
        ("team", "on-completed")
    ]


def test_a_closed_gate_tells_what_to_type() -> None:
    by = story({names.GATES: "after:canary"}).end()

    asked = told(by)[-1]["spec"]
    assert asked["trigger"] == "on-approval-needed"
    assert "rollout approve mwrs web -n default" in asked["advice"]


def test_a_failure_beyond_the_budget_is_told_once() -> None:
    by = story({}, BROKEN).to(HOUR)

    assert triggers(by).count("on-halted") == 1
    assert "failed" in told(by)[-1]["spec"]["message"]


def test_a_retry_that_fails_again_is_told_again() -> None:
    by = story({}, BROKEN).to(HOUR)
    by.annotate(names.RETRY, "1")
    by.to(2 * HOUR)

    assert triggers(by).count("on-halted") == 2


def test_a_revision_that_goes_on_after_a_skip_and_halts_again_is_told_again() -> None:
    rules = [{"clusters": {"names": ["c01", "c03"]}, "behaviour": {"outcome": "fail"}}]
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="1m")
    workload = make.workload(strategy=strategy, annotations={names.NOTIFY: "team"})
    by = Story([*make.fleet(6), workload], {"rules": rules}).to(HOUR)
    assert triggers(by).count("on-halted") == 1
    by.annotate(names.SKIP, "c01")
    by.to(2 * HOUR)
    by.restart()
    by.to(3 * HOUR)

    assert list(by.touched()) == ["c00", "c01", "c02", "c03"]
    assert triggers(by).count("on-halted") == 2


def test_a_failed_analysis_is_told_with_the_halt_and_the_way_back() -> None:
    by = story(
        {names.GATES: AFTER_CANARY, names.ROLLBACK: "Automatic"},
        {"measurements": [gives(GOOD), gives(BAD, **{"from": "10m"})]},
        template(),
    ).to(10 * MIN)
    by.template(make.template("2"))
    by.to(HOUR)

    later = triggers(by)[triggers(by).index("on-halted") - 1 :]
    assert {"on-halted", "on-analysis-failed", "on-rolled-back"} <= set(later)


def opening(schedule: str, duration: str) -> Obj:
    """A calendar that opens all clusters at these times."""
    window = {"name": "w", "action": "Allow", "schedule": schedule, "duration": duration}
    return {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "ClusterCalendar",
        "metadata": {"name": "times"},
        "spec": {"timeZone": "UTC", "windows": [window]},
    }


def test_a_closed_window_is_told_with_its_next_opening() -> None:
    calendar = opening("0 4 * * *", "1h")
    by = story({}, None, calendar).to(HOUR)

    (closed,) = told(by)
    assert closed["spec"]["trigger"] == "on-window-closed"
    assert closed["spec"]["about"] == "2026-01-01T04:00:00Z"
    assert triggers(by.to(5 * HOUR))[-1] == "on-completed"


def test_only_the_last_openings_that_were_told_of_are_kept() -> None:
    calendar = opening("0 * * * *", "1m")
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="10m")
    workload = make.workload(strategy=strategy, annotations={names.NOTIFY: "team"})
    by = Story([*make.fleet(14), calendar, workload]).to(20 * HOUR)

    assert by.reason == "Complete"
    assert triggers(by).count("on-window-closed") == OPENINGS_KEPT


def test_nothing_is_told_twice_when_the_engine_starts_again() -> None:
    by = story({}).end()
    before = [each["spec"]["id"] for each in told(by)]

    by.restart().end()

    assert [each["spec"]["id"] for each in told(by)] == before


def test_what_an_earlier_revision_told_goes_with_the_next_one() -> None:
    by = story({}).end()
    first = {each["spec"]["id"] for each in told(by)}
    by.template(make.template("2"))
    by.end()

    assert triggers(by)[-1] == "on-completed"
    assert not first & {each["spec"]["id"] for each in told(by)}


def test_a_revision_that_comes_back_is_told_under_new_ids() -> None:
    by = story({}).end()
    ids = {each["spec"]["id"] for each in told(by)}
    for version in ("2", "1"):
        by.on(MIN).template(make.template(version))
        by.end()

    assert triggers(by)[-1] == "on-completed"
    assert not ids & {each["spec"]["id"] for each in told(by)}


class DeafForHours:
    """A channel that takes nothing before an instant."""

    def __init__(self, until: timedelta) -> None:
        self.until, self.by = until, Story()

    def deliver(self, _write: Deliver, done: Callable[[str], None]) -> None:
        done("no answer" if self.by.now < self.until else "")


def test_what_a_deaf_channel_took_of_an_earlier_revision_is_told_anew_once_it_comes_back() -> None:
    channel = DeafForHours(2 * HOUR)
    workload = make.workload(strategy=GATED, annotations={names.NOTIFY: "team"})
    by = channel.by = Story([*make.fleet(3, canary=1), workload], deliverer=channel)
    by.to(MIN).template(make.template("2"))
    by.to(5 * HOUR)
    ids = {each["spec"]["id"] for each in told(by)}
    by.template(make.template("1"))
    by.end()

    assert triggers(by)[0] == "on-rollout-started"
    assert not ids & {each["spec"]["id"] for each in told(by)}


def test_a_channel_that_is_named_when_all_is_done_hears_of_the_end_alone() -> None:
    by = story({names.NOTIFY: None}).end()
    by.annotate(names.NOTIFY, "team")

    assert triggers(by.end()) == ["on-completed"]
    assert triggers(by.restart().end()) == ["on-completed"]


def test_a_channel_that_is_no_longer_named_is_told_nothing_more() -> None:
    by = story({}).to(SETTLED)
    by.annotate(names.NOTIFY, None)

    assert triggers(by.end()) == []


def test_a_hub_that_refuses_notifications_holds_up_no_rollout() -> None:
    by = story({})
    by.denied_kinds.add(ROLLOUT_NOTIFICATION)
    by.to(HOUR)

    assert by.reason == "Complete"
    by.denied_kinds.clear()
    assert "on-completed" in triggers(by.to(2 * HOUR))


def test_a_notification_that_somebody_deletes_is_told_again() -> None:
    by = story({}).end()
    last = told(by)[-1]
    by.hub.delete(ref_of(ROLLOUT_NOTIFICATION, last))
    by.on(10 * SEC).annotate("touched", "1")
    by.on(10 * SEC)

    assert triggers(by)[-1] == "on-completed"
    assert told(by)[-1]["spec"]["id"] != last["spec"]["id"]


def test_an_unknown_trigger_is_a_problem_that_names_the_known_ones() -> None:
    by = story({names.NOTIFY: "team=on-fire"}).end()

    assert by.reason == "Misconfigured"
    assert "on-rolled-back" in by.message


class OneHangs:
    """Delivers at once, but for one channel, which says nothing for as long as the test lets it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[str], None]] = []

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        if write.notification.channel == "slow":
            self.waiting.append(done)
        else:
            done("")


def test_a_channel_that_hangs_for_an_hour_slows_neither_the_rollout_nor_another_channel() -> None:
    channels = OneHangs()
    workload = make.workload(strategy=GATED, annotations={names.NOTIFY: "slow; team"})
    by = Story([*make.fleet(3, canary=1), workload], deliverer=channels).to(HOUR)

    assert by.reason == "Complete"
    assert by.touched() == story({}).to(HOUR).touched()
    mine = [each for each in told(by) if each["spec"]["channel"] == "team"]
    assert [each["spec"]["trigger"] for each in mine] == triggers(story({}).end())
    for each in mine:
        delivered = parse_instant(each["status"]["deliveredAt"])
        assert delivered == parse_instant(each["metadata"]["creationTimestamp"])
    silent = [each for each in told(by) if each["spec"]["channel"] == "slow"]
    assert len(channels.waiting) == len(silent) == len(mine)

    for answer in channels.waiting:
        answer("")
    by.on(SEC)
    assert {each["status"]["phase"] for each in told(by)} == {"Delivered"}
