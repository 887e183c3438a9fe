"""The built-in kinds of gates: a person approves, or an analysis is successful."""

from collections.abc import Mapping
from datetime import datetime

from rollout.model.analyses import ANALYSIS_GATE, PHASES, AnalysisPhase
from rollout.model.approvals import APPROVAL_GATE
from rollout.model.waits import Reason, Wait
from rollout.strategies.gates import AtGate, Gate, gate_key


class Approved:
    """Opens where a person approved this gate for this revision, and the approval has not expired."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        is_given, expired = at.approval(now)
        if is_given:
            return None
        late = f"; approval {expired} has expired" if expired else ""
        return Wait(
            Reason.APPROVAL_NEEDED,
            f"{at.gate.side.value} {at.stage.title} somebody has to approve revision "
            f"{at.revision}: an Approval of gate {at.gate}{late}",
        )


class Analysed:
    """Opens when the analysis that the gate names is Successful, for this revision and attempt.

    Where it is not clear what it found, or it cannot be measured, a person's approval opens it, too.
    """

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        key = gate_key(at.gate, at.stage)
        mine = [v for v in at.analyses if v.at == key and v.counts_for(at.revision, at.attempt)]
        what = f"gate {at.gate}: analysis {at.gate.argument}"
        if not mine:
            return Wait(Reason.ANALYSIS_RUNNING, f"{what} begins")
        verdict = min(mine, key=lambda each: PHASES.index(each.phase))
        match verdict.phase:
            case AnalysisPhase.SUCCESSFUL:
                return None
            case AnalysisPhase.FAILED:
                return Wait(Reason.ANALYSIS_FAILED, f"{what} has failed, {verdict}")
            case AnalysisPhase.RUNNING:
                return Wait(Reason.ANALYSIS_RUNNING, f"{what} is on its way, {verdict}")
        if at.approval(now)[0]:
            return None
        if verdict.phase is AnalysisPhase.ERROR:
            return Wait(Reason.METRIC_UNREACHABLE, f"{what} cannot be measured, {verdict}")
        return Wait(Reason.ANALYSIS_INCONCLUSIVE, f"{what} is inconclusive, {verdict}")


GATES: Mapping[str, Gate] = {APPROVAL_GATE: Approved(), ANALYSIS_GATE: Analysed()}
"""The built-in kinds of gates, by the word that stands after ``=`` in the annotation."""
