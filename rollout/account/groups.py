"""Chooses the clusters of a stage that a view names; it only counts the others.

A fleet is larger than a screen: of each decision group those clusters are named that failed, those in
flight, and those whose turn is next.
"""

from collections.abc import Collection, Iterable, Iterator

from rollout.account.tree import ClusterAccount, GroupAccount
from rollout.account.waits import WaitAccount, cluster_wait
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.placement import Group
from rollout.model.waits import Reason
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Phase, Stage, StageReport

MOST_CLUSTERS = 10
"""Clusters of a group that are named, unless more are asked for."""
_NEXT = 2
"""Of those that wait, so many are named."""

INTEREST = (
    Phase.FAILED,
    Phase.LOST,
    Phase.FAILING,
    Phase.PROGRESSING,
    Phase.OUTDATED,
    Phase.SOAKING,
    Phase.HELD,
    Phase.UNRENDERED,
    Phase.WAITING,
)
"""Phases of clusters that are named, those that one looks for first to the front."""


def groups(
    live: LiveRollout, stage: Stage, report: StageReport, keys: Collection[str], most: int | None
) -> Iterator[GroupAccount]:
    """The decision groups of a stage.

    Args:
        keys: those under which the fleet keeps the lost clusters of this stage.
        most: of each group, name so many clusters of interest; None: name every cluster.
    """
    skipped = live.ledger.rollout.skipped
    lost = [c for c, key in sorted(live.lost.items()) if key in keys and c not in skipped]
    for group in stage.groups:
        yield _group(live, group, lost, report, most=most)
        lost = []  # they are told of once


def _group(
    live: LiveRollout,
    group: Group,
    lost: Collection[str],
    report: StageReport,
    most: int | None,
) -> GroupAccount:
    by_phase: dict[Phase, list[str]] = {Phase.LOST: list(lost)} if lost else {}
    for cluster in group.clusters:
        by_phase.setdefault(live.judgement(cluster).phase, []).append(cluster)
    named = [(c, p) for p in _named(by_phase, report, most) for c in by_phase[p]]
    if most is not None:
        waiting = [pair for pair in named if pair[1] is Phase.WAITING]
        named = [pair for pair in named if pair[1] is not Phase.WAITING][:most]
        named += waiting[: min(_NEXT, most - len(named))]
    return GroupAccount(
        f"{group.name} #{group.index}" if group.name else f"group #{group.index}",
        len(group.clusters),
        {phase: len(clusters) for phase, clusters in by_phase.items()},
        tuple(
            ClusterAccount(
                cluster,
                phase,
                LOST_WAIT if phase is Phase.LOST else cluster_wait(live, cluster, report),
            )
            for cluster, phase in named
        ),
    )


LOST_WAIT = WaitAccount(
    ClusterReason.LOST,
    None,
    "it comes back, a new revision is rolled out, or somebody skips it; until then it counts as failed",
)


def _named(by_phase: Iterable[Phase], report: StageReport, most: int | None) -> list[Phase]:
    """The phases whose clusters are named; who waits for an earlier stage is not next."""
    if most is None:
        return [phase for phase in (*INTEREST, Phase.SOAKED, Phase.SKIPPED) if phase in by_phase]
    is_open = not report.passed and report.blocked in (None, Reason.SLOTS_FULL)
    return [p for p in INTEREST if p in by_phase and (is_open or p is not Phase.WAITING)]
