"""Reads a part of a stored object by its model: all that can be read, and what cannot.

Also the one walk over an object and its model together, for what has to look at every field.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from rollout.api.wire import MENDED, STORED, IfBad, Inside, Selecting, Shape
from rollout.api.words import Location, problems_of
from rollout.model.kinds import Obj
from rollout.model.problems import Problem

S = TypeVar("S", bound=Shape)

ABSENT: Any = object()
"""Stands for a default that there is not, and for a value that is taken out."""
_ROUNDS = 8  # leaving out a bad field hardly ever makes another one bad


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a model says of one of its fields, by the field's name on the wire.

    Attributes:
        default: what the CRD fills in; `ABSENT` where it fills in nothing.
        shape: the model of what is inside; None where that is free in form.
        many: whether it is a list of them.
        if_bad: what stands for a stored value that cannot be read; `ABSENT`: the default.
    """

    default: Any
    shape: type[Shape] | None
    many: bool
    required: bool
    if_bad: Any


@cache
def parts_of(shape: type[Shape]) -> dict[str, Described]:
    """The fields of a model, by their names on the wire."""
    return {field.alias or name: _part(field) for name, field in shape.model_fields.items()}


@cache
def built(shape: type[S]) -> type[S]:
    """The model, whose parts are built before it. pydantic builds a model when it first validates, with all
    that is inside of it; a part that is then read alone it would build a second time.
    """
    for part in parts_of(shape).values():
        if part.shape is not None:
            built(part.shape)
    shape.model_rebuild()
    return shape


def _part(field: FieldInfo) -> Described:
    extra = field.json_schema_extra
    default = extra.get("default", ABSENT) if isinstance(extra, dict) else ABSENT
    if default is ABSENT and not field.is_required() and field.default is not None:
        default = field.default
    shape, many = _inside(field.annotation, field.metadata)
    if_bad = next((m.value for m in field.metadata if isinstance(m, IfBad)), ABSENT)
    return Described(
        default=default,
        shape=shape,
        many=many,
        required=field.is_required(),
        if_bad=if_bad,
    )


def _inside(annotation: Any, metadata: Iterable[Any] = ()) -> tuple[type[Shape] | None, bool]:
    """The model that a field holds, and whether it holds a list of them."""
    for mark in metadata:
        if isinstance(mark, Inside | Selecting):
            return _inside(mark.what)
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return annotation, False
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _inside(annotation.__origin__, annotation.__metadata__)
    if get_origin(annotation) is list:
        return _inside(get_args(annotation)[0])[0], True
    found = (_inside(option) for option in get_args(annotation))
    return next((each for each in found if each[0] is not None), (None, False))


def rebuilt(
    shape: type[Shape], value: Any, change: Callable[[type[Shape], Obj, str], Obj], at: str = ""
) -> Any:
    """``value`` with every object in it that the model describes put through ``change``.

    Objects are visited from the outside in, in the order in which they are written. What is not
    changed is shared with ``value``.

    Args:
        change: gets the model of an object, the object, and its path.
    """
    if not isinstance(value, dict):
        return value
    changed = change(shape, value, at)
    known, fresh = parts_of(shape), {}
    for name, old in changed.items():
        part = known.get(name)
        if part is None or part.shape is None:
            continue
        path = f"{at}.{name}" if at else name
        if not part.many:
            new = rebuilt(part.shape, old, change, path)
        elif isinstance(old, list):
            items = [rebuilt(part.shape, o, change, f"{path}[{i}]") for i, o in enumerate(old)]
            new = old if all(map(_is, items, old)) else items
        else:
            continue
        if new is not old:
            fresh[name] = new
    return {**changed, **fresh} if fresh else changed


def _is(one: object, other: object) -> bool:
    return one is other


# -- stored parts ----------------------------------------------------------------------------------


def read(shape: type[S], raw: object, at: str) -> tuple[S | None, tuple[Problem, ...]]:
    """What a stored part says, and every field of it that cannot be honoured.

    A field that cannot be read is left out, and an entry of a list without what it must have; where
    the part itself has not got what it must have, there is no value.

    Args:
        raw: as it stands in the object; None (absent) is read as an object without fields.
        at: where it stands there, for the problems.

    Cost: one pass of pydantic; further ones only where there are problems.
    """
    left: object = {} if raw is None else raw
    try:
        return built(shape).model_validate(left, context=STORED, extra="ignore"), ()
    except ValidationError as error:
        # Only what is found now is told: later the entries of shortened lists have other numbers.
        problems, bad = tuple(problems_of(error, at, shape)), _locations(error)
    left, _ = _without(shape, left, bad)
    for _ in range(_ROUNDS):
        try:
            return shape.model_validate(left, context=MENDED, extra="ignore"), problems
        except ValidationError as error:
            left, is_less = _without(shape, left, _locations(error))
            if not is_less:
                break
    return None, problems


def read_each(
    shape: type[S], items: Iterable[object], at: str
) -> Iterator[tuple[str, S | None, tuple[Problem, ...]]]:
    """The entries of a stored list, each with its path: what it says, and what is wrong with it."""
    for i, item in enumerate(items):
        path = f"{at}[{i}]"
        if item is None:
            yield path, None, (Problem(path, None, "an object"),)
        else:
            yield path, *read(shape, item, path)


def _locations(error: ValidationError) -> list[Location]:
    """Where something is that cannot be kept."""
    return [
        each["loc"]
        for each in error.errors(include_url=False)
        if each.get("ctx", {}).get("cuts", True)
    ]


def _without(shape: type[Shape], raw: object, bad: list[Location]) -> tuple[Obj, bool]:
    """A copy without what is bad, and whether that is less; ``raw`` is not altered."""
    if not isinstance(raw, dict):
        return {}, True
    root, is_less = dict(raw), False
    copies = {id(root)}
    shortened: dict[int, list[Any]] = {}
    for location in bad:
        path, value = _cut(shape, raw, location)
        if not path:
            continue
        is_less = True
        node: Any = root
        for key in path[:-1]:
            inner = node.get(key, ABSENT) if isinstance(node, dict) else node[key]
            if inner is ABSENT:
                break  # what is around it has been left out already
            if id(inner) not in copies:
                inner = copy.copy(inner)
                copies.add(id(inner))
                node[key] = inner
            node = inner
        else:
            if isinstance(node, dict) and value is ABSENT:
                node.pop(path[-1], None)
                continue
            node[path[-1]] = value
            if isinstance(node, list):
                shortened[id(node)] = node
    for each in shortened.values():
        each[:] = [item for item in each if item is not ABSENT]
    return root, is_less


def _cut(shape: type[Shape], raw: object, location: Location) -> tuple[list[int | str], Any]:
    """Where to cut for one bad field, and what to put there. No path: there is nothing to cut.

    What lies furthest out decides: a selector with a bad entry is bad as a whole.
    """
    path: list[int | str] = []
    parts: list[Described | None] = []
    node: Any = raw
    inside: type[Shape] | None = shape
    for key in location:
        if isinstance(node, dict) and isinstance(key, str):
            part = parts_of(inside).get(key) if inside is not None else None
            if (part is None and key not in node) or (inside is not None and inside.counts_whole):
                break
            parts.append(part)
            path.append(key)
            if part is not None and part.if_bad is not ABSENT:
                return path, part.if_bad
            node, inside = node.get(key), part.shape if part is not None else None
        elif isinstance(node, list) and isinstance(key, int):
            parts.append(None)
            path.append(key)
            node = node[key]
        else:
            break
    while path:
        last = parts.pop()
        if last is None or not last.required:
            return path, ABSENT
        path.pop()
    return [], ABSENT
