"""What does a vector of ``addon_config`` put before the controller? OCM's own reading of it.

For the excuses of that suite: each placement of the install strategy with the add-ons that are its,
how OCM reads each of them, and what OCM would answer (`answer`), were some facts read otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rollout.api.decoding import decode
from rollout.model import names
from rollout.model.addon import (
    AddOn,
    ClusterAddOn,
    Config,
    ConfigRef,
    Configs,
    Resource,
    by_resource,
)
from rollout.model.instants import parse_instant
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.rollouts.addon_configs import read_as_ocm
from rollout.strategies.ocm import ClusterRolloutStatus, Status, decide
from rollout.strategies.ocm_inputs import MEMBERS
from tests.conformance.suite import Json


@dataclass(frozen=True, slots=True)
class Installed:
    """One ManagedClusterAddOn: what it carries, what OCM wants it to, and how OCM reads it."""

    addon: ClusterAddOn
    desired: Configs
    record: ClusterRolloutStatus

    @property
    def is_in_order(self) -> bool:
        return _by_resource(self.addon.desired) == _by_resource(self.desired)


@dataclass(frozen=True, slots=True)
class Node:
    """One placement. ``clusters`` are all that it selects, ``taken`` those of a later placement."""

    key: str
    strategy: Json
    spec: RolloutSpec | None
    groups: tuple[Group, ...]
    taken: frozenset[str]
    configs: Configs
    installed: Mapping[str, Installed]

    @property
    def clusters(self) -> frozenset[str]:
        return frozenset(c for group in self.groups for c in group.clusters)

    @property
    def without_taken(self) -> tuple[Group, ...]:
        return tuple(
            replace(g, clusters=tuple(c for c in g.clusters if c not in self.taken))
            for g in self.groups
        )


@dataclass(frozen=True, slots=True)
class Given:
    """A vector's input, read.

    ``defaults`` are the add-ons that no placement selects; ``told`` is what the statuses tell of
    configuration objects, for each the first that tells a hash.
    """

    addon: AddOn
    now: datetime
    nodes: tuple[Node, ...]
    defaults: Mapping[str, Installed]
    told: Configs
    raw: Json

    @property
    def all_installed(self) -> Iterable[Installed]:
        return _all(self.nodes, self.defaults)


@dataclass(frozen=True, slots=True)
class Answer:
    """What OCM does at one placement: whom it writes to, and the numbers that it tells."""

    touched: frozenset[str]
    done: int
    moving: int
    failed: int
    timed_out: int


Records = Mapping[str, ClusterRolloutStatus]
Grouped = dict[Resource, list[Config]]


def answer(
    node: Node,
    records: Records,
    now: datetime,
    groups: Iterable[Group] | None = None,
    strategy: Json = None,
) -> Answer:
    """OCM's answer on these records, over these groups."""
    found = decide(
        strategy or node.strategy,
        list(node.groups if groups is None else groups),
        [records[c] for c in sorted(records)],
        now,
    )
    moving = frozenset(found.to_apply) | {r.cluster for r in found.in_flight}
    idle = [r for c, r in records.items() if c not in moving]
    return Answer(
        frozenset(c for c in found.to_apply if c in records),
        sum(r.status is Status.SUCCEEDED for r in idle),
        sum(c in records for c in moving),
        sum(r.status is Status.FAILED for r in idle),
        len(found.timed_out),
    )


def records_of(node: Node) -> Records:
    return {cluster: installed.record for cluster, installed in node.installed.items()}


# -- reading ------------------------------------------------------------------------------------


def read(given: Json) -> Given:
    addon = decode(CLUSTER_MANAGEMENT_ADDON, given["clusterManagementAddOn"])
    now = parse_instant(given["now"])
    assert isinstance(addon, AddOn)
    assert now is not None
    clusters = _clusters(given)
    status = given["clusterManagementAddOn"].get("status") or {}
    base = _defaults(addon, status.get("defaultConfigReferences") or ())
    progressions = status.get("installProgressions") or () if addon.placements else ()
    raw = {(p["namespace"], p["name"]): p for p in _placements(given)}
    wanted = [p for p in progressions if (p["namespace"], p["name"]) in raw]
    selected = {
        f"{p['namespace']}/{p['name']}": _groups(given, p["namespace"], p["name"]) for p in wanted
    }
    owners: dict[str, str] = {}
    for key, groups in selected.items():
        owners.update(dict.fromkeys((c for g in groups for c in g.clusters), key))
    nodes = []
    for progression in wanted:
        key = f"{progression['namespace']}/{progression['name']}"
        configs = {**base, **_grouped(progression.get("configReferences") or ())}
        mine = {c: a for c, a in clusters.items() if owners.get(c) == key}
        placement = raw[progression["namespace"], progression["name"]]
        specs = {p.key: p.rollout for p in addon.placements or ()}
        nodes.append(
            Node(
                key,
                _strategy(placement.get("rolloutStrategy") or {}, given, progression),
                specs.get(key),
                selected[key],
                frozenset(c for c, owner in owners.items() if owner != key),
                _flat(configs),
                {c: _installed(a, configs) for c, a in mine.items()},
            )
        )
    rest = {c: _installed(a, base) for c, a in clusters.items() if c not in owners}
    return Given(addon, now, tuple(nodes), rest, _told(base, nodes, rest), given)


