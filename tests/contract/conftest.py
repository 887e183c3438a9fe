"""The embedded hubs that every contract is asked of."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from rollout.clock import VirtualClock
from rollout.hub.base import Admit, EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from tests.support.faults import FaultyHub, RandomFaults, Rates
from tests.support.hubs import T0, Make


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(T0)


@pytest.fixture(params=["memory", "sqlite", "behind faults that never happen"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: VirtualClock) -> Iterator[Make]:
    """Makes the hub under test; each call a new one with nothing in it."""
    made: list[EmbeddedHub] = []

    def build(admit: Admit | None = None) -> EmbeddedHub:
        hub: EmbeddedHub
        if request.param == "sqlite":
            hub = SqliteHub(tmp_path / f"{len(made)}.db", clock, admit=admit)
        else:
            hub = MemoryHub(clock, admit=admit)
        if request.param.startswith("behind"):
            hub = FaultyHub(hub, RandomFaults(Random(0), Rates()))
        made.append(hub)
        return hub

    yield build
    for hub in made:
        hub.close()


@pytest.fixture
def hub(make: Make) -> EmbeddedHub:
    return make()
