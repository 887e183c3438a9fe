"""Fills in the defaults of the CRDs, in a copy of the object, as an API server would.

A default is filled in only inside an object that is there: ``progressive: {}`` gets its fields, an
absent ``progressive`` stays absent. Source: OCM placement spec 1; structural-schema defaulting.
"""

import copy
from functools import cache

from rollout.api.models import MODELS
from rollout.api.reading import ABSENT, parts_of, rebuilt
from rollout.api.wire import Shape
from rollout.model.kinds import KINDS, Obj


def with_defaults(obj: Obj) -> Obj:
    """The object with the defaults of its kind's CRD; itself where there is nothing to fill in.

    Shares with its input all that it does not change: unknown fields, manifests. An object of an
    unknown kind or version, and any part of unexpected shape, is left as it is.
    """
    kind = KINDS.get(str(obj.get("kind")))
    model = MODELS.get(kind.name) if kind else None
    if kind is None or model is None or obj.get("apiVersion") != kind.api_version:
        return obj
    if not _has_any(model):
        return obj
    filled: Obj = rebuilt(model, obj, _filled)
    return filled


@cache
def _has_any(shape: type[Shape]) -> bool:
    """Whether anything in it has a default."""
    parts = parts_of(shape).values()
    return any(p.default is not ABSENT or (p.shape and _has_any(p.shape)) for p in parts)


def _filled(shape: type[Shape], obj: Obj, _: str) -> Obj:
    missing = {
        name: copy.deepcopy(part.default)
        for name, part in parts_of(shape).items()
        if part.default is not ABSENT and obj.get(name) is None
    }
    return {**obj, **missing} if missing else obj
