"""What `rollout notify` and `rollout explain` say of channels."""

from datetime import UTC, datetime
from pathlib import Path

from rollout.account.channels import ChannelAccount, channels
from rollout.analysis.snapshot import tracking
from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import REPLICA_SET, ROLLOUT_NOTIFICATION, Obj, Ref
from rollout.model.notifications import Trigger
from tests.support import make
from tests.support.shapes import run
from tests.support.story import SEC

WEB = Ref(REPLICA_SET, "default/web")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def notification(name: str, channel: str, status: Obj) -> Event:
    ref = Ref(ROLLOUT_NOTIFICATION, f"default/{name}")
    spec = {
        "workload": {"kind": "ManifestWorkReplicaSet", "name": "web"},
        "revision": "r1",
        "trigger": "on-halted",
        "channel": channel,
        "id": name,
        "at": "2026-01-01T00:00:00Z",
        "message": "it stopped",
    }
    meta = {"namespace": "default", "name": name, "uid": name, "resourceVersion": "1"}
    return Event(ref, Change.ADDED, {"metadata": meta, "spec": spec, "status": status}, 1)


def told(fleet: Fleet, notify: str) -> tuple[ChannelAccount, ...]:
    """The channels of a workload that names these."""
    web = make.workload("web", annotations={names.NOTIFY: notify})
    web["metadata"] |= {"uid": "web", "resourceVersion": "1"}
    fleet.apply(Event(WEB, Change.ADDED, web, 1), NOW)
    workload = fleet.rollout(WEB)
    assert workload is not None
    return channels(fleet, workload)


def test_channels_that_fail_are_told_with_the_reason_of_the_last_attempt() -> None:
    fleet = tracking()
    for name, channel, status in (
        ("a", "team", {"tries": 1, "lastTryAt": "2026-01-01T00:00:01Z", "message": "no answer"}),
        ("b", "team", {"tries": 2, "lastTryAt": "2026-01-01T00:00:09Z", "message": "it said 500"}),
        ("c", "team", {"tries": 9, "givenUpAt": "2026-01-01T00:00:05Z", "message": "no answer"}),
        ("d", "pager", {"tries": 1, "deliveredAt": "2026-01-01T00:00:05Z"}),
        ("e", "later", {}),
    ):
        fleet.apply(notification(name, channel, status), NOW)

    team, pager, later = told(fleet, "team=on-halted; pager; later")

    assert team == ChannelAccount(
        name="team",
        triggers=(Trigger.HALTED,),
        undelivered=2,
        given_up=1,
        message="it said 500",
    )
    assert str(team) == "team fails, 2 not delivered yet, 1 given up: it said 500"
    assert team.cells(NOW + 60 * SEC) == ("team", "on-halted", "0", "2", "1", "it said 500")
    assert not pager.fails
    row = ("pager", "everything", "1, the last 55s ago", "0", "0", "")
    assert pager.cells(NOW + 60 * SEC) == row
    assert later == ChannelAccount(name="later")


def test_what_says_nothing_of_whom_it_tells_is_no_notification() -> None:
    fleet = Fleet()
    event = notification("a", "team", {"tries": 1})
    event.obj["spec"]["trigger"] = "on-fire"

    fleet.apply(event, NOW)

    assert fleet.notifications.of(WEB) == {}


def test_a_state_file_has_no_channels(tmp_path: Path) -> None:
    found = run("notify", "test", "mwrs", "web", "--state", str(tmp_path / "fleet.db"))

    assert found.exit_code == 2
    assert "a state file holds no Secrets" in found.output
