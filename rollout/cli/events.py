"""What happened, and when? `rollout events` prints it."""

from rollout.analysis.histories import TimelineEntry, happened
from rollout.cli.naming import only_workload
from rollout.cli.options import options
from rollout.cli.store import open_hub, show
from rollout.cli.tables import text_table
from rollout.model.instants import rfc3339


def events(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show what happened, oldest first."""
    ref = only_workload(words, namespace) if words else None
    with open_hub(options()) as (hub, _):
        found = happened(hub, ref, namespace, on_server=options().on_server)
    show(found, output, _lines(found))


def _lines(found: list[TimelineEntry]) -> list[str]:
    rows = (
        (rfc3339(e.at), e.key, f"{e.reason} (x{e.times})" if e.times > 1 else e.reason, e.message)
        for e in found
    )
    return text_table(("TIME", "OBJECT", "REASON", "MESSAGE"), rows)
