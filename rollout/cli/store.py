"""Chooses and opens the hub of a command, and prints what the command shows.

Every hub opened here admits objects in the same way: defaults are filled in, then every field is
checked. So it does not matter which command, or which process, writes.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rollout.account.states import state_of
from rollout.account.wire import as_json
from rollout.account.words import away_words
from rollout.cli.options import STATE_VARIABLE, Options, Stop, options, was_typed
from rollout.cli.text import put, say
from rollout.clock import Clock, SystemClock
from rollout.hub.base import EmbeddedHub, StateKey, away_since
from rollout.hub.state_locks import is_run
from rollout.model.instants import parse_instant
from rollout.model.kinds import WORKLOADS, Obj, Ref

if TYPE_CHECKING:
    from rollout.analysis.snapshot import Snapshot

Waits = Callable[[], bool]
"""Whether any workload waits for an engine."""


class FileClock:
    """The clock of the file that a hub lies in: its virtual time where it has one, else wall time.

    So ages, and the timestamps of what is applied beside a virtual run, are those of the run.
    """

    def __init__(self) -> None:
        self.hub: EmbeddedHub | None = None
        self._wall = SystemClock()

    def now(self) -> datetime:
        return (kept_instant(self.hub) if self.hub is not None else None) or self._wall.now()


def kept_instant(hub: EmbeddedHub) -> datetime | None:
    """Where time stands in a hub that a run on virtual time has written; None in any other."""
    kept = hub.get_state(StateKey.CLOCK)
    return parse_instant(kept.decode()) if kept else None


@contextmanager
def _open_server(options: Options, *, runner: bool) -> Iterator[tuple[EmbeddedHub, Clock]]:
    """The API server that the options name, and the time there. Raises: Stop, ConfigError."""
    from rollout.cli.remote import RemoteHub  # noqa: PLC0415  (0.3 s that no other command needs)
    from rollout.hub.kube_access import Access  # noqa: PLC0415  (as above)

    if options.state and was_typed("state"):
        raise Stop(2, "give either --state, or --kubeconfig and --context, not both")
    if runner:
        raise Stop(
            2,
            "agents are simulated on a state file; on an API server rollouts are the business of"
            " `rollout controller`",
        )
    hub = RemoteHub(Access(options.kubeconfig or None, options.context or None))
    try:
        yield hub, hub.clock
    finally:
        hub.close()


def state_file(options: Options) -> Path:
    """The state file that is named. Raises: Stop where none is, or it is not there."""
    if not options.state:
        raise Stop(
            2,
            f"no state file is named: give --state FILE, or set {STATE_VARIABLE}; or work on an API"
            " server with --kubeconfig FILE or --context NAME",
        )
    path = Path(options.state)
    if not path.exists():
        raise Stop(
            1, f"there is no state file {path}: `rollout apply -f PATH --state {path}` makes one"
        )
    return path


@contextmanager
def open_hub(
    options: Options, clock: Clock | None = None, *, create: bool = False, runner: bool = False
) -> Iterator[tuple[EmbeddedHub, Clock]]:
    """The hub that the options name, and the clock that its timestamps are of; closed at the end.

    Args:
        clock: of a run; where it is None, the clock of the state file.
        create: make the state file where there is none; without a name for one, keep the objects
            in memory for as long as this lasts.
        runner: be the one process that runs rollouts there.
    Raises: Stop where no state file is named, or it is not there; ConfigError.
    """
    if options.on_server:
        with _open_server(options, runner=runner) as opened:
            yield opened
        return
    if not create:
        state_file(options)
    kept = FileClock()
    chosen = clock or kept
    hub = _embedded(options, chosen, create=create, runner=runner)
    kept.hub = hub
    try:
        yield hub, chosen
    finally:
        hub.close()


def check_state(options: Options) -> None:
    """Say at once what is wrong with the state file that is named, without reading what it holds.

    Raises: Stop, ConfigError.
    """
    from rollout.hub.database import Database  # noqa: PLC0415  (only readers of state files need it)

    Database(state_file(options), seed="", create=False).close()


def _embedded(options: Options, clock: Clock, *, create: bool, runner: bool) -> EmbeddedHub:
    """The state file that the options name; a hub in memory where they name none."""
    # Here, since nobody who asks for help should wait for them.
    from rollout.hub.memory import MemoryHub  # noqa: PLC0415
    from rollout.hub.sqlite import SqliteHub  # noqa: PLC0415

    if options.state:
        path = Path(options.state)
        return SqliteHub(path, clock, runner=runner, create=create, admit=_admit)
    return MemoryHub(clock, admit=_admit)


def _admit(ref: Ref, new: Obj, old: Obj | None) -> Obj:
    """As `rollout.hub.admission.admit`, which takes 0.2 s to load: most commands write nothing."""
    from rollout.hub.admission import admit  # noqa: PLC0415

    return admit(ref, new, old)


# -- commands that only ask ----------------------------------------------------------------------


@contextmanager
def snapshotted() -> Iterator[tuple[EmbeddedHub, "Snapshot"]]:
    """The hub that the options name, and what an engine would know that started there now."""
    from rollout.analysis.snapshot import snapshot_of  # noqa: PLC0415  (0.3 s that most commands need not)

    with open_hub(options()) as (hub, clock):
        now = clock.now()
        snapshot = snapshot_of(hub, now, away_since=away_since(hub, now))
        yield hub, snapshot
        tell_away(
            hub, now, lambda: not all(snapshot.state(ref).is_final for ref in snapshot.workloads())
        )


def tell_away(hub: EmbeddedHub, now: datetime, waits: Waits | None = None) -> None:
    """Say so where no engine is at work on the hub, as far as that can be told."""
    gone = away_since(hub, now)
    if gone is not None:
        say(f"no engine runs here {away_words(gone, now)}", err=True)
    else:
        tell_idle(hub, waits)


def tell_idle(hub: EmbeddedHub, waits: Waits | None = None) -> None:
    """Say so where something in a state file waits for an engine, and none runs.

    Such a file tells it by its lock, whatever time it lives in; it need not say since when.

    Args:
        waits: whether anything does; by default, as far as the stored statuses tell it.
    """
    state = options().state
    if options().on_server or not state or is_run(Path(state)):
        return
    if waits() if waits is not None else _waits(hub):
        clock = " --clock virtual" if hub.get_state(StateKey.CLOCK) else ""
        start = f"`rollout run --state {state}{clock}`"
        say(f"no engine runs here: nothing moves until one starts ({start})", err=True)


def _waits(hub: EmbeddedHub) -> bool:
    return not all(state_of(obj).is_final for kind in WORKLOADS for obj in hub.list(kind).items)


def show(value: object, output: str, lines: Iterable[str]) -> None:
    """Print an answer: as JSON, or the lines that it reads as."""
    if output == "json":
        put(json.dumps(as_json(value), indent=2, ensure_ascii=False))
        return
    for line in lines:
        say(line)
