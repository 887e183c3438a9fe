"""The values of the account: fleet, workload, placement, stage, group, cluster.

They are values: an account never changes once it was handed over, so another thread may draw it.
``phases`` always counts clusters by phase; it also counts clusters that are no members any more (those
that are skipped, or lost), so its sum can exceed ``members``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rollout.account.channels import ChannelAccount
from rollout.account.finish import Finish
from rollout.account.interventions import GateAccount, Intervention, RollbackAccount
from rollout.account.states import Code, StageState, WorkloadState, worst
from rollout.account.waits import NextChange, WaitAccount
from rollout.errors import ConfigError
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.intents import PAST_CALENDARS
from rollout.model.kinds import KINDS, Ref
from rollout.model.waits import Reason
from rollout.strategies.base import Phase

TROUBLE = (Phase.FAILED, Phase.FAILING, Phase.LOST)
USUAL_WAITS = frozenset(
    {"", ClusterReason.DUE, ClusterReason.IN_FLIGHT, *(r for r in Reason if r.resolves_itself)}
)
"""Reasons of a stage that every rollout goes through by itself."""


@dataclass(frozen=True, slots=True)
class ClusterAccount:
    """One cluster. ``wait`` is why it is not done; None: it is, or it is skipped."""

    name: str
    phase: Phase
    wait: WaitAccount | None = None


@dataclass(frozen=True, slots=True)
class GroupAccount:
    """One decision group within a stage. ``clusters`` are those of interest, of ``members`` all."""

    title: str
    members: int
    phases: Mapping[Phase, int]
    clusters: tuple[ClusterAccount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAccount:
    """One stage.

    ``limit`` clusters are in flight at once, ``budget`` (None: any number) may fail; ``asked_*`` is
    what the strategy says of them ("": nothing). ``failures`` count against that budget: they are those
    of the whole fleet where the budget is the fleet's. ``began`` is when its first cluster was touched
    with this revision, None where that is not so yet, or was not asked for.
    """

    title: str
    members: int
    phases: Mapping[Phase, int]
    state: StageState
    limit: int
    asked_limit: str = ""
    budget: int | None = None
    asked_budget: str = ""
    failures: int = 0
    passed: bool = False
    began: datetime | None = None
    wait: WaitAccount | None = None
    gates: tuple[GateAccount, ...] = ()
    groups: tuple[GroupAccount, ...] = ()

    @property
    def blocked(self) -> str:
        """Why the stage stands still, where that is not the usual course of things; else ""."""
        reason = self.wait.reason if self.wait is not None and not self.passed else ""
        return "" if reason in USUAL_WAITS else reason


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementAccount:
    """One placementRef of a workload. ``selected`` clusters, of which ``updated`` carry the revision.

    ``strategy`` is the type of the strategy; ``next`` is the next change that time alone brings.
    """

    placement: str
    strategy: str
    revision: str
    selected: int
    updated: int
    next: NextChange | None = None
    rollback: RollbackAccount | None = None
    stages: tuple[StageAccount, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteAccount:
    """Something that happened."""

    at: datetime
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAccount:
    """One workload of any kind.

    ``number`` is that of the revision where it is kept, ``began`` when its first cluster was touched
    with it. ``condition`` (``Ready=False``) carries the reason, ``wait.since`` is when it last changed
    its status; the reason itself may be younger. ``members`` counts the clusters that the stages have. ``wait`` is the one reason why it is
    not done; ``finish`` the earliest end, as if every agent succeeded at once (None: not asked for).
    ``failed`` counts clusters that failed, are failing, or were lost. ``stage`` and ``budget`` are the
    title and the budget of the first stage that has not passed. ``away_since`` is since when no engine has been at work; None: one is, or it cannot be told.
    ``channels`` are those on which people are told.
    """

    kind: str
    namespace: str
    name: str
    key: str
    now: datetime
    created: datetime | None
    generation: int
    strategy: str
    revision: str
    number: int | None
    began: datetime | None
    code: Code
    reason: str
    message: str
    condition: str
    done: bool
    wait: WaitAccount
    next: NextChange | None
    members: int
    updated: int
    failed: int
    phases: Mapping[Phase, int]
    stage: str
    budget: int | None
    interventions: tuple[Intervention, ...] = ()
    placements: tuple[PlacementAccount, ...] = ()
    finish: Finish | None = None
    notes: tuple[NoteAccount, ...] = ()
    away_since: datetime | None = None
    channels: tuple[ChannelAccount, ...] = ()

    @property
    def ref(self) -> Ref:
        return Ref(KINDS[self.kind], self.key)

    @property
    def state(self) -> WorkloadState:
        return WorkloadState(self.code, self.reason, self.message)

    @property
    def past_calendars(self) -> str:
        """That a person lets it past all calendars, and until when; "" where nobody does."""
        found = (each for each in self.interventions if each.what == PAST_CALENDARS)
        return next((" ".join((each.what, *each.about)) for each in found), "")

    @property
    def stages(self) -> tuple[tuple[str, StageAccount], ...]:
        """All stages in order, each with a title that is unique within the workload."""
        several = len(self.placements) > 1
        return tuple(
            (f"{each.placement} {stage.title}" if several else stage.title, stage)
            for each in self.placements
            for stage in each.stages
        )

    @property
    def troubled(self) -> tuple[ClusterAccount, ...]:
        """The named clusters that failed, are failing, or were lost; failed ones first, then by name."""
        found = [
            cluster
            for _, stage in self.stages
            for group in stage.groups
            for cluster in group.clusters
            if cluster.phase in TROUBLE
        ]
        return tuple(sorted(found, key=lambda each: (TROUBLE.index(each.phase), each.name)))


@dataclass(frozen=True, slots=True)
class FleetAccount:
    """All workloads at one instant. ``started`` is when the run that shows them first began.

    ``code`` is the worst of all workloads, as `rollout run` exits with it.
    """

    started: datetime
    now: datetime
    workloads: tuple[WorkloadAccount, ...]

    @property
    def code(self) -> Code:
        return worst(each.code for each in self.workloads)

    @property
    def done(self) -> bool:
        """Whether every workload is rolled out, perhaps with failures that are tolerated."""
        return bool(self.workloads) and all(each.state.is_done for each in self.workloads)

    def workload(self, name: str) -> WorkloadAccount:
        """The workload that NAME or NAMESPACE/NAME means. Raises: ConfigError unless it is one."""
        found = [each for each in self.workloads if name in (each.name, each.key)]
        if len(found) != 1:
            there = ", ".join(each.key for each in self.workloads) or "none"
            raise ConfigError(f"{name!r} names {len(found)} workloads; there are: {there}")
        return found[0]


def added_up(phases: Iterable[Mapping[Phase, int]]) -> dict[Phase, int]:
    """The counts of several parts together."""
    total: dict[Phase, int] = {}
    for each in phases:
        for phase, n in each.items():
            total[phase] = total.get(phase, 0) + n
    return total
