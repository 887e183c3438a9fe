"""What would the API server have filled in? CRD defaults, applied to a copy.

A default is filled in only inside an object that is there: ``progressive: {}`` gets its fields, an
absent ``progressive`` stays absent. Source: OCM placement spec 1; structural-schema defaulting.
"""

import copy
from functools import cache
from typing import Any

from rollout.api.shapes import SHAPES
from rollout.api.shapes.base import Shape, shape_inside
from rollout.model.kinds import KINDS, Obj

_ABSENT = object()


def with_defaults(obj: Obj) -> Obj:
    """The object with the defaults of its kind's CRD; itself where there is nothing to fill in.

    Shares with its input all that it does not change: unknown fields, manifests. An object of an
    unknown kind or version, and any part of unexpected shape, is left as it is.
    """
    kind = KINDS.get(str(obj.get("kind")))
    shape = SHAPES.get(kind.name) if kind else None
    if kind is None or shape is None or obj.get("apiVersion") != kind.api_version:
        return obj
    filled: Obj = _filled(shape, obj)
    return filled


def _filled(shape: type[Shape], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    changes: Obj = {}
    for name, (default, inner, many) in _fields(shape).items():
        old = value.get(name)
        new = copy.deepcopy(default) if old is None and default is not _ABSENT else old
        if inner is not None:
            new = _filled_list(inner, new) if many else _filled(inner, new)
        if new is not old:
            changes[name] = new
    return {**value, **changes} if changes else value


def _filled_list(shape: type[Shape], value: Any) -> Any:
    if not isinstance(value, list):
        return value
    filled = [_filled(shape, item) for item in value]
    same = all(new is old for new, old in zip(filled, value, strict=True))
    return value if same else filled


@cache
def _fields(shape: type[Shape]) -> dict[str, tuple[Any, type[Shape] | None, bool]]:
    """Wire name to (default, shape of what is inside, whether that is a list)."""
    found: dict[str, tuple[Any, type[Shape] | None, bool]] = {}
    for name, field in shape.model_fields.items():
        extra = field.json_schema_extra
        default = extra.get("default", _ABSENT) if isinstance(extra, dict) else _ABSENT
        if default is _ABSENT and not field.is_required() and field.default is not None:
            default = field.default
        inner, many = shape_inside(field.annotation)
        if default is not _ABSENT or inner is not None:
            found[field.alias or name] = (default, inner, many)
    return found
