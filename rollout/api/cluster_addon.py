"""The wire form of a ManagedClusterAddOn.

Controllers and agents write thousands of them, so they are read by hand: what is not understood is as if
it were not there. Also here: how an object written as v1beta1 becomes the v1alpha1 that hubs store.
Source: OCM add-on spec 1, weakness A-16.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field

from rollout.api.addon import (
    ADDON_RESOURCE,
    AGENT_NAMESPACE,
    AddOnConfigShape,
    AddOnMetaShape,
    ConfigResourceShape,
    SpecHashShape,
    supporting,
)
from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.api.wire import Conditions, Int64, RawObject, Shape, WireObject
from rollout.model.addon import ClusterAddOn, Config, ConfigRef, Reference, Resource
from rollout.model.conditions import read_conditions
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    Obj,
)

OTHER_VERSION = f"{CLUSTER_MANAGEMENT_ADDON.group}/v1beta1"
INSTALL_NAMESPACE = "addon.open-cluster-management.io/v1alpha1-install-namespace"


class ClusterAddOnSpec(Shape):
    """What differs on this cluster."""

    install_namespace: str | None = AGENT_NAMESPACE
    configs: list[AddOnConfigShape] | None = None


class ConfigReferenceShape(ConfigResourceShape):
    """One configuration of this cluster's add-on: what its agent is to apply and has applied."""

    namespace: str | None = None
    name: str | None = None
    desired_config: SpecHashShape | None = None
    last_applied_config: SpecHashShape | None = None
    last_observed_generation: Int64 | None = None


class ClusterAddOnStatus(Shape):
    """How this cluster's add-on stands."""

    namespace: str | None = None
    add_on_meta: AddOnMetaShape | None = None
    supported_configs: (
        Annotated[list[ConfigResourceShape], Field(json_schema_extra=ADDON_RESOURCE)] | None
    ) = None
    config_references: list[ConfigReferenceShape] | None = None
    registrations: list[RawObject] | None = None
    health_check: RawObject | None = None
    related_objects: list[RawObject] | None = None
    conditions: Conditions | None = None


class ClusterAddOnObject(WireObject):
    """One cluster's share of an add-on."""

    spec: ClusterAddOnSpec | None = None
    status: ClusterAddOnStatus | None = None


def decode_cluster_addon(obj: Obj, previous: ClusterAddOn | None = None) -> ClusterAddOn:
    """A ManagedClusterAddOn. What is not understood in its status is as if it were not there."""
    meta, spec, status = (mapping(obj.get(part)) for part in ("metadata", "spec", "status"))
    owners = listed(meta.get("ownerReferences"))
    references = status.get("configReferences")
    kept = previous is not None and mapping(previous.raw.get("status")).get("configReferences")
    return ClusterAddOn(
        cluster=text(meta.get("namespace")),
        name=text(meta.get("name")),
        uid=text(meta.get("uid")),
        generation=whole(meta.get("generation")),
        version=version_of(meta),
        configs=tuple(_config_refs(spec.get("configs"))),
        supported=tuple(_resources(status.get("supportedConfigs"))),
        references=previous.references
        if previous is not None and references is not None and references is kept
        else tuple(_references(references)),
        conditions=read_conditions(status.get("conditions")),
        deleting=meta.get("deletionTimestamp") is not None,
        owner_uids=frozenset(text(mapping(owner).get("uid")) for owner in owners),
        annotations=strings(meta.get("annotations")),
        raw=obj,
    )


def _config_refs(raw: object) -> Iterator[ConfigRef]:
    for item in map(mapping, listed(raw)):
        resource, name = text(item.get("resource")), text(item.get("name"))
        if resource and name:
            kind = Resource(text(item.get("group")), resource)
            yield ConfigRef(kind, text(item.get("namespace")), name)


def _resources(raw: object) -> Iterator[Resource]:
    for item in listed(raw):
        at = mapping(item)
        if text(at.get("resource")):
            yield Resource(text(at.get("group")), text(at["resource"]))


def _references(raw: object) -> Iterator[Reference]:
    for item in listed(raw):
        at = mapping(item)
        resource = Resource(text(at.get("group")), text(at.get("resource")))
        if resource.resource:
            yield Reference(
                resource,
                _config(resource, at.get("desiredConfig")),
                _config(resource, at.get("lastAppliedConfig")),
                whole(at.get("lastObservedGeneration")),
            )


def _config(resource: Resource, raw: object) -> Config | None:
    at = mapping(raw)
    if not text(at.get("name")):
        return None
    ref = ConfigRef(resource, text(at.get("namespace")), text(at["name"]))
    return Config(ref, text(at.get("specHash")))


def stored_version(obj: Obj) -> Obj:
    """The object as hubs store it: what is written as v1beta1 becomes v1alpha1, all else stays.

    Source: OCM add-on spec 1.1.
    """
    convert = _CONVERSIONS.get(str(obj.get("kind")))
    if convert is None or obj.get("apiVersion") != OTHER_VERSION:
        return obj
    return {**convert(obj), "apiVersion": CLUSTER_MANAGEMENT_ADDON.api_version}


def _addon_from_beta(obj: Obj) -> Obj:
    converted = dict(obj)
    if "spec" in obj:
        converted["spec"] = supporting(obj["spec"])
    status = mapping(obj.get("status"))
    if "defaultConfigReferences" in status:
        kept = {key: value for key, value in status.items() if key != "defaultConfigReferences"}
        references = status["defaultConfigReferences"]
        converted["status"] = {**kept, "defaultconfigReferences": references}
    return converted


def _cluster_addon_from_beta(obj: Obj) -> Obj:
    converted = dict(obj)
    annotations = mapping(mapping(obj.get("metadata")).get("annotations"))
    namespace = text(annotations.get(INSTALL_NAMESPACE))
    if namespace:
        converted["spec"] = {"installNamespace": namespace, **mapping(obj.get("spec"))}
    status = mapping(obj.get("status"))
    if "configReferences" in status:
        references = [_named(item) for item in listed(status["configReferences"])]
        converted["status"] = {**status, "configReferences": references}
    return converted


def _named(item: object) -> Obj:
    at = mapping(item)
    desired = mapping(at.get("desiredConfig"))
    return {
        **at,
        "namespace": text(desired.get("namespace")),
        "name": text(desired.get("name")),
    }


_CONVERSIONS: dict[str, Callable[[Obj], Obj]] = {
    CLUSTER_MANAGEMENT_ADDON.name: _addon_from_beta,
    MANAGED_CLUSTER_ADDON.name: _cluster_addon_from_beta,
    ADDON_DEPLOYMENT_CONFIG.name: dict,
    ADDON_TEMPLATE.name: dict,
}
