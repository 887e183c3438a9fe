"""Checks that the fields of a workload have the types that Kubernetes wants.

The shapes list the fields that agents commonly set; a field that they do not name is not checked. Source: Kubernetes' apps/v1 API; OCM add-on template spec 2.3, semantics row T21.
"""

from collections.abc import Iterator
from typing import Any

from rollout.model.kinds import Obj

ManifestShape = Any
"""A type, a list of one shape, a dictionary of fields, or `Each` of a map."""


class Each:
    """A map whose values all have one shape."""

    def __init__(self, shape: ManifestShape) -> None:
        self.shape = shape


_NUMBER_OR_TEXT = (int, str)
_QUANTITY = (int, float, str)
_TEXTS = Each(str)
_META = {"name": str, "namespace": str, "labels": _TEXTS, "annotations": _TEXTS}
_SELECTOR = {
    "matchLabels": _TEXTS,
    "matchExpressions": [{"key": str, "operator": str, "values": [str]}],
}
_REFERENCE = {"name": str, "key": str, "optional": bool}
_ENV = {
    "name": str,
    "value": str,
    "valueFrom": {
        "fieldRef": {"apiVersion": str, "fieldPath": str},
        "configMapKeyRef": _REFERENCE,
        "secretKeyRef": _REFERENCE,
    },
}
_HTTP = {"path": str, "port": _NUMBER_OR_TEXT, "host": str, "scheme": str}
_PROBE = {
    "httpGet": _HTTP,
    "tcpSocket": {"port": _NUMBER_OR_TEXT, "host": str},
    "exec": {"command": [str]},
    **dict.fromkeys(
        (
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ),
        int,
    ),
}
_CONTAINER = {
    **dict.fromkeys(("name", "image", "workingDir", "imagePullPolicy"), str),
    **dict.fromkeys(("stdin", "tty"), bool),
    "command": [str],
    "args": [str],
    "env": [_ENV],
    "envFrom": [{"prefix": str, "configMapRef": _REFERENCE, "secretRef": _REFERENCE}],
    "ports": [{"name": str, "protocol": str, "containerPort": int, "hostPort": int}],
    "resources": {"limits": Each(_QUANTITY), "requests": Each(_QUANTITY)},
    "volumeMounts": [{"name": str, "mountPath": str, "subPath": str, "readOnly": bool}],
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
    "securityContext": {
        "privileged": bool,
        "runAsUser": int,
        "runAsGroup": int,
        "runAsNonRoot": bool,
        "readOnlyRootFilesystem": bool,
        "allowPrivilegeEscalation": bool,
        "capabilities": {"add": [str], "drop": [str]},
    },
}
_POD = {
    **dict.fromkeys(
        (
            "serviceAccountName",
            "nodeName",
            "priorityClassName",
            "restartPolicy",
            "dnsPolicy",
            "schedulerName",
        ),
        str,
    ),
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC", "automountServiceAccountToken"), bool),
    "terminationGracePeriodSeconds": int,
    "nodeSelector": _TEXTS,
    "tolerations": [
        {"key": str, "operator": str, "value": str, "effect": str, "tolerationSeconds": int}
    ],
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "imagePullSecrets": [{"name": str}],
    "volumes": [
        {
            "name": str,
            "secret": {"secretName": str, "defaultMode": int, "optional": bool},
            "configMap": {"name": str, "defaultMode": int, "optional": bool},
            "hostPath": {"path": str, "type": str},
            "emptyDir": {"medium": str, "sizeLimit": _QUANTITY},
        }
    ],
    "securityContext": {
        "runAsUser": int,
        "runAsGroup": int,
        "runAsNonRoot": bool,
        "fsGroup": int,
    },
}
POD_TEMPLATE: ManifestShape = {"metadata": _META, "spec": _POD}
_ROLLING = {"maxSurge": _NUMBER_OR_TEXT, "maxUnavailable": _NUMBER_OR_TEXT}
_STRATEGY = {"type": str, "rollingUpdate": _ROLLING}
WORKLOAD: ManifestShape = {
    "metadata": _META,
    "spec": {
        "replicas": int,
        "minReadySeconds": int,
        "revisionHistoryLimit": int,
        "progressDeadlineSeconds": int,
        "paused": bool,
        "selector": _SELECTOR,
        "strategy": _STRATEGY,
        "updateStrategy": _STRATEGY,
        "template": POD_TEMPLATE,
    },
}


def mismatch(value: Any, shape: ManifestShape) -> str:
    """The first field of a wrong type, in words; "" where the value has the shape."""
    return next(_mismatches(value, shape, ""), "")


def _mismatches(value: Any, shape: ManifestShape, path: str) -> Iterator[str]:
    if value is None:
        return
    parts = _parts(value, shape, path)
    if parts is None:
        yield f"{path} is {value!r}"
        return
    for part, inner, at in parts:
        yield from _mismatches(part, inner, at)


def _parts(
    value: Any, shape: ManifestShape, path: str
) -> list[tuple[Any, ManifestShape, str]] | None:
    """The parts to check inside a value; None where the value has the wrong type."""
    if isinstance(shape, list) and isinstance(value, list):
        return [(item, shape[0], f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(shape, Each) and isinstance(value, dict):
        return [(item, shape.shape, f"{path}.{key}") for key, item in value.items()]
    if isinstance(shape, dict) and isinstance(value, dict):
        return [(value[k], inner, f"{path}.{k}") for k, inner in shape.items() if k in value]
    if isinstance(shape, list | Each | dict):
        return None
    fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
    return [] if fits else None


_COUNTS = dict.fromkeys(
    ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"), 0
)


def complete(workload: Obj) -> None:
    """Add the fields that a typed client always writes, so that OCM's works and ours are equal."""
    is_deployment = workload["kind"] == "Deployment"
    workload["status"] = {**({} if is_deployment else _COUNTS), **(workload.get("status") or {})}
    spec = workload.setdefault("spec", {})
    spec.setdefault("strategy" if is_deployment else "updateStrategy", {})
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    pod = template.setdefault("spec", {})
    for field in ("containers", "initContainers"):
        for container in pod.get(field) or ():
            container.setdefault("resources", {})
