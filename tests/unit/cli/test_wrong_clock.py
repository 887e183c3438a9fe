"""Do commands on an API server go by its time where this machine's is another one?"""

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from rollout.api.own import decode_freeze
from rollout.cli.server_clock import ServerClock
from rollout.errors import Unavailable
from rollout.model.kinds import FREEZE, Ref
from tests.kube.facade import Facade, facade
from tests.support.shapes import run

__all__ = ["facade"]  # fixtures

OFF = [timedelta(minutes=10), timedelta(minutes=-10)]
NEAR = timedelta(seconds=3)


def real() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  what the server goes by


class Machine:
    """This machine, whose clock can be set; the server's goes on as it is."""

    def __init__(self) -> None:
        self.off = timedelta(0)
        machine = self

        class Datetime(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> "Datetime":
                return cls.fromtimestamp(real().timestamp(), tz) + machine.off

        self.datetime = Datetime


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr("rollout.clock.datetime", found.datetime)
    return found


def said(facade: Facade, folder: Path, *words: str) -> str:
    found = run(*words, "--by", "ann", "--kubeconfig", str(facade.kubeconfig(folder)))
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("off", OFF, ids=str)
def test_a_freeze_ends_and_runs_out_by_the_time_of_the_server(
    facade: Facade, tmp_path: Path, machine: Machine, off: timedelta
) -> None:
    ref = Ref(FREEZE, "stop-the-line")
    machine.off = off
    said(facade, tmp_path, "freeze", "--until", "1h")
    until = decode_freeze(facade.do(lambda hub: hub.get(ref))).until
    assert until is not None
    assert abs(until - real() - timedelta(hours=1)) < NEAR

    assert "rollouts on the hub go on" in said(facade, tmp_path, "unfreeze")

    freeze = decode_freeze(facade.do(lambda hub: hub.get(ref)))
    assert not freeze.stands(real() + timedelta(seconds=1))


def test_a_clock_that_agrees_is_finer_than_the_answers(machine: Machine) -> None:
    clock = ServerClock(lambda: None)
    elapsed = clock._told.elapsed()
    machine.off = timedelta(milliseconds=300)
    clock.heard(real().replace(microsecond=0), elapsed, elapsed)

    first = clock.now()
    assert abs(first - real() - machine.off) < timedelta(milliseconds=200)


def test_a_server_that_does_not_answer_leaves_the_time_of_this_machine(machine: Machine) -> None:
    asked: list[int] = []

    def ask() -> None:
        asked.append(1)
        raise Unavailable("it is out")

    clock = ServerClock(ask)
    machine.off = OFF[0]

    assert abs(clock.now() - real() - OFF[0]) < NEAR
    clock.now()
    assert asked == [1]
