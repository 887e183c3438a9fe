"""How do all rollouts stand, in numbers? A value, taken on the engine's thread, read on any other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rollout.fleet.fleet import Fleet
from rollout.fleet.workloads import Workload
from rollout.model import names
from rollout.model.kinds import MANAGED_CLUSTER
from rollout.strategies.base import Phase


@dataclass(frozen=True, slots=True)
class WorkloadFigures:
    """One ManifestWorkReplicaSet. ``blocked`` counts waiting clusters by reason."""

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
    found = [w for key in fleet.workloads() if (w := fleet.peek(key)) is not None]
    clusters = len(fleet.known(MANAGED_CLUSTER))
    return Figures(tuple(_workload(w) for w in found), queued, in_flight, clusters)


def _workload(workload: Workload) -> WorkloadFigures:
    phases = {phase.value: 0 for phase in Phase}  # every phase, so that no series comes and goes
    blocked: Counter[str] = Counter()
    used = 0.0
    for share in workload.shares.values():
        reports = share.live.last.stages
        for report in reports:
            for phase, number in report.phases.items():
                phases[phase.value] += number
            if report.blocked:
                blocked[report.blocked] += report.phases.get(Phase.WAITING, 0)
        budget = share.live.ledger.rollout.staging.budget  # of all stages together
        members = sum(report.members for report in reports)
        failures = sum(report.failures for report in reports)
        scopes = [(r.failures, r.budget) for r in reports]
        scopes.append((failures, budget.of(members) if budget else None))
        used = max(used, *(_used(*scope) for scope in scopes))
    ref = workload.ref
    return WorkloadFigures(ref.namespace, ref.name, phases, blocked, used, _finished(workload))


def _used(failures: int, budget: int | None) -> float:
    if budget is None:
        return 0.0
    return failures / budget if budget else float(failures)


def _finished(workload: Workload) -> bool:
    replicaset = workload.replicaset
    status = (replicaset.raw.get("status") or {}) if replicaset else {}
    return any(
        c.get("type") == names.READY
        and c.get("status") == "True"
        and replicaset is not None
        and c.get("observedGeneration") == replicaset.generation
        for c in status.get("conditions") or ()
    )
