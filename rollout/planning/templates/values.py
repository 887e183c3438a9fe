"""What replaces the placeholders of a template on one cluster: variables, namespace, registries, proxy.

A later source replaces an earlier one: defaults, the cluster's registries, the configuration, built-in
values. Source: OCM add-on template spec 1.2-1.4, semantics rows T3, T25.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rollout.model.addon_template import (
    AddOnTemplate,
    DeploymentConfig,
    Mirror,
    Proxy,
    Requirement,
)
from rollout.planning.templates import Unrenderable

HUB_KUBECONFIG = "HUB_KUBECONFIG"
CLUSTER_NAME = "CLUSTER_NAME"
INSTALL_NAMESPACE = "INSTALL_NAMESPACE"
DEFAULT_KUBECONFIG = "/managed/hub-kubeconfig/kubeconfig"

_PRIVATE = {
    "__NODE_PLACEMENT": "node placement",
    "__REGISTRIES": "registries",
    "__RESOURCE_REQUIREMENTS": "resource requirements",
}
_NAMESPACE = "__INSTALL_NAMESPACE"
_PRIVATE_NAMES = frozenset({*_PRIVATE, _NAMESPACE, "__PROXY"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The values for the manifests of one cluster.

    ``public`` are the placeholders, ``presets`` the environment of every container, in order.
    ``spoilt`` are settings that a variable replaced: an error once one of them is needed.
    """

    public: Mapping[str, str]
    presets: tuple[tuple[str, str], ...]
    namespace: str = ""
    node_placement: Mapping[str, object] | None = None
    registries: tuple[Mirror, ...] = ()
    proxy: Proxy = field(default_factory=Proxy)
    requirements: tuple[Requirement, ...] = ()
    spoilt: frozenset[str] = frozenset()


def merged(configs: Iterable[DeploymentConfig]) -> DeploymentConfig | None:
    """Several configurations as one: a later one replaces what it sets (semantics row T25)."""
    whole: DeploymentConfig | None = None
    for config in configs:
        whole = config if whole is None else _over(whole, config)
    return whole


def _over(first: DeploymentConfig, then: DeploymentConfig) -> DeploymentConfig:
    changes: dict[str, Any] = {
        name: value
        for name in ("install_namespace", "node_placement", "registries", "requirements")
        if (value := getattr(then, name)) not in (None, "")
    }
    proxy = then.proxy if any(then.proxy) else first.proxy
    return replace(first, variables=first.variables + then.variables, proxy=proxy, **changes)


def values_of(
    template: AddOnTemplate,
    config: DeploymentConfig | None,
    cluster: str,
    registries: tuple[Mirror, ...],
    *,
    strict: bool,
) -> Values:
    """The values for one cluster.

    ``registries`` are the cluster's; those of ``config`` replace them. ``strict`` refuses variables
    whose names stand for settings. Raises: Unrenderable.
    """
    config = config or DeploymentConfig()
    public: dict[str, str] = {}
    presets: list[str] = []
    if template.registrations is not None:
        public[HUB_KUBECONFIG] = DEFAULT_KUBECONFIG
        presets.append(HUB_KUBECONFIG)
    private = _variables(config, public, strict=strict)
    presets.append(CLUSTER_NAME)
    public[CLUSTER_NAME] = cluster
    namespace = config.install_namespace or private.get(_NAMESPACE, "")
    if namespace:
        public[INSTALL_NAMESPACE] = namespace
        presets.append(INSTALL_NAMESPACE)
    return Values(
        public=public,
        presets=tuple((name, public[name]) for name in presets),
        namespace=namespace,
        node_placement=config.node_placement,
        registries=registries if config.registries is None else config.registries,
        proxy=config.proxy,
        requirements=_checked(config.requirements or ()),
        spoilt=_spoilt(config, private),
    )


def _spoilt(config: DeploymentConfig, private: Mapping[str, str]) -> frozenset[str]:
    """Settings that a variable replaces because the configuration leaves them out."""
    given = {
        "__NODE_PLACEMENT": config.node_placement,
        "__REGISTRIES": config.registries,
        "__RESOURCE_REQUIREMENTS": config.requirements,
    }
    return frozenset(name for name, value in given.items() if value is None and name in private)


def _variables(config: DeploymentConfig, public: dict[str, str], *, strict: bool) -> dict[str, str]:
    """Adds the variables to ``public``; returns those whose names stand for settings."""
    private: dict[str, str] = {}
    for name, value in config.variables:
        if strict and name.startswith("__"):
            raise Unrenderable(
                f"customizedVariables: {name}: names that begin with __ stand for settings; "
                "choose another name"
            )
        (private if name in _PRIVATE_NAMES else public)[name] = value
    return private


def _checked(requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    for each in requirements:
        if each.container_id.count(":") != 2:
            raise Unrenderable(f"invalid ContainerID: {each.container_id}")
    return requirements


def needed(values: Values, name: str) -> None:
    """Raises: Unrenderable where a variable has replaced the setting."""
    if name in values.spoilt:
        raise Unrenderable(f"{_PRIVATE[name]} value is invalid")


def registries_of(text: str) -> tuple[Mirror, ...]:
    """The registries in a ManagedCluster's annotation. Raises: Unrenderable where it is no such JSON."""
    if not text:
        return ()
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unrenderable(f"the cluster's image registries are no JSON: {error}") from None
    listed = found.get("registries") if isinstance(found, dict) else None
    if (found is not None and not isinstance(found, dict)) or not (
        listed is None or isinstance(listed, list)
    ):
        raise Unrenderable('the cluster\'s image registries: want {"registries": [...]}')
    return tuple(_mirror(item) for item in listed or ())


def _mirror(item: object) -> Mirror:
    at = {} if item is None else item
    if isinstance(at, dict):
        source, mirror = at.get("source") or "", at.get("mirror") or ""
        if isinstance(source, str) and isinstance(mirror, str):
            return Mirror(source, mirror)
    raise Unrenderable("the cluster's image registries: want objects of source and mirror")
