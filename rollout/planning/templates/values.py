"""The values of a template's placeholders on one cluster: variables, namespace, registries, proxy.

A later source replaces an earlier one: defaults, the cluster's registries, the configuration, built-in
values. Source: OCM add-on template spec 1.2-1.4, semantics rows T3, T25.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rollout.model.addon_template import (
    AddOnTemplate,
    DeploymentConfig,
    Proxy,
    RegistryMirror,
    ResourceRequirement,
)
from rollout.model.kinds import Obj
from rollout.model.spec_hash import go_json
from rollout.model.wording import first_of
from rollout.planning.templates import Fatal, Unrenderable

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
    registries: tuple[RegistryMirror, ...] = ()
    proxy: Proxy = field(default_factory=Proxy)
    requirements: tuple[ResourceRequirement, ...] = ()
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
    registries: tuple[RegistryMirror, ...],
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


def _checked(requirements: tuple[ResourceRequirement, ...]) -> tuple[ResourceRequirement, ...]:
    for each in requirements:
        if each.container_id.count(":") != 2:
            raise Unrenderable(f"invalid ContainerID: {each.container_id}")
    return requirements


def needed(values: Values, name: str) -> None:
    """Raises: Unrenderable where a variable has replaced the setting."""
    if name in values.spoilt:
        raise Unrenderable(f"{_PRIVATE[name]} value is invalid")


def registries_of(text: str) -> tuple[RegistryMirror, ...]:
    """The registries in a ManagedCluster's annotation. Raises: Unrenderable where it is no such JSON."""
    if not text:
        return ()
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unrenderable(f"the cluster's image registries are not JSON: {error}") from None
    listed = found.get("registries") if isinstance(found, dict) else None
    if (found is not None and not isinstance(found, dict)) or not (
        listed is None or isinstance(listed, list)
    ):
        raise Unrenderable('the cluster\'s image registries: want {"registries": [...]}')
    return tuple(_mirror(item) for item in listed or ())


def _mirror(item: object) -> RegistryMirror:
    at = {} if item is None else item
    if isinstance(at, dict):
        source, mirror = at.get("source") or "", at.get("mirror") or ""
        if isinstance(source, str) and isinstance(mirror, str):
            return RegistryMirror(source, mirror)
    raise Unrenderable("the cluster's image registries: want objects of source and mirror")


_OPEN, _CLOSE = "{{", "}}"
_SHOWN = 5


def in_text(manifest: Obj, values: Mapping[str, str]) -> Obj:
    """The manifest, replaced in its JSON text (profile ``ocm``). Raises: Unrenderable."""
    text = _replaced(go_json(manifest), values)
    try:
        found: Any = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Unrenderable(f"{error}") from None
    return _object(found, text)


def _object(found: Any, text: str) -> Obj:
    if not isinstance(found, dict):
        raise Unrenderable(f"a manifest is to be an object, not {type(found).__name__}")
    if not found.get("kind"):
        raise Unrenderable(f"Object 'Kind' is missing in '{text}'")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _replaced(text: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder once; one that is not known becomes empty."""
    parts: list[str] = []
    at = 0
    while (begin := text.find(_OPEN, at)) >= 0:
        end = text.find(_CLOSE, begin + 2)
        if end < 0:
            raise Fatal(
                f'Cannot find end tag="}}}}" in the template={go_json(text)} '
                f"starting from {go_json(text[begin + 2 :])}"
            )
        parts += text[at:begin], values.get(text[begin + 2 : end], "")
        at = end + 2
    return "".join((*parts, text[at:]))


def in_tree(manifest: Obj, values: Mapping[str, str], where: str) -> Obj:
    """A copy of the manifest, replaced in its keys and strings (profile ``strict``).

    ``where`` names the manifest in errors. Raises: Unrenderable, naming each place of an unknown or
    unclosed placeholder.
    """
    faults: list[str] = []
    found: Obj = _walk(manifest, values, "", faults)
    if faults:
        raise Unrenderable(f"{where}: {first_of(faults, _SHOWN, between='; ')}")
    return found


def _walk(value: Any, values: Mapping[str, str], path: str, faults: list[str]) -> Any:
    if isinstance(value, str):
        return "".join(_filled(value, values, path, faults)) if _OPEN in value else value
    if isinstance(value, list):
        return [_walk(v, values, f"{path}[{i}]", faults) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found: Obj = {}
    for key, item in value.items():
        at = f"{path}.{key}"
        name = "".join(_filled(key, values, at, faults)) if _OPEN in key else key
        if name in found:
            faults.append(f"{at}: there is a key {name} already")
        found[name] = _walk(item, values, at, faults)
    return found


def _filled(text: str, values: Mapping[str, str], path: str, faults: list[str]) -> Iterator[str]:
    at = 0
    while (begin := text.find(_OPEN, at)) >= 0:
        yield text[at:begin]
        end = text.find(_CLOSE, begin + 2)
        if end < 0:
            faults.append(f"{path}: column {begin + 1}: {{{{ is not closed")
            return
        name = text[begin + 2 : end]
        if name not in values:
            faults.append(f"{path}: there is no variable {name!r}")
        yield values.get(name, "")
        at = end + 2
    yield text[at:]
