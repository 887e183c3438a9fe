"""Suite ``rollout``: one evaluation of a rolloutStrategy in profile ``ocm``."""

from datetime import datetime

from rollout.model.instants import parse_instant
from rollout.model.placement import Group
from rollout.strategies.ocm import Answer, ClusterRolloutStatus, Status, decide
from tests.conformance.suite import Json, Vector, unlike


def instant(text: str) -> datetime:
    at = parse_instant(text)
    assert at is not None, text
    return at


def wire_instant(at: datetime | None) -> str | None:
    """RFC 3339 with as many digits of a fraction as there are, none for whole seconds."""
    if at is None:
        return None
    text = at.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if at.microsecond else text) + "Z"


def read_groups(given: Json) -> list[Group]:
    return [Group(g["groupIndex"], g["groupName"], tuple(g["clusters"] or ())) for g in given or ()]


def read_record(given: Json) -> ClusterRolloutStatus:
    return ClusterRolloutStatus(
        given["clusterName"],
        Status(given["status"]),
        since=parse_instant(given["lastTransitionTime"]),
        group=given.get("groupName", ""),
        index=given.get("groupIndex", 0),
    )


def write_record(record: ClusterRolloutStatus) -> Json:
    return {
        "clusterName": record.cluster,
        "status": record.status.value,
        "groupName": record.group,
        "groupIndex": record.index,
        "lastTransitionTime": wire_instant(record.since),
        "recheckTime": wire_instant(record.recheck_at),
    }


def seconds_until(answer: Answer, now: datetime) -> float | None:
    return (answer.recheck_at - now).total_seconds() if answer.recheck_at else None


class RolloutSuite:
    name = "rollout"
    exceptions = ()

    def run(self, given: Json) -> Json:
        now = instant(given["now"])
        answer = decide(
            given["rolloutStrategy"],
            read_groups(given["decisionGroups"]),
            [read_record(r) for r in given["existingClusters"] or ()],
            now,
        )
        return {
            "clustersToRollout": [write_record(r) for r in answer.rollout],
            "clustersTimeOut": [write_record(r) for r in answer.timed_out],
            "clustersRemoved": [write_record(r) for r in answer.removed],
            "maxFailureBreach": answer.breach,
            "recheckAfter": seconds_until(answer, now),
            "error": answer.error,
            "effectiveType": answer.effective_type,
        }

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
