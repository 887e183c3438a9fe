"""Paths to fields of a manifest: how they are written, and where they lead.

A path is a JSON pointer (``/spec/replicas``; ``~1`` stands for a slash and ``~0`` for a tilde) of which a
part may choose an item of a list: ``/spec/template/spec/containers[name=app]/image``, or ``args[0]``, which
is ``args/0``. Between brackets a slash is a slash.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from rollout.model.kinds import Obj

PATH_ACCEPTED = (
    "a path such as /spec/replicas or /spec/template/spec/containers[name=app]/image, not apiVersion, "
    "kind, status, metadata itself or its name, namespace, labels or annotations as a whole, nor "
    "anything under rollout-engine.io/"
)
_PART = re.compile(r"/([^\[\]/]+)((?:\[[^\[\]]+\])*)")
_CHOICE = re.compile(r"\[([^\[\]]+)\]")
_OURS = "rollout-engine.io/"
_FIXED = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        ("status",),
        ("metadata",),
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "labels"),
        ("metadata", "annotations"),
    }
)
_NAMED = (["metadata", "name"], ["metadata", "namespace"])
_CODED = frozenset({("Secret", "data"), ("ConfigMap", "binaryData")})
"""Maps of bytes in base64, by kind and key."""
_OF_STRINGS = frozenset({*_CODED, ("ConfigMap", "data"), ("Secret", "stringData")})
_NAMED_OF_STRINGS = frozenset({("metadata", "labels"), ("metadata", "annotations")})
"""Where maps hold nothing but strings: in these kinds, or at these keys wherever they stand."""

_CODE = "it takes base64 (stringData of a Secret, and data of a ConfigMap, take text as it is)"

Place = tuple[str | int, ...]
"""The keys and indexes that lead to one field of one manifest."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The item of a list whose field ``key`` is ``value``; without a key, the item of this index."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"[{self.key}={self.value}]" if self.key else f"[{self.value}]"


@dataclass(frozen=True, slots=True)
class ValuePath:
    """A path, parsed. ``text`` is how it was written."""

    text: str
    steps: tuple[str | Choice, ...]


class PathError(Exception):  # the message is shown to whoever wrote the path
    """The path leads nowhere in this manifest."""


def parse_path(text: str) -> ValuePath | None:
    """The path, or None where it is none or names what may not be set (`PATH_ACCEPTED`)."""
    steps: list[str | Choice] = []
    at = 0
    while at < len(text) <= 1024:
        found = _PART.match(text, at)
        if found is None:
            return None
        at = found.end()
        steps.append(_unescaped(found[1]))
        for chosen in map(_unescaped, _CHOICE.findall(found[2])):
            key, equals, value = chosen.partition("=")
            if not equals and not _is_index(chosen):
                return None
            steps.append(Choice(key, value) if equals else Choice("", chosen))
    if not steps or _is_fixed(steps):
        return None
    return ValuePath(text, tuple(steps))


def _unescaped(text: str) -> str:
    return text.replace("~1", "/").replace("~0", "~")


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def _is_fixed(steps: list[str | Choice]) -> bool:
    keys = [step for step in steps if isinstance(step, str)]
    if any(map(_is_ours, keys)):
        return True
    # What is inside of apiVersion, kind, status or a name is no more to be set than they are.
    is_inside = keys[0] in ("apiVersion", "kind", "status") or keys[:2] in _NAMED
    return tuple(keys) in _FIXED or is_inside


def resolve(manifest: Obj, path: ValuePath) -> tuple[Place, Any]:
    """Where the path leads in this manifest, and the value that stands there (None: nothing does).

    Maps that are missing on the way are made when the value is set; items of lists must be there.
    Raises: PathError.
    """
    place: list[str | int] = []
    at: Any = manifest
    for step in path.steps:
        if isinstance(at, list) and isinstance(step, str):
            step = _item(step, path)  # noqa: PLW2901
        if isinstance(step, Choice):
            index = _chosen(at, step, path)
            place.append(index)
            at = at[index]
            continue
        if at is not None and not isinstance(at, dict):
            raise PathError(f"{path.text}: there is no map that could hold {step!r}")
        place.append(step)
        at = None if at is None else at.get(step)
    return tuple(place), at


