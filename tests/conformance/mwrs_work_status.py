"""Suite ``mwrs_work_status``: how a cluster stands, from its ManifestWork, in profile ``ocm``."""

from rollout.model.conditions import read_conditions
from rollout.strategies.ocm import NO_TIME, work_status
from tests.conformance.rollout import wire_instant
from tests.conformance.suite import Json, Vector, unlike


def first_of_each_type(conditions: Json) -> list[Json]:
    """OCM looks conditions up from the front; a list may hold several of one type."""
    found: dict[str, Json] = {}
    for condition in conditions or ():
        found.setdefault(condition["type"], condition)
    return list(found.values())


class WorkStatusSuite:
    name = "mwrs_work_status"
    exceptions = ()

    def run(self, given: Json) -> Json:
        work = given["manifestWork"]
        status, since = work_status(
            work["metadata"].get("generation", 0),
            read_conditions(first_of_each_type(work.get("status", {}).get("conditions"))),
        )
        return {
            "status": status.value,
            "lastTransitionTime": None if since == NO_TIME else wire_instant(since),
            "hasLastTransitionTime": since is not None,
        }

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
