"""What do an AddOnTemplate, its configurations and its works say? Wire objects to model values.

What is not understood is as if it were not there. Source: OCM add-on spec 1.4, 1.5.
"""

from collections.abc import Iterator

from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.model.addon_template import (
    AddOnTemplate,
    AgentWork,
    DeploymentConfig,
    Feedback,
    Mirror,
    Proxy,
    Registration,
    Requirement,
)
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj


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
            Mirror(text(item.get("source")), text(item.get("mirror")))
            for item in map(mapping, listed(registries))
        ),
        proxy=Proxy(*(text(proxy.get(name)) for name in fields)),
        requirements=None
        if requirements is None
        else tuple(
            Requirement(text(item.get("containerID")), mapping(item.get("resources")))
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
        text(about.get("group")),
        text(about.get("resource")),
        text(about.get("namespace")),
        text(about.get("name")),
        dict(_values(values)),
    )


def _values(raw: list[object]) -> Iterator[tuple[str, object]]:
    for item in map(mapping, raw):
        value = mapping(item.get("fieldValue"))
        yield text(item.get("name")), value.get(_VALUES.get(text(value.get("type")), ""))
