"""How do pictures and lines of a run reach the person, without slowing the engine?

In a terminal a thread of rich's draws the newest account some ten times a second, however many there
are in between; elsewhere each line is written as it is told.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rollout.account.tree import FleetAccount
from rollout.cli.lines import Teller
from rollout.cli.options import Options
from rollout.cli.text import is_ascii, say
from rollout.clock import Clock

FRAMES_PER_SECOND = 10

OnChange = Callable[[FleetAccount], None]


@contextmanager
def shown(options: Options, clock: Clock | None = None) -> Iterator[OnChange]:
    """What to hand each account to.

    Args:
        clock: fleet time, where it goes on between accounts.
    """
    if options.live:
        with _live(options, clock) as take:
            yield take
    else:
        teller = Teller()

        def tell(fleet: FleetAccount) -> None:
            for line in teller.tell(fleet):
                say(line)

        yield tell


@contextmanager
def _live(options: Options, clock: Clock | None) -> Iterator[OnChange]:
    from rich.console import Console  # noqa: PLC0415  # 50 ms, for nothing where output is piped
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from rollout.cli.picture import fleet_picture  # noqa: PLC0415

    newest: list[FleetAccount] = []
    plain = is_ascii(sys.stdout)

    def frame() -> object:
        if not newest:
            return Text("starting")
        now = clock.now() if clock is not None else None
        return fleet_picture(newest[0], now, plain=plain)

    def take(fleet: FleetAccount) -> None:
        newest[:] = [fleet]

    console = Console(no_color=not options.color, highlight=False)
    with Live(
        get_renderable=frame,  # type: ignore[arg-type]  # whatever the picture gives
        console=console,
        refresh_per_second=FRAMES_PER_SECOND,
    ):
        yield take
