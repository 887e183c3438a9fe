"""A simulated add-on manager on the embedded hub.

For each ManagedClusterAddOn it registers, renders the configurations into one ManifestWork once
`Configured` is true, and reports `ManifestApplied` and the agent's `Available`. It renders the
configuration objects of that moment, as OCM's does. The simulated work agents apply the works. It acts
at once and remembers nothing, so nothing of it is saved. Source: OCM add-on spec 2.6.
"""

import json
from collections import deque
from collections.abc import Iterable
from datetime import datetime

from rollout.api.addon import decode_addon
from rollout.api.cluster_addon import decode_cluster_addon
from rollout.api.fields import listed, mapping, text
from rollout.clock import Clock
from rollout.errors import Conflict, Gone, HubError
from rollout.hub.base import Hub
from rollout.hub.watching import ListWatch
from rollout.model import names
from rollout.model.addon import AddOn, ClusterAddOn, Config
from rollout.model.addon_template import TEMPLATES
from rollout.model.conditions import Condition, merge, read_conditions
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
    kind_by_resource,
)
from rollout.planning.templates.deploy import APPLIED, NOT_APPLIED
from rollout.rollouts.addon_configs import hashes_of

REGISTERED = Condition(
    "RegistrationApplied", "True", "SetPermissionApplied", "Registration is done"
)
_WELL = Condition(names.AVAILABLE, "True", "ProbeAvailable", "the add-on's agent is well")
_UNWELL = Condition(names.AVAILABLE, "False", "ProbeUnavailable", "the add-on's agent is not well")
_KINDS = (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)


class AddOnManager:
    """The controllers of all add-ons of one hub. Driven like `rollout.sim.agents.Agents`."""

    def __init__(self, hub: Hub, clock: Clock) -> None:
        self.notes: list[str] = []
        self._hub, self._clock = hub, clock
        self._inbox: deque[Event] = deque()
        self._watches: dict[Kind, ListWatch] = {}
        self._addons: dict[str, AddOn] = {}
        self._clusters: dict[str, ClusterAddOn] = {}
        self._works: dict[str, Obj] = {}  # of add-ons, by key
        self._broken: set[Kind] = set()

    def start(self) -> None:
        """List everything, then watch."""
        for kind in _KINDS:
            self._list(kind)

    def _list(self, kind: Kind) -> None:
        """List and watch; also after a watch broke."""
        if kind not in self._watches:
            self._watches[kind] = ListWatch(
                self._hub, kind, self._inbox.append, lambda: self._broken.add(kind)
            )
        self._inbox.extend(self._watches[kind].again())

    def next_at(self) -> datetime | None:
        """Now, where something is to be done, else None; it never waits for an instant."""
        return self._clock.now() if self._inbox or self._broken else None

    def run_due(self) -> int:
        """Act on all events so far. Returns: the number of ManagedClusterAddOns it acted on."""
        while self._broken:
            self._list(self._broken.pop())
        concerned: dict[str, None] = {}
        while self._inbox:
            concerned.update(dict.fromkeys(self._take(self._inbox.popleft())))
        if self._clusters and MANIFEST_WORK not in self._watches:
            self._list(MANIFEST_WORK)
        for key in concerned:
            try:
                self._act(key)
            except Conflict:
                continue  # what it is by now is on its way here
            except HubError as fault:
                self.notes.append(str(fault))
        return len(concerned)

    def close(self) -> None:
        """Stop watching."""
        for watch in self._watches.values():
            watch.end()
        self._watches.clear()

    # Seeing

    def _take(self, event: Event) -> Iterable[str]:
        """Keys of the ManagedClusterAddOns that an event concerns."""
        gone, key = event.change is Change.DELETED, event.ref.key
        if event.ref.kind is MANAGED_CLUSTER_ADDON:
            if gone:
                self._clusters.pop(key, None)
                return ()
            self._clusters[key] = decode_cluster_addon(event.obj, self._clusters.get(key))
            return (key,)
        if event.ref.kind is MANIFEST_WORK:
            name = mapping(event.obj["metadata"].get("labels")).get(names.ADDON_NAME_LABEL)
            if not name:
                return ()
            if gone:
                self._works.pop(key, None)
            else:
                self._works[key] = event.obj
            return (f"{event.ref.namespace}/{name}",)
        if gone:
            self._addons.pop(key, None)
            return ()
        before = self._addons.get(key)
        self._addons[key] = decode_addon(event.obj, before)
        if before is not None and before.supported == self._addons[key].supported:
            return ()
        return [k for k, cluster in self._clusters.items() if cluster.name == key]

    # Acting

    def _act(self, key: str) -> None:
        cluster = self._clusters.get(key)
        addon = self._addons.get(cluster.name) if cluster else None
        if cluster is None or addon is None or cluster.deleting:
            return
        is_ours = any(ref.resource == TEMPLATES for ref in cluster.references)
        if not is_ours:
            self._deploy(cluster)
        self._report(addon, cluster, [] if is_ours else _conditions(self._work_of(cluster)))

    def _deploy(self, cluster: ClusterAddOn) -> None:
        """Write the work, where the configurations are settled and the work has other ones."""
        configured = cluster.conditions.get(names.CONFIGURED)
        hashes = hashes_of(cluster.references)
        if configured is None or not configured.is_true or not all(hashes.values()):
            return
        ref = work_ref(cluster)
        work = self._works.get(ref.key)
        told = mapping(mapping(mapping(work).get("metadata")).get("annotations"))
        if work is not None and told.get(names.CONFIG_SPEC_HASH) == _json(hashes):
            return
        annotations = {names.CONFIG_SPEC_HASH: _json(hashes)}
        spec = self._rendered(cluster)
        if work is None:
            stored = self._hub.create(ref, _new_work(cluster, ref, annotations, spec))
        else:
            changes = {"metadata": {"annotations": annotations}, "spec": spec}
            stored = self._hub.patch(ref, changes)
        self._works[ref.key] = stored

    def _work_of(self, cluster: ClusterAddOn) -> Obj | None:
        return self._works.get(work_ref(cluster).key)

    def _report(self, addon: AddOn, cluster: ClusterAddOn, health: list[Condition]) -> None:
        """Write registration, supported configurations and health, where they differ."""
        said = listed(mapping(cluster.raw.get("status")).get("conditions"))
        conditions = merge(said, [REGISTERED, *health], self._clock.now())
        changes: Obj = {} if conditions == said else {"conditions": conditions}
        if cluster.supported != addon.supported:
            changes["supportedConfigs"] = [
                {"group": resource.group, "resource": resource.resource}
                for resource in addon.supported
            ]
        if not changes:
            return
        ref = Ref(MANAGED_CLUSTER_ADDON, cluster.key)
        stored = self._hub.patch_status(ref, {"status": changes}, cluster.version)
        self._clusters[cluster.key] = decode_cluster_addon(stored, cluster)

    def _rendered(self, cluster: ClusterAddOn) -> Obj:
        """A work with the agent's Deployment; its image and variables come from configurations."""
        namespace, variables, others = "open-cluster-management-agent-addon", {}, {}
        for config in cluster.desired:
            spec = self._content(config)
            namespace = text(spec.get("agentInstallNamespace")) or namespace
            for variable in listed(spec.get("customizedVariables")):
                variables[text(variable.get("name"))] = text(variable.get("value"))
            if "customizedVariables" not in spec:
                others[str(config.ref).replace("/", ".")] = _json(spec)
        image = variables.pop("IMAGE", f"example.com/{cluster.name}:latest")
        return work_spec(cluster.name, namespace, image, variables=variables, others=others)

    def _content(self, config: Config) -> Obj:
        resource = config.ref.resource
        kind = kind_by_resource(*resource, namespaced=bool(config.ref.namespace))
        key = f"{config.ref.namespace}/{config.ref.name}".removeprefix("/")
        try:
            return mapping(self._hub.get(Ref(kind, key)).get("spec"))
        except Gone:
            return {}


