"""Which template and which configurations does a cluster's add-on use, and what do they come to?

Source: OCM add-on template spec 1.1, semantics row T25.
"""

from collections.abc import Iterator
from typing import Protocol

from rollout.model.addon import ClusterAddOn, Config, ConfigRef, Resource
from rollout.model.addon_template import (
    DEPLOYMENT_CONFIGS,
    TEMPLATES,
    AddOnTemplate,
    DeploymentConfig,
)
from rollout.planning.templates.problems import Unrenderable
from rollout.planning.templates.render import Rendered, render
from rollout.planning.templates.values import merged, registries_of, values_of


class Sources(Protocol):
    """Where templates, configurations and the annotations of clusters are looked up."""

    def template(self, name: str) -> AddOnTemplate | None: ...

    def deployment_config(self, ref: ConfigRef) -> DeploymentConfig | None: ...

    def registries(self, cluster: str) -> str:
        """The cluster's annotation of image registries, "" where it has none."""
        ...


def uses_template(addon: ClusterAddOn) -> Config | None:
    """The template that the add-on is made of, where its status names one and its hash."""
    first = next((r.desired for r in addon.references if r.resource == TEMPLATES), None)
    return first if first is not None and first.spec_hash else None


def template_of(addon: ClusterAddOn, sources: Sources) -> AddOnTemplate:
    """The template that the add-on is made of. Raises: Unrenderable."""
    named = [r.desired for r in addon.references if r.resource == TEMPLATES]
    if not named:
        raise Unrenderable(f"addon {addon.cluster}/{addon.name} template not found in status")
    first = named[0]
    if first is None or not first.spec_hash:
        raise Unrenderable(f"addon {addon.name} template desired spec hash is empty")
    found = sources.template(first.ref.name)
    if found is None:
        raise _missing(TEMPLATES, first.ref.name)
    return found


def rendered(addon: ClusterAddOn, sources: Sources, *, strict: bool) -> Rendered:
    """What the add-on comes to on its cluster. Raises: Unrenderable."""
    template = template_of(addon, sources)
    registries = registries_of(sources.registries(addon.cluster))
    configs = list(_configs(addon, sources, strict=strict))
    values = values_of(template, merged(configs), addon.cluster, registries, strict=strict)
    return render(template, values, addon.name, strict=strict)


def _configs(addon: ClusterAddOn, sources: Sources, *, strict: bool) -> Iterator[DeploymentConfig]:
    named = [r.desired for r in addon.references if r.resource == DEPLOYMENT_CONFIGS]
    for desired in named if strict else named[:1]:
        if desired is None or not desired.spec_hash:
            raise Unrenderable(f"addon {addon.name} deployment config desired spec hash is empty")
        found = sources.deployment_config(desired.ref)
        if found is None:
            raise _missing(DEPLOYMENT_CONFIGS, desired.ref.name)
        yield found


def _missing(resource: Resource, name: str) -> Unrenderable:
    kind = "addontemplate" if resource == TEMPLATES else resource.resource
    return Unrenderable(f'{kind}.{resource.group} "{name}" not found')
