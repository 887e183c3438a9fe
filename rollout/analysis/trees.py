"""How does a rollout stand, down to its clusters? A tree of stages, groups and clusters.

A fleet is larger than a screen: of each group only the clusters are named that a person would look
for, those that failed, those in flight, and those whose turn is next. The rest is counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from rollout.analysis.finish import Finish, finish_of
from rollout.analysis.rollouts import StageAccount, explain_rollout
from rollout.analysis.sight import Sight
from rollout.analysis.waits import Wait, cluster_wait
from rollout.fleet.live import LiveRollout
from rollout.model.kinds import Ref
from rollout.model.placement import Group
from rollout.model.waits import Reason
from rollout.strategies.base import Phase, Stage, StageReport

MOST_CLUSTERS = 10
"""Clusters of a group that are named, unless more are asked for."""
_NEXT = 2
"""Of those that wait, so many are named."""

_INTEREST = (
    Phase.FAILED,
    Phase.LOST,
    Phase.FAILING,
    Phase.PROGRESSING,
    Phase.OUTDATED,
    Phase.SOAKING,
    Phase.HELD,
    Phase.WAITING,
)
"""Phases of clusters that are named, those that one looks for first to the front."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One cluster. ``reason`` is why it is not done; ``until`` when time alone changes that."""

    name: str
    phase: Phase
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class GroupNode:
    """One decision group within a stage. ``clusters`` are those of interest, of ``members`` all."""

    title: str
    members: int
    phases: Mapping[Phase, int]
    clusters: tuple[ClusterNode, ...]


@dataclass(frozen=True, slots=True)
class StageNode:
    """One stage. ``failures`` are those that count against its budget: of the whole fleet where the
    budget is the fleet's.
    """

    account: StageAccount
    failures: int
    groups: tuple[GroupNode, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """One workload. ``wait`` has what is waited for, and the next instant that matters.

    ``finish`` is the earliest end, as if every agent succeeded at once. ``away_since`` is since when
    no engine has been at work on a state file; None: one is, or it cannot be told.
    """

    kind: str
    key: str
    now: datetime
    generation: int
    revision: str
    number: int | None
    message: str
    done: bool
    wait: Wait
    finish: Finish
    members: int
    phases: Mapping[Phase, int]
    stages: tuple[StageNode, ...]
    away_since: datetime | None = None


def tree(
    sight: Sight,
    ref: Ref,
    *,
    most: int | None = MOST_CLUSTERS,
    away_since: datetime | None = None,
) -> Tree | None:
    """How the workload stands; None where it does not exist.

    Args:
        most: of each group, name so many clusters of interest; None: name every cluster.

    Cost: O(clusters of the workload).
    """
    account = explain_rollout(sight, ref)
    workload = sight.workload(ref)
    if account is None or workload is None:
        return None
    accounts = iter(account.stages)
    stages = tuple(
        _stage(next(accounts), share.live, report, most)
        for share in workload.shares.values()
        for report in share.live.last.stages
    )
    return Tree(
        ref.kind.name,
        ref.key,
        sight.now,
        account.generation,
        account.revision,
        account.number,
        account.message,
        account.done,
        account.wait,
        finish_of(workload, sight.now),
        account.total,
        _counted(stages),
        stages,
        away_since,
    )


def _counted(stages: Iterable[StageNode]) -> dict[Phase, int]:
    phases: Counter[Phase] = Counter()
    for stage in stages:
        phases.update(stage.account.phases)
    return dict(phases)


def _stage(
    account: StageAccount, live: LiveRollout, report: StageReport, most: int | None
) -> StageNode:
    staging = live.ledger.rollout.staging
    stage = next((stage for stage in staging.stages if stage.key == report.key), None)
    is_fleets = stage is not None and stage.budget is None and staging.budget is not None
    counted = live.last.stages if is_fleets else (report,)
    groups = tuple(_groups(live, stage, report, most)) if stage is not None else ()
    return StageNode(account, sum(each.failures for each in counted), groups)


def _groups(
    live: LiveRollout, stage: Stage, report: StageReport, most: int | None
) -> Iterator[GroupNode]:
    lost = [c for c, key in sorted(live.lost.items()) if key == stage.key]
    lost = [c for c in lost if c not in live.ledger.rollout.skipped]
    for group in stage.groups:
        yield _group(live, group, lost, report, most)
        lost = []  # they are told of once


def _group(
    live: LiveRollout, group: Group, lost: list[str], report: StageReport, most: int | None
) -> GroupNode:
    by_phase: dict[Phase, list[str]] = {Phase.LOST: list(lost)} if lost else {}
    for cluster in group.clusters:
        by_phase.setdefault(live.judgement(cluster).phase, []).append(cluster)
    named = [(c, phase) for phase in _named(by_phase, report, most) for c in by_phase[phase]]
    if most is not None:
        waiting = [pair for pair in named if pair[1] is Phase.WAITING]
        named = [pair for pair in named if pair[1] is not Phase.WAITING][:most]
        named += waiting[: min(_NEXT, most - len(named))]
    return GroupNode(
        f"{group.name} #{group.index}" if group.name else f"group #{group.index}",
        len(group.clusters),
        {phase: len(clusters) for phase, clusters in by_phase.items()},
        tuple(_cluster(live, cluster, phase, report) for cluster, phase in named),
    )


def _named(
    by_phase: Mapping[Phase, list[str]], report: StageReport, most: int | None
) -> list[Phase]:
    """The phases whose clusters are named; who waits for an earlier stage is not next."""
    if most is None:
        return [phase for phase in (*_INTEREST, Phase.SOAKED, Phase.SKIPPED) if phase in by_phase]
    is_open = not report.passed and report.blocked in (None, Reason.SLOTS_FULL)
    return [p for p in _INTEREST if p in by_phase and (is_open or p is not Phase.WAITING)]


def _cluster(live: LiveRollout, cluster: str, phase: Phase, report: StageReport) -> ClusterNode:
    if phase is Phase.LOST:
        return ClusterNode(cluster, phase, "Lost")
    wait = cluster_wait(live, cluster, report)
    if wait is None:
        return ClusterNode(cluster, phase)
    return ClusterNode(cluster, phase, wait.reason, wait.since, wait.until)
