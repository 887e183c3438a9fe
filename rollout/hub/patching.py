"""Applies patches to a document, copying only the path that changes.

Merge patch is RFC 7386, JSON patch RFC 6902. Nothing given is ever mutated, and what did not
change keeps its identity: ``result is document`` says that a patch changed nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rollout.errors import Invalid
from rollout.model.kinds import Obj


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: unlike ``==``, true is not 1 and 1 is not 1.0, at any depth."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            key in other and same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def shared(old: Any, new: Any) -> Any:
    """``new``, in which every part (through objects, not lists) equal to ``old`` is old's own."""
    if old is new:
        return old
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return old if same(old, new) else new
    result = {k: shared(old[k], v) if k in old else v for k, v in new.items()}
    return unchanged(old, result)


def unchanged(old: Obj, new: Obj) -> Obj:
    """``old`` where both have the same keys and identical values, else ``new``."""
    if len(old) != len(new):
        return new
    for key, value in new.items():
        if key not in old or old[key] is not value:
            return new
    return old


def merge(target: Obj, patch: Obj) -> Obj:
    """Apply a merge patch; returns ``target`` itself where nothing changes."""
    result: Obj | None = None
    for key, value in patch.items():
        if value is None:
            if key not in target:
                continue
            result = dict(target) if result is None else result
            del result[key]
            continue
        old = target.get(key)
        if isinstance(value, dict):
            new = merge(old if isinstance(old, dict) else {}, value)
            if new is old:
                continue
        elif old is not None and same(old, value):
            continue
        else:
            new = value
        result = dict(target) if result is None else result
        result[key] = new
    return target if result is None else result


def json_patch(document: Obj, operations: Sequence[Obj]) -> Obj:
    """Apply a JSON patch, all operations or none. Raises: Invalid (also for a failed test)."""
    result: Any = document
    for number, operation in enumerate(operations):
        try:
            result = _operate(result, operation)
        except (KeyError, IndexError, TypeError, ValueError) as fault:
            raise Invalid(
                f"operation {number} of a JSON patch cannot be applied: {fault}"
            ) from fault
    if not isinstance(result, dict):
        raise Invalid("a JSON patch must leave an object")
    changed: Obj = shared(document, result)
    return changed


def _operate(document: Any, operation: Obj) -> Any:
    path = _tokens(operation["path"])
    match operation["op"]:
        case "add":
            return _edit(document, path, _adder(operation["value"]))
        case "replace":
            _find(document, path)
            return _edit(document, path, _replacer(operation["value"]))
        case "remove":
            return _edit(document, path, _remover)
        case "test":
            if not same(_find(document, path), operation["value"]):
                raise ValueError(f"test of {operation['path']} failed")
            return document
        case "copy":
            return _edit(document, path, _adder(_find(document, _tokens(operation["from"]))))
        case "move":
            source = _tokens(operation["from"])
            if path[: len(source)] == source and len(path) > len(source):
                raise ValueError("a value cannot be moved into itself")
            value = _find(document, source)
            return _edit(_edit(document, source, _remover), path, _adder(value))
        case other:
            raise ValueError(f"no such operation: {other!r}")


def _tokens(pointer: object) -> list[str]:
    """The parts of a JSON pointer (RFC 6901); none for the whole document."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError(f"not a JSON pointer: {pointer!r}")
    return [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]


def _index(token: str, length: int) -> int:
    """A place in a list of which ``length`` places may be named."""
    if not (token.isascii() and token.isdigit()) or (len(token) > 1 and token[0] == "0"):
        raise ValueError(f"not an index: {token!r}")
    if int(token) >= length:
        raise IndexError(f"there is no element {token}")
    return int(token)


def _find(document: Any, path: Sequence[str]) -> Any:
    for token in path:
        if isinstance(document, list):
            document = document[_index(token, len(document))]
        elif isinstance(document, dict):
            document = document[token]
        else:
            raise TypeError(f"there is nothing below {token!r}")
    return document


_ContainerEdit = Callable[[Any, str], Any]
_WHOLE = object()


def _edit(document: Any, path: Sequence[str], edit: _ContainerEdit) -> Any:
    """``document`` with ``edit(container, token)`` in place of the container that ``path`` ends in."""
    if not path:
        return edit(_WHOLE, "")
    if len(path) == 1:
        return edit(document, path[0])
    child = _edit(_find(document, path[:1]), path[1:], edit)
    return _replacer(child)(document, path[0])


def _adder(value: Any) -> _ContainerEdit:
    def add(container: Any, token: str) -> Any:
        if not isinstance(container, list):
            return _replacer(value)(container, token)
        at = len(container) if token == "-" else _index(token, len(container) + 1)  # noqa: S105  RFC 6902's sign for the end
        return [*container[:at], value, *container[at:]]

    return add


def _replacer(value: Any) -> _ContainerEdit:
    def replace(container: Any, token: str) -> Any:
        if container is _WHOLE:
            return value
        if isinstance(container, list):
            at = _index(token, len(container))
            return [*container[:at], value, *container[at + 1 :]]
        if not isinstance(container, dict):
            raise TypeError(f"there is nothing below {token!r}")
        return {**container, token: value}

    return replace


def _remover(container: Any, token: str) -> Any:
    if isinstance(container, list):
        at = _index(token, len(container))
        return [*container[:at], *container[at + 1 :]]
    if not isinstance(container, dict):
        raise TypeError("the whole document cannot be removed")
    if token not in container:
        raise KeyError(token)
    return {k: v for k, v in container.items() if k != token}
