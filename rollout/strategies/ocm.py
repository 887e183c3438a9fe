"""Decides which clusters may be touched exactly as OCM's own library does.

Profile ``ocm``: what that library returns, order-dependence and fail-open cases included, so that a
fleet can change engines without a change in behaviour, and as the reference that the strict
strategies are compared with. Nothing is improved here but the cost: the answer is the same.

Source: OCM rollout spec, sections 2 to 4; ManifestWorkReplicaSet spec 4.4 (`work_status`).
Where the library depends on the order of a Go map (two groups of one index, a cluster in two groups)
the first group of the lowest index wins, and the last name given for an index.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum

from rollout.errors import ConfigError
from rollout.model.conditions import Condition
from rollout.model.names import APPLIED, DEGRADED, PROGRESSING
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef
from rollout.strategies.ocm_inputs import MEMBERS, OcmStrategy, deadline, read_strategy, threshold

NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time: the transition time of a condition that carries none."""


class Status(Enum):
    """How one cluster stands with the content it is to get. The values are OCM's words."""

    TO_APPLY = "ToApply"
    PROGRESSING = "Progressing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIME_OUT = "TimeOut"
    SKIP = "Skip"
    UNKNOWN = "Unknown"  # anything else: treated as Progressing


_FAILING = (Status.FAILED, Status.TIME_OUT)


@dataclass(frozen=True, slots=True)
class ClusterRolloutStatus:
    """One cluster's standing. The group is copied through, and filled in for new clusters only.

    ``since`` is the last transition (None counts as now, again and again); ``recheck_at`` is the
    instant at which time alone changes the standing, in answers only.
    """

    cluster: str
    status: Status
    _: KW_ONLY
    since: datetime | None = None
    group: str = ""
    index: int = 0
    recheck_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One evaluation. ``rollout`` is everything that holds a slot, in the library's order.

    With ``error`` set all else is empty. ``effective_type`` is None for a type OCM does not know.
    """

    rollout: tuple[ClusterRolloutStatus, ...] = ()
    timed_out: tuple[ClusterRolloutStatus, ...] = ()
    removed: tuple[ClusterRolloutStatus, ...] = ()
    breach: bool = False
    recheck_at: datetime | None = None
    effective_type: str | None = None
    error: str | None = None

    @property
    def to_apply(self) -> tuple[str, ...]:
        """The clusters to write to, in order."""
        return tuple(r.cluster for r in self.rollout if r.status is Status.TO_APPLY)

    @property
    def in_flight(self) -> tuple[ClusterRolloutStatus, ...]:
        """What holds a slot without anything to write: under way, failing, or soaking."""
        return tuple(r for r in self.rollout if r.status is not Status.TO_APPLY)


def decide(
    strategy: Mapping[str, object],
    groups: Sequence[Group],
    existing: Sequence[ClusterRolloutStatus],
    now: datetime,
) -> Answer:
    """Evaluate a rolloutStrategy, as written, once. Never raises: a refusal is ``Answer.error``.

    Args:
        strategy: the object in the custom resource, after defaulting.
        groups: the decision groups; several of one (index, name) are one group.
        existing: the known standings, in any order; order can matter (spec W-6, W-7).
        now: the instant of the evaluation.

    Cost: O(n log n) in clusters, for sorting.
    """
    try:
        asked = read_strategy(strategy)
    except ConfigError as refusal:
        return Answer(error=str(refusal))
    if asked.type not in MEMBERS:
        return Answer(error=f"incorrect rollout strategy type {asked.type}")
    try:
        return _evaluate(asked, _Decisions(groups), existing, now)
    except ConfigError as refusal:
        return Answer(effective_type=asked.type, error=str(refusal))


_GroupKey = tuple[int, str]  # (index, name)


def mandatory_clusters(strategy: Mapping[str, object], groups: Sequence[Group]) -> frozenset[str]:
    """The clusters that the others wait for, whatever the slots: those of the mandatory groups."""
    try:
        asked = read_strategy(strategy)
    except ConfigError:
        return frozenset()
    decisions = _Decisions(groups)
    refs = asked.mandatory if asked.type != "All" else ()
    return frozenset(decisions.owners(decisions.named(refs)))


class _Decisions:
    """The decision groups as OCM's tracker finds them: by name, by index, or by counting up."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._clusters: dict[_GroupKey, set[str]] = {}  # (index, name) -> clusters
        self._name_at: dict[int, str] = {}  # index -> name
        self._indexes: dict[str, set[int]] = {}  # name -> indexes
        for group in groups:
            self._clusters.setdefault((group.index, group.name), set()).update(group.clusters)
            self._name_at[group.index] = group.name
            self._indexes.setdefault(group.name, set()).add(group.index)

    def named(self, refs: Iterable[GroupRef]) -> list[_GroupKey]:
        """The groups that ``refs`` point at, by index; unknown ones are dropped silently."""
        found: set[_GroupKey] = set()
        for ref in refs:
            if ref.name:
                found.update((i, ref.name) for i in self._indexes.get(ref.name, ()))
            elif ref.index in self._name_at:
                found.add((ref.index, self._name_at[ref.index]))
        return sorted(found)

    def besides(self, taken: Sequence[_GroupKey]) -> list[_GroupKey]:
        """The other groups, counted up from index 0: a gap hides the highest ones."""
        keys = ((i, self._name_at[i]) for i in range(len(self._name_at)) if i in self._name_at)
        hidden = set(taken)
        return [key for key in keys if key not in hidden]

    def members(self, key: _GroupKey) -> list[str]:
        return sorted(self._clusters[key])

    def owners(self, keys: Iterable[_GroupKey]) -> dict[str, _GroupKey]:
        """Cluster -> group, over these groups."""
        owners: dict[str, _GroupKey] = {}
        for key in keys:
            for cluster in self._clusters[key]:
                owners.setdefault(cluster, key)
        return owners


