"""What of a status is no status at all? A server whose schemas are loose lets in anything.

What people write (``spec``) is checked field by field, and they are told. A status is written by
programs: what has not even its outer shape is taken for missing, and written anew by whose it is.
"""

from collections.abc import Callable

from rollout.model.kinds import Obj


def _is_condition(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("type"), str)


def _is_object(each: object) -> bool:
    return isinstance(each, dict)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_FITS: dict[str, Callable[[object], bool]] = {
    "conditions": _is_condition,
    "installProgressions": _is_object,
    "configReferences": _is_object,
    "supportedConfigs": _is_object,
}
_LISTS = tuple(_FITS)
_MAPS = ("resourceStatus", "summary")


def shaped(obj: Obj) -> Obj:
    """The object; where its status, or a list of objects in it, is of another type: without that."""
    status = obj.get("status")
    if status is None:
        return obj
    if not isinstance(status, dict):
        return {key: value for key, value in obj.items() if key != "status"}
    wrong = {n: status[n] for n in _LISTS if not all(map(_FITS[n], _items(status.get(n))))}
    wrong |= {n: status[n] for n in _LISTS if not isinstance(status.get(n), list | None)}
    wrong |= {n: status[n] for n in _MAPS if not isinstance(status.get(n), dict | None)}
    if not wrong:
        return obj
    kept = {key: value for key, value in status.items() if key not in wrong}
    for name, value in wrong.items():
        if name in _LISTS and isinstance(value, list):
            kept[name] = [each for each in value if _FITS[name](each)]
    return {**obj, "status": kept}
