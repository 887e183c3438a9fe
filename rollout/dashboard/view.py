"""The state of the hub at one instant, for all pages: a value that no thread changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout.account.tree import WorkloadAccount
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import Snapshot
from rollout.clock import Clock
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One workload with the labels of its object."""

    account: WorkloadAccount
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardView:
    """All workloads, without their clusters.

    ``number`` grows with every view that tells something else than the last one; ``read`` is the wall time at which it was made, ``now`` the hub's
    time. ``fault`` is why the hub cannot be read since ``read``; "" where it can. ``is_known``: whether
    it has ever been read. ``frozen`` says who froze the hub and why; "" where nobody did.
    """

    number: int
    now: datetime
    read: datetime
    rows: tuple[WorkloadRow, ...] = ()
    fault: str = ""
    is_known: bool = False
    frozen: str = ""
    away_since: datetime | None = None
    by_ref: Mapping[Ref, WorkloadRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubReading:
    """What the observer's thread hands to whoever asks it a question. Valid during the question only.

    ``objects`` are those of the hub, as its watches keep them: to read them costs no request.
    """

    hub: EmbeddedHub
    clock: Clock
    objects: Lookout
    snapshot: Snapshot
    view: DashboardView
