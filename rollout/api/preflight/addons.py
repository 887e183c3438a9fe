"""Is what an add-on names there? Placements and configurations of ClusterManagementAddOns."""

from collections.abc import Iterator

from rollout.api.fields import listed, mapping, text
from rollout.api.preflight.findings import Finding, Item, World
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, KINDS, Obj, key_of

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
    if key not in {each.key for each in world.of(kind)}:
        yield item.warning(f"{path}.name", f"{kind.name} {key} is not in these files", _REMEDY)
