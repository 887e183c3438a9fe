"""How is the result of a run written into its status?"""

from rollout.measuring.values import AnalysisResult, Measurement, MetricResult
from rollout.model.instants import rfc3339, rfc3339_micro
from rollout.model.kinds import Obj


def status_of(result: AnalysisResult) -> Obj:
    """The status of a run."""
    return {
        "phase": result.phase.value,
        "message": result.message or None,
        "startedAt": rfc3339_micro(result.started_at) if result.started_at else None,
        "finishedAt": rfc3339(result.finished_at) if result.finished_at else None,
        "stopped": result.stopped,
        "metrics": [_metric(each) for each in result.metrics.values()],
    }


def _metric(each: MetricResult) -> Obj:
    return {
        "name": each.name,
        "phase": each.phase.value,
        "message": each.message or None,
        "count": each.count,
        "successful": each.successful,
        "failed": each.failed,
        "inconclusive": each.inconclusive,
        "error": each.error,
        "consecutiveError": each.consecutive_error,
        "consecutiveSuccess": each.consecutive_success,
        "measurements": [_measurement(one) for one in each.measurements],
    }


def _measurement(one: Measurement) -> Obj:
    return {
        "phase": one.phase.value,
        "startedAt": rfc3339_micro(one.started_at),
        "finishedAt": rfc3339_micro(one.finished_at),
        "value": one.value,
        **({"message": one.message} if one.message else {}),
    }
