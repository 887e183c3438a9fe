"""Small inputs of ``addon_config``: a few clusters, each in a state that has a word.

The shape is that of the vectors. There is one configuration, d1, which every cluster is to carry at v2.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rollout.model import names
from tests.conformance.suite import Json

NOW, JUST_NOW, LONG_AGO = "2026-06-01T12:00:00Z", "2026-06-01T11:59:55Z", "2026-06-01T11:00:00Z"
RESOURCE = {"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs"}

Groups = Sequence[Sequence[str]]


class State(NamedTuple):
    """What a cluster is told and has applied (hashes of d1), and how its add-on says it does."""

    desired: str
    applied: str
    reason: str
    since: str


STATES: Mapping[str, State] = {
    "done": State("v2", "v2", "Completed", LONG_AGO),
    "old": State("v1", "v1", "Completed", LONG_AGO),
    "moving": State("v2", "v1", "Progressing", JUST_NOW),
    "stuck": State("v2", "v1", "Progressing", LONG_AGO),
    "failed": State("v2", "v1", "Failed", JUST_NOW),
}


class Placed(NamedTuple):
    """One placement: its strategy, its decision groups, and whether it exists."""

    strategy: Json
    groups: Groups
    configs: Sequence[str] = ()
    exists: bool = True


def config(name: str) -> Json:
    return {**RESOURCE, "namespace": "default", "name": name}


def reference(name: str, desired: str, applied: str = "") -> Json:
    found = {**RESOURCE, "desiredConfig": _revision(name, desired), "lastObservedGeneration": 1}
    if applied:
        found["lastAppliedConfig"] = _revision(name, applied)
    return found


def _revision(name: str, spec_hash: str) -> Json:
    return {"namespace": "default", "name": name, "specHash": spec_hash}


def cluster_addon(
    cluster: str, state: str = "done", references: Sequence[Json] = (), own: Sequence[str] = ()
) -> Json:
    """A ManagedClusterAddOn in a state; ``references`` in place of what the state carries."""
    told = STATES[state]
    condition = {
        "type": names.PROGRESSING,
        "status": "True" if told.reason == "Progressing" else "False",
        "reason": told.reason,
        "message": "m",
        "lastTransitionTime": told.since,
    }
    return {
        "metadata": {"namespace": cluster, "name": "app"},
        "spec": {"configs": [config(name) for name in own]} if own else {},
        "status": {
            "conditions": [condition],
            "configReferences": list(references) or [reference("d1", told.desired, told.applied)],
        },
    }


def scene(
    clusters: Mapping[str, str | Json],
    *placements: Placed,
    known: Mapping[str, str] | None = None,
    progressions: bool = True,
) -> Json:
    """An input.

    Args:
        clusters: a state, or a ManagedClusterAddOn, by cluster.
        known: hashes by name of configuration, as the add-on's status tells them.
        progressions: whether the add-on's status knows the placements.
    """
    hashes = {"d1": "v2", **(known or {})}
    named = [(f"p{n}", placed) for n, placed in enumerate(placements, 1)]
    return {
        "now": NOW,
        "clusterManagementAddOn": _addon(named, hashes, named if progressions else ()),
        "managedClusterAddOns": [
            cluster_addon(cluster, state) if isinstance(state, str) else state
            for cluster, state in clusters.items()
        ],
        "placements": [
            {"metadata": {"namespace": "ns1", "name": name}, "spec": {}}
            for name, placed in named
            if placed.exists
        ],
        "placementDecisions": [
            _page(name, index, group)
            for name, placed in named
            for index, group in enumerate(placed.groups)
        ],
    }


Named = Sequence[tuple[str, Placed]]


def _addon(asked: Named, hashes: Mapping[str, str], known: Named) -> Json:
    """The ClusterManagementAddOn: its spec asks for these placements, its status knows those."""
    spec: dict[str, Any] = {"defaultConfigs": [config("d1")]}
    spec["installStrategy"] = {
        "type": "Placements",
        "placements": [
            {
                "namespace": "ns1",
                "name": name,
                "rolloutStrategy": placed.strategy,
                "configs": [config(each) for each in placed.configs],
            }
            for name, placed in asked
        ],
    }
    status: dict[str, Any] = {"defaultConfigReferences": [reference("d1", hashes["d1"])]}
    status["installProgressions"] = [
        {
            "namespace": "ns1",
            "name": name,
            "configReferences": [reference(c, hashes[c]) for c in placed.configs or ("d1",)],
        }
        for name, placed in known
    ]
    return {"metadata": {"name": "app"}, "spec": spec, "status": status}


def _page(placement: str, index: int, clusters: Sequence[str]) -> Json:
    labels = {
        names.PLACEMENT_LABEL: placement,
        names.GROUP_INDEX_LABEL: str(index),
        names.GROUP_NAME_LABEL: f"g{index}",
    }
    return {
        "metadata": {"namespace": "ns1", "name": f"{placement}-{index}", "labels": labels},
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]},
    }
