"""How is ``{{NAME}}`` in a manifest replaced: in its JSON text as OCM does, or in its strings?

Source: OCM add-on template spec 2.1, semantics rows T1, T2, T23.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rollout.model.kinds import Obj
from rollout.model.spec_hash import go_json
from rollout.planning.templates import Fatal, Unrenderable

_OPEN, _CLOSE = "{{", "}}"
_SHOWN = 5


def in_text(manifest: Obj, values: Mapping[str, str]) -> Obj:
    """The manifest, replaced in its JSON text (profile ``ocm``). Raises: Unrenderable."""
    text = _replaced(go_json(manifest), values)
    try:
        found: Any = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Unrenderable(f"{error}") from None
    return _object(found, text)


def _object(found: Any, text: str) -> Obj:
    if not isinstance(found, dict):
        raise Unrenderable(f"a manifest is to be an object, not {type(found).__name__}")
    if not found.get("kind"):
        raise Unrenderable(f"Object 'Kind' is missing in '{text}'")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _replaced(text: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder once; one that is not known becomes empty."""
    parts: list[str] = []
    at = 0
    while (begin := text.find(_OPEN, at)) >= 0:
        end = text.find(_CLOSE, begin + 2)
        if end < 0:
            raise Fatal(
                f'Cannot find end tag="}}}}" in the template={go_json(text)} '
                f"starting from {go_json(text[begin + 2 :])}"
            )
        parts += text[at:begin], values.get(text[begin + 2 : end], "")
        at = end + 2
    return "".join((*parts, text[at:]))


def in_tree(manifest: Obj, values: Mapping[str, str], where: str) -> Obj:
    """A copy of the manifest, replaced in its keys and strings (profile ``strict``).

    ``where`` names the manifest in errors. Raises: Unrenderable, naming each place of an unknown or
    unclosed placeholder.
    """
    faults: list[str] = []
    found: Obj = _walk(manifest, values, "", faults)
    if faults:
        more = f" and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise Unrenderable(f"{where}: {'; '.join(faults[:_SHOWN])}{more}")
    return found


def _walk(value: Any, values: Mapping[str, str], path: str, faults: list[str]) -> Any:
    if isinstance(value, str):
        return "".join(_filled(value, values, path, faults)) if _OPEN in value else value
    if isinstance(value, list):
        return [_walk(v, values, f"{path}[{i}]", faults) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found: Obj = {}
    for key, item in value.items():
        at = f"{path}.{key}"
        name = "".join(_filled(key, values, at, faults)) if _OPEN in key else key
        if name in found:
            faults.append(f"{at}: there is a key {name} already")
        found[name] = _walk(item, values, at, faults)
    return found


def _filled(text: str, values: Mapping[str, str], path: str, faults: list[str]) -> Iterator[str]:
    at = 0
    while (begin := text.find(_OPEN, at)) >= 0:
        yield text[at:begin]
        end = text.find(_CLOSE, begin + 2)
        if end < 0:
            faults.append(f"{path}: column {begin + 1}: {{{{ is not closed")
            return
        name = text[begin + 2 : end]
        if name not in values:
            faults.append(f"{path}: there is no variable {name!r}")
        yield values.get(name, "")
        at = end + 2
    yield text[at:]
