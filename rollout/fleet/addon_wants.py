"""Which configurations does an add-on refer to, and which of them does a cluster get?"""

from collections.abc import Collection, Iterable, Mapping

from rollout.model.addon import AddOn, ClusterAddOn, Config, ConfigRef, Configs, by_resource
from rollout.planning.addons_configs import Known, in_order


def of_the_addon(addon: AddOn) -> set[ConfigRef]:
    """Those that the add-on itself refers to, for all clusters or for those of a placement."""
    return set(addon.defaults).union(*(p.configs for p in addon.placements or ()))


def looked_up(addon: AddOn, installed: Iterable[ClusterAddOn]) -> set[ConfigRef]:
    """Those whose kinds are to be watched: all that the add-on itself refers to, and of the clusters'
    own what the add-on, or its manager there, says to support.
    """
    found = of_the_addon(addon)
    supported = {ref.resource for ref in found}.union(addon.supported)
    for each in installed:
        here = supported.union(each.supported) if each.configs else supported
        found.update(ref for ref in each.configs if ref.resource in here)
    return found


def with_own(
    installed: ClusterAddOn, configs: Configs, known: Mapping[ConfigRef, Known], *, as_ocm: bool
) -> Configs | None:
    """These configurations with the cluster's own over them; None where one of those is missing.

    ``as_ocm``: a cluster is told of what is missing, too, with an empty hash.
    """
    if not installed.configs:
        return configs
    own = by_resource(installed.configs)
    merged = [config for config in configs if config.ref.resource not in own]
    for ref in (ref for listed in own.values() for ref in listed):
        there = known.get(ref)
        if there is None and not as_ocm:
            return None
        merged.append(Config(ref, there.spec_hash if there else ""))
    return in_order(merged)


def is_left_over(installed: ClusterAddOn, defaults: Collection[ConfigRef]) -> bool:
    """Whether a cluster that no placement selects carries more than defaults: what one that selected
    it gave it. It keeps that, so that what is left there goes on as it is.
    """
    own = {ref.resource for ref in installed.configs}
    given = {each.ref for each in installed.desired if each.ref.resource not in own}
    return not given.issubset(defaults)
