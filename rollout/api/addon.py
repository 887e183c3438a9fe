"""What do a ClusterManagementAddOn and a ManagedClusterAddOn say? Wire objects to model values.

Both served versions are read; v1alpha1 is what hubs store. A reference to a configuration that has
no name is none. Source: OCM add-on spec 1, 2.2 and weaknesses A-13, A-16, A-22.
"""

from collections.abc import Callable, Iterator

from rollout.api.fields import Reader, listed, mapping, strings, text, version_of, whole
from rollout.api.rollouts import parse_rollout
from rollout.model import names
from rollout.model.addon import (
    AddOn,
    ClusterAddOn,
    Config,
    ConfigRef,
    InstallPlacement,
    Reference,
    Resource,
)
from rollout.model.conditions import read_conditions
from rollout.model.intents import read_intents
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    Obj,
)
from rollout.model.problems import Problem

NO_DEFAULT = "__reserved_no_default__"
"""Stands in v1beta1 for "supported, without a default"."""
STRATEGIES = ("Manual", "Placements")
OTHER_VERSION = f"{CLUSTER_MANAGEMENT_ADDON.group}/v1beta1"
INSTALL_NAMESPACE = "addon.open-cluster-management.io/v1alpha1-install-namespace"
_MANAGED = (None, "", "addon-manager")


def decode_addon(obj: Obj, previous: AddOn | None = None) -> AddOn:
    """A ClusterManagementAddOn. ``previous``: as for `rollout.api.decode`."""
    meta = mapping(obj.get("metadata"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    annotations = strings(meta.get("annotations"))
    same = previous is not None and generation and uid and previous.uid == uid
    if previous is not None and same and previous.generation == generation:
        supported, defaults = previous.supported, previous.defaults
        placements, problems = previous.placements, previous.problems
    else:
        supported, defaults, placements, problems = _spec(obj.get("spec"))
    return AddOn(
        text(meta.get("name")),
        uid,
        generation,
        version_of(meta),
        supported,
        defaults,
        placements,
        annotations.get(names.ADDON_LIFECYCLE) in _MANAGED,
        meta.get("deletionTimestamp") is not None,
        annotations,
        problems,
        obj,
        read_intents(annotations, keeps_templates=False),
    )


def _spec(
    raw: object,
) -> tuple[
    tuple[Resource, ...],
    tuple[ConfigRef, ...],
    tuple[InstallPlacement, ...] | None,
    tuple[Problem, ...],
]:
    problems: list[Problem] = []
    spec = Reader(raw, "spec", problems)
    supported: list[Resource] = []
    defaults: list[ConfigRef] = []
    for item in (*spec.items("supportedConfigs"), *spec.items("defaultConfigs")):
        resource = _resource(item)
        if resource is None:
            continue
        supported.append(resource)
        at = item.obj if "defaultConfig" not in item.obj else mapping(item.obj["defaultConfig"])
        name = text(at.get("name"))
        if name not in ("", NO_DEFAULT):
            defaults.append(ConfigRef(resource, text(at.get("namespace")), name))
    install = spec.inner("installStrategy")
    kind = install.one_of("type", STRATEGIES, "Manual")
    placements: tuple[InstallPlacement, ...] | None = None
    if kind == "Placements":
        found: dict[str, InstallPlacement] = {}
        for item in install.items("placements"):
            placement = _placement(item)
            if placement is None:
                continue
            if placement.key in found:
                item.refuse("name", f"each placement once; {placement.key} is listed before")
                continue
            found[placement.key] = placement
        placements = tuple(found.values())
    return tuple(dict.fromkeys(supported)), tuple(defaults), placements, tuple(problems)


def _resource(item: Reader) -> Resource | None:
    resource = item.obj.get("resource")
    if not isinstance(resource, str) or not resource:
        item.refuse("resource", 'the plural of a kind such as "addondeploymentconfigs"')
        return None
    return Resource(item.text("group"), resource)


def _placement(item: Reader) -> InstallPlacement | None:
    name, namespace = text(item.obj.get("name")), text(item.obj.get("namespace"))
    if not name or not namespace:
        item.refuse("name" if not name else "namespace", "the name and namespace of a Placement")
        return None
    strategy = item.obj.get("rolloutStrategy")
    rollout, problems = parse_rollout(strategy, item.path("rolloutStrategy"))
    configs = tuple(_config_refs(item.items("configs")))
    return InstallPlacement(namespace, name, configs, rollout, problems, mapping(strategy))


def _config_refs(items: Iterator[Reader]) -> Iterator[ConfigRef]:
    for item in items:
        resource = _resource(item)
        name = text(item.obj.get("name"))
        if resource is not None and name:
            yield ConfigRef(resource, text(item.obj.get("namespace")), name)
        elif resource is not None:
            item.refuse("name", "the name of a configuration object")


def decode_cluster_addon(obj: Obj, previous: ClusterAddOn | None = None) -> ClusterAddOn:
    """A ManagedClusterAddOn. What is not understood in its status is as if it were not there."""
    meta, spec, status = (mapping(obj.get(part)) for part in ("metadata", "spec", "status"))
    owners = listed(meta.get("ownerReferences"))
    references = status.get("configReferences")
    kept = previous is not None and mapping(previous.raw.get("status")).get("configReferences")
    return ClusterAddOn(
        text(meta.get("namespace")),
        text(meta.get("name")),
        text(meta.get("uid")),
        whole(meta.get("generation")),
        version_of(meta),
        tuple(_config_refs(Reader(spec, "spec", []).items("configs"))),
        tuple(_resources(status.get("supportedConfigs"))),
        previous.references
        if previous is not None and references is not None and references is kept
        else tuple(_references(references)),
        read_conditions(status.get("conditions")),
        meta.get("deletionTimestamp") is not None,
        frozenset(text(mapping(owner).get("uid")) for owner in owners),
        strings(meta.get("annotations")),
        obj,
    )


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


# -- the other version ---------------------------------------------------------------------------


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
    spec = mapping(obj.get("spec"))
    if "defaultConfigs" in spec:
        kept = {key: value for key, value in spec.items() if key != "defaultConfigs"}
        supported = [_supported(item) for item in listed(spec["defaultConfigs"])]
        converted["spec"] = {**kept, "supportedConfigs": supported}
    status = mapping(obj.get("status"))
    if "defaultConfigReferences" in status:
        kept = {key: value for key, value in status.items() if key != "defaultConfigReferences"}
        references = status["defaultConfigReferences"]
        converted["status"] = {**kept, "defaultconfigReferences": references}
    return converted


def _supported(item: object) -> Obj:
    at = mapping(item)
    found = {key: value for key, value in at.items() if key not in ("name", "namespace")}
    if at.get("name") not in (None, "", NO_DEFAULT):
        keys = [key for key in ("namespace", "name") if key in at]
        found["defaultConfig"] = {key: at[key] for key in keys}
    return found


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
