"""The spans and shares that the engine adds to what objects ask for.

All of them are settings; each default is what docs/semantics.md promises.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from rollout.model.sharding import ALONE, Sharding


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The engine's own waits and limits."""

    profile: Literal["strict", "ocm"] = "strict"
    """Which profile decides where the object does not say: ``strict`` or ``ocm``."""
    failure_grace: timedelta = timedelta(seconds=60)
    """How long a failure may stand before it counts against the budget (row 7)."""
    settle: timedelta = timedelta(seconds=15)
    """How long success must stand where condition rules report it (row 8): agents can stamp an
    old evaluation with a new generation."""
    values_settle: timedelta = timedelta(seconds=60)
    """How long what is rendered for a cluster must have been the same before it is brought there: labels
    can flap."""
    quiet: timedelta = timedelta(seconds=10)
    """How long decisions written by others must have been still before one counts as deselected."""
    lease: timedelta = timedelta(seconds=15)
    """How long after an outage deadlines still do not run, nor soaks that began before its end (row 20)."""
    brake_share_percent: int = 20
    """More than this share of a workload's clusters ..."""
    brake_least: int = 10
    """... and more than this many going ..."""
    brake_window: timedelta = timedelta(minutes=10)
    """... within this time, with no change of spec, holds the removals (row 16)."""
    tell_every: timedelta = timedelta(0)
    """The status of a ManifestWorkReplicaSet is written at most once in such a span, and right before
    its end more rarely (`rollout.planning.status.is_nearly_done`)."""
    namespace: str = "rollout-system"
    """The controller's own namespace: what is remembered of workloads that are in none lies there."""
    schedules_here: bool = True
    """Whether placements are decided by this engine, or by others (row 15)."""
    sharding: Sharding = ALONE
    """Which namespaces this engine looks after."""


DEFAULT = Policy()