def _item(step: str, path: ValuePath) -> Choice:
    """The item that a pointer names by its place. Raises: PathError."""
    if _is_index(step):
        return Choice("", step)
    raise PathError(
        f"{path.text}: {step!r} is not an item of the list: write the place of one that is there, [0], or one "
        "of its fields, [name=app]; no rule adds an item"
    )


def _chosen(items: Any, choice: Choice, path: ValuePath) -> int:
    if not isinstance(items, list):
        raise PathError(f"{path.text}: there is no list for {choice}")
    if not choice.key:
        if int(choice.value) < len(items):
            return int(choice.value)
        raise PathError(f"{path.text}: the list has {len(items)} items, and none at {choice}")
    found = [
        index
        for index, item in enumerate(items)
        if isinstance(item, dict) and _as_text(item.get(choice.key)) == choice.value
    ]
    if len(found) > 1:
        raise PathError(
            f"{path.text}: {len(found)} items of the list are {choice}: choose one by another field, or by "
            f"its place: [{found[0]}]"
        )
    if not found:
        raise PathError(f"{path.text}: no item of the list is {choice}")
    return found[0]


def _as_text(value: Any) -> str | None:
    """A field by which items are told apart, as it is written between brackets."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return value if isinstance(value, str) else None


def refused(manifest: Obj, place: Place, current: Any, value: Any) -> str | None:
    """Why the field cannot have this value, by what stands there and by what kind of map it is in."""
    why = _unfit(str(manifest.get("kind")), _keys(place), value)
    if why is not None:
        return why
    if isinstance(value, dict | list) and (ours := _key_of_ours(value)) is not None:
        return f"it has the key {ours!r}: those under {_OURS} are the engine's"
    if value is None or current is None:
        return None if value is not None else "a value is never null"
    if type(current) is type(value):
        return None
    if _named(current) != _named(value):
        return f"it holds {_named(current)}, and takes no {_named(value)}"
    if isinstance(current, int) and isinstance(value, float):
        return f"it holds a whole number, and takes no {value}"
    return None


@lru_cache(maxsize=1024)
def _keys(place: Place) -> tuple[str, ...]:
    return tuple(part for part in place if isinstance(part, str))


def _unfit(kind: str, keys: tuple[str, ...], value: Any) -> str | None:
    """Why a value, or one inside of it, does not fit into maps of strings; None where it does."""
    if _is_of_strings(kind, keys[:-1]):
        if not isinstance(value, str):
            return f"it takes a string, not {_named(value)}"
        return _CODE if (kind, *keys[:1]) in _CODED and not _is_base64(value) else None
    if isinstance(value, list):
        return next(filter(None, (_unfit(kind, keys, each) for each in value)), None)
    if not isinstance(value, dict):
        return f"it takes a map, not {_named(value)}" if _is_of_strings(kind, keys) else None
    inside = ((key, _unfit(kind, (*keys, key), each)) for key, each in value.items())
    return next((f"{key}: {why}" for key, why in inside if why is not None), None)


@lru_cache(maxsize=1024)
def _is_of_strings(kind: str, keys: tuple[str, ...]) -> bool:
    """Whether the map at these keys holds nothing but strings."""
    if (
        (kind, *keys) in _OF_STRINGS
        or keys[-2:] in _NAMED_OF_STRINGS
        or keys[-1:] == ("matchLabels",)
    ):
        return True
    of_pods = keys[-3:] == ("template", "spec", "nodeSelector")
    return of_pods or (kind, *keys) == ("Pod", "spec", "nodeSelector")


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _key_of_ours(value: Any) -> str | None:
    """A key inside of a value that may not be set, as it may not by a path."""
    if isinstance(value, dict):
        found = [key for key in value if _is_ours(key)]
        return next(chain(found, filter(None, map(_key_of_ours, value.values()))), None)
    if isinstance(value, list):
        return next(filter(None, map(_key_of_ours, value)), None)
    return None


def _is_ours(key: str) -> bool:
    return key.startswith(_OURS) or key == _OURS[:-1]


def _named(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case dict():
            return "map"
    return "null"


def with_value(node: Any, place: Place, value: Any) -> Any:
    """The same with another value at this place. What does not change is shared."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if isinstance(first, int):
        items = list(node)
        items[first] = with_value(items[first], rest, value)
        return items
    held = node if isinstance(node, dict) else {}
    return {**held, first: with_value(held.get(first), rest, value)}
