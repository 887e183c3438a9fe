"""A story on a state file, a dashboard of its own on a free port, and pages of a browser on it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page

from rollout.clock import Clock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.serve import LOCAL, listening
from tests.support.dashboards import TOKEN, office_on

SOON = 10_000
"""Milliseconds in which what was asked for must be on the page."""


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
def serving(path: Path, clock: Clock, port: int = 0) -> Iterator[Served]:
    listen = listening(LOCAL, port)
    host = f"{LOCAL}:{listen.getsockname()[1]}"
    with office_on(path, clock) as (office, _):
        config = uvicorn.Config(
            application(office, {host}), log_level="error", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listen]}, daemon=True)
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join(10)
            listen.close()

        try:
            yield Served(f"http://{host}", office, stop)
        finally:
            stop()


@contextmanager
def page_on(
    browser: Browser, served: Served, *, complains: bool = False, **options: Any
) -> Iterator[Page]:
    """A page of a fresh browser profile that is logged in. Fails for any complaint of the browser.

    Args:
        complains: requests that are refused are expected.
    """
    context = browser.new_context(**options)
    context.set_default_timeout(SOON)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(served.entrance)
    try:
        yield page
    finally:
        context.close()
    assert complains or complaints == []
