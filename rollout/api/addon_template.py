"""The wire form of AddOnTemplates, AddOnDeploymentConfigs and the works of add-ons.

What is not understood is as if it were not there. Source: OCM add-on spec 1.4, 1.5.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from rollout.api.addon import AGENT_NAMESPACE
from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.api.wire import Name, RawObject, Shape, WireObject, list_map
from rollout.api.work import WorkSpec
from rollout.model.addon_template import (
    AddOnTemplate,
    AgentWork,
    DeploymentConfig,
    Feedback,
    Proxy,
    Registration,
    RegistryMirror,
    ResourceRequirement,
)
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj


class VariableShape(Shape):
    """A value that manifests may use by its name."""

    name: Annotated[str, Field(max_length=255, pattern=r"^[a-zA-Z_][_a-zA-Z0-9]*$")]
    value: Annotated[str, Field(max_length=1024)] | None = None


class NodePlacementShape(Shape):
    """Which nodes the agents may run on."""

    node_selector: dict[str, str] | None = None
    tolerations: list[RawObject] | None = None


class RegistryShape(Shape):
    """Where images come from instead."""

    source: str | None = None
    mirror: str


class ProxyShape(Shape):
    """How agents reach the hub. Typed Go clients always write it, empty where it is not set."""

    http_proxy: Annotated[str | None, Field(alias="httpProxy")] = None
    https_proxy: Annotated[str | None, Field(alias="httpsProxy")] = None
    ca_bundle: Annotated[
        Any, Field(alias="caBundle"), WithJsonSchema({"type": "string", "format": "byte"})
    ] = None
    no_proxy: Annotated[str | None, Field(alias="noProxy")] = None


class ContainerResourcesShape(Shape):
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
        Annotated[list[VariableShape], Field(json_schema_extra=list_map("name"))] | None
    ) = None
    node_placement: NodePlacementShape | None = None
    registries: list[RegistryShape] | None = None
    proxy_config: ProxyShape | None = None
    resource_requirements: (
        Annotated[list[ContainerResourcesShape], Field(json_schema_extra=list_map("containerID"))]
        | None
    ) = None


class DeploymentConfigObject(WireObject):
    """A configuration that every add-on understands."""

    spec: DeploymentConfigSpec | None = None


class RoleRefShape(Shape):
    """A Role or ClusterRole."""

    api_group: str | None = None
    kind: Name
    name: Name


class CurrentClusterShape(Shape):
    """Rights in the namespace of the cluster."""

    cluster_role_name: Name


class SingleNamespaceShape(Shape):
    """Rights in one namespace of the hub."""

    namespace: Name
    role_ref: RoleRefShape


class HubPermissionShape(Shape):
    """What an agent may do on the hub."""

    type: Literal["CurrentCluster", "SingleNamespace"]
    current_cluster: CurrentClusterShape | None = None
    single_namespace: SingleNamespaceShape | None = None


class KubeClientShape(Shape):
    """A client of the hub."""

    hub_permissions: list[HubPermissionShape] | None = None


class SigningCAShape(Shape):
    """The Secret that holds a certificate authority."""

    namespace: str | None = None
    name: Name


class SubjectShape(Shape):
    """Whom a certificate is made out to."""

    user: str | None = None
    groups: list[str] | None = None
    organization_unit: list[str] | None = None


class CustomSignerShape(Shape):
    """A certificate of a signer of one's own."""

    signer_name: Name
    signing_ca: Annotated[SigningCAShape | None, Field(alias="signingCA")] = None
    subject: SubjectShape | None = None


class RegistrationShape(Shape):
    """How an agent gets to know the hub, or somebody else."""

    type: Literal["KubeClient", "CustomSigner"]
    kube_client: KubeClientShape | None = None
    custom_signer: CustomSignerShape | None = None


class TemplateSpec(Shape):
    """What an add-on is made of on each cluster, with placeholders such as {{CLUSTER_NAME}}."""

    addon_name: Name
    agent_spec: WorkSpec
    registration: list[RegistrationShape] | None = None


