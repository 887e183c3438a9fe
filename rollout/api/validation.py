"""Validates an object that somebody hands in: bad fields, unknown fields, our annotations.

All of them at once, in words for the person who wrote it. A misspelt field would be ignored by a
server, limits and all; so it is looked for here, and never in what is stored: others may write fields
there that we have not heard of, and those are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from rollout.api.fields import mapping, strings
from rollout.api.models import MODELS
from rollout.api.reading import built, parts_of, rebuilt
from rollout.api.wire import Shape
from rollout.api.words import NO_SUCH_FIELD, instead, problems_of
from rollout.model import names
from rollout.model.intents import placement_problems, read_intents
from rollout.model.kinds import (
    KINDS,
    PLACEMENT,
    WORKLOADS,
    Kind,
    Obj,
    traits_of,
)
from rollout.model.problems import Problem
from rollout.model.wording import nearest

_OUR_ANNOTATIONS = frozenset(
    value
    for value in vars(names).values()
    if isinstance(value, str) and value.startswith(names.PREFIX)
)
_NOT_LOOKED_INTO = frozenset({"metadata", "status"})
_METADATA = (
    "name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences",
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "managedFields", "selfLink",
)  # fmt: skip


def validate(obj: object) -> list[Problem]:
    """Every bad field, in the order of the paths.

    Unknown fields are allowed; `unknown_fields` finds them.

    An object of a known kind without a model here (ConfigMap, Lease) is not looked into.
    """
    if not isinstance(obj, dict):
        return [Problem("(document)", obj, "an object with apiVersion, kind, metadata and spec")]
    kind, problems = kind_of(obj)
    if kind is None or kind.name not in MODELS:
        return problems
    model = MODELS[kind.name]
    try:
        built(model).model_validate(obj)
    except ValidationError as error:
        return sorted(problems_of(error, model=model), key=_place)
    return []


def kind_of(obj: Obj) -> tuple[Kind | None, list[Problem]]:
    """The kind of an object by its kind and apiVersion, or why it is none that we know."""
    name, version = obj.get("kind"), obj.get("apiVersion")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        return None, [Problem("kind", name, _kind_accepted(name))]
    if version != kind.api_version:
        return None, [Problem("apiVersion", version, f"{kind.api_version} for {kind.name}")]
    return kind, []


def _kind_accepted(name: object) -> str:
    meant = nearest(name, KINDS) if isinstance(name, str) else ""
    if meant:
        return f"did you mean {meant}?"
    return f"one of {', '.join(MODELS)}"


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that is not there in its kind, and the fields that are, where it stands."""

    path: str
    known: tuple[str, ...]

    @property
    def fault(self) -> str:
        return NO_SUCH_FIELD

    @property
    def remedy(self) -> str:
        return instead(self.path.rpartition(".")[2], self.known)

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}; {self.remedy}"


def unknown_fields(obj: Obj) -> list[UnknownField]:
    """Every field that the kind has not got: an object's own, then those of the objects in it.

    Statuses and what is free in form (manifests, say) are not looked into, nor an object of a kind
    without a model here.
    """
    kind, _ = kind_of(obj)
    model = MODELS.get(kind.name) if kind is not None else None
    found: list[UnknownField] = []

    def look(shape: type[Shape], written: Obj, at: str) -> Obj:
        known = parts_of(shape)
        for name in written:
            if name not in known:
                path = f"{at}.{name}" if at else name
                found.append(UnknownField(path, tuple(known)))
        return written

    if model is not None:
        written = {name: value for name, value in obj.items() if name not in _NOT_LOOKED_INTO}
        rebuilt(model, written, look)
        found += [
            UnknownField(f"metadata.{name}", _METADATA)
            for name in mapping(obj.get("metadata"))
            if name not in _METADATA
        ]
    return found


def unreadable(obj: Obj) -> tuple[Problem, ...]:
    """Our annotations whose values cannot be read, on a workload or a Placement."""
    found = _annotations(obj)
    kind, _ = kind_of(obj)
    if kind in WORKLOADS:
        return read_intents(found, keeps_templates=traits_of(kind.name).keeps_templates).problems
    return placement_problems(found) if kind is PLACEMENT else ()


def unknown_annotations(obj: Obj) -> Iterator[tuple[str, str]]:
    """Annotations with our prefix that we do not know, each with the one that was meant ("": unclear).

    Nobody reads them, so what they ask for would not be done.
    """
    for name in _annotations(obj):
        if name.startswith(names.PREFIX) and name not in _OUR_ANNOTATIONS:
            word = name.removeprefix(names.PREFIX)
            meant = nearest(word, (each.removeprefix(names.PREFIX) for each in _OUR_ANNOTATIONS))
            yield name, f"{names.PREFIX}{meant}" if meant else ""


def _annotations(obj: Obj) -> dict[str, str]:
    return dict(strings(mapping(obj.get("metadata")).get("annotations")))


def template_path(kind: Kind) -> str | None:
    """Where the manifests of this kind stand; None for kinds that carry none."""
    return {"ManifestWork": "spec", "ManifestWorkReplicaSet": "spec.manifestWorkTemplate"}.get(
        kind.name
    )


def template_of(kind: Kind, obj: Obj) -> Obj:
    """The work spec that an object of this kind carries; empty where it carries none."""
    spec = mapping(obj.get("spec"))
    if kind.name == "ManifestWork":
        return spec
    return mapping(spec.get("manifestWorkTemplate"))


def _place(problem: Problem) -> list[tuple[int, str]]:
    """Sorts paths as their fields are read: indices by number."""
    parts = re.findall(r"[0-9]+|[^0-9]+", problem.path)
    return [(len(part), part) if part.isdecimal() else (-1, part) for part in parts]
