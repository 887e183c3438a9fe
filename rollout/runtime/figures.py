"""How do all rollouts stand, in numbers? A value, taken on the engine's thread, read on any other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rollout.fleet.fleet import Fleet
from rollout.fleet.tracker import Standing
from rollout.model.kinds import MANAGED_CLUSTER
from rollout.strategies.base import Phase


@dataclass(frozen=True, slots=True)
class WorkloadFigures:
    """One workload of any kind. ``blocked`` counts waiting clusters by reason."""

    kind: str
    namespace: str
    name: str
    phases: Mapping[str, int]
    blocked: Mapping[str, int]
    budget_used: float
    finished: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything at one instant."""

    workloads: tuple[WorkloadFigures, ...] = ()
    queued: int = 0
    in_flight: int = 0
    clusters: int = 0


def figures(fleet: Fleet, queued: int, in_flight: int) -> Figures:
    """Count. Cost: O(workloads x stages) and one pass over the known clusters."""
    found = [w for ref in fleet.rolled_out() if (w := fleet.rollout(ref)) is not None]
    workloads = tuple(_workload(w, fleet.is_done(w.ref)) for w in found)
    return Figures(workloads, queued, in_flight, len(fleet.known(MANAGED_CLUSTER)))


def _workload(workload: Standing, is_done: bool) -> WorkloadFigures:
    phases = {phase.value: 0 for phase in Phase}  # every phase, so that no series comes and goes
    blocked: Counter[str] = Counter()
    used = 0.0
    for share in workload.shares.values():
        reports = share.live.last.stages
        for report in reports:
            for phase, number in report.phases.items():
                phases[phase.value] += number
            if report.blocked is not None:
                blocked[report.blocked] += report.phases.get(Phase.WAITING, 0)
        budget = share.live.ledger.rollout.staging.budget  # of all stages together
        members = sum(report.members for report in reports)
        failures = sum(report.failures for report in reports)
        scopes = [(r.failures, r.budget) for r in reports]
        scopes.append((failures, budget.of(members) if budget else None))
        used = max(used, *(_used(*scope) for scope in scopes))
    ref = workload.ref
    kind = ref.kind.name
    return WorkloadFigures(kind, ref.namespace, ref.name, phases, blocked, used, is_done)


def _used(failures: int, budget: int | None) -> float:
    if budget is None:
        return 0.0
    return failures / budget if budget else float(failures)