def work_ref(cluster: ClusterAddOn) -> Ref:
    return Ref(MANIFEST_WORK, f"{cluster.cluster}/addon-{cluster.name}-deploy-0")


def work_spec(
    name: str, namespace: str, image: str, *, variables: dict[str, str], others: dict[str, str]
) -> Obj:
    """The agent's Deployment and, where there are other configurations, a ConfigMap of them.

    A rule tells when the agent crashes, which OCM's own readiness of works does not.
    """
    env = [{"name": key, "value": value} for key, value in sorted(variables.items())]
    meta = {"namespace": namespace, "name": f"{name}-agent"}
    deployment: Obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "agent", "image": image, "env": env}]},
            },
        },
    }
    manifests = [deployment]
    if others:
        manifests.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": others}
        )
    rule = {
        "condition": names.DEGRADED,
        "type": "CEL",
        "celExpressions": ["has(object.status.unavailableReplicas)"],
    }
    identifier = {"group": "apps", "resource": "deployments", **meta}
    return {
        "workload": {"manifests": manifests},
        "manifestConfigs": [{"resourceIdentifier": identifier, "conditionRules": [rule]}],
    }


def _new_work(cluster: ClusterAddOn, ref: Ref, annotations: Obj, spec: Obj) -> Obj:
    owner = {
        "apiVersion": MANAGED_CLUSTER_ADDON.api_version,
        "kind": MANAGED_CLUSTER_ADDON.name,
        "name": cluster.name,
        "uid": cluster.uid,
    }
    return {
        "apiVersion": MANIFEST_WORK.api_version,
        "kind": MANIFEST_WORK.name,
        "metadata": {
            "namespace": ref.namespace,
            "name": ref.name,
            "labels": {names.ADDON_NAME_LABEL: cluster.name},
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _conditions(work: Obj | None) -> list[Condition]:
    """The add-on's conditions on its work; none before the work's agent has reported this generation."""
    if work is None:
        return []
    generation = work["metadata"].get("generation")
    said = {
        kind: condition
        for kind, condition in read_conditions(
            mapping(work.get("status")).get("conditions")
        ).items()
        if condition.observed_generation == generation
    }
    applied, degraded = said.get(names.APPLIED), said.get(names.DEGRADED)
    found: list[Condition] = []
    if applied is not None:
        found.append(APPLIED if applied.is_true else NOT_APPLIED)
    there = said.get(names.AVAILABLE)
    if there is not None and applied is not None and applied.is_true:
        is_well = there.is_true and not (degraded is not None and degraded.is_true)
        found.append(_WELL if is_well else _UNWELL)
    return found


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