@dataclass(slots=True, kw_only=True)
class _Lists:
    """The lists of one evaluation in the making, and the times they are sorted by."""

    soak: timedelta
    deadline: timedelta | None
    now: datetime
    rollout: list[ClusterRolloutStatus] = field(default_factory=list)
    timed_out: list[ClusterRolloutStatus] = field(default_factory=list)
    breach: bool = False

    def place(self, record: ClusterRolloutStatus) -> Status:
        """Put one standing where it belongs; returns what it is from now on."""
        match record.status:
            case Status.TO_APPLY:
                self.rollout.append(record)
            case Status.SUCCEEDED:
                soaked_at = _after(record.since or self.now, self.soak)
                if self.now < soaked_at:
                    self.rollout.append(_rechecked(record, record.status, soaked_at))
            case Status.TIME_OUT | Status.SKIP:
                pass
            case _ if self.deadline is None:
                self.rollout.append(record)
            case status:
                expires_at = _after(record.since or self.now, self.deadline)
                if self.now >= expires_at:
                    self.timed_out.append(_rechecked(record, Status.TIME_OUT, expires_at))
                    return Status.TIME_OUT
                self.rollout.append(_rechecked(record, status, expires_at))
        return record.status

    def start(self, cluster: str, key: _GroupKey) -> None:
        """Add a cluster that gets its content for the first time."""
        self.rollout.append(
            ClusterRolloutStatus(cluster, Status.TO_APPLY, since=None, group=key[1], index=key[0])
        )

    def answer(self, kind: str, removed: tuple[ClusterRolloutStatus, ...]) -> Answer:
        rechecks = (r.recheck_at for r in self.rollout if r.recheck_at is not None)
        return Answer(
            rollout=tuple(self.rollout),
            timed_out=tuple(self.timed_out),
            removed=removed,
            breach=self.breach,
            recheck_at=min((at for at in rechecks if at > self.now), default=None),
            effective_type=kind,
        )


def _rechecked(record: ClusterRolloutStatus, status: Status, at: datetime) -> ClusterRolloutStatus:
    return ClusterRolloutStatus(
        record.cluster,
        status,
        since=record.since,
        group=record.group,
        index=record.index,
        recheck_at=at,
    )


def _after(at: datetime, by: timedelta) -> datetime:
    """``at + by``, held within what the calendar can express."""
    try:
        return at + by
    except OverflowError:
        return NO_TIME if by < timedelta(0) else datetime.max.replace(tzinfo=UTC)


