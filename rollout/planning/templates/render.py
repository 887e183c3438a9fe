"""Renders an AddOnTemplate for one cluster.

The manifests in their order, with placeholders replaced, pods completed and the namespace set; last
the proxy's certificates. Any error ends the rendering. Source: OCM add-on template spec 1.1 and 2,
semantics rows T5 to T10, T21, T25.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from rollout.model.addon import ClusterAddOn, Config, ConfigRef, Resource
from rollout.model.addon_template import (
    DEPLOYMENT_CONFIGS,
    TEMPLATES,
    AddOnTemplate,
    DeploymentConfig,
)
from rollout.model.kinds import Obj
from rollout.planning.templates import Unrenderable
from rollout.planning.templates.pods import CA_FILE, Agent, Pod, ca_config_map, decorate, uses_ca
from rollout.planning.templates.typed import POD_TEMPLATE, WORKLOAD, complete, mismatch
from rollout.planning.templates.values import (
    Values,
    in_text,
    in_tree,
    merged,
    registries_of,
    values_of,
)

DEFAULT_NAMESPACE = "open-cluster-management-agent-addon"
WORKLOADS = {"Deployment": "deployments", "DaemonSet": "daemonsets"}
_OTHERS = {
    ("apps", "StatefulSet"): "statefulsets",
    ("apps", "ReplicaSet"): "replicasets",
    ("batch", "Job"): "jobs",
    ("batch", "CronJob"): "cronjobs",
    ("", "Pod"): "pods",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The objects in their order; ``workloads`` are those among them that have a health check."""

    objects: tuple[Obj, ...]
    workloads: tuple[Obj, ...]
    values: Values


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
    """The objects of an add-on on its cluster. Raises: Unrenderable."""
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


def render(template: AddOnTemplate, values: Values, addon: str, *, strict: bool) -> Rendered:
    """The objects of a template, filled with the values of one cluster. Raises: Unrenderable."""
    agent = Agent(addon, template.registrations or (), values, strict)
    objects: list[Obj] = []
    workloads: list[Obj] = []
    for index, manifest in enumerate(template.manifests):
        where = described(manifest, index)
        obj = _filled(manifest, where, agent)
        if _decorated(obj, agent, where):
            workloads.append(obj)
        move(obj, values.namespace)
        objects.append(obj)
    objects += _certificates(agent, objects)
    if strict:
        _refuse_collisions(objects)
    return Rendered(objects=tuple(objects), workloads=tuple(workloads), values=values)


def described(manifest: Obj, index: int) -> str:
    """A manifest as error messages name it."""
    name = (manifest.get("metadata") or {}).get("name") if _has_meta(manifest) else ""
    return f"manifest {index}, {manifest.get('kind') or 'without kind'} {name or ''}".rstrip()


def _has_meta(obj: Obj) -> bool:
    return isinstance(obj.get("metadata"), dict)


def _filled(manifest: Obj, where: str, agent: Agent) -> Obj:
    if not agent.strict:
        return in_text(manifest, agent.values.public)
    obj = in_tree(manifest, agent.values.public, where)
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            raise Unrenderable(f"{where}: {field} is missing")
    return obj


def group_of(obj: Obj) -> str:
    """The API group of an object."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0]


def name_of(obj: Obj) -> tuple[str, str]:
    """Namespace and name of an object, "" where it has none."""
    meta = obj.get("metadata") if _has_meta(obj) else None
    found = meta or {}
    return str(found.get("namespace") or ""), str(found.get("name") or "")


# -- pods ----------------------------------------------------------------------------------------


def _decorated(obj: Obj, agent: Agent, where: str) -> bool:
    """Complete the pods of an object. Returns whether it is a workload with a health check."""
    kind, group = obj.get("kind"), group_of(obj)
    if group == "apps" and kind in WORKLOADS:
        fault = mismatch(obj, WORKLOAD)
        if fault and not agent.strict:
            return False
        if fault:
            raise Unrenderable(f"{where}: {fault}, which no {kind} can have there")
        complete(obj)
        pod = obj["spec"]["template"]["spec"]
        decorate(Pod(WORKLOADS[str(kind)], name_of(obj)[1], pod), agent)
        return True
    resource = _OTHERS.get((group, str(kind))) if agent.strict else None
    template = _template_of(obj, str(kind)) if resource else None
    if resource and template is not None and isinstance(template.get("spec"), dict):
        fault = mismatch(template, POD_TEMPLATE)
        if fault:
            raise Unrenderable(f"{where}: {fault}, which no pod can have there")
        decorate(Pod(resource, name_of(obj)[1], template["spec"]), agent)
    return False


def _template_of(obj: Obj, kind: str) -> Obj | None:
    if kind == "Pod":
        return obj
    found: Any = obj
    for field in ("spec", "jobTemplate", "spec", "template")[0 if kind == "CronJob" else 2 :]:
        found = found.get(field) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


# -- namespaces ----------------------------------------------------------------------------------


def move(obj: Obj, namespace: str) -> None:
    """Move an object into the namespace of the agents; nothing where ``namespace`` is empty."""
    if not namespace:
        return
    meta = obj.get("metadata")
    if isinstance(meta, dict) and meta.get("namespace"):
        meta["namespace"] = namespace
    kind = obj.get("kind")
    if kind == "Namespace":
        if not isinstance(meta, dict):
            meta = obj["metadata"] = {}
        meta["name"] = namespace
    if kind in ("ClusterRoleBinding", "RoleBinding"):
        if "subjects" not in obj:
            raise Unrenderable("failed to find field subjects")
        for subject in obj["subjects"] or ():
            if isinstance(subject, dict):
                subject["namespace"] = namespace


def _refuse_collisions(objects: list[Obj]) -> None:
    """Refuse two manifests that are the same object on the cluster (row T6)."""
    seen: dict[tuple[str, str, str, str], int] = {}
    for index, obj in enumerate(objects):
        identity = (group_of(obj), str(obj.get("kind")), *name_of(obj))
        before = seen.setdefault(identity, index)
        if before != index:
            _, kind, namespace, name = identity
            raise Unrenderable(
                f"manifests {before} and {index} are both {kind} {namespace}/{name} on the cluster; "
                "rename one, or leave agentInstallNamespace out"
            )


# -- the proxy's certificates --------------------------------------------------------------------


def _certificates(agent: Agent, objects: list[Obj]) -> Iterator[Obj]:
    proxy = agent.values.proxy
    if not proxy.ca_bundle:
        return
    try:
        bundle = base64.b64decode(proxy.ca_bundle, validate=True).decode()
    except ValueError:
        raise Unrenderable("proxyConfig.caBundle: want base64 of a text") from None
    if not agent.strict:
        yield _config_map(agent.addon, agent.values.namespace or DEFAULT_NAMESPACE, bundle)
        return
    if uses_ca(proxy):
        kinds = {("apps", kind) for kind in WORKLOADS} | _OTHERS.keys()
        used = {
            name_of(obj)[0] or "default"
            for obj in objects
            if (group_of(obj), str(obj["kind"])) in kinds
        }
        yield from (_config_map(agent.addon, namespace, bundle) for namespace in sorted(used))


def _config_map(addon: str, namespace: str, bundle: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ca_config_map(addon), "namespace": namespace},
        "data": {CA_FILE: bundle},
    }
