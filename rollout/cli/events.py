"""What happened, and when? `rollout events`: what a run kept in its state file, or the Events of a hub."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rollout.api.fields import mapping, text
from rollout.cli.naming import only_workload
from rollout.cli.options import options
from rollout.cli.store import open_hub, show
from rollout.cli.tables import text_table
from rollout.hub.base import EmbeddedHub, StateKey
from rollout.model.instants import parse_instant, rfc3339
from rollout.model.kinds import Ref, key_of
from rollout.runtime.events import EVENT

CONTROLLER = "rollout-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """Something that happened to an object; ``times`` where it happened again and was counted."""

    at: datetime
    kind: str
    key: str
    reason: str
    message: str
    times: int = 1


def events(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show what happened, oldest first."""
    ref = only_workload(words, namespace) if words else None
    with open_hub(options()) as (hub, _):
        told = _of_server(hub, namespace) if options().on_server else _of_state(hub)
        found = sorted((each for each in told if _is_about(each, ref, namespace)), key=_order)
    show(found, output, _lines(found))


def _of_state(hub: EmbeddedHub) -> Iterator[TimelineEntry]:
    for at, kind, key, reason, message in json.loads(hub.get_state(StateKey.TOLD) or b"[]"):
        found = parse_instant(at)
        if found is not None:
            yield TimelineEntry(at=found, kind=kind, key=key, reason=reason, message=message)


def _of_server(hub: EmbeddedHub, namespace: str) -> Iterator[TimelineEntry]:
    for event in hub.list(EVENT, namespace or None).items:
        about, series = mapping(event.get("regarding")), mapping(event.get("series"))
        at = parse_instant(series.get("lastObservedTime") or event.get("eventTime"))
        if at is None or event.get("reportingController") != CONTROLLER:
            continue
        times = series.get("count")
        yield TimelineEntry(
            at=at,
            kind=text(about.get("kind")),
            key=key_of(text(about.get("namespace")), text(about.get("name"))),
            reason=text(event.get("reason")),
            message=text(event.get("note")),
            times=times if isinstance(times, int) else 1,
        )


def _is_about(each: TimelineEntry, ref: Ref | None, namespace: str) -> bool:
    if ref is not None:
        return (each.kind, each.key) == (ref.kind.name, ref.key)
    return not namespace or each.key.startswith(f"{namespace}/")


def _order(each: TimelineEntry) -> datetime:
    return each.at


def _lines(found: list[TimelineEntry]) -> list[str]:
    rows = (
        (rfc3339(e.at), e.key, f"{e.reason} (x{e.times})" if e.times > 1 else e.reason, e.message)
        for e in found
    )
    return text_table(("TIME", "OBJECT", "REASON", "MESSAGE"), rows)
