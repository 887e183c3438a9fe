"""AddOnTemplates, AddOnDeploymentConfigs, and the works that carry their objects.

Manifests, node placements and resources are as on the wire; they are shared and never altered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rollout.model.addon import Resource
from rollout.model.conditions import Condition
from rollout.model.kinds import ADDON_DEPLOYMENT_CONFIG, ADDON_TEMPLATE, Obj

TEMPLATES = Resource(ADDON_TEMPLATE.group, ADDON_TEMPLATE.plural)
DEPLOYMENT_CONFIGS = Resource(ADDON_DEPLOYMENT_CONFIG.group, ADDON_DEPLOYMENT_CONFIG.plural)


class Registration(NamedTuple):
    """One entry of a template's registration. ``signer`` None: it names no custom signer."""

    type: str
    signer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOnTemplate:
    """An AddOnTemplate, parsed. ``registrations`` None: the field is absent, which is not the empty list."""

    name: str
    manifests: tuple[Obj, ...] = ()
    registrations: tuple[Registration, ...] | None = None
    manifest_configs: tuple[Obj, ...] = ()
    executor: Obj | None = None
    delete_option: Obj | None = None


class RegistryMirror(NamedTuple):
    """Images whose name begins with ``source`` are pulled from ``mirror`` instead."""

    source: str
    mirror: str


class Proxy(NamedTuple):
    """How agents reach the world. ``ca_bundle`` is base64, as on the wire."""

    http: str = ""
    https: str = ""
    none: str = ""
    ca_bundle: str = ""


class ResourceRequirement(NamedTuple):
    """Resources of the containers that ``container_id`` (kind:name:container) matches."""

    container_id: str
    resources: Obj


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentConfig:
    """An AddOnDeploymentConfig, parsed. None stands for a field that is absent."""

    install_namespace: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    node_placement: Mapping[str, object] | None = None
    registries: tuple[RegistryMirror, ...] | None = None
    proxy: Proxy = field(default_factory=Proxy)
    requirements: tuple[ResourceRequirement, ...] | None = None


class Feedback(NamedTuple):
    """What an agent tells of one object: values by name, as on the wire (numbers, texts, booleans)."""

    group: str
    resource: str
    namespace: str
    name: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """A ManifestWork of an add-on, with what it carries and what its agent tells of it.

    ``owners`` are its ownerReferences, ``spec`` its spec, both as on the wire.
    """

    cluster: str
    name: str
    uid: str
    generation: int
    version: int
    deleting: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: tuple[Obj, ...]
    spec: Obj
    manifests: tuple[Obj, ...]
    conditions: Mapping[str, Condition]
    feedback: tuple[Feedback, ...]

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.name}"
