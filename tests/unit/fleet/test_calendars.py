"""Which clusters calendars close, event by event."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from rollout.fleet.fleet import Fleet
from rollout.model.events import Change, Event
from rollout.model.kinds import CALENDAR, CLUSTER_CALENDAR, KINDS, REPLICA_SET, Obj, Ref, ref_of
from rollout.model.writes import PatchStatus
from rollout.planning.calendars import CalendarPlanner
from tests.support import make
from tests.support.story import HOUR, MIN, T0

WEB = Ref(REPLICA_SET, "default/web")
NIGHT = {"name": "night", "action": "Allow", "schedule": "0 22 * * *", "duration": "2h"}
BUSINESS = Ref(CLUSTER_CALENDAR, "business")


def calendar(window: Obj = NIGHT, name: str = "business", **spec: Any) -> Obj:
    return {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": name, "generation": 1},
        "spec": {"windows": [window], "timeZoneFrom": {"label": "zone"}, **spec},
    }


class Known:
    """A fleet that is told of one thing after the other."""

    def __init__(self, *objects: Obj) -> None:
        self.fleet = Fleet()
        self.versions = count(1)
        for obj in objects:
            self.tell(obj)

    def tell(self, obj: Obj, now: datetime = T0, change: Change = Change.ADDED) -> set[Ref]:
        ref = ref_of(KINDS[obj["kind"]], obj)
        return self.fleet.apply(Event(ref, change, obj, next(self.versions)), now)

    def closed(self, now: datetime = T0) -> dict[str, str]:
        waits = self.fleet.closed(WEB, now).touch.waits
        return {cluster: str(wait.reason) for cluster, wait in waits.items()}


def cluster(name: str, zone: str) -> Obj:
    return make.cluster(name, {"zone": zone})


TWO = (cluster("a", "UTC"), cluster("b", "Asia.Tokyo"))


def test_nothing_is_closed_where_there_is_no_calendar() -> None:
    assert Known(*TWO).closed() == {}


def test_the_order_in_which_calendars_and_clusters_become_known_does_not_matter() -> None:
    assert Known(*TWO, calendar()).closed() == Known(calendar(), *TWO).closed()
    assert Known(*TWO, calendar()).closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_clusters_and_calendars_that_are_gone_count_no_more() -> None:
    known = Known(*TWO, calendar())
    known.tell(TWO[0], change=Change.DELETED)
    assert list(known.closed()) == ["b"]

    known.tell(calendar(), change=Change.DELETED)
    assert known.closed() == {}


def test_the_next_opening_is_the_earliest_of_those_that_are_closed() -> None:
    known = Known(*TWO, calendar())

    assert known.fleet.closed(WEB, T0).touch.until == T0 + 13 * HOUR
    assert known.fleet.closed(WEB, T0 + 13 * HOUR).touch.until == T0 + 22 * HOUR


def test_a_cluster_that_two_calendars_close_waits_for_the_later_one() -> None:
    late = {"name": "late", "action": "Deny", "schedule": "0 0 * * *", "duration": "23h"}
    known = Known(TWO[0], calendar(), calendar(late, name="late"))

    assert known.fleet.closed(WEB, T0).touch.until == T0 + 23 * HOUR
    assert known.closed(T0 + 23 * HOUR) == {}


def test_the_same_is_answered_whenever_it_is_asked_for() -> None:
    known = Known(*TWO, calendar())
    first = known.fleet.closed(WEB, T0)

    for later in (1 * MIN, 2 * HOUR, 22 * HOUR, 30 * 24 * HOUR):
        known.fleet.closed(WEB, T0 + later)
        assert known.fleet.closed(WEB, T0) == first


def test_between_two_changes_the_answer_is_the_very_same_value() -> None:
    known = Known(*TWO, calendar())

    first = known.fleet.closed(WEB, T0).touch

    assert known.fleet.closed(WEB, T0 + 12 * HOUR).touch is first
    assert known.fleet.closed(WEB, T0 + 13 * HOUR).touch is not first


@pytest.mark.parametrize(("asked_at", "closed"), [(21 * HOUR, True), (23 * HOUR, False)])
def test_a_calendar_that_cannot_be_read_leaves_clusters_as_they_were(
    asked_at: timedelta, closed: bool
) -> None:
    known = Known(TWO[0], calendar())
    known.tell(calendar(timeZone="Nowhere"), T0 + asked_at, Change.MODIFIED)

    for later in (22 * HOUR, 27 * HOUR, 46 * HOUR):
        assert bool(known.closed(T0 + asked_at + later)) is closed
    known.tell(calendar(), T0 + 60 * HOUR, Change.MODIFIED)
    assert known.closed(T0 + 60 * HOUR)
    assert not known.closed(T0 + 70 * HOUR)


def test_a_calendar_that_could_never_be_read_closes_all_that_it_may_concern() -> None:
    known = Known(*TWO, calendar(timeZone="Nowhere"))

    assert known.closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_a_bad_calendar_stops_no_other() -> None:
    bad = calendar(timeZone="Nowhere") | {
        "kind": CALENDAR.name,
        "metadata": {"name": "bad", "namespace": "elsewhere"},
    }
    known = Known(TWO[0], bad, calendar())

    assert known.closed() == {"a": "WindowClosed"}
    assert known.closed(T0 + 22 * HOUR) == {}


def test_an_expression_that_fails_closes_the_cluster() -> None:
    selector = {"celSelector": {"celExpressions": ["managedCluster.nothing.like.it == 1"]}}

    assert Known(TWO[0], calendar(clusters=selector)).closed()


def test_a_heartbeat_wakes_nobody_and_a_new_zone_wakes_its_calendar() -> None:
    known = Known(*TWO, calendar())

    assert BUSINESS not in known.tell(TWO[0], change=Change.MODIFIED)
    assert BUSINESS in known.tell(cluster("a", "Asia.Tokyo"), change=Change.MODIFIED)


# -- status ------------------------------------------------------------------------------------


def status(known: Known, now: datetime = T0) -> tuple[Obj, datetime | None]:
    view = known.fleet.view(CLUSTER_CALENDAR)
    plan = CalendarPlanner(CLUSTER_CALENDAR).plan("business", view, now)  # type: ignore[arg-type]  # what it is by kind
    (write,) = plan.writes
    assert isinstance(write, PatchStatus)
    return write.status, plan.recheck_at


def test_the_status_says_for_each_zone_whether_it_is_open_and_until_when() -> None:
    found, recheck_at = status(Known(*TWO, calendar()), T0 + 13 * HOUR)

    assert found["open"] == "1/2"
    assert found["nextChange"] == "2026-01-01T15:00:00Z"
    assert found["next"] == [
        {"timeZone": "Asia/Tokyo", "open": True, "until": "2026-01-01T15:00:00Z"},
        {"timeZone": "UTC", "open": False, "until": "2026-01-01T22:00:00Z"},
    ]
    assert recheck_at == T0 + 15 * HOUR


def test_a_status_that_says_it_all_is_not_written_again() -> None:
    known = Known(*TWO, calendar())
    told, _ = status(known)
    known.tell({**calendar(), "status": told}, change=Change.MODIFIED)

    view = known.fleet.view(CLUSTER_CALENDAR)
    plan = CalendarPlanner(CLUSTER_CALENDAR).plan("business", view, T0)  # type: ignore[arg-type]  # as above
    assert plan.writes == ()
    assert plan.recheck_at == T0 + 13 * HOUR


def conditions(found: Obj) -> dict[str, str]:
    return {each["type"]: each["status"] for each in found["conditions"]}


def test_an_unknown_zone_is_a_condition_of_the_calendar() -> None:
    found, _ = status(Known(cluster("a", "Mars"), calendar()))

    assert conditions(found) == {"Misconfigured": "False", "UnknownTimeZone": "True"}
    assert "1 clusters are closed" in found["conditions"][1]["message"]


def test_a_calendar_that_cannot_be_read_says_so() -> None:
    known = Known(TWO[0], calendar())
    known.tell(calendar(timeZone="Nowhere"), change=Change.MODIFIED)

    found, recheck_at = status(known)

    assert conditions(found)["Misconfigured"] == "True"
    assert "spec.timeZone" in found["conditions"][0]["message"]
    assert (found["open"], found["nextChange"], recheck_at) == ("0/1", None, None)
