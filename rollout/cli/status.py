"""Is it done? `rollout status` answers with its exit code."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial

import click

from rollout.analysis.lookout import Lookout
from rollout.cli.ages import age
from rollout.cli.completing import complete_kind
from rollout.cli.naming import not_found
from rollout.cli.options import (
    Options,
    Stop,
    complain,
    duration,
    namespace_option,
    options,
    output_option,
    shared,
)
from rollout.cli.saying import harmless, put, say
from rollout.cli.store import open_hub
from rollout.cli.verdict import GRACE, Code, Verdict, verdict
from rollout.cli.workloads import only_workload
from rollout.clock import Clock, SystemClock
from rollout.errors import Denied, Gone
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref

Pause = Callable[[timedelta], object]
Say = Callable[[Ref, Verdict], None]
LONGEST_PAUSE_SECONDS = 5.0
"""So often it is looked at where nothing is heard of it."""

STATUS_HELP = """Say how a workload (mwrs, cma) stands.

\b
Exit codes:
  0  rolled out
  1  failed or halted (more failures than allowed, rolled back, misconfigured, being deleted,
     not there)
  2  the command was typed wrongly
  3  still going on (with --wait: when the time was up)
  4  waiting for a person (paused, frozen, aborted, for an approval, ...)
  5  rolled out, with failures within the budget
"""


@click.command(help=STATUS_HELP)
@click.argument("words", metavar="mwrs|cma NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@click.option("--wait", is_flag=True, help="Wait until it is done, or stands still for good.")
@click.option(
    "--timeout",
    default="10m",
    metavar="DURATION",
    callback=duration,
    help="How long to wait, as 90s or 1h30m.  [default: 10m]",
)
@click.option(
    "--grace",
    default="3s",
    metavar="DURATION",
    callback=duration,
    help="With --wait: how long to doubt an end that is found at once: the engine may not have "
    "heard yet what was asked for just now (resume, approve, retry, ...).  [default: 3s]",
)
@output_option
@shared
def status(
    words: tuple[str, ...],
    namespace: str,
    wait: bool,
    timeout: timedelta,
    grace: timedelta,
    output: str,
) -> int:
    """Say how a workload stands, and whether it is worth waiting."""
    ref = only_workload(words, namespace)
    telling = in_json if output == "json" else partial(in_words, options())
    with open_hub(options()) as (hub, _), telling() as say:
        if not wait:
            found = _look(hub, ref)
            say(ref, found)
            return found.code
        with _news(hub, ref) as pause:
            return wait_for(hub, ref, timeout, SystemClock(), pause, say, grace)


def _look(hub: EmbeddedHub, ref: Ref) -> Verdict:
    """The verdict now. Raises: Stop where there is no such workload."""
    try:
        return verdict(hub.get(ref))
    except Gone:
        raise Stop(Code.FAILED, not_found(ref)) from None


def _say(ref: Ref, found: Verdict) -> None:
    say(f"{found.sign} {ref.key}: {found}")


@contextmanager
def in_json() -> Iterator[Say]:
    """How to say verdicts to a program: the last one alone, as an object."""
    said: list[dict[str, str | int]] = []

    def say(ref: Ref, found: Verdict) -> None:
        told: dict[str, str | int] = {
            "kind": ref.kind.name,
            "namespace": ref.namespace,
            "name": ref.name,
            "code": found.code.value,
            "reason": found.reason,
            "message": found.message,
        }
        said[:] = [told]

    try:
        yield say
    finally:
        for each in said:
            put(json.dumps(each, indent=2, ensure_ascii=False))


@contextmanager
def in_words(chosen: Options) -> Iterator[Say]:
    """How to say verdicts to a person: each in a line; in a terminal in one line that is written over, of which the last stays."""
    if not chosen.live:
        yield _say
        return
    from rich.console import Console  # noqa: PLC0415  (50 ms, for nothing where output is piped)
    from rich.live import Live  # noqa: PLC0415  (as above)
    from rich.text import Text  # noqa: PLC0415  (as above)

    last: list[tuple[Ref, Verdict]] = []
    console = Console(no_color=not chosen.color, highlight=False)
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:

            def say(ref: Ref, found: Verdict) -> None:
                last[:] = [(ref, found)]
                text = harmless(f"{found.sign} {ref.key}: {found}")
                live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

            yield say
    finally:
        for each in last:
            _say(*each)


@contextmanager
def _news(hub: EmbeddedHub, ref: Ref) -> Iterator[Pause]:
    """A pause that ends when something happens to an object of this kind, or the time is up."""
    with closing(Lookout(hub)) as lookout:
        wait: Callable[[float], object] = lookout.wait
        try:
            lookout.list(ref.kind)
        except Denied:  # this one object may be read, and no watch may be had
            wait = lookout.rest
        yield lambda longest: wait(min(longest.total_seconds(), LONGEST_PAUSE_SECONDS))


def wait_for(
    hub: EmbeddedHub,
    ref: Ref,
    timeout: timedelta,
    clock: Clock,
    pause: Pause,
    say: Say = _say,
    grace: timedelta = GRACE,
) -> int:
    """Say each verdict that differs from the one before, until one is final or the time is up.

    The one that stands there in the beginning may be of before what a person asked for last: an
    annotation changes no generation. One that follows on going on is news.

    Args:
        clock: the time that ``timeout`` is measured on: that of the person who waits, whatever
            time the rollout lives in.
        pause: called between two looks, with the time until the next one that matters.
        say: how to say a verdict.
        grace: how long final verdicts are doubted while there was no other.
    Returns: the exit code.
    """
    begin = clock.now()
    end, doubted_until = begin + timeout, begin + grace
    last: Verdict | None = None
    while True:
        hub.poll()
        found = _look(hub, ref)
        now = clock.now()
        if last is not None and not last.is_final:
            doubted_until = now
        if found != last:
            say(ref, found)
            last = found
        if found.is_final and now >= min(doubted_until, end):
            return found.code
        if now >= end:
            complain(f"{ref.key} is not done after {age(timeout)}; wait longer with --timeout")
            return Code.WAITING
        pause((min(doubted_until, end) if found.is_final else end) - now)
