"""Suite ``grouping``: decision groups and their pages in profile ``ocm``."""

from rollout.model.cluster import Cluster
from rollout.model.placement import Placement
from rollout.placement.grouping import group
from tests.conformance.suite import Json, Vector, unlike

OWN_WORDS = ("is not a percentage", "is not a valid label selector operator")
"""Messages that OCM words itself; the others come from Kubernetes' validation, compared by code."""


def read_cluster(given: Json) -> Cluster:
    claims = given.get("status", {}).get("clusterClaims") or ()
    return Cluster(
        given["metadata"]["name"],
        labels=given["metadata"].get("labels") or {},
        claims={claim["name"]: claim["value"] for claim in claims},
    )


class GroupingSuite:
    name = "grouping"
    exceptions = ()

    def run(self, given: Json) -> Json:
        meta = given["placement"]["metadata"]
        placement = Placement(meta["namespace"], meta["name"], raw=given["placement"])
        found = group(placement, [read_cluster(c) for c in given["clusters"] or ()], "ocm")
        return {
            "placementDecisions": [
                {"name": p.name, "labels": dict(p.labels), "clusters": list(p.clusters)}
                for p in found.pages
            ],
            "decisionGroups": [
                {
                    "decisionGroupIndex": index,
                    "decisionGroupName": name,
                    "decisions": list(decisions),
                    "clusterCount": count,
                }
                for index, name, count, decisions in found.status_groups
            ],
            "status": {
                "code": "Success" if found.misconfigured is None else "Misconfigured",
                "message": found.misconfigured or "",
                "plugin": "",
            },
        }

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        message = expected["status"]["message"]
        if message and not message.endswith(OWN_WORDS):
            got = {**got, "status": {**got["status"], "message": message}}
        return unlike(expected, got)
