"""Reads the value at a path of a document, such as ``spec.containers[0].image`` or
``data['a.b']``.
"""

import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]|\[['\"]([^'\"]*)['\"]\]")


@lru_cache(maxsize=256)
def steps_of(path: str) -> tuple[str | int, ...] | None:
    """The parts of ``spec.containers[0].image``, ``data['a.b']`` or ``x[*].y``; None if it is none.

    A leading ``$`` is allowed. ``*`` in brackets stands for every element.
    """
    found: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        name, index, quoted = step.groups()
        if index is not None:
            found.append(-1 if index == "*" else int(index))
        else:
            found.append(name if name is not None else quoted)
        at = step.end()
    return tuple(found) or None


def values_at(document: Any, path: str) -> list[Any]:
    """What stands at a path; nothing where a part is missing."""
    found = [document]
    for step in steps_of(path) or ():
        if isinstance(step, str):
            found = [item[step] for item in found if isinstance(item, dict) and step in item]
        else:
            lists = [item for item in found if isinstance(item, list)]
            found = [e for items in lists for e in (items if step < 0 else items[step : step + 1])]
    return found
