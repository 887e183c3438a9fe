"""Where are the objects of this command? The one place that chooses and opens a hub.

Every hub opened here admits objects in the same way: defaults are filled in, then every field is
checked. So it does not matter which command, or which process, writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from rollout.cli.options import STATE_VARIABLE, Options, Stop, was_typed
from rollout.clock import Clock, SystemClock
from rollout.hub import states
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.instants import parse_instant

"""Under this key a run on virtual time keeps its instant in the state file, as RFC 3339 text."""


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
    kept = hub.get_state(states.CLOCK)
    return parse_instant(kept.decode()) if kept else None


@contextmanager
def _open_server(options: Options, *, runner: bool) -> Iterator[tuple[EmbeddedHub, Clock]]:
    """The API server that the options name, and wall time. Raises: Stop, ConfigError."""
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
        yield hub, SystemClock()
    finally:
        hub.close()


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
    if not options.state and not create:
        raise Stop(
            2,
            f"no state file is named: give --state FILE, or set {STATE_VARIABLE}; or work on an API"
            " server with --kubeconfig FILE or --context NAME",
        )
    path = Path(options.state)
    if options.state and not create and not path.is_file():
        raise Stop(
            1, f"there is no state file {path}: `rollout apply -f PATH --state {path}` makes one"
        )
    kept = FileClock()
    chosen = clock or kept
    hub: EmbeddedHub
    if options.state:
        hub = SqliteHub(path, chosen, runner=runner, create=create, admit=admit)
    else:
        hub = MemoryHub(chosen, admit=admit)
    kept.hub = hub
    try:
        yield hub, chosen
    finally:
        hub.close()
