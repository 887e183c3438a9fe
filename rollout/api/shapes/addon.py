"""How are add-ons and their configurations written? Source: OCM add-on spec 1."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from rollout.api.shapes.base import Conditions, Int64, Name, RawObject, Resource, Shape, list_map
from rollout.api.shapes.replicaset import RolloutStrategy

AGENT_NAMESPACE = "open-cluster-management-agent-addon"
_RESOURCE = list_map("group", "resource")


class ConfigMeta(Shape):
    """Display texts."""

    display_name: str | None = None
    description: str | None = None


class ConfigReferent(Shape):
    """Names a configuration object."""

    namespace: str | None = None
    name: Name


class ConfigResource(Shape):
    """A kind of configuration objects."""

    group: str | None = ""
    resource: Name


class SupportedConfig(ConfigResource):
    """A kind of configuration objects, and the one that counts where no other is named."""

    default_config: ConfigReferent | None = None


class AddOnConfig(ConfigResource):
    """One configuration object, with its kind."""

    namespace: str | None = None
    name: Name


class SpecHash(Shape):
    """A revision of a configuration object."""

    namespace: str | None = None
    name: str | None = None
    spec_hash: str | None = None


class PlacementStrategy(Shape):
    """A Placement, what configures the add-on there, and how a change is rolled out."""

    namespace: Name
    name: Name
    configs: list[AddOnConfig] | None = None
    rollout_strategy: RolloutStrategy | None = Field(
        None, json_schema_extra={"default": {"type": "All"}}
    )


class InstallStrategy(Shape):
    """Where the add-on is installed."""

    type: Literal["Manual", "Placements"] | None = "Manual"
    placements: (
        Annotated[list[PlacementStrategy], Field(json_schema_extra=list_map("namespace", "name"))]
        | None
    ) = None


class AddOnSpec(Shape):
    """What the add-on is."""

    add_on_meta: ConfigMeta | None = None
    add_on_configuration: RawObject | None = None
    supported_configs: (
        Annotated[list[SupportedConfig], Field(json_schema_extra=_RESOURCE)] | None
    ) = None
    install_strategy: InstallStrategy | None = Field(
        None, json_schema_extra={"default": {"type": "Manual"}}
    )


class DefaultReference(ConfigResource):
    """A default configuration, with its hash."""

    desired_config: SpecHash | None = None


class ProgressReference(DefaultReference):
    """A configuration of a placement: what is wanted, applied, and known to be good."""

    last_applied_config: SpecHash | None = None
    last_known_good_config: SpecHash | None = None


class InstallProgression(Shape):
    """How one placement's rollout stands."""

    namespace: str
    name: str
    config_references: list[ProgressReference] | None = None
    conditions: Conditions | None = None


class AddOnStatus(Shape):
    """How the rollouts stand."""

    default_config_references: Annotated[
        list[DefaultReference] | None, Field(alias="defaultconfigReferences")
    ] = None
    install_progressions: list[InstallProgression] | None = None


class ClusterManagementAddOn(Resource):
    """An add-on for many clusters: its configurations, where it goes and how."""

    spec: AddOnSpec
    status: AddOnStatus | None = None


class ClusterAddOnSpec(Shape):
    """What differs on this cluster."""

    install_namespace: str | None = AGENT_NAMESPACE
    configs: list[AddOnConfig] | None = None


class ConfigReference(ConfigResource):
    """One configuration of this cluster's add-on: what its agent is to apply and has applied."""

    namespace: str | None = None
    name: str | None = None
    desired_config: SpecHash | None = None
    last_applied_config: SpecHash | None = None
    last_observed_generation: Int64 | None = None


class ClusterAddOnStatus(Shape):
    """How this cluster's add-on stands."""

    namespace: str | None = None
    add_on_meta: ConfigMeta | None = None
    supported_configs: (
        Annotated[list[ConfigResource], Field(json_schema_extra=_RESOURCE)] | None
    ) = None
    config_references: list[ConfigReference] | None = None
    registrations: list[RawObject] | None = None
    health_check: RawObject | None = None
    related_objects: list[RawObject] | None = None
    conditions: Conditions | None = None


class ManagedClusterAddOn(Resource):
    """One cluster's share of an add-on."""

    spec: ClusterAddOnSpec | None = None
    status: ClusterAddOnStatus | None = None


class Variable(Shape):
    """A value that manifests may use by its name."""

    name: Annotated[str, Field(max_length=255, pattern=r"^[a-zA-Z_][_a-zA-Z0-9]*$")]
    value: Annotated[str, Field(max_length=1024)] | None = None


class NodePlacement(Shape):
    """Which nodes the agents may run on."""

    node_selector: dict[str, str] | None = None
    tolerations: list[RawObject] | None = None


class Registry(Shape):
    """Where images come from instead."""

    source: str | None = None
    mirror: str


class ProxyConfig(Shape):
    """How agents reach the hub. Typed Go clients always write it, empty where it is not set."""

    http_proxy: Annotated[str | None, Field(alias="httpProxy")] = None
    https_proxy: Annotated[str | None, Field(alias="httpsProxy")] = None
    ca_bundle: Annotated[
        Any, Field(alias="caBundle"), WithJsonSchema({"type": "string", "format": "byte"})
    ] = None
    no_proxy: Annotated[str | None, Field(alias="noProxy")] = None


class ContainerResources(Shape):
    """What some containers ask for."""

    container_id: Annotated[
        str,
        Field(
            alias="containerID",
            pattern=r"^(deployments|daemonsets|statefulsets|replicasets|jobs|cronjobs|pods|\*):.+:.+$",
        ),
    ]
    resources: RawObject


class DeploymentConfigSpec(Shape):
    """What agents are deployed with."""

    agent_install_namespace: Annotated[str, Field(max_length=63)] | None = AGENT_NAMESPACE
    customized_variables: (
        Annotated[list[Variable], Field(json_schema_extra=list_map("name"))] | None
    ) = None
    node_placement: NodePlacement | None = None
    registries: list[Registry] | None = None
    proxy_config: ProxyConfig | None = None
    resource_requirements: (
        Annotated[list[ContainerResources], Field(json_schema_extra=list_map("containerID"))] | None
    ) = None


class AddOnDeploymentConfig(Resource):
    """A configuration that every add-on understands."""

    spec: DeploymentConfigSpec | None = None
