"""What is measured beside it? OCM's own controllers on such a machine, and what is asked of this one.

OCM's figures were taken with the limit of its client lifted (2 cores, kube-apiserver on the same
machine). They are there to be read beside ours, and are no targets: seconds of another machine say little.
Targets are ratios within one run, and what people feel: a restart, a reaction, memory, a machine at rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

CREATES_OF_BARE, CREATES_OF_WATCHING, OF_FLOOR = 0.95, 0.97, 1.15
RESTART_SECONDS = 8.0
IDLE_REACTION_SECONDS, REACTION_SECONDS = 1.0, 2.0
MEMORY_MB, IDLE_PERCENT, STATUS_WRITES = 160.0, 1.0, 1.0


@dataclass(frozen=True, slots=True)
class Reference:
    """What OCM takes (None: not measured), and what may be taken."""

    ocm: float | None
    target: float | None
    rising: bool = False


_SECONDS: Mapping[str, Mapping[int, float]] = {
    "works.seconds": {1_000: 2.35, 3_000: 7.3},
    "progressive.seconds": {1_000: 4.7, 3_000: 12.8},
    "change.seconds": {1_000: 5.2, 3_000: 16.4},
    "placements.seconds": {1_000: 13.7, 3_000: 45.0},
    "relabel.seconds": {1_000: 11.7, 3_000: 36.0},
}
_OF_SIZE: Mapping[tuple[str, int], Reference] = {
    ("works.cpu", 3_000): Reference(1.7, None),
    ("status.cpu", 3_000): Reference(7.7, 0.5),
    ("placements.cpu", 1_000): Reference(11.0, None),
    ("memory", 1_000): Reference(128.0, MEMORY_MB),
    ("memory", 3_000): Reference(128.0, MEMORY_MB),
}
_ALWAYS: Mapping[str, Reference] = {
    "works.of-bare": Reference(None, CREATES_OF_BARE, rising=True),
    "works.of-watching": Reference(None, CREATES_OF_WATCHING, rising=True),
    "progressive.of-floor": Reference(None, OF_FLOOR),
    "change.of-floor": Reference(None, OF_FLOOR),
    "restart.decided": Reference(None, RESTART_SECONDS),
    "halfway.decided": Reference(None, RESTART_SECONDS),
    "many.reaction.of-empty": Reference(None, 2.0),
    "many.idle.cpu": Reference(None, 2.0),
    "many.restart.decided": Reference(None, 30.0),
    "many.memory": Reference(None, 1_200.0),
    "idle.cpu": Reference(None, IDLE_PERCENT),
    "status-writes": Reference(None, STATUS_WRITES),
    "tenants.idle.p99": Reference(None, IDLE_REACTION_SECONDS),
    **{
        f"tenants.{load}.p99": Reference(None, REACTION_SECONDS)
        for load in ("edits", "deletion", "hostile")
    },
}


def reference(line: str, clusters: int) -> Reference | None:
    """What a line is held against; None where nothing is known of it at this size."""
    seconds = _SECONDS.get(line, {}).get(clusters)
    if seconds is not None:
        return Reference(seconds, None)
    return _OF_SIZE.get((line, clusters)) or _ALWAYS.get(line)
