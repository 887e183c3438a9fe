"""How is a hub handed back to OCM's controllers? `rollout doctor --leave`."""

import json
from collections.abc import Iterable
from datetime import datetime

from rollout.analysis.snapshot import stored
from rollout.cli.options import Stop
from rollout.cli.text import put, say
from rollout.hub.base import Hub
from rollout.model.instants import parse_instant
from rollout.model.kinds import LEASE, Ref
from rollout.operate.leaving import Left, Stays, remains, stays, take_out

EVERY = 100
"""After so many objects it is said how far it is."""


def leave(hub: Hub, lease: Ref, now: datetime, *, dry_run: bool, output: str) -> int:
    """Take our conditions out of all statuses, and say what else of ours there is.

    Raises: Stop where a controller still leads, since it would write them again; HubError.
    """
    holder = _leads(hub, lease, now)
    if holder and not dry_run:
        raise Stop(
            1, f"{holder} leads by {lease}: end the controller first, it would write them again"
        )
    found = list(remains(hub))
    kept = list(stays(hub))
    taken: list[Left] = []
    for number, left in enumerate(found, 1):
        if dry_run or take_out(hub, left):
            taken.append(left)
        if not dry_run and number % EVERY == 0:
            say(f"{number} of {len(found)}", err=True)
    if output == "json":
        put(json.dumps(_wire(taken, kept, dry_run=dry_run), indent=2))
    else:
        for line in _lines(taken, kept, dry_run=dry_run):
            say(line)
    return 0


def _leads(hub: Hub, lease: Ref, now: datetime) -> str:
    """Who holds the lease, "" where it has run out or was let go."""
    for obj in stored(hub, LEASE):
        meta, spec = obj["metadata"], obj.get("spec") or {}
        if (meta.get("namespace"), meta["name"]) == (lease.namespace, lease.name):
            renewed = parse_instant(spec.get("renewTime"))
            seconds = spec.get("leaseDurationSeconds") or 15
            alive = renewed is not None and (now - renewed).total_seconds() < 2 * seconds
            return str(spec.get("holderIdentity") or "") if alive else ""
    return ""


def _lines(taken: Iterable[Left], kept: Iterable[Stays], *, dry_run: bool) -> Iterable[str]:
    done = "would be taken out" if dry_run else "taken out"
    count = 0
    for count, left in enumerate(taken, 1):  # noqa: B007  (counted)
        yield f"{left.ref}: {', '.join(left.parts)} {done}"
    yield f"{count} statuses {'would be' if dry_run else 'were'} changed"
    for each in kept:
        yield (
            f"{each.count} {each.kind.plural} stay: they go with their workloads, or with "
            f"`kubectl delete {each.kind.plural}.{each.kind.group} -A --all`"
        )


def _wire(taken: Iterable[Left], kept: Iterable[Stays], *, dry_run: bool) -> object:
    return {
        "dryRun": dry_run,
        "changed": [
            {"kind": each.ref.kind.name, "key": each.ref.key, "parts": list(each.parts)}
            for each in taken
        ],
        "stay": [{"kind": each.kind.name, "count": each.count} for each in kept],
    }
