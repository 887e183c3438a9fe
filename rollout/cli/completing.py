"""Which kinds and names may stand next? For the completion of shells."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from rollout.cli.options import Options
from rollout.cli.store import open_hub
from rollout.errors import RolloutError
from rollout.model.kinds import KINDS, Kind, find


def complete_kind(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Complete the first word after a verb, the kind, and the names of its objects after that."""
    before = ctx.params.get(str(param.name))
    if before:
        kind = find(before[0])
        return complete_names(ctx, kind, incomplete) if kind else []
    words = [word for kind in KINDS.values() for word in (*kind.short, kind.plural)]
    return [CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)]


def complete_names(ctx: click.Context, kind: Kind, incomplete: str) -> list[CompletionItem[Any]]:
    """The names of a kind's objects on the hub that the options name; none where it cannot be read."""
    space = (ctx.params.get("namespace") or "default") if kind.namespaced else None
    try:
        with open_hub(ctx.ensure_object(Options)) as (hub, _):
            names = [obj["metadata"]["name"] for obj in hub.list(kind, space).items]
    except RolloutError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
