"""Says which cluster of a rollout is in which phase: all of them as bytes, or some with their waits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollout.account.groups import INTEREST, LOST_WAIT
from rollout.account.tree import ClusterAccount
from rollout.account.waits import cluster_wait
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.standings import UNKNOWN_STAGE
from rollout.strategies.base import Phase, StageReport

PHASES = tuple(Phase)
"""A phase is told by its place in here where there is a byte for each cluster."""
_BYTES = {phase: i for i, phase in enumerate(PHASES)}


@dataclass(frozen=True, slots=True)
class StageRoster:
    """The clusters of one stage in the order in which they are touched, and one byte for each."""

    title: str
    clusters: tuple[str, ...]
    phases: bytes


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """One cluster, and the title of its stage."""

    stage: str
    account: ClusterAccount


@dataclass(frozen=True, slots=True)
class RosterPage:
    """Some clusters of all that match. ``total`` counts these."""

    total: int
    entries: tuple[RosterEntry, ...]


def roster(lives: Sequence[LiveRollout]) -> tuple[StageRoster, ...]:
    """All clusters of a workload (the rollouts of its placements) by stage, the lost ones at the end of the stage that they left.

    Cost: O(clusters).
    """
    several = len(lives) > 1
    return tuple(
        StageRoster(
            f"{live.placement} {report.title}" if several else report.title,
            tuple(cluster for cluster, _ in members),
            bytes(_BYTES[phase] for _, phase in members),
        )
        for live in lives
        for report, members in _stages(live)
    )


ORDERS: Mapping[str, Callable[[tuple[Any, ...]], Any]] = {
    "": lambda each: each[:2],
    "phase": lambda each: each[0],
    "cluster": lambda each: each[1],
    "stage": lambda each: each[5],
}
"""By what clusters can be sorted; "": troubled ones first, by name."""


def roster_page(
    lives: Sequence[LiveRollout],
    *,
    phase: Phase | None,
    text: str,
    start: int,
    most: int,
    order: str = "",
    is_falling: bool = False,
) -> RosterPage:
    """Clusters whose name, or reason to wait, contains a text, or that are in a phase, from ``start`` on.

    Args:
        order: one of `ORDERS`.

    Cost: O(clusters) for the phases; waits are worked out for those that are returned, and where there
    is a text for those whose name does not contain it.
    """
    several, text = len(lives) > 1, text.lower()
    found = [
        (LOOKED_FOR.index(is_in), cluster, is_in, live, report, (n, m))
        for n, live in enumerate(lives)
        for m, (report, members) in enumerate(_stages(live))
        for cluster, is_in in members
        if phase in (None, is_in)
        and (text in cluster.lower() or text in _reason(live, cluster, is_in, report))
    ]
    found.sort(key=ORDERS[order], reverse=is_falling)
    return RosterPage(
        len(found),
        tuple(
            RosterEntry(
                f"{live.placement} {report.title}" if several else report.title,
                _account(live, cluster, is_in, report),
            )
            for _, cluster, is_in, live, report, _ in found[start : start + most]
        ),
    )


LOOKED_FOR = (*INTEREST, Phase.SKIPPED, Phase.SOAKED)
"""In this order one looks for clusters."""


def _account(live: LiveRollout, cluster: str, phase: Phase, report: StageReport) -> ClusterAccount:
    wait = LOST_WAIT if phase is Phase.LOST else cluster_wait(live, cluster, report)
    return ClusterAccount(cluster, phase, wait)


def _reason(live: LiveRollout, cluster: str, phase: Phase, report: StageReport) -> str:
    wait = _account(live, cluster, phase, report).wait
    return wait.reason.lower() if wait is not None else ""


def _stages(live: LiveRollout) -> Iterator[tuple[StageReport, list[tuple[str, Phase]]]]:
    stages = {stage.key: stage for stage in live.ledger.rollout.staging.stages}
    skipped = live.ledger.rollout.skipped
    for i, report in enumerate(live.last.stages):
        stage = stages.get(report.key)
        groups: Iterable[Iterable[str]] = (g.clusters for g in stage.groups) if stage else ()
        members = [(c, live.judgement(c).phase) for group in groups for c in group]
        keys = {report.key, UNKNOWN_STAGE} if i == 0 else {report.key}
        members += [
            (cluster, Phase.LOST)
            for cluster, key in sorted(live.lost.items())
            if key in keys and cluster not in skipped
        ]
        yield report, members
