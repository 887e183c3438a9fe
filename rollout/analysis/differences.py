"""What changes in the manifests of one cluster? A unified diff of YAML that shows no Secret's data."""

import difflib
from collections.abc import Mapping
from typing import Any

import yaml

from rollout.model.kinds import Obj

MASK = "***"
BEFORE, AFTER = "*** (before)", "*** (after)"
_SECRET_FIELDS = ("data", "stringData")
_COPIES = ("kubectl.kubernetes.io/last-applied-configuration", "rollout-engine.io/last-applied")
"""Annotations that hold a whole object once more."""


def manifest_diff(
    old: Obj | None, new: Obj | None, names: tuple[str, str], *, show_secrets: bool = False
) -> str:
    """The unified diff from one ManifestWork spec to another; "" where they read the same.

    Values of a Secret, wherever it is nested, are `MASK`; where a value changes, that it does is
    still seen. None is the spec of a cluster that has no work.
    """
    before, after = old or {}, new or {}
    if not show_secrets:
        before, after = masked(before, after)
    lines = difflib.unified_diff(
        _yaml(before).splitlines(), _yaml(after).splitlines(), *names, lineterm=""
    )
    return "\n".join(lines)


def _yaml(value: Obj) -> str:
    if not value:
        return ""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )
    return text


def masked(old: Any, new: Any) -> tuple[Any, Any]:
    """Two values side by side without the data of Secrets. Manifests are paired by what they are."""
    if isinstance(old, dict) or isinstance(new, dict):
        return _masked_objects(old, new)
    if isinstance(old, list) or isinstance(new, list):
        olds, news = _list(old), _list(new)
        partner = {_identity(item): item for item in news}
        other = {_identity(item): item for item in olds}
        return (
            [masked(item, partner.get(_identity(item)))[0] for item in olds] if olds else old,
            [masked(other.get(_identity(item)), item)[1] for item in news] if news else new,
        )
    return old, new


def _masked_objects(old: Any, new: Any) -> tuple[Any, Any]:
    before, after = _dict(old), _dict(new)
    secret = "Secret" in (before.get("kind"), after.get("kind"))
    pairs: dict[str, tuple[Any, Any]] = {}
    for key in before.keys() | after.keys():
        a, b = before.get(key), after.get(key)
        if secret and key in _SECRET_FIELDS:
            pairs[key] = _masked_values(_dict(a), _dict(b))
        elif key in _COPIES:
            pairs[key] = _mask(a, b)
        else:
            pairs[key] = masked(a, b)
    return (
        {key: pairs[key][0] for key in before} if isinstance(old, dict) else old,
        {key: pairs[key][1] for key in after} if isinstance(new, dict) else new,
    )


def _masked_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Obj, Obj]:
    pairs = {key: _mask(old.get(key), new.get(key)) for key in old.keys() | new.keys()}
    return {key: pairs[key][0] for key in old}, {key: pairs[key][1] for key in new}


def _mask(old: Any, new: Any) -> tuple[str, str]:
    both = old is not None and new is not None
    return (BEFORE, AFTER) if both and old != new else (MASK, MASK)


def _identity(item: Any) -> object:
    """What pairs the items of two lists: for objects, kind and name; else nothing pairs."""
    if not isinstance(item, dict):
        return id(item)
    meta = _dict(item.get("metadata"))
    name = (meta.get("namespace"), meta.get("name"))
    return (str(item.get("apiVersion")), str(item.get("kind")), *map(str, name))


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
