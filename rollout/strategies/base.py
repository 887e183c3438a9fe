"""The values of the state machine: standings, stages, rollouts and steps.

The words are those of docs/semantics.md: a *touch* writes a revision to a cluster; a touched cluster is
*in flight* until it has *soaked* or has *finally failed*; a *stage* opens when every earlier one has passed.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Protocol

from msgspec import Struct
from msgspec import field as struct_field

from rollout.model.amounts import Amount
from rollout.model.analyses import AnalysisVerdict
from rollout.model.approvals import Side
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait


class Health(Enum):
    """What a cluster's agent says of the revision that it carries, at the current generation."""

    __hash__ = object.__hash__  # members are single: Enum's own hash costs a call in Python

    SILENT = "Silent"  # nothing that counts: not acknowledged, or about something else
    PROGRESSING = "Progressing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Verdict(Enum):
    """A judgement that was recorded: it survives a restart and what the agent says later."""

    __hash__ = object.__hash__  # members are single: Enum's own hash costs a call in Python

    SOAKED = "Soaked"
    FAILED = "Failed"
    RETRY = "Retry"  # the attempt is void, at a person's word: the cluster waits for another one


class Phase(Enum):
    """Where one cluster stands in one rollout, at one instant."""

    __hash__ = object.__hash__  # members are single: Enum's own hash costs a call in Python

    WAITING = "Waiting"  # not touched with this revision, nothing in flight
    OUTDATED = "Outdated"  # in flight on an older revision
    PROGRESSING = "Progressing"  # touched; also a failure within its grace
    FAILING = "Failing"  # in flight, counts against the budget, may recover
    SOAKING = "Soaking"
    SOAKED = "Soaked"
    FAILED = "Failed"  # finally; holds no slot
    SKIPPED = "Skipped"  # a person waived it
    HELD = "Held"  # waiting, and a person asked that it is not touched
    UNRENDERED = "Unrendered"  # waiting, and nobody can tell what it is to carry
    LOST = "Lost"  # left unavailable while in flight or failed

    @property
    def holds_slot(self) -> bool:
        return self in HOLDS_SLOT

    @property
    def is_failure(self) -> bool:
        return self in IS_FAILURE


HOLDS_SLOT = frozenset({Phase.OUTDATED, Phase.PROGRESSING, Phase.FAILING, Phase.SOAKING})
IS_FAILURE = frozenset({Phase.FAILING, Phase.FAILED, Phase.LOST})
IS_DONE = frozenset({Phase.SOAKED, Phase.FAILED, Phase.SKIPPED, Phase.LOST})


class StandingOn(Struct, frozen=True, gc=False):
    """The part of a `Standing` that is given by place: which cluster, and what was written there."""

    cluster: str
    revision: str


class Standing(StandingOn, frozen=True, kw_only=True):
    """What is known of one touched cluster. A cluster without a standing has never been touched.

    ``revision`` is the content that was written there (`Rollout.wanted`). ``touched`` is the first
    attempt to write it; ``since`` is when the hub first saw this health, unbroken (both on the hub's
    clock; an agent's clock is never read). ``reason`` explains a failure in one CamelCase word. ``token``
    is what the agent stamped its success or failure with: it is compared with a later one where nobody
    watched meanwhile, and never read as a time (rows 7, 8). ``made_for`` is the workload's revision that
    it was touched for, where contents differ from cluster to cluster.
    """

    touched: datetime
    health: Health = Health.SILENT
    since: datetime | None = None
    verdict: Verdict | None = None
    reason: str = ""
    token: str = ""
    made_for: str = ""

    @property
    def of_revision(self) -> str:
        """The workload's revision that the cluster was touched for."""
        return self.made_for or self.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The waits of a rollout.

    ``soak`` is how long success must stand without a break; ``deadline`` (None: for ever) runs from
    the first attempt; ``grace`` is how long a failure may stand before it counts. ``outages`` are
    the spans (from, to), ascending and disjoint, in which the hub was out of touch: neither deadlines
    nor soaks run in them (rows 8, 20). The last ``lease`` of each is for news that comes late: success that was
    heard only in it soaks without delay. ``blind_since`` is when such a span began that is not over yet: events may
    be missing, so nothing that came due since then counts as decided. ``measured`` are the analyses of
    single clusters (None: none is asked for): a cluster has not soaked before its own is Successful, or is
    ``approved`` where it is not clear or cannot be measured (until when; None: without end).
    """

    soak: timedelta = timedelta(0)
    deadline: timedelta | None = None
    grace: timedelta = timedelta(seconds=60)
    outages: tuple[tuple[datetime, datetime], ...] = ()
    lease: timedelta = timedelta(0)
    blind_since: datetime | None = None
    measured: Mapping[str, AnalysisVerdict] | None = None
    approved: Mapping[str, datetime | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """Clusters that may be touched together, once every earlier stage has passed.

    ``key`` names the stage for as long as the rollout lasts. ``limit`` bounds how many of its
    members are in flight (None: all); ``budget`` how many may fail (None: not bounded here).
    """

    key: str
    title: str
    _: KW_ONLY
    groups: tuple[Group, ...]
    limit: Amount | None = None
    budget: Amount | None = None
    mandatory: bool = False

    @property
    def members(self) -> int:
        return sum(len(group.clusters) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A gate at a stage, as it stands at one instant.

    ``key`` names it for as long as the rollout lasts; ``closed`` is what keeps it shut (None: it
    opens when the rollout reaches it). One that has opened stands there no more.
    """

    key: str
    stage: str
    side: Side
    closed: Wait | None = None


