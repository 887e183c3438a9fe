"""`rollout status` shows one workload, also by its exit code; `rollout list` shows all, a line each."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from rollout.account.figures import result, status_line
from rollout.account.states import Code, WorkloadState, is_believed, state_of
from rollout.account.words import age, harmless, many
from rollout.analysis.lookout import Lookout
from rollout.cli.naming import missing, only_workload
from rollout.cli.options import Options, complain, options
from rollout.cli.patience import printing
from rollout.cli.store import open_hub, show, snapshotted, tell_away
from rollout.cli.tables import text_table
from rollout.cli.text import put, say
from rollout.clock import Clock, SystemClock
from rollout.errors import Denied, Gone
from rollout.hub.base import EmbeddedHub, away_since
from rollout.model.kinds import DEFAULT_NAMESPACE, KINDS, Ref

if TYPE_CHECKING:
    from rollout.account.tree import WorkloadAccount

AwaitChange = Callable[[timedelta], object]
Say = Callable[[Ref, WorkloadState], None]
GRACE = timedelta(seconds=3)
"""How long an end that is found at the start of a wait is doubted: longer than an engine takes to hear
of an annotation and to answer it."""
LONGEST_PAUSE_SECONDS = 5.0
"""So often it is looked at where nothing is heard of it."""


def status(
    words: tuple[str, ...],
    namespace: str,
    wait: bool,
    timeout: timedelta,
    grace: timedelta,
    output: str,
) -> int:
    """Show the status of a workload, and whether it is worth waiting."""
    named = only_workload(words, namespace)
    telling = in_json if output == "json" else partial(in_words, options())
    with open_hub(options()) as (hub, clock):
        ref = named.on(hub)
        with telling() as say:
            look = partial(look_at, hub, ref, clock)
            if wait:
                with _news(hub, ref) as pause:
                    code = wait_for(
                        ref, look, timeout, SystemClock(), pause=pause, say=say, grace=grace
                    )
            else:
                found = look()
                say(ref, found)
                code = found.code
        if code == Code.WAITING:
            if wait:
                complain(f"{ref.key} is not done after {age(timeout)}; wait longer with --timeout")
            tell_away(hub, clock.now())
        return code


def look_at(hub: EmbeddedHub, ref: Ref, clock: Clock) -> WorkloadState:
    """The verdict now: what is stored, or, where an end may be out of date, what an engine would store.

    Raises: Stop where there is no such workload.
    """
    hub.poll()
    try:
        obj = hub.get(ref)
    except Gone:
        raise missing(ref) from None
    said = state_of(obj)
    if not said.is_final or is_believed(hub, obj):
        return said
    from rollout.analysis.snapshot import snapshot_of  # noqa: PLC0415  (0.3 s, seldom needed)

    now = clock.now()
    try:
        return snapshot_of(hub, now, away_since=away_since(hub, now)).state(ref)
    except Denied:  # what is stored is all that may be read
        return said


def _say(ref: Ref, found: WorkloadState) -> None:
    say(status_line(ref.key, found))


@contextmanager
def in_json() -> Iterator[Say]:
    """How to say verdicts to a program: the last one alone, as an object."""
    said: list[dict[str, str | int]] = []

    def say(ref: Ref, found: WorkloadState) -> None:
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

    last: list[tuple[Ref, WorkloadState]] = []
    printing()
    console = Console(no_color=not chosen.color, highlight=False)
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:

            def say(ref: Ref, found: WorkloadState) -> None:
                last[:] = [(ref, found)]
                text = harmless(status_line(ref.key, found))
                live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

            yield say
    finally:
        for each in last:
            _say(*each)


@contextmanager
def _news(hub: EmbeddedHub, ref: Ref) -> Iterator[AwaitChange]:
    """A pause that ends when something happens to an object of this kind, or the time is up."""
    with closing(Lookout(hub)) as lookout:
        wait: Callable[[float], object] = lookout.wait
        try:
            lookout.list(ref.kind)
        except Denied:  # this one object may be read, and no watch may be had
            wait = lookout.rest
        yield lambda longest: wait(min(longest.total_seconds(), LONGEST_PAUSE_SECONDS))


def wait_for(
    ref: Ref,
    look: Callable[[], WorkloadState],
    timeout: timedelta,
    clock: Clock,
    *,
    pause: AwaitChange,
    say: Say = _say,
    grace: timedelta = GRACE,
) -> int:
    """Say each verdict that differs from the one before, until one is final or the time is up.

    The first one may be older than what a person asked for last, since an annotation changes no
    generation. A final verdict that follows one that was not final is believed.

    Args:
        look: gives the verdict of the moment.
        clock: the time that ``timeout`` is measured on: that of the person who waits, whatever
            time the rollout lives in.
        pause: called between two looks, with the time until the next one that matters.
        say: how to say a verdict.
        grace: how long final verdicts are doubted while there was no other.
    Returns: the exit code.
    """
    begin = clock.now()
    end, doubted_until = begin + timeout, begin + grace
    last: WorkloadState | None = None
    while True:
        found = look()
        now = clock.now()
        if last is not None and not last.is_final:
            doubted_until = now
        if found != last:
            say(ref, found)
            last = found
        if found.is_final and now >= min(doubted_until, end):
            return found.code
        if now >= end:
            return Code.WAITING
        pause((min(doubted_until, end) if found.is_final else end) - now)


# -- all of them ---------------------------------------------------------------------------------


def list_command(namespace: str, all_namespaces: bool, output: str) -> None:
    """Show every workload (mwrs, cma) and how its rollout stands.

    STAGE is the first that has not passed; UPDATED counts the clusters that carry the revision;
    BUDGET is how many may fail there. Add-ons (cma) have no namespace and are always among them.
    """
    place = None if all_namespaces else namespace or DEFAULT_NAMESPACE
    with snapshotted() as (_, snapshot):
        refs = [
            ref for ref in snapshot.workloads() if place is None or ref.namespace in ("", place)
        ]
        found = [a for ref in refs if (a := snapshot.account(ref, detail=False)) is not None]
        if not found and output == "text":
            where = f" in namespace {place}" if place else ""
            others = ", `rollout list -A` shows those of others" if snapshot.workloads() else ""
            say(f"there is no workload{where}; `rollout apply -f PATH` makes one{others}", err=True)
            return
        show(found, output, list_lines(found, spaces=all_namespaces))
        hidden = len(snapshot.workloads()) - len(refs)
        if hidden and not namespace and output == "text":
            say(f"{many(hidden, 'workload')} in other namespaces: rollout list -A", err=True)


def list_lines(found: Sequence["WorkloadAccount"], *, spaces: bool = False) -> list[str]:
    """The table of all workloads. KIND and NAME are what other verbs take."""
    columns = ("NAME", "RESULT", "STAGE", "UPDATED", "FAILED", "BUDGET", "AGE")
    return text_table(
        (*(("NAMESPACE",) if spaces else ()), "KIND", *columns),
        (
            (
                *((each.namespace,) if spaces else ()),
                KINDS[each.kind].typed,
                each.name,
                ", ".join(filter(None, (result(each.state), each.past_calendars))),
                each.stage,
                f"{each.updated}/{each.members}",
                str(each.failed),
                "any" if each.budget is None else str(each.budget),
                age(each.now - each.created) if each.created else "",
            )
            for each in found
        ),
    )
