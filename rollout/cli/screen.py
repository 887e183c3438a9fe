"""How do pictures and lines reach the person, without slowing the engine?

In a terminal a thread of rich's draws the newest snapshot some ten times a second, however many there
are in between; elsewhere each line is written as it is told.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rollout.cli.lines import Teller
from rollout.cli.options import Options
from rollout.cli.saying import say
from rollout.cli.views import OnChange, Snapshot
from rollout.clock import Clock

FRAMES_PER_SECOND = 10


@contextmanager
def shown(options: Options, clock: Clock | None = None) -> Iterator[OnChange]:
    """What to hand each snapshot to.

    Args:
        clock: fleet time, where it goes on between snapshots.
    """
    if options.live:
        with _live(options, clock) as take:
            yield take
    else:
        teller = Teller()

        def tell(snapshot: Snapshot) -> None:
            for line in teller.tell(snapshot):
                say(line)

        yield tell


@contextmanager
def _live(options: Options, clock: Clock | None) -> Iterator[OnChange]:
    from rich.console import Console  # noqa: PLC0415  # 50 ms, for nothing where output is piped
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from rollout.cli.live import picture  # noqa: PLC0415

    newest: list[Snapshot] = []

    def frame() -> object:
        if not newest:
            return Text("starting")
        return picture(newest[0], clock.now() if clock is not None else None)

    def take(snapshot: Snapshot) -> None:
        newest[:] = [snapshot]

    console = Console(no_color=not options.color, highlight=False)
    with Live(
        get_renderable=frame,  # type: ignore[arg-type]  # whatever picture gives
        console=console,
        refresh_per_second=FRAMES_PER_SECOND,
    ):
        yield take
