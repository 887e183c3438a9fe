"""Facts: what a pass finds out, as values in its plan, which the engine takes in.

A planner changes nothing. What it decides on the way (a verdict, a stage that passes, a gate that opens, a
rollback that begins) stands in its plan, and in the pages of the record that the plan writes. Only the
engine hands the facts of a plan that it carries out to the fleet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct

from rollout.model.kinds import Obj, Ref
from rollout.model.placement import Group
from rollout.model.waits import Wait
from rollout.rollouts.head import Head
from rollout.rollouts.line import Line
from rollout.strategies.base import NOTHING_CLOSED, Closed, Rollout, Standing, Step
from rollout.strategies.judge import Judgement
from rollout.strategies.ledger import Ledger
from rollout.strategies.ocm_step import Reported
from rollout.strategies.retreat import Retreat, RetreatLimits


class StepMade(Struct, frozen=True, kw_only=True):
    """`rollout.strategies.step.decide` answers ``step`` to ``(rollout, now)``."""

    rollout: Rollout
    step: Step


class OcmStepMade(Struct, frozen=True, kw_only=True):
    """`rollout.strategies.ocm_step.ocm_step` answers ``step`` to the other fields and the instant."""

    strategy: Obj
    groups: tuple[Group, ...]
    reported: Mapping[str, Reported]
    others: Sequence[str]
    hold: Wait | None
    step: Step


class RetreatMade(Struct, frozen=True, kw_only=True):
    """`rollout.strategies.retreat.retreat` answers ``retreat`` to the other fields and the instant."""

    rollout: Rollout
    targets: Mapping[str, str]
    began: datetime
    limits: RetreatLimits
    retreat: Retreat


Made = StepMade | OcmStepMade | RetreatMade
"""One answer of the state machine with all that it was made from. The standings in it are shared with the
fleet and go on changing: whoever wants to keep them copies them at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What is decided now for one placement of a workload.

    ``hold`` is why nothing may be touched, whatever the stages say. ``settled`` are standings with the verdicts of ``step``, by cluster, and ``lines`` what the record says
    of them from now on; ``head`` is the head of the record once all this is taken. ``retreat``
    says who goes back while a revision is taken back. ``by_ocm`` are the judgements by OCM's rules where
    these decide (None: the ledger's count). ``closed`` are the clusters that were shut. ``made`` are the answers that led here, in their order.
    """

    workload: Ref
    placement: str
    hold: Wait | None
    step: Step
    retreat: Retreat | None
    head: Head
    settled: Mapping[str, Standing]
    lines: Sequence[Line]
    by_ocm: Mapping[str, Judgement] | None
    made: tuple[Made, ...]
    closed: Closed = NOTHING_CLOSED
    ledger: Ledger = field(compare=False, repr=False)

    def standing(self, cluster: str) -> Standing | None:
        """How the cluster stands, verdicts of this pass included."""
        return self.settled.get(cluster) or self.ledger.standings.get(cluster)

    def judgements(self) -> Iterable[Judgement]:
        """Where each cluster stands; by OCM's rules: each that carries the revision."""
        return self.judged.values()

    @property
    def judged(self) -> Mapping[str, Judgement]:
        """The same by cluster. It is live: read, or copy."""
        return self.ledger.judged if self.by_ocm is None else self.by_ocm


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Clusters of an add-on that were found to be in order, until something is heard of them again.

    ``says`` are those whose ManagedClusterAddOn says what it should, ``owned`` those with the owner and
    the annotations that they should have.
    """

    workload: Ref
    says: frozenset[str]
    owned: frozenset[str]


Fact = Decided | Checked