@dataclass(frozen=True, slots=True)
class Staging:
    """A fleet cut into stages: each cluster stands in one of them, once.

    ``budget`` bounds failures over all stages together (None: each stage has its own).
    """

    stages: tuple[Stage, ...] = ()
    budget: Amount | None = None
    hold: Wait | None = None

    @property
    def total(self) -> int:
        return sum(stage.members for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters a placement selected, in decision groups, and what is known of the groups.

    ``groups`` is ordered by (index, name), clusters by name, none named twice: `select` sees to it.
    ``named`` are the group names of the placement's spec; ``seen`` the mandatory groups (as
    ``str(GroupRef)``) that had members in this revision; ``may_be_empty`` those, in the same words,
    that a person allows to have none.
    """

    groups: tuple[Group, ...] = ()
    named: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    may_be_empty: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        return sum(len(group.clusters) for group in self.groups)

    def without(self, clusters: Container[str]) -> "Selection":
        """The same groups with these clusters taken out."""
        groups = tuple(
            Group(g.index, g.name, tuple(c for c in g.clusters if c not in clusters))
            for g in self.groups
        )
        return replace(self, groups=groups)


def select(
    groups: Iterable[Group],
    named: Iterable[str] = (),
    seen: Iterable[str] = (),
) -> Selection:
    """Put groups in order; a cluster named twice is one cluster, in the first group naming it.

    Pages of one group (same index and name) become one group.
    """
    pages: dict[tuple[int, str], set[str]] = {}
    for group in groups:
        pages.setdefault((group.index, group.name), set()).update(group.clusters)
    taken: set[str] = set()
    ordered: list[Group] = []
    for (index, name), members in sorted(pages.items()):
        ordered.append(Group(index, name, tuple(sorted(members - taken))))
        taken |= members
    return Selection(tuple(ordered), frozenset(named), frozenset(seen))


class Strategy(Protocol):
    """Cuts a fleet into stages. What is touched when follows from the stages alone."""

    def stages(self, spec: RolloutSpec, selection: Selection) -> Staging: ...


@dataclass(frozen=True, slots=True)
class Shut:
    """Clusters at which a gate is shut now: they are not touched and take no slot, but their stage waits
    for them. ``until`` is the earliest instant at which one of them may open, or is shut by something else
    from then on, so that somebody has to look again (None: no instant is known).
    """

    waits: Mapping[str, Wait] = field(default_factory=dict)
    until: datetime | None = None


NOTHING_SHUT = Shut()


def both_shut(one: Shut, other: Shut) -> Shut:
    """Shut where either is; of two waits at one cluster the first one's is told."""
    instants = [at for at in (one.until, other.until) if at is not None]
    return Shut({**other.waits, **one.waits}, min(instants, default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The clusters that are shut to a workload now, by what may not be done there.

    ``amiss`` says what is wrong with the calendars that decide this, and ``overridden`` that a person lets
    the workload past them; both are for a person to read, and "" says nothing.
    """

    touch: Shut = NOTHING_SHUT
    removal: Shut = NOTHING_SHUT
    rollback: Shut = NOTHING_SHUT
    restore: Shut = NOTHING_SHUT
    amiss: str = ""
    overridden: str = ""

    @property
    def said(self) -> str:
        """What a person should know of it, whatever the rollout does."""
        return "; ".join(filter(None, (self.overridden, self.amiss)))


NOTHING_CLOSED = Closed()


class RolloutOf(Struct, frozen=True):
    """The part of a `Rollout` that is given by place: what is rolled out."""

    revision: str


class Rollout(RolloutOf, frozen=True, kw_only=True):
    """Everything a step is decided from, besides the instant.

    ``standings`` by cluster name; ``passed`` the keys of stages that have passed with this
    revision; ``skipped`` the clusters a person waived; ``lost`` the stage key of each lost cluster;
    ``hold`` a reason from outside (paused, torn decisions). With ``strict_tolerance`` failures
    caused by touches stay within budget + 1 (failure-tolerance: Strict). ``held`` are the clusters
    that a person asked not to touch; ``checkpoints`` the gates at the stages. ``unsettled`` says that
    the selection may still be half written: then nothing is touched and nothing passes (row 15).
    ``shut`` are the clusters that may not be touched now, ``shut_back`` those that may not be taken back.

    ``contents`` is what each cluster is to carry where that differs from cluster to cluster (empty: all
    carry ``revision``), ``unrendered`` why nobody can tell what a cluster is to carry.
    """

    staging: Staging
    standings: Mapping[str, Standing]
    timing: Timing = Timing()
    passed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    lost: Mapping[str, str] = struct_field(default_factory=dict)
    hold: Wait | None = None
    strict_tolerance: bool = False
    held: frozenset[str] = frozenset()
    checkpoints: tuple[Checkpoint, ...] = ()
    unsettled: Wait | None = None
    shut: Shut = NOTHING_SHUT
    shut_back: Shut = NOTHING_SHUT
    contents: Mapping[str, str] = struct_field(default_factory=dict)
    unrendered: Mapping[str, Wait] = struct_field(default_factory=dict)

    def wanted(self, cluster: str) -> str:
        """The content that a cluster is to carry; the revision itself where no cluster has its own."""
        return self.contents.get(cluster, self.revision) if self.contents else self.revision

    def is_on_it(self, standing: Standing) -> bool:
        """Whether the cluster was touched for the present revision. One that carried its content
        before the revision came was not.
        """
        return standing.of_revision == self.revision


class Settled(Struct, frozen=True, gc=False):
    """A verdict that is due to be recorded before anything that depends on it is written."""

    cluster: str
    verdict: Verdict
    reason: str = ""


class StageReport(Struct, frozen=True, kw_only=True):
    """How one stage stands. ``limit`` and ``budget`` are resolved to clusters (budget None: none).

    ``blocked`` is the one reason why its waiting clusters are not all touched now, None where there
    is none.
    """

    key: str
    title: str
    members: int
    limit: int
    budget: int | None
    passed: bool
    phases: Mapping[Phase, int]
    blocked: Reason | None = None

    @property
    def failures(self) -> int:
        return sum(n for phase, n in self.phases.items() if phase.is_failure)

    @property
    def in_flight(self) -> int:
        return sum(n for phase, n in self.phases.items() if phase.holds_slot)


class Step(Struct, frozen=True, kw_only=True):
    """What to do now, and how things stand.

    ``touch``: clusters to write the revision to, in order. ``settled``: verdicts to record, by name.
    ``passed``: stages that pass now, to be recorded too, as are ``opened``, the gates that open now.
    ``halt``: the budget is exceeded. ``hold``: nothing is touched for another reason. ``gate``: what
    keeps the gate shut that the rollout stands at. ``recheck_at``: the earliest instant at which the
    answer can change without an event; None if never.
    """

    touch: tuple[str, ...] = ()
    settled: tuple[Settled, ...] = ()
    passed: tuple[str, ...] = ()
    halt: Wait | None = None
    hold: Wait | None = None
    stages: tuple[StageReport, ...] = ()
    recheck_at: datetime | None = None
    opened: tuple[str, ...] = ()
    gate: Wait | None = None

    @property
    def complete(self) -> bool:
        """Every stage has passed and every member is soaked, skipped, or failed within budget.

        Never where there is nothing to roll out to: lost clusters are targets no more (row 22).
        """
        if self.halt is not None or not all(stage.passed for stage in self.stages):
            return False
        if any(
            n and phase not in IS_DONE for stage in self.stages for phase, n in stage.phases.items()
        ):
            return False
        return any(stage.members or stage.phases.get(Phase.SKIPPED) for stage in self.stages)

    def count(self, phase: Phase) -> int:
        return sum(stage.phases.get(phase, 0) for stage in self.stages)
