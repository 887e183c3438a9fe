"""`rollout events`: prints what happened, and when."""

from rollout.analysis.histories import TimelineEntry, happened
from rollout.cli.naming import only_workload
from rollout.cli.options import options
from rollout.cli.store import open_hub, show, tell_away
from rollout.cli.tables import text_table
from rollout.model.instants import rfc3339
from rollout.model.wording import shortened


def events(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show what happened, oldest first."""
    named = only_workload(words, namespace) if words else None
    with open_hub(options()) as (hub, clock):
        ref = named.on(hub) if named is not None else None
        found = happened(hub, ref, namespace, on_server=options().on_server)
        show(found, output, _lines(found))
        tell_away(hub, clock.now())


LONGEST_LINE = 300
"""Of a message, in text; `-o json` has the whole."""


def _lines(found: list[TimelineEntry]) -> list[str]:
    rows = (
        (
            rfc3339(e.at),
            e.key,
            f"{e.reason} (x{e.times})" if e.times > 1 else e.reason,
            shortened(e.message, LONGEST_LINE),
        )
        for e in found
    )
    return text_table(("TIME", "OBJECT", "REASON", "MESSAGE"), rows)
