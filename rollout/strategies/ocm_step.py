"""The answer of profile ``ocm``, told in the words of a `Step`.

The decision is `rollout.strategies.ocm`; here is only the translation, so that planners, status and
displays need not know which profile decided.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rollout.model.placement import Group
from rollout.strategies.base import Hold, Phase, StageReport, Step
from rollout.strategies.ocm import Record, Status, decide

Reported = tuple[Status, datetime | None]
"""How a cluster that carries the revision stands, and since when, in OCM's words."""


def ocm_step(
    strategy: Mapping[str, object],
    groups: Sequence[Group],
    reported: Mapping[str, Reported],
    hold: Hold | None,
    now: datetime,
) -> Step:
    """Decide as OCM does. ``reported`` has exactly the clusters that carry the revision."""
    total = sum(len(group.clusters) for group in groups)
    existing = [Record(cluster, *reported[cluster]) for cluster in sorted(reported)]
    answer = decide(strategy, groups, existing, now)
    if answer.error is not None:
        return Step(hold=hold or Hold("Misconfigured", answer.error))
    touch = tuple(cluster for cluster in answer.to_apply if cluster not in reported)
    halt: Hold | None = None
    if answer.breach:
        failed = sum(s in (Status.FAILED, Status.TIME_OUT) for s, _ in reported.values())
        late = len(answer.timed_out)
        halt = Hold("MaxFailuresExceeded", f"{failed} failed, {late} of them timed out")
    phases = _phases(reported, {r.cluster for r in answer.in_flight}, answer.timed_out, total)
    done = phases.get(Phase.SOAKED, 0) + phases.get(Phase.SOAKING, 0) == total
    report = StageReport(
        "all", "all clusters", total, total, None, done and bool(total), phases, _blocked(phases)
    )
    return Step(() if hold else touch, (), (), halt, hold, (report,), answer.recheck_at)


def _blocked(phases: Mapping[Phase, int]) -> str:
    return "SlotsFull" if phases.get(Phase.WAITING) else ""


def _phases(
    reported: Mapping[str, Reported],
    in_flight: set[str],
    timed_out: Sequence[Record],
    total: int,
) -> dict[Phase, int]:
    late = {record.cluster for record in timed_out}
    phases: dict[Phase, int] = {}
    for cluster, (status, _) in reported.items():
        if cluster in late:
            phase = Phase.FAILED
        elif status is Status.SUCCEEDED:
            phase = Phase.SOAKING if cluster in in_flight else Phase.SOAKED
        elif status is Status.FAILED:
            phase = Phase.FAILING
        else:
            phase = Phase.PROGRESSING
        phases[phase] = phases.get(phase, 0) + 1
    waiting = total - len(reported)
    if waiting > 0:
        phases[Phase.WAITING] = waiting
    return phases
