"""`rollout get NAME --watch` and `-o tree`: follows one rollout down to its clusters.

In a terminal one picture is drawn anew; elsewhere one is printed for each change, or with ``-o
json`` a line of JSON. It ends with the rollout: rolled out, or halted. What only waits for a person is
watched on, for it is a person who watches.
"""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from rich.console import Console
from rich.live import Live

from rollout.account.groups import MOST_CLUSTERS
from rollout.account.states import Code, is_believed
from rollout.account.tree import WorkloadAccount
from rollout.account.wire import as_json
from rollout.account.words import age
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import snapshot_of, stored
from rollout.cli.naming import missing, not_found
from rollout.cli.options import Options, Stop, complain
from rollout.cli.patience import printing
from rollout.cli.picture import WIDE, drawn, fitting, workload_picture
from rollout.cli.status import GRACE
from rollout.cli.text import is_ascii, put
from rollout.clock import Clock
from rollout.hub.base import EmbeddedHub, away_since
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, REPLICA_SET, Ref

TICK_SECONDS = 1.0
"""Countdowns move this often."""
LONGEST_REST_SECONDS = 5.0
"""A large fleet takes seconds to look at: as long is rested, so that half a core is left."""
_AT_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_ENDS = (Code.DONE, Code.TOLERATED, Code.FAILED)


class Screen(Protocol):
    """Where accounts go."""

    def show(self, account: WorkloadAccount, now: datetime) -> None:
        """Something has changed."""
        ...

    def tick(self, account: WorkloadAccount, now: datetime) -> None:
        """Nothing has; time goes on."""
        ...


@dataclass(frozen=True, slots=True)
class Redrawn:
    """One picture, drawn over and over."""

    live: Live
    plain: bool

    def show(self, account: WorkloadAccount, now: datetime) -> None:
        screen = self.live.console
        lines = fitting(account, now, max(screen.height - 1, 1), screen.width)
        self.live.update(drawn(lines, plain=self.plain), refresh=True)

    def tick(self, account: WorkloadAccount, now: datetime) -> None:
        self.show(account, now)


@dataclass(slots=True)
class Pages:
    """One picture below the other."""

    console: Console
    plain: bool
    shown: int = 0

    def show(self, account: WorkloadAccount, now: datetime) -> None:
        printing()
        if self.shown:
            self.console.print()
        self.shown += 1
        lines = workload_picture(account, now, width=self.console.width)
        self.console.print(drawn(lines, plain=self.plain))

    def tick(self, account: WorkloadAccount, now: datetime) -> None:
        """Nothing is printed where nothing has changed."""


class JsonLines:
    """One line of JSON for each change."""

    def show(self, account: WorkloadAccount, now: datetime) -> None:
        put(json.dumps(as_json(account), ensure_ascii=False))

    def tick(self, account: WorkloadAccount, now: datetime) -> None:
        """As of `Pages`."""


@contextmanager
def screen(options: Options, output: str, *, watch: bool) -> Iterator[Screen]:
    """Where accounts go; a terminal is as it was when this ends, however it ends."""
    if output == "json":
        yield JsonLines()
        return
    width = None if options.live else WIDE
    console = Console(no_color=not options.color, highlight=False, width=width, soft_wrap=False)
    if not (watch and options.live):
        yield Pages(console, is_ascii(sys.stdout))
        return
    printing()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # the cursor comes back
    try:
        with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
            yield Redrawn(live, is_ascii(sys.stdout))
    finally:
        signal.signal(signal.SIGTERM, before)


