"""The normal form of a ManifestWork spec, and its hash.

Two specs mean the same when they differ only in what an API server or a typed client adds on the
way: defaults of the CRD, empty lists and strings that a Go client writes out, the null
creationTimestamp of an embedded object, the order of keys. Inside a manifest every other value
counts. Source: OCM ManifestWork spec 1.1 and 4.5.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeGuard

from rollout.model.kinds import Obj

_HEX_DIGITS = 16
"""64 bits: two of 100,000 templates meet with a chance below 1e-9, and the text fits in a label."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode

_TIMESTAMP = "creationTimestamp"

_FieldRule = Callable[[Any], Any]


def content_hash(spec: Obj) -> str:
    """SHA-256 of the normal form's JSON, in hex, cut to 16 characters.

    Raises: RecursionError for a spec nested hundreds of levels deep, TypeError for one that is
    no JSON; neither can come from a JSON parser.
    """
    return json_hash(normal_spec(spec))


def json_hash(value: Any) -> str:
    """SHA-256 of any JSON, its keys in order, cut as `content_hash` is. Raises: as that."""
    return hashlib.sha256(_encode(value).encode("ascii")).hexdigest()[:_HEX_DIGITS]


def normal_spec(spec: Obj) -> Obj:
    """A spec (or manifestWorkTemplate) with defaults filled in and empty values left out.

    Shares what it does not change with its input, above all the manifests. What has an unexpected
    shape is kept as it is.
    """
    shaped: Obj = _shaped(spec, _SPEC, {})
    return shaped


def _shaped(value: Any, rules: dict[str, _FieldRule], defaults: Obj) -> Any:
    """``value`` with each known field normalised; a field that is then empty falls to its default."""
    if not isinstance(value, dict):
        return value
    shaped: Obj = dict(defaults)
    for name, field in value.items():
        rule = rules.get(name)
        kept = field if rule is None else rule(field)
        if kept is not None or rule is None:
            shaped[name] = kept
    return shaped


def _scalar(value: Any) -> Any:
    return None if value == "" else value


def _listed(value: Any) -> Any:
    return value or None


def _list_of(rule: _FieldRule) -> _FieldRule:
    def listed(value: Any) -> Any:
        return (
            [rule(item) for item in value] if isinstance(value, list) and value else value or None
        )

    return listed


def _shape(rules: dict[str, _FieldRule], defaults: Obj | None = None) -> _FieldRule:
    """An object that means something by being there, even empty."""
    filled = defaults or {}
    return lambda value: None if value is None else _shaped(value, rules, filled)


def _unless_empty(rule: _FieldRule) -> _FieldRule:
    """An object that a Go client always writes: empty is the same as absent."""
    return lambda value: rule(value) or None


def _manifest(manifest: Any) -> Any:
    """Without ``metadata.creationTimestamp: null``, there and in ``spec.template``."""
    if not isinstance(manifest, dict):
        return manifest
    changes: Obj = {}
    if _has_null_timestamp(manifest):
        changes["metadata"] = _without_timestamp(manifest)
    spec = manifest.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and _has_null_timestamp(template):
        changes["spec"] = {
            **spec,
            "template": {**template, "metadata": _without_timestamp(template)},
        }
    return {**manifest, **changes} if changes else manifest


def _has_null_timestamp(holder: Any) -> TypeGuard[Obj]:
    metadata = holder.get("metadata") if isinstance(holder, dict) else None
    return isinstance(metadata, dict) and metadata.get(_TIMESTAMP, "") is None


def _without_timestamp(holder: Obj) -> Obj:
    return {name: value for name, value in holder["metadata"].items() if name != _TIMESTAMP}


_IDENTIFIER: dict[str, _FieldRule] = dict.fromkeys(
    ("group", "resource", "name", "namespace"), _scalar
)
_IGNORED = _shape(
    {
        "condition": _scalar,
        "jsonPaths": _listed,
        "jsonPointers": _listed,
        "jqPathExpressions": _listed,
    },
    {"condition": "OnSpokePresent"},
)
_SERVER_SIDE = _shape(
    {"force": lambda value: value, "fieldManager": _scalar, "ignoreFields": _list_of(_IGNORED)},
    {"force": False, "fieldManager": "work-agent"},
)
_UPDATE = _shape({"type": _scalar, "serverSideApply": _SERVER_SIDE}, {"type": "Update"})
_JSON_PATH = _shape({"name": _scalar, "path": _scalar, "version": _scalar})
_CONFIG = _shape(
    {
        "resourceIdentifier": _shape(_IDENTIFIER),
        "feedbackRules": _list_of(_shape({"type": _scalar, "jsonPaths": _list_of(_JSON_PATH)})),
        "feedbackScrapeType": _scalar,
        "updateStrategy": _UPDATE,
        "conditionRules": _list_of(
            _shape(
                {
                    "condition": _scalar,
                    "type": _scalar,
                    "celExpressions": _listed,
                    "message": _scalar,
                    "messageExpression": _scalar,
                }
            )
        ),
    },
    {"feedbackScrapeType": "Poll"},
)
_ORPHANS = _shape({"orphaningRules": _list_of(_shape(_IDENTIFIER))})
_SPEC: dict[str, _FieldRule] = {
    "workload": _unless_empty(_shape({"manifests": _list_of(_manifest)})),
    "deleteOption": _shape(
        {
            "propagationPolicy": _scalar,
            "selectivelyOrphans": _ORPHANS,
            "ttlSecondsAfterFinished": lambda value: value,
        },
        {"propagationPolicy": "Foreground"},
    ),
    "manifestConfigs": _list_of(_CONFIG),
    "executor": _shape(
        {
            "subject": _shape(
                {
                    "type": _scalar,
                    "serviceAccount": _shape({"namespace": _scalar, "name": _scalar}),
                }
            )
        }
    ),
}
