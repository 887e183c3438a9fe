"""Definitions of SIG Multicluster's kinds for tests: what their authors promise, and nothing else."""

from rollout.model.inventory import SLICE_SIZE
from rollout.model.kinds import SHARED_DECISION, Kind, Obj

_TEXT: Obj = {"type": "string"}


def _object(*required: str, **properties: Obj) -> Obj:
    schema: Obj = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _listed(item: Obj, **more: int) -> Obj:
    return {"type": "array", "items": item, **more}


_REFERENCE = _object("name", name=_TEXT, namespace=_TEXT)
_DECISION = _object("clusterProfileRef", clusterProfileRef=_REFERENCE, reason=_TEXT)
_CONDITION = _object(
    "type", "status", "reason", "message", "lastTransitionTime",
    type=_TEXT,
    status={"type": "string", "enum": ["True", "False", "Unknown"]},
    reason={"type": "string", "minLength": 1},
    message=_TEXT,
    lastTransitionTime={"type": "string", "format": "date-time"},
    observedGeneration={"type": "integer"},
)  # fmt: skip
_PROPERTY = _object(
    "name", "value", name={**_TEXT, "minLength": 1}, value={**_TEXT, "minLength": 1}
)
_MANAGER = _object("name", name={**_TEXT, "minLength": 1, "maxLength": 63})

_SLICE = _object(
    "decisions", decisions=_listed(_DECISION, maxItems=SLICE_SIZE), schedulerName=_TEXT
)
_PROFILE = _object(
    "spec",
    spec=_object("clusterManager", displayName=_TEXT, clusterManager=_MANAGER),
    status=_object(
        version=_object(kubernetes=_TEXT),
        properties=_listed(_PROPERTY),
        conditions=_listed(_CONDITION),
    ),
)


def definition(kind: Kind) -> Obj:
    """The CustomResourceDefinition of one of the two kinds."""
    version: Obj = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SLICE if kind is SHARED_DECISION else _PROFILE},
    }
    if kind.has_status:
        version["subresources"] = {"status": {}}
    reviewed = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "annotations": reviewed},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "listKind": f"{kind.name}List",
            },
            "versions": [version],
        },
    }