def _evaluate(
    asked: OcmStrategy,
    decisions: _Decisions,
    existing: Sequence[ClusterRolloutStatus],
    now: datetime,
) -> Answer:
    expires = deadline(asked.deadline)
    everything = decisions.besides(())
    selected = decisions.owners(everything)
    current = [r for r in existing if r.cluster in selected]
    removed = tuple(r for r in existing if r.cluster not in selected)
    total = len(selected)

    if asked.type == "All":
        lists = _Lists(soak=timedelta(0), deadline=expires, now=now)
        _per_cluster(lists, selected, current, slots=total, tolerated=total)
        return lists.answer(asked.type, removed)

    # Parsed here by both, before any group is looked at: a bad value is refused early.
    tolerated = threshold("maxFailures", asked.max_failures, total, 0)
    mandatory = decisions.named(asked.mandatory)
    if mandatory:
        lists = _Lists(soak=asked.soak, deadline=expires, now=now)
        _per_group(lists, decisions, mandatory, current, max_failures=0)
        if lists.rollout or lists.timed_out:
            return lists.answer(asked.type, removed)

    rest = decisions.besides(mandatory)
    lists = _Lists(soak=asked.soak, deadline=expires, now=now)
    if asked.type == "Progressive":
        owners = decisions.owners(rest)
        slots = threshold("maxConcurrency", asked.max_concurrency, len(owners), len(owners))
        _per_cluster(lists, owners, current, slots=slots, tolerated=tolerated)
    else:
        _per_group(lists, decisions, rest, current, max_failures=asked.max_failures)
    return lists.answer(asked.type, removed)


def _per_cluster(
    lists: _Lists,
    owners: Mapping[str, _GroupKey],
    current: Sequence[ClusterRolloutStatus],
    *,
    slots: int,
    tolerated: int,
) -> None:
    """Fill ``slots`` in name order: known clusters first, then new ones.

    Failures are counted only as far as the slots last, which is the library's way (W-6, W-7).
    """
    known: set[str] = set()
    failures = 0
    for record in sorted(current, key=lambda r: r.cluster):
        if not record.cluster:
            continue
        known.add(record.cluster)
        status = record.status
        if not (lists.breach and status is Status.TO_APPLY):
            status = lists.place(record)
        if status in _FAILING:
            failures += 1
            lists.breach = failures > tolerated
        if len(lists.rollout) >= slots:
            return
    if lists.breach:
        return
    for cluster in sorted(owners.keys() - known):
        lists.start(cluster, owners[cluster])
        if len(lists.rollout) >= slots:
            return


def _per_group(
    lists: _Lists,
    decisions: _Decisions,
    keys: Sequence[_GroupKey],
    current: Sequence[ClusterRolloutStatus],
    max_failures: int | str,
) -> None:
    """Open group after group while nothing is left to wait for, by the library's arithmetic.

    Known clusters of all groups are classified, not only those in ``keys``; and failures are
    subtracted from what is waited for even where they are not in that list (W-1, W-2).
    """
    standing = {r.cluster: lists.place(r) for r in current if r.status is not Status.TO_APPLY}
    deducted = 0
    for key in keys:
        members = decisions.members(key)
        tolerated = threshold("maxFailures", max_failures, len(members), 0)
        failures = 0
        for cluster in members:
            status = standing.get(cluster)
            if status is None:
                lists.start(cluster, key)
            elif status in _FAILING:
                failures += 1
                lists.breach = failures > tolerated
        deducted += failures
        if len(lists.rollout) > deducted or lists.breach:
            return


def work_status(
    generation: int, conditions: Mapping[str, Condition]
) -> tuple[Status, datetime | None]:
    """How a cluster stands, from its ManifestWork: the status and its last transition.

    The transition is None for ToApply, and `NO_TIME` where the condition carries no time.
    Degraded counts only while Progressing is not over.
    """
    applied, progressing = conditions.get(APPLIED), conditions.get(PROGRESSING)
    degraded = conditions.get(DEGRADED)
    if (
        applied is None
        or not (_is_current(applied, generation) and applied.is_true)
        or progressing is None
        or not _is_current(progressing, generation)
        or (degraded is not None and not _is_current(degraded, generation))
    ):
        return Status.TO_APPLY, None
    if progressing.is_true and degraded is not None and degraded.is_true:
        return Status.FAILED, degraded.since or NO_TIME
    over = progressing.status == "False"
    return (
        Status.SUCCEEDED if over else Status.PROGRESSING,
        progressing.since or NO_TIME,
    )


def _is_current(condition: Condition, generation: int) -> bool:
    return (condition.observed_generation or 0) == generation
