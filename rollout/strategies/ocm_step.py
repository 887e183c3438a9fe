"""Gives the answer of profile ``ocm`` as a `Step`.

The decision is `rollout.strategies.ocm`; here is only the translation, so that planners, status and
displays need not know which profile decided.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from msgspec import structs

from rollout.model.cluster_reasons import ClusterReason
from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import NOTHING_SHUT, Phase, Shut, StageReport, Step
from rollout.strategies.judge import Judgement
from rollout.strategies.ocm import (
    Answer,
    ClusterRolloutStatus,
    Status,
    decide,
    mandatory_clusters,
)

Reported = tuple[Status, datetime | None]
"""How a cluster that carries the revision stands, and since when, in OCM's words."""


def ocm_step(
    strategy: Mapping[str, object],
    groups: Sequence[Group],
    reported: Mapping[str, Reported],
    *,
    hold: Wait | None,
    now: datetime,
    others: Collection[str] = (),
) -> tuple[Step, dict[str, Judgement]]:
    """Decide as OCM does, and say how each cluster that carries the revision stands by OCM's rules.

    Args:
        reported: exactly the clusters that carry the revision.
        others: those that carry another one. They come before clusters that carry nothing yet.
    """
    total = len({cluster for group in groups for cluster in group.clusters})
    known = {**dict.fromkeys(others, (Status.TO_APPLY, None)), **reported}
    existing = [
        ClusterRolloutStatus(cluster, known[cluster][0], since=known[cluster][1])
        for cluster in sorted(known)
    ]
    answer = decide(strategy, groups, existing, now)
    judged = _judged(reported, answer)
    if answer.error is not None:
        return Step(hold=hold or Wait(Reason.MISCONFIGURED, answer.error)), judged
    touch = () if hold else tuple(c for c in answer.to_apply if c not in reported)
    halt = _halt(answer, reported)
    waiting = total - len(reported)
    why = hold or halt or (_FULL if waiting > len(touch) else None)
    stage = _stage(total, judged, waiting, why)
    # Without clusters there is no stage, and nothing left to do: OCM calls that complete.
    return Step(
        touch=touch,
        halt=halt,
        hold=hold,
        stages=(stage,) if total else (),
        recheck_at=answer.recheck_at,
    ), judged


def waiting_shut(groups: Sequence[Group], shut: Shut, *others: Collection[str]) -> Shut:
    """The clusters, in order, that are shut and would be touched; those in ``others`` would not."""
    if not shut.waits:
        return NOTHING_SHUT
    clusters = (cluster for group in groups for cluster in group.clusters if cluster in shut.waits)
    mine = {c: shut.waits[c] for c in clusters if not any(c in each for each in others)}
    return Shut(mine, shut.until if mine else None)


def passed_by(
    strategy: Mapping[str, object],
    groups: Sequence[Group],
    unrendered: Collection[str],
    shut: Shut,
) -> frozenset[str]:
    """The clusters that OCM's rules are not shown: they would hold a place that nobody fills.

    Clusters of mandatory groups are shown, because nothing comes after such a group until each of its
    clusters has the revision. Clusters that are only shut are left out in a rollout of type Progressive
    alone: in a rollout by group, later groups wait for them.
    """
    if not unrendered and not shut.waits:
        return frozenset()
    some = shut.waits if strategy.get("type") == "Progressive" else ()
    return frozenset({*unrendered, *some}) - mandatory_clusters(strategy, groups)


def with_waiting(
    step: Step, unrendered: Mapping[str, Wait], shut: Shut, hidden: Collection[str]
) -> Step:
    """OCM's step without the clusters that are shut or cannot be rendered; it counts them as members and
    says what the rollout waits for.

    Args:
        hidden: those of these clusters that OCM's rules were not shown.
    """
    step = _with_unrendered(step, unrendered, [c for c in hidden if c in unrendered])
    return _with_shut(step, shut, [c for c in hidden if c in shut.waits])