def _clusters(given: Json) -> dict[str, ClusterAddOn]:
    clusters: dict[str, ClusterAddOn] = {}
    for obj in given["managedClusterAddOns"]:
        found = decode(MANAGED_CLUSTER_ADDON, obj)
        assert isinstance(found, ClusterAddOn)
        clusters[found.cluster] = found
    return clusters


def _told(base: Grouped, nodes: Sequence[Node], rest: Mapping[str, Installed]) -> Configs:
    told = [*_flat(base), *(c for node in nodes for c in node.configs)]
    told += [c for i in _all(nodes, rest) for c in i.desired if c.ref in i.addon.configs]
    first = {config.ref: config for config in reversed(told) if config.spec_hash}
    return tuple(first.values())


def _all(nodes: Iterable[Node], rest: Mapping[str, Installed]) -> Iterable[Installed]:
    yield from rest.values()
    for node in nodes:
        yield from node.installed.values()


def _placements(given: Json) -> list[Json]:
    strategy = given["clusterManagementAddOn"]["spec"].get("installStrategy") or {}
    return list(strategy.get("placements") or ())


def _strategy(strategy: Json, given: Json, progression: Json) -> Json:
    """With the placement's clustersPerDecisionGroup where maxConcurrency is not set."""
    if strategy.get("type") != "Progressive":
        return strategy
    member = MEMBERS["Progressive"]
    options = strategy.get(member) or {}
    if options.get("maxConcurrency") not in (None, 0):  # typed Go clients send 0 for unset
        return strategy
    for placement in given["placements"]:
        meta = placement["metadata"]
        if (meta["namespace"], meta["name"]) == (progression["namespace"], progression["name"]):
            spec = (placement.get("spec") or {}).get("decisionStrategy") or {}
            size = (spec.get("groupStrategy") or {}).get("clustersPerDecisionGroup")
            if size is not None:
                return {**strategy, member: {**options, "maxConcurrency": size}}
    return strategy


def _groups(given: Json, namespace: str, name: str) -> tuple[Group, ...]:
    pages: dict[tuple[int, str], list[str]] = {}
    for page in given["placementDecisions"]:
        meta = page["metadata"]
        labels = meta["labels"]
        if (meta["namespace"], labels[names.PLACEMENT_LABEL]) != (namespace, name):
            continue
        key = (int(labels[names.GROUP_INDEX_LABEL]), labels.get(names.GROUP_NAME_LABEL, ""))
        decisions = (page.get("status") or {}).get("decisions") or ()
        pages.setdefault(key, []).extend(d["clusterName"] for d in decisions)
    return tuple(Group(i, n, tuple(sorted(found))) for (i, n), found in sorted(pages.items()))


def _grouped(references: Iterable[Json]) -> Grouped:
    found: Grouped = {}
    for reference in references:
        desired = reference.get("desiredConfig") or {}
        resource = Resource(reference.get("group", ""), reference["resource"])
        ref = ConfigRef(resource, desired.get("namespace", ""), desired.get("name", ""))
        found.setdefault(resource, []).append(Config(ref, desired.get("specHash", "")))
    return found


def _defaults(addon: AddOn, references: Iterable[Json]) -> Grouped:
    """What the spec names, with the hashes that the status tells."""
    told = {c.ref: c.spec_hash for configs in _grouped(references).values() for c in configs}
    return {
        resource: [Config(ref, told.get(ref, "")) for ref in refs]
        for resource, refs in by_resource(addon.defaults).items()
    }


def _flat(configs: Grouped) -> Configs:
    return tuple(config for resource in sorted(configs) for config in configs[resource])


def _by_resource(configs: Configs) -> Grouped:
    found: Grouped = {}
    for config in configs:
        found.setdefault(config.ref.resource, []).append(config)
    return found


def _installed(addon: ClusterAddOn, configs: Grouped) -> Installed:
    own: Grouped = {}
    hashes = {c.ref: c.spec_hash for c in addon.desired}
    for ref in dict.fromkeys(addon.configs):
        own.setdefault(ref.resource, []).append(Config(ref, hashes.get(ref, "")))
    desired = _flat({**configs, **own})
    carried = addon.desired
    if len(addon.references) != len(desired) or set(carried) != set(desired):
        return Installed(addon, desired, ClusterRolloutStatus(addon.cluster, Status.TO_APPLY))
    status, since = read_as_ocm(addon)
    return Installed(addon, desired, ClusterRolloutStatus(addon.cluster, status, since=since))
