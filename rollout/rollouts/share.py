"""What is known of one placement of a workload, and what it needs to know of the fleet."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from rollout.model.addon import InstallPlacement
from rollout.model.analyses import AnalysisVerdict
from rollout.model.approvals import Approval
from rollout.model.cluster import Cluster
from rollout.model.intents import Intents
from rollout.model.kinds import Ref
from rollout.model.placement import Decision, Placement
from rollout.model.policy import Policy
from rollout.model.replicaset import PlacementRef
from rollout.model.waits import Wait
from rollout.rollouts.book import Shelf
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.outages import Outages
from rollout.rollouts.selections import Reading, read_selection
from rollout.rollouts.witness import Witness
from rollout.strategies.base import Selection, Strategy
from rollout.strategies.gates import Gate


class Surroundings(Protocol):
    """What a workload must know of the rest of the fleet."""

    policy: Policy
    witness: Witness | None
    gates: Mapping[str, Gate]
    outages: Outages

    def cluster(self, name: str) -> Cluster | None: ...

    def placement(self, key: str) -> Placement | None: ...

    def decisions(self, key: str) -> tuple[Decision, ...]: ...

    def decisions_changed_at(self, key: str, now: datetime) -> datetime: ...

    def is_available(self, cluster: str) -> bool: ...

    def strategy(self, name: str) -> Strategy | None: ...

    def record(self, workload: Ref, placement: str) -> Shelf: ...

    def recorded(self, workload: Ref) -> Collection[str]:
        """The placements of which the hub holds pages of a record of this workload."""
        ...

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]: ...

    def verdicts(self, workload: Ref, placement: str) -> tuple[AnalysisVerdict, ...]:
        """What the runs of analyses of a workload in one placement have found so far."""
        ...

    def unmeasurable(self, workload: Ref, intents: Intents) -> str:
        """Why an analysis that a workload asks for cannot be made; "" where all can."""
        ...


@dataclass(slots=True, kw_only=True)
class PlacementShare(ABC):
    """One placement of a workload, live. ``hold``: why nothing of it may be touched.

    ``overlapped`` counts the clusters that it selects too and another placement owns.
    """

    live: LiveRollout
    reading: Reading
    hold: Wait | None
    overlapped: int = 0

    @property
    @abstractmethod
    def placement_key(self) -> str: ...

    @property
    @abstractmethod
    def asked(self) -> PlacementRef | InstallPlacement:
        """As the workload has it."""

    @property
    def strategy(self) -> str:
        """The type that is written; "" where none is."""
        return self.asked.rollout.type if self.asked.rollout else ""

    @property
    @abstractmethod
    def updated(self) -> int:
        """How many of its clusters carry what it asks for."""

    @property
    def selected(self) -> int:
        """How many clusters it selects that no other placement owns."""
        return self.reading.selection.total

    @property
    def is_settled(self) -> bool:
        """Whether it is known whom the placement selects: no other cluster may be among them."""
        reading = self.reading
        return not (reading.is_torn or reading.is_gone) and reading.quiet_until is None

    @property
    def may_select_more(self) -> bool:
        """Whether nobody knows whom the placement selects: its decisions cannot be read yet, or it is gone
        and only the record tells that it had clusters.
        """
        reading = self.reading
        if reading.selection.total:
            return False
        return reading.is_torn or (reading.is_gone and bool(self.live.ledger.standings))


def open_rollout(
    workload: Ref,
    placement: str,
    uid: str,
    around: Surroundings,
    *,
    left_until: datetime | None,
    now: datetime,
) -> LiveRollout:
    """The rollout over a placement, as its record tells of it. Until ``left_until`` this process did not look
    after it; None: what was missed is known otherwise.
    """
    namespace = workload.namespace or around.policy.namespace
    live = LiveRollout(workload, placement, uid, now, namespace=namespace)
    shelf = around.record(workload, placement)
    live.witness = around.witness
    live.outages = around.outages
    live.book.load(shelf)
    live.restore(shelf.record, now)
    if (span := shelf.record.unattended(left_until, now)) is not None:
        live.missed(span[0], span[1] + around.policy.lease)
    return live


def read_placement(
    key: str,
    before: Reading | None,
    taken: Mapping[str, str],
    around: Surroundings,
    now: datetime,
) -> Reading:
    """Whom a placement selects, as far as it counts now; ``before`` is the last reading.

    A cluster of another placement (``taken``) that this one selects no more is not kept in mind.
    """
    policy, changed_at = around.policy, around.decisions_changed_at(key, now)
    return read_selection(
        key,
        around.placement(key),
        around.decisions(key),
        around.outages.stands_since(changed_at, policy.quiet, policy.lease, now),
        before=without(before, taken) if before else Reading(Selection()),
        policy=policy,
        now=now,
    )


def without(reading: Reading, taken: Mapping[str, str]) -> Reading:
    """The reading without clusters that another placement owns (row 21)."""
    if not taken:
        return reading
    return replace(reading, selection=reading.selection.without(taken))