def _with_unrendered(step: Step, unrendered: Mapping[str, Wait], hidden: Collection[str]) -> Step:
    if not unrendered or (step.hold is not None and not step.stages):
        return step
    stage = next(iter(step.stages), _NOBODY)
    seen = len(unrendered) - len(hidden)
    left = {Phase.WAITING: stage.phases.get(Phase.WAITING, 0) - seen}
    phases = {**stage.phases, **left, Phase.UNRENDERED: len(unrendered)}
    report = structs.replace(
        stage,
        members=stage.members + len(hidden),
        limit=stage.limit + len(hidden),
        phases={phase: n for phase, n in phases.items() if n},
        blocked=stage.blocked if left[Phase.WAITING] else None,
    )
    touch = tuple(cluster for cluster in step.touch if cluster not in unrendered)
    is_idle = not touch and not any(phase.holds_slot for phase in report.phases)
    return structs.replace(
        step,
        touch=touch,
        stages=(report,),
        gate=next(iter(unrendered.values())) if is_idle and not step.halt else None,
    )


def _with_shut(step: Step, shut: Shut, hidden: Collection[str]) -> Step:
    if not shut.waits or (step.hold is not None and not step.stages):
        return step
    stage, wait = next(iter(step.stages), _NOBODY), next(iter(shut.waits.values()))
    touch = tuple(cluster for cluster in step.touch if cluster not in shut.waits)
    is_idle = not touch and not any(phase.holds_slot for phase in stage.phases)
    waits = is_idle and step.halt is None and step.hold is None
    report = structs.replace(
        stage,
        members=stage.members + len(hidden),
        limit=stage.limit + len(hidden),
        phases={
            **stage.phases,
            Phase.WAITING: stage.phases.get(Phase.WAITING, 0) + len(hidden),
        },
        passed=False,
        blocked=wait.reason if waits or stage.blocked is None else stage.blocked,
    )
    looks = [at for at in (step.recheck_at, shut.until) if at is not None]
    return structs.replace(
        step,
        touch=touch,
        stages=(report,),
        gate=wait if waits else step.gate,
        recheck_at=min(looks, default=None),
    )


ALL_CLUSTERS = "all"
"""The key of the one stage that is reported: OCM's library tells of no others."""


_TITLE = "all clusters"
_NOBODY = StageReport(
    key=ALL_CLUSTERS, title=_TITLE, members=0, limit=0, budget=None, passed=False, phases={}
)
_FULL = Wait(Reason.SLOTS_FULL, "")


def _stage(
    total: int, judged: Mapping[str, Judgement], waiting: int, why: Wait | None
) -> StageReport:
    phases = Counter(each.phase for each in judged.values())
    if waiting > 0:
        phases[Phase.WAITING] = waiting
    return StageReport(
        key=ALL_CLUSTERS,
        title=_TITLE,
        members=total,
        limit=total,
        budget=None,
        passed=phases[Phase.SOAKED] + phases[Phase.SOAKING] == total,
        phases=phases,
        blocked=why.reason if why is not None and waiting > 0 else None,
    )


def _halt(answer: Answer, reported: Mapping[str, Reported]) -> Wait | None:
    if not answer.breach:
        return None
    late = {record.cluster for record in answer.timed_out}
    late |= {cluster for cluster, (status, _) in reported.items() if status is Status.TIME_OUT}
    failed = {cluster for cluster, (status, _) in reported.items() if status is Status.FAILED}
    return Wait(
        Reason.MAX_FAILURES_EXCEEDED, f"{len(failed | late)} failed, {len(late)} of them timed out"
    )


def _judged(reported: Mapping[str, Reported], answer: Answer) -> dict[str, Judgement]:
    late = {record.cluster for record in answer.timed_out}
    in_flight = {record.cluster: record for record in answer.in_flight}
    judged: dict[str, Judgement] = {}
    for cluster, (status, _) in reported.items():
        record = in_flight.get(cluster)
        until = record.recheck_at if record else None
        if cluster in late:
            judged[cluster] = Judgement(Phase.FAILED, None, ClusterReason.TIMED_OUT.value)
        elif status is Status.SUCCEEDED:
            judged[cluster] = Judgement(Phase.SOAKING if record else Phase.SOAKED, until)
        elif status is Status.FAILED:
            judged[cluster] = Judgement(Phase.FAILING, until, ClusterReason.FAILED.value)
        else:
            judged[cluster] = Judgement(Phase.PROGRESSING, until)
    return judged
