"""A bad release in the middle of its day on a state file, and a dashboard that another process could be."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from starlette.testclient import TestClient

from rollout.clock import Clock, SystemClock, VirtualClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer, Open
from rollout.dashboard.people import May, OwnAuthority
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import Obj
from tests.stories.operating import BAD_2
from tests.support import make
from tests.support.story import SEC, T0, Story

TOKEN = "the-token-of-the-test"
HOST = "dashboard.test"
CANARIES = make.progressive(
    mandatoryDecisionGroups=[{"groupName": "canary"}],
    maxConcurrency=2,
    minSuccessTime="1m",
    progressDeadline="5m",
    maxFailures=1,
)


def documents(clusters: int = 12) -> list[Obj]:
    """``web`` waits at a gate, ``api`` will break, ``cron`` is done soon, ``idle`` is paused."""
    gated = {names.GATES: "before:rest"}
    return [
        *make.fleet(clusters, canary=2),
        make.workload("web", strategy=CANARIES, annotations=gated, labels={"team": "shop"}),
        make.workload("api", strategy=CANARIES, version="2", labels={"team": "data"}),
        make.workload("cron", strategy=make.everywhere()),
        make.workload("idle", strategy=CANARIES, annotations={names.PAUSED: "true"}),
    ]


@contextmanager
def story_on(path: Path, *more: Obj, after: int = 120) -> Iterator[Story]:
    """The story on a state file, so many seconds after its begin."""
    clock = VirtualClock(T0)
    with closing(SqliteHub(path, clock, admit=admit)) as file:
        hub = cast("MemoryHub", file)  # a story uses what both have
        story = Story([*documents(), *more], {"rules": [BAD_2]}, hub=hub, clock=clock)
        yield story.to(after * SEC)
        story.engine.stop()


def opening(path: Path, clock: Clock) -> Open:
    """Opens the state file as another process would."""

    @contextmanager
    def opened() -> Iterator[tuple[EmbeddedHub, Clock]]:
        with closing(SqliteHub(path, clock, create=False, admit=admit)) as hub:
            yield hub, clock

    return opened


@contextmanager
def office_on(
    path: Path, clock: Clock, may: May | None = None
) -> Iterator[tuple[Office, Observer]]:
    """A dashboard of one person on a state file."""
    observer = Observer(opening(path, clock)).start()
    authority = OwnAuthority(TOKEN, "ann", observer, may)
    try:
        yield Office(observer, authority, path.name, SystemClock()), observer
    finally:
        observer.close()


@contextmanager
def browsing(
    path: Path, clock: Clock, *, logged_in: bool = True, may: May | None = None
) -> Iterator[TestClient]:
    """A client of that dashboard, without a browser."""
    with office_on(path, clock, may) as (office, _):
        app = application(office, {HOST})
        with TestClient(app, base_url=f"http://{HOST}") as client:
            if logged_in:
                client.get(f"/login?token={TOKEN}")
            yield client
