"""Templates in tests: an AddOnTemplate, its configuration and works in a few words, and one pass."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rollout.api.addon_template import decode_agent_work, decode_deployment_config, decode_template
from rollout.api.decoding import decode
from rollout.model import names
from rollout.model.addon import ClusterAddOn, ConfigRef
from rollout.model.addon_template import AddOnTemplate, DeploymentConfig
from rollout.model.kinds import MANAGED_CLUSTER_ADDON, MANIFEST_WORK, Obj
from rollout.model.writes import Create, Patch
from rollout.planning.templates.deploy import DeployInput, DeployWrites, deploy
from rollout.planning.templates.render import rendered

GROUP = "addon.open-cluster-management.io"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOOK = {f"{GROUP}/addon-pre-delete": ""}
ROLLOUT_RECORD: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cm", "namespace": "app"},
    "data": {"k": "v"},
}


def workload(kind: str = "Deployment", name: str = "agent", **spec: Any) -> Obj:
    """A workload with one container of image quay.io/ocm/agent:1."""
    containers = [{"name": "agent", "image": "quay.io/ocm/agent:1"}]
    template = {"spec": {"containers": containers, **spec.pop("pod", {})}}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "app"},
        "spec": {**spec, "template": template},
    }


def config_map(name: str = "cm", namespace: str = "app", **data: str) -> Obj:
    return {**ROLLOUT_RECORD, "metadata": {"name": name, "namespace": namespace}, "data": data}


def hook(kind: str = "Job") -> Obj:
    """What runs before the add-on goes."""
    obj = workload(kind, "cleanup")
    return {**obj, "metadata": {**obj["metadata"], "annotations": HOOK}}


def template(*manifests: Obj, registration: Any = None, **agent: Any) -> Obj:
    spec: Obj = {
        "addonName": "hello",
        "agentSpec": {"workload": {"manifests": list(manifests)}, **agent},
    }
    if registration is not None:
        spec["registration"] = registration
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "AddOnTemplate",
        "metadata": {"name": "tpl"},
        "spec": spec,
    }


def settings(**spec: Any) -> Obj:
    """An AddOnDeploymentConfig."""
    return {"metadata": {"name": "adc", "namespace": "cfg"}, "spec": spec}


def variables(**values: str) -> Obj:
    """An AddOnDeploymentConfig of variables."""
    return settings(customizedVariables=[{"name": k, "value": v} for k, v in values.items()])


def condition(kind: str, status: str = "True", **more: Any) -> Obj:
    return {
        "type": kind,
        "status": status,
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "2026-06-01T11:00:00Z",
        **more,
    }


def cluster_addon(
    *configs: str,
    conditions: Sequence[Obj] = (),
    configured: bool = True,
    deleting: bool = False,
    finalizers: Sequence[str] = (),
    annotations: Obj | None = None,
) -> Obj:
    """A registered ManagedClusterAddOn that uses the template and these configurations."""
    meta: Obj = {
        "name": "hello",
        "namespace": "c1",
        "uid": "u1",
        "resourceVersion": "7",
        "finalizers": list(finalizers),
        "annotations": annotations or {},
    }
    if deleting:
        meta["deletionTimestamp"] = "2026-06-01T11:30:00Z"
    references: list[Obj] = [
        {
            "group": GROUP,
            "resource": "addontemplates",
            "desiredConfig": {"name": "tpl", "specHash": "h"},
        }
    ]
    references += [
        {
            "group": GROUP,
            "resource": "addondeploymentconfigs",
            "desiredConfig": {"namespace": "cfg", "name": name, "specHash": "h"},
        }
        for name in configs
    ]
    standard = [
        condition(names.REGISTRATION_APPLIED),
        condition(names.CONFIGURED, "True" if configured else "False"),
    ]
    status = {"configReferences": references, "conditions": [*standard, *conditions]}
    return {"metadata": meta, "spec": {}, "status": status}


class World:
    """One cluster's add-on and the objects that it is made of."""

    def __init__(
        self, template: Obj | None, *configs: Obj, addon: Obj | None = None, registries: str = ""
    ) -> None:
        self._template = template
        self._configs = {c["metadata"]["name"]: c for c in configs}
        self._registries = registries
        found = decode(MANAGED_CLUSTER_ADDON, addon or cluster_addon(*self._configs))
        assert isinstance(found, ClusterAddOn)
        self.addon = found

    def template(self, name: str) -> AddOnTemplate | None:
        return decode_template(self._template) if self._template and name == "tpl" else None

    def deployment_config(self, ref: ConfigRef) -> DeploymentConfig | None:
        obj = self._configs.get(ref.name)
        return decode_deployment_config(obj) if obj else None

    def registries(self, cluster: str) -> str:
        return self._registries

    def objects(self, *, strict: bool = True) -> list[Obj]:
        """What is rendered."""
        return list(rendered(self.addon, self, strict=strict).objects)

    def deploy(self, *works: Obj, strict: bool = True, **more: Any) -> DeployWrites:
        """One pass."""
        subject = DeployInput(
            addon=self.addon,
            works=[decode_agent_work(work) for work in works],
            sources=self,
            strict=strict,
            **more,
        )
        return deploy(subject, NOW)


def told(outcome: DeployWrites) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of each condition that a pass leaves behind."""
    return {
        c["type"]: (c["status"], c["reason"], c["message"])
        for c in outcome.status.get("conditions") or ()
    }


def specs(outcome: DeployWrites) -> dict[str, Obj]:
    """The specs that works get, by name; a patch shows what it changes."""
    found: dict[str, Obj] = {}
    for write in outcome.works:
        if isinstance(write, Create):
            found[write.ref.name] = write.obj["spec"]
        elif isinstance(write, Patch):
            found[write.ref.name] = write.changes.get("spec", {})
    return found


def contents(outcome: DeployWrites) -> dict[str, list[str]]:
    """Names of the manifests in each work that is written."""
    return {
        name: [m["metadata"]["name"] for m in spec["workload"]["manifests"]]
        for name, spec in specs(outcome).items()
        if "workload" in spec
    }


def work(
    *manifests: Obj,
    name: str = "addon-hello-deploy-0",
    conditions: Sequence[Obj] = (),
    feedback: Sequence[Obj] = (),
) -> Obj:
    """A work of the add-on with what its agent tells."""
    return {
        "apiVersion": MANIFEST_WORK.api_version,
        "kind": MANIFEST_WORK.name,
        "metadata": {
            "name": name,
            "namespace": "c1",
            "uid": f"uid-{name}",
            "generation": 1,
            "resourceVersion": "9",
            "labels": {names.ADDON_NAME_LABEL: "hello"},
        },
        "spec": {"workload": {"manifests": list(manifests)}},
        "status": {
            "conditions": list(conditions),
            "resourceStatus": {"manifests": list(feedback)},
        },
    }


APPLIED = condition(names.APPLIED, observedGeneration=1)
THERE = condition(names.AVAILABLE, observedGeneration=1)


def tells(resource: str, name: str, **values: object) -> Obj:
    """Feedback of an object in namespace app."""
    group = {"deployments": "apps", "daemonsets": "apps", "jobs": "batch"}[resource]
    return {
        "resourceMeta": {"group": group, "resource": resource, "namespace": "app", "name": name},
        "statusFeedback": {
            "values": [
                {
                    "name": key,
                    "fieldValue": {"type": "Integer", "integer": value}
                    if isinstance(value, int)
                    else {"type": "String", "string": value},
                }
                for key, value in values.items()
            ]
        },
    }
