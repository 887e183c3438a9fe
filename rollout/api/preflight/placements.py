"""Checks that placements can select anything: sets, bindings and the clusters in the files."""

from collections.abc import Iterator

from rollout.api.fields import listed, mapping, number_of, text
from rollout.api.preflight.findings import Finding, Item, World
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, CLUSTER_SET, KINDS, PLACEMENT, Obj, key_of
from rollout.model.placement import Placement


def placement_findings(world: World) -> Iterator[Finding]:
    """Placements that see no set, bindings that bind nothing, sets without members."""
    for item in world.of(PLACEMENT):
        placement = world.placements[item.key]
        yield from _sees(world, item, placement)
        yield from _selects(world, item, placement)
        yield from _group_size(item)
        yield from _groups_named_twice(item, placement)
    for item, binding in world.bindings:
        if binding.cluster_set and binding.cluster_set != binding.name:
            yield item.error(
                "spec.clusterSet",
                f"{binding.cluster_set!r} is not the name of the binding, {binding.name!r}",
                "a binding is called like the set that it binds",
            )
        elif binding.cluster_set and binding.cluster_set not in world.sets:
            yield item.warning(
                "spec.clusterSet",
                f"ManagedClusterSet {binding.cluster_set} is not in these files",
                "add it, unless it is on the hub already",
            )
    if world.clusters:
        yield from _empty_sets(world)


def _sees(world: World, item: Item, placement: Placement) -> Iterator[Finding]:
    bound = {b.name for i, b in world.bindings if i.namespace == item.namespace}
    if not bound:
        yield item.warning(
            "metadata.namespace",
            f"namespace {item.namespace} has no ManagedClusterSetBinding in these files",
            "add one, unless it is on the hub already: without one nothing can be selected",
        )
        return
    for i, name in enumerate(placement.cluster_sets):
        if name not in bound:
            yield item.warning(
                f"spec.clusterSets[{i}]",
                f"{name} is not bound to namespace {item.namespace} in these files",
                f"bind it, or choose from: {', '.join(sorted(bound))}",
            )


def _selects(world: World, item: Item, placement: Placement) -> Iterator[Finding]:
    spec = mapping(item.document.obj.get("spec"))
    if spec.get("numberOfClusters") == 0:
        yield item.warning(
            "spec.numberOfClusters", "0 selects no cluster", "leave it out to select all that match"
        )
    elif world.clusters and world.at_most(item.key) == 0 and not placement.problems:
        yield item.warning(
            "spec.predicates",
            f"none of the {len(world.clusters)} clusters in these files can be selected",
            "compare the selectors, sets and bindings with the clusters' labels and claims",
        )


def _group_size(item: Item) -> Iterator[Finding]:
    spec = mapping(item.document.obj.get("spec"))
    strategy = mapping(mapping(spec.get("decisionStrategy")).get("groupStrategy"))
    value = strategy.get("clustersPerDecisionGroup")
    number = number_of(text(value))
    if value == 0 and type(value) is int:
        yield item.warning(
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
            "0 is read as not set: all clusters of no named group are one decision group",
            "write the most clusters that a group may have, or leave it out",
        )
    if number:
        yield item.warning(
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
            f"{value!r} is a number in quotes; it is read as {number}, but OCM's own "
            "controllers refuse it",
            "write it without quotes",
        )


def _groups_named_twice(item: Item, placement: Placement) -> Iterator[Finding]:
    names = [group.name for group in placement.groups]
    for i, name in enumerate(names):
        if name in names[:i]:
            yield item.warning(
                f"spec.decisionStrategy.groupStrategy.decisionGroups[{i}].groupName",
                f"{name!r} is the name of decisionGroups[{names.index(name)}], too: whoever names it "
                "means both",
                "give each group a name of its own",
            )


def _empty_sets(world: World) -> Iterator[Finding]:
    for item in world.of(CLUSTER_SET):
        found = world.sets[item.name]
        if not found.problems and not world.members(found):
            yield item.warning(
                "spec.clusterSelector",
                f"none of the {len(world.clusters)} clusters in these files is in this set",
                "label clusters with cluster.open-cluster-management.io/clusterset: "
                f"{item.name}, or use a label selector that matches some",
            )


_REMEDY = (
    "add it, or correct the name, unless it is on the hub already: without it the rollout waits"
)


def addon_findings(world: World) -> Iterator[Finding]:
    """A warning for each Placement and each configuration that is in no file."""
    for item in world.of(CLUSTER_MANAGEMENT_ADDON):
        spec = mapping(item.document.obj.get("spec"))
        install = mapping(spec.get("installStrategy"))
        for i, placement in enumerate(map(mapping, listed(install.get("placements")))):
            path = f"spec.installStrategy.placements[{i}]"
            key = key_of(text(placement.get("namespace")), text(placement.get("name")))
            if text(placement.get("name")) and key not in world.placements:
                yield item.warning(
                    f"{path}.name", f"Placement {key} is not in these files", _REMEDY
                )
            for n, config in enumerate(map(mapping, listed(placement.get("configs")))):
                yield from _config(world, item, config, f"{path}.configs[{n}]")


def _config(world: World, item: Item, config: Obj, path: str) -> Iterator[Finding]:
    """Of kinds that are known here; others are somebody else's to check."""
    named = text(config.get("resource")), text(config.get("group"))
    kind = next((k for k in KINDS.values() if (k.plural, k.group) == named), None)
    key = key_of(text(config.get("namespace")), text(config.get("name")))
    if kind is None or not text(config.get("name")):
        return
    if key not in {each.key for each in world.known(kind)}:
        yield item.warning(f"{path}.name", f"{kind.name} {key} is not in these files", _REMEDY)
