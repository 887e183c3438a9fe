"""Adds to the pods of an add-on's agent what configurations ask for.

Environment, secrets of registrations, node placement, mirrored images, proxy and resources, in this
order. Source: OCM add-on template spec 2.4-2.9, semantics rows T7, T8, T9, T24.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import re2

from rollout.model.addon_template import Proxy, Registration, RegistryMirror
from rollout.model.kinds import Obj
from rollout.planning.templates import Unrenderable
from rollout.planning.templates.values import Values, needed

CA_FILE = "ca-bundle.crt"
_CA_PATH = "/managed/proxy-ca"
_CA_VOLUME = "proxy-ca-bundle"
_LONGEST_NAME = 63
_BOUNDARIES = ("/", ":", "@", "")
_MEMORY = 1 << 20
"""Bytes that a compiled expression may take, so that compiling takes milliseconds."""


class Pod(NamedTuple):
    """A pod template inside an object. ``resource`` and ``name`` are the object's; ``spec`` is changed."""

    resource: str
    name: str
    spec: Obj


class Agent(NamedTuple):
    """The add-on that the pods belong to. ``strict``: by the rules of that profile."""

    addon: str
    registrations: tuple[Registration, ...]
    values: Values
    strict: bool


def ca_config_map(addon: str) -> str:
    """The name of the ConfigMap that holds the proxy's certificates."""
    return f"{addon}-proxy-ca"


def decorate(pod: Pod, agent: Agent) -> None:
    """Add to the pod all that its agent needs. Raises: Unrenderable."""
    values = agent.values
    for name, value in values.presets:
        _env(pod, agent, name, value)
    for mount, volume in _secrets(agent):
        _mount(pod, agent, mount, volume)
    _place(pod, agent)
    needed(values, "__REGISTRIES")
    for container in _containers(pod, agent):
        image = container.get("image")
        if values.registries and (not agent.strict or image):
            container["image"] = _pulled_from(image or "", values.registries, strict=agent.strict)
    _through_proxy(pod, agent, values.proxy)
    needed(values, "__RESOURCE_REQUIREMENTS")
    for container in _containers(pod, agent):
        _resources(pod, agent, container)


def uses_ca(proxy: Proxy) -> bool:
    """Whether pods mount the proxy's certificates."""
    return bool(proxy.ca_bundle) and any((proxy.http, proxy.https, proxy.none))


def _containers(pod: Pod, agent: Agent) -> Iterator[Obj]:
    for field in ("containers", "initContainers") if agent.strict else ("containers",):
        yield from pod.spec.get(field) or ()


# -- environment and volumes ---------------------------------------------------------------------


def _env(pod: Pod, agent: Agent, name: str, value: str) -> None:
    for container in _containers(pod, agent):
        entry: Obj = {"name": name, "value": value} if value else {"name": name}
        listed = list(container.get("env") or ())
        same = [i for i, item in enumerate(listed) if item.get("name") == name]
        if agent.strict and same:
            listed[same[0]] = entry
            listed = [item for i, item in enumerate(listed) if i not in same[1:]]
        else:
            listed.append(entry)
        container["env"] = listed


def _mount(pod: Pod, agent: Agent, mount: Obj, volume: Obj) -> None:
    for container in _containers(pod, agent):
        where = f"{pod.resource} {pod.name}, container {container.get('name')}"
        _put(container, "volumeMounts", mount, "mountPath", where=where, agent=agent)
    _put(pod.spec, "volumes", volume, "name", where=f"{pod.resource} {pod.name}", agent=agent)


def _put(holder: Obj, field: str, item: Obj, key: str, *, where: str, agent: Agent) -> None:
    listed: list[Any] = list(holder.get(field) or ())
    same = [other for other in listed if other.get(key) == item[key]] if agent.strict else []
    if any(other != item for other in same):
        raise Unrenderable(f"{where}: {field} has another {item[key]} already; rename one of them")
    if not same:
        listed.append(item)
    holder[field] = listed


