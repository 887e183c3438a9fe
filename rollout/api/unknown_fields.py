"""Which fields of this object has its kind not got? What is misspelt would be ignored, limits and all.

This is asked of what people hand in, never of what is stored: others may write fields there that we
have not heard of, and those are kept. Metadata, statuses and what is free in form (manifests, say) are
not looked into.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from rollout.api.shapes import SHAPES
from rollout.api.shapes.base import Shape, shape_inside
from rollout.api.validation import kind_of
from rollout.model.kinds import Obj
from rollout.model.spelling import nearest

_NOT_LOOKED_INTO = frozenset({"metadata", "status"})


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that is not there in its kind, and the fields that are, where it stands."""

    path: str
    known: tuple[str, ...]

    @property
    def fault(self) -> str:
        return "there is no such field"

    @property
    def remedy(self) -> str:
        meant = nearest(self.path.rpartition(".")[2], self.known)
        return f"did you mean {meant}?" if meant else f"accepted here: {', '.join(self.known)}"

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}; {self.remedy}"


def unknown_fields(obj: Obj) -> list[UnknownField]:
    """Every field that the kind has not got, in the order they are written in.

    An object of a kind without a model here (ConfigMap, Lease) is not looked into.
    """
    kind, _ = kind_of(obj)
    shape = SHAPES.get(kind.name) if kind is not None else None
    if shape is None:
        return []
    written = {name: value for name, value in obj.items() if name not in _NOT_LOOKED_INTO}
    return list(_unknown(shape, written, ""))


def _unknown(shape: type[Shape], value: Any, at: str) -> Iterator[UnknownField]:
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown(shape, item, f"{at}[{i}]")
    if not isinstance(value, dict):
        return
    known = _fields(shape)
    for name, inner in value.items():
        path = f"{at}.{name}" if at else name
        if name not in known:
            yield UnknownField(path, tuple(known))
            continue
        found = known[name]
        if found is not None:
            yield from _unknown(found, inner, path)


@cache
def _fields(shape: type[Shape]) -> dict[str, type[Shape] | None]:
    """The fields as they are written, each with the shape of what is inside (None: free in form)."""
    return {
        field.alias or name: shape_inside(field.annotation)[0]
        for name, field in shape.model_fields.items()
    }
