"""The answer of profile ``ocm``, told in the words of a `Step`.

The decision is `rollout.strategies.ocm`; here is only the translation, so that planners, status and
displays need not know which profile decided.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase, StageReport, Step
from rollout.strategies.judge import Judgement
from rollout.strategies.ocm import Answer, ClusterRolloutStatus, Status, decide

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


ALL_CLUSTERS = "all"
"""The key of the one stage that is reported: OCM's library tells of no others."""


_FULL = Wait(Reason.SLOTS_FULL, "")


def _stage(
    total: int, judged: Mapping[str, Judgement], waiting: int, why: Wait | None
) -> StageReport:
    phases = Counter(each.phase for each in judged.values())
    if waiting > 0:
        phases[Phase.WAITING] = waiting
    return StageReport(
        key=ALL_CLUSTERS,
        title="all clusters",
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
            judged[cluster] = Judgement(Phase.FAILED, None, "TimedOut")
        elif status is Status.SUCCEEDED:
            judged[cluster] = Judgement(Phase.SOAKING if record else Phase.SOAKED, until)
        elif status is Status.FAILED:
            judged[cluster] = Judgement(Phase.FAILING, until, "Failed")
        else:
            judged[cluster] = Judgement(Phase.PROGRESSING, until)
    return judged