class Watch:
    """One workload, looked at as often as something changes.

    Args:
        clock: the hub's time.
        most: clusters of a group that are named; None: all.
    """

    def __init__(
        self, hub: EmbeddedHub, clock: Clock, ref: Ref, *, most: int | None = MOST_CLUSTERS
    ) -> None:
        self._hub, self._clock, self._ref, self._most = hub, clock, ref, most
        self.lookout = Lookout(hub)

    def look(self) -> tuple[WorkloadAccount, Code] | None:
        """How it stands, and the exit code of that; None where it is not there."""
        now = self._clock.now()
        gone = away_since(self._hub, now)
        snapshot = snapshot_of(self.lookout, now, away_since=gone)
        workload = snapshot.workload(self._ref)
        if workload is None or workload.raw is None:
            return None
        as_stored = is_believed(self._hub, workload.raw)
        found = snapshot.account(self._ref, as_stored=as_stored, most=self._most, away_since=gone)
        return (found, found.code) if found is not None else None

    def _missing(self) -> Stop:
        """Ends a watch of what is not there; what is typed without its kind may be an add-on."""
        addon = Ref(CLUSTER_MANAGEMENT_ADDON, self._ref.name)
        if self._ref.kind is REPLICA_SET and addon.name in self._addons():
            said = f"{not_found(self._ref)}, but there is an add-on of that name"
            return Stop(Code.FAILED, f"{said}: rollout get cma {addon.name} --watch")
        return missing(self._ref)

    def _addons(self) -> list[str]:
        return [obj["metadata"]["name"] for obj in stored(self._hub, CLUSTER_MANAGEMENT_ADDON)]

    def once(self, show: Screen) -> int:
        """Show it as it is. Returns: 0. Raises: Stop where it is not there."""
        with closing(self.lookout):
            found = self.look()
            if found is None:
                raise self._missing()
            show.show(found[0], self._clock.now())
            return 0

    def follow(self, show: Screen, wall: Clock, timeout: timedelta | None) -> int:
        """Show it until it ends, or the time is up. Returns: the exit code, as of `rollout status`.

        An end that is found at the start may be older than what a person asked for last; it is believed
        after `GRACE`.

        Args:
            wall: the time of whoever watches, on which ``timeout`` is measured.
        Raises: Stop where it is not there, or is there no more.
        """
        begin = wall.now()
        end = begin + timeout if timeout is not None else None
        doubted_until = begin + GRACE if end is None else min(begin + GRACE, end)
        seen: WorkloadAccount | None = None
        first: Code | None = None
        with closing(self.lookout):
            while True:
                began = wall.now()
                found = self.look()
                if found is None:
                    raise self._missing() if seen is None else self._deleted()
                account, code = found
                if _mark(account) != seen:
                    seen = _mark(account)
                    show.show(account, self._clock.now())
                first = code if first is None else first
                is_doubted = code is first and wall.now() < doubted_until
                if code in _ENDS and not is_doubted:
                    return code
                took = (wall.now() - began).total_seconds()
                self.lookout.rest(min(took, LONGEST_REST_SECONDS))
                if code in _ENDS:
                    self._await(account, show, wall, doubted_until)
                elif not self._await(account, show, wall, end):
                    waited = age(timeout or timedelta())
                    complain(
                        f"{self._ref.key} is not done after {waited}; watch longer with --timeout"
                    )
                    return code

    def _await(
        self, account: WorkloadAccount, show: Screen, wall: Clock, end: datetime | None
    ) -> bool:
        """Wait until it is worth looking again. Returns: False when the time is up."""
        due = account.wait.until
        due = due if due is not None and due > account.now else None
        while end is None or wall.now() < end:
            if self.lookout.wait(TICK_SECONDS):
                return True
            now = self._clock.now()
            if due is not None and now >= due:
                return True
            show.tick(account, now)
        return False

    def _deleted(self) -> Stop:
        return Stop(Code.FAILED, f"{self._ref} was deleted meanwhile")


def _mark(account: WorkloadAccount) -> WorkloadAccount:
    """What must differ for an account to be shown: all but what time alone moves on."""
    finish = replace(account.finish, at=None, takes=None) if account.finish else None
    return replace(account, now=_AT_NO_TIME, finish=finish)
