"""How do commands that only ask get at a hub, and print what they learn?"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rollout.analysis.sight import Sight, away_since, look
from rollout.analysis.wire import as_json
from rollout.cli.options import Stop, options
from rollout.cli.saying import put, say
from rollout.cli.store import open_hub
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref


@contextmanager
def sighted() -> Iterator[tuple[EmbeddedHub, Sight]]:
    """The hub that the options name, and what an engine would know that started there now."""
    with open_hub(options()) as (hub, clock):
        now = clock.now()
        yield hub, look(hub, now, away_since=away_since(hub, now))


def show(value: object, output: str, lines: Iterable[str]) -> None:
    """Print an answer: as JSON, or the lines that it reads as."""
    if output == "json":
        put(json.dumps(as_json(value), indent=2, ensure_ascii=False))
        return
    for line in lines:
        say(line)


def missing(ref: Ref) -> Stop:
    """Ends a command that was asked about what is not there."""
    where = f" in namespace {ref.namespace}" if ref.namespace else ""
    return Stop(
        1,
        f'{ref.kind.plural} "{ref.name}" not found{where}; `rollout get {ref.kind.plural}'
        f"{' -A' if ref.kind.namespaced else ''}` shows which there are",
    )
