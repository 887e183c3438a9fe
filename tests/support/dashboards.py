"""A bad release in the middle of its day on a state file, and a dashboard that another process could be."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvicorn
from starlette.testclient import TestClient

from rollout.clock import Clock, SystemClock, VirtualClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer, Open
from rollout.dashboard.people import May, OwnAuthority
from rollout.dashboard.serve import LOCAL, configured, listening
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from rollout.runtime.decisions import DecisionLog
from tests.stories.operating import BAD_2
from tests.support import make
from tests.support.story import MIN, SEC, T0, Story

TOKEN = "the-token-of-the-test"
HOST = "dashboard.test"


def canaries(soak: str = "1m") -> Obj:
    """A strategy with a canary group, then two at once."""
    return make.progressive(
        mandatoryDecisionGroups=[{"groupName": "canary"}],
        maxConcurrency=2,
        minSuccessTime=soak,
        progressDeadline="5m",
        maxFailures=1,
    )


CANARIES = canaries()


def documents(clusters: int = 12, soak: str = "1m") -> list[Obj]:
    """``web`` waits at a gate, ``api`` will break, ``cron`` is done soon, ``idle`` is paused."""
    strategy = canaries(soak)
    gated = {names.GATES: "before:rest"}
    return [
        *make.fleet(clusters, canary=2),
        make.workload("web", strategy=strategy, annotations=gated, labels={"team": "shop"}),
        make.workload("api", strategy=strategy, version="2", labels={"team": "data"}),
        make.workload("cron", strategy=make.everywhere()),
        make.workload("idle", strategy=strategy, annotations={names.PAUSED: "true"}),
    ]


def logging_decisions(story: Story, path: Path) -> DecisionLog:
    """A new workload ``logged``, a bad release and its fix, with all decisions written down."""
    log = story.engine.fleet.witness = DecisionLog(path)
    story.add(make.workload("logged", strategy=CANARIES))
    story.on(10 * MIN)
    for version in ("2", "3"):
        spec = make.workload("logged", strategy=CANARIES, version=version)["spec"]
        story.hub.patch(Ref(REPLICA_SET, "default/logged"), {"spec": spec})
        story.on(10 * MIN)
    log.close()
    return log


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
    with Observer(opening(path, clock)) as observer:
        authority = OwnAuthority(TOKEN, "ann", observer, may)
        yield Office(observer, authority, path.name, SystemClock()), observer


@contextmanager
def browsing(
    path: Path,
    clock: Clock,
    *,
    logged_in: bool = True,
    may: May | None = None,
    decision_log: Path | None = None,
) -> Iterator[TestClient]:
    """A client of that dashboard, without a browser."""
    with office_on(path, clock, may) as (office, _):
        app = application(office, {HOST}, decision_log=decision_log)
        with TestClient(app, base_url=f"http://{HOST}") as client:
            if logged_in:
                client.get(f"/login?token={TOKEN}")
            yield client


@dataclass(frozen=True)
class Served:
    """A dashboard that answers."""

    address: str
    office: Office
    stop: Callable[[], None]

    @property
    def entrance(self) -> str:
        return f"{self.address}/login?token={TOKEN}"


@contextmanager
def serving(
    path: Path, clock: Clock, port: int = 0, decision_log: Path | None = None
) -> Iterator[Served]:
    listen = listening(LOCAL, port)
    host = f"{LOCAL}:{listen.getsockname()[1]}"
    with office_on(path, clock) as (office, _):
        server = uvicorn.Server(configured(application(office, {host}, decision_log=decision_log)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listen]}, daemon=True)
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join(60)
            listen.close()

        try:
            yield Served(f"http://{host}", office, stop)
        finally:
            stop()


@contextmanager
def process_on(state: Path, *words: str, **environment: str) -> Iterator[str]:
    """A dashboard in a process of its own. Gives the address that lets one in."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rollout",
            "dashboard",
            "--state",
            str(state),
            "--by",
            "ann",
            *words,
        ],
        env={**os.environ, "ROLLOUT_DASHBOARD_TOKEN": TOKEN, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def comes_true(holds: Callable[[], bool], seconds: int = 20) -> bool:
    """Whether it does, in so many seconds; looked at ten times a second."""
    for _ in range(10 * seconds):
        if holds():
            return True
        threading.Event().wait(0.1)
    return holds()