class TemplateObject(WireObject):
    """The manifests of an add-on."""

    spec: TemplateSpec


def decode_template(obj: Obj) -> AddOnTemplate:
    """An AddOnTemplate."""
    spec = mapping(obj.get("spec"))
    agent = mapping(spec.get("agentSpec"))
    manifests = listed(mapping(agent.get("workload")).get("manifests"))
    registrations = spec.get("registration")
    return AddOnTemplate(
        name=text(mapping(obj.get("metadata")).get("name")),
        manifests=tuple(mapping(item) for item in manifests),
        registrations=None
        if registrations is None
        else tuple(_registration(mapping(item)) for item in listed(registrations)),
        manifest_configs=tuple(mapping(item) for item in listed(agent.get("manifestConfigs"))),
        executor=agent.get("executor") if isinstance(agent.get("executor"), dict) else None,
        delete_option=agent.get("deleteOption")
        if isinstance(agent.get("deleteOption"), dict)
        else None,
    )


def _registration(at: Obj) -> Registration:
    signer = at.get("customSigner")
    name = text(signer.get("signerName")) if isinstance(signer, dict) else None
    return Registration(text(at.get("type")), name)


def decode_deployment_config(obj: Obj) -> DeploymentConfig:
    """An AddOnDeploymentConfig."""
    spec = mapping(obj.get("spec"))
    placement, registries = spec.get("nodePlacement"), spec.get("registries")
    proxy, requirements = mapping(spec.get("proxyConfig")), spec.get("resourceRequirements")
    fields = ("httpProxy", "httpsProxy", "noProxy", "caBundle")
    return DeploymentConfig(
        install_namespace=text(spec.get("agentInstallNamespace")),
        variables=tuple(
            (text(item.get("name")), text(item.get("value")))
            for item in map(mapping, listed(spec.get("customizedVariables")))
        ),
        node_placement=placement if isinstance(placement, dict) else None,
        registries=None
        if registries is None
        else tuple(
            RegistryMirror(text(item.get("source")), text(item.get("mirror")))
            for item in map(mapping, listed(registries))
        ),
        proxy=Proxy(*(text(proxy.get(name)) for name in fields)),
        requirements=None
        if requirements is None
        else tuple(
            ResourceRequirement(text(item.get("containerID")), mapping(item.get("resources")))
            for item in map(mapping, listed(requirements))
        ),
    )


_VALUES = {"Integer": "integer", "String": "string", "Boolean": "boolean", "JsonRaw": "jsonRaw"}


def decode_agent_work(obj: Obj) -> AgentWork:
    """A ManifestWork of an add-on."""
    meta, spec, status = (mapping(obj.get(part)) for part in ("metadata", "spec", "status"))
    told = listed(mapping(status.get("resourceStatus")).get("manifests"))
    return AgentWork(
        cluster=text(meta.get("namespace")),
        name=text(meta.get("name")),
        uid=text(meta.get("uid")),
        generation=whole(meta.get("generation")),
        version=version_of(meta),
        deleting=meta.get("deletionTimestamp") is not None,
        labels=strings(meta.get("labels")),
        annotations=strings(meta.get("annotations")),
        owners=tuple(mapping(owner) for owner in listed(meta.get("ownerReferences"))),
        spec=spec,
        manifests=tuple(map(mapping, listed(mapping(spec.get("workload")).get("manifests")))),
        conditions=read_conditions(status.get("conditions")),
        feedback=tuple(_feedback(mapping(item)) for item in told),
    )


def _feedback(at: Obj) -> Feedback:
    about = mapping(at.get("resourceMeta"))
    values = listed(mapping(at.get("statusFeedback")).get("values"))
    return Feedback(
        group=text(about.get("group")),
        resource=text(about.get("resource")),
        namespace=text(about.get("namespace")),
        name=text(about.get("name")),
        values=dict(_values(values)),
    )


def _values(raw: list[object]) -> Iterator[tuple[str, object]]:
    for item in map(mapping, raw):
        value = mapping(item.get("fieldValue"))
        yield text(item.get("name")), value.get(_VALUES.get(text(value.get("type")), ""))
