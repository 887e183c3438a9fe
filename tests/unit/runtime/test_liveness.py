"""A process that reads everything is alive, however long that takes; one that has read and stands still is not."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import Unavailable
from rollout.model.kinds import REPLICA_SET
from rollout.runtime.process import LONGEST_TURN
from tests.support import make
from tests.support.processes import SEC, Process, World

LONG = LONGEST_TURN + SEC
ODDS = (None, Unavailable("no answer"), RecursionError("nested too deeply"))


class Slow:
    """A hub whose list of workloads takes longer than any turn may, the first time; then it fails or not."""

    def __init__(self, world: World, process: Process, fault: Exception | None) -> None:
        self._world, self._process, self._fault = world, process, fault
        self._list = world.hub.list
        self.said: list[bool] = []  # whether the process was alive, after each long wait
        world.hub.list = self.list  # type: ignore[method-assign]  # one list takes long, all else is as it was

    def list(self, kind: Any, *args: Any, **kwargs: Any) -> Any:
        if kind is REPLICA_SET and not self.said:
            self._world.clock.advance(LONG)
            self.said.append(self._process.controller.is_alive())
            if self._fault is not None:
                raise self._fault
        return self._list(kind, *args, **kwargs)


@pytest.mark.parametrize("fault", ODDS, ids=["read", "no answer", "a fault of ours"])
def test_a_process_is_alive_while_it_reads_however_long_and_only_then(
    fault: Exception | None,
) -> None:
    world = World([*make.fleet(2), make.workload()])
    process = world.start("p0")
    slow = Slow(world, process, fault)

    process.turn()
    world.on(2, lambda: bool(slow.said))

    assert slow.said == [True]
    world.on(1)
    assert process.controller.is_alive()
    world.clock.advance(LONG)
    assert not process.controller.is_alive()


def test_a_process_that_has_not_begun_to_read_is_alive_for_one_long_turn() -> None:
    world = World([])
    controller = world.start("p0").controller

    world.clock.advance(LONGEST_TURN - timedelta(seconds=1))
    assert controller.is_alive()
    world.clock.advance(timedelta(seconds=1))
    assert not controller.is_alive()