def _secrets(agent: Agent) -> Iterator[tuple[Obj, Obj]]:
    """The mount and volume for each registration."""
    for kind, signer in agent.registrations:
        if kind == "KubeClient":
            name, path = "hub-kubeconfig", "/managed/hub-kubeconfig"
            secret = f"{agent.addon}-hub-kubeconfig"
        elif kind != "CustomSigner":
            continue
        elif signer is None:
            raise Unrenderable("custom signer is nil")
        else:
            dashed = signer.replace("/", "-")
            name, path = f"cert-{dashed.replace('.', '-')}", f"/managed/{dashed}"
            secret = f"{agent.addon}-{dashed}-client-cert"
        if agent.strict and len(name) > _LONGEST_NAME:
            raise Unrenderable(
                f"registration: the signer's name makes a volume name of {len(name)} characters, "
                f"at most {_LONGEST_NAME} are allowed: {signer}"
            )
        yield (
            {"name": name, "mountPath": path},
            {"name": name, "secret": {"secretName": secret}},
        )


def _through_proxy(pod: Pod, agent: Agent, proxy: Proxy) -> None:
    names = (("HTTP_PROXY", proxy.http), ("HTTPS_PROXY", proxy.https), ("NO_PROXY", proxy.none))
    if not any(value for _, value in names):
        return
    for name, value in names:
        if value:
            _env(pod, agent, name, value)
            _env(pod, agent, name.lower(), value)
    if proxy.ca_bundle:
        _env(pod, agent, "CA_BUNDLE_FILE_PATH", f"{_CA_PATH}/{CA_FILE}")
        mount = {"name": _CA_VOLUME, "mountPath": _CA_PATH}
        source = {"name": ca_config_map(agent.addon)}
        _mount(pod, agent, mount, {"name": _CA_VOLUME, "configMap": source})


# -- nodes and resources -------------------------------------------------------------------------


def _place(pod: Pod, agent: Agent) -> None:
    needed(agent.values, "__NODE_PLACEMENT")
    placement = agent.values.node_placement or {}
    selector, tolerations = placement.get("nodeSelector"), placement.get("tolerations")
    if selector is not None:
        pod.spec["nodeSelector"] = selector
    if tolerations is not None and (agent.strict or selector is not None):
        pod.spec["tolerations"] = tolerations
    elif selector is not None:
        pod.spec.pop("tolerations", None)


def _resources(pod: Pod, agent: Agent, container: Obj) -> None:
    """The last requirement that matches replaces the container's resources as a whole."""
    own = (pod.resource, pod.name, str(container.get("name") or ""))
    for wanted, resources in agent.values.requirements:
        if (_is_meant if agent.strict else _matches_as_ocm)(wanted, own):
            container["resources"] = resources


def _is_meant(wanted: str, own: Iterable[str]) -> bool:
    """Whether a containerID names the container: part by part, and ``*`` matches any text."""
    return all(
        _pattern(".*".join(re2.escape(piece) for piece in part.split("*"))).fullmatch(text)
        for part, text in zip(wanted.split(":"), own, strict=True)
    )


def _matches_as_ocm(wanted: str, own: Iterable[str]) -> bool:
    """The rule of OCM: the parts are a regular expression; one that is not valid matches nothing."""
    pattern = ":".join(".+" if part == "*" else part for part in wanted.split(":"))
    try:
        return _pattern(f"^{pattern}$").search(":".join(own)) is not None
    except re2.error:
        return False


@lru_cache(maxsize=1024)
def _pattern(text: str) -> Any:
    """People write the expression; RE2 needs time linear in the text for any. Raises: re2.error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return re2.compile(text, options=options)


# -- images ----------------------------------------------------------------------------------------


def _pulled_from(image: str, registries: Iterable[RegistryMirror], *, strict: bool) -> str:
    """The image, from the registry that mirrors it.

    In ``strict`` the longest source that ends at a boundary of the name counts, and an empty mirror
    is ignored. OCM takes the last registry that changes the name.
    """
    if strict:
        return _longest(image, registries)
    pulled = image
    for source, mirror in registries:
        found = _mirrored(image, source.removesuffix("/"), mirror.removesuffix("/"))
        if found != image:
            pulled = found
    return pulled


def _mirrored(image: str, source: str, mirror: str) -> str:
    if not source:
        last = image.rpartition("/")[2]
        return f"{mirror}/{last}" if mirror else last
    return mirror + image[len(source) :] if image.startswith(source) else image


def _longest(image: str, registries: Iterable[RegistryMirror]) -> str:
    found: tuple[str, str] | None = None
    for source, mirror in registries:
        short, to = source.rstrip("/"), mirror.rstrip("/")
        rest = image[len(short) :]
        matches = image.startswith(short) and rest[:1] in _BOUNDARIES
        if to and image and (not short or matches):
            found = (short, to) if found is None or len(short) >= len(found[0]) else found
    return image if found is None else _mirrored(image, *found)
