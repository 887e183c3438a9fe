"""What do the list functions of Kubernetes' CEL libraries do: sums, extremes, order, positions?

A list may hold anything, whatever the checker took it for. Source: the Kubernetes documentation,
"Common Expression Language in Kubernetes", list library.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from rollout.placement.cel_functions import ANY, Function, span
from rollout.placement.cel_values import (
    CelError,
    Uint,
    checked,
    checked_uint,
    compare,
    equal,
    no_overload,
)

_SUMS: Mapping[type, Callable[[Any, Any], Any]] = {
    int: lambda a, b: checked(a + b),
    Uint: lambda a, b: checked_uint(int(a) + int(b)),
    float: float.__add__,
    timedelta: lambda a, b: span(a + b),
}


def _sum(items: Sequence[Any]) -> Any:
    if not items:
        return 0
    total = items[0]
    kind = type(total)
    add = _SUMS.get(kind)
    if add is None:
        raise no_overload("sum", total)
    for item in items[1:]:
        if type(item) is not kind:
            raise no_overload("sum", total, item)
        total = add(total, item)
    return total


def _extreme(wanted: int) -> Callable[[Sequence[Any]], Any]:
    def run(items: Sequence[Any]) -> Any:
        if not items:
            raise CelError("min or max called on empty list")
        found = items[0]
        for item in items[1:]:
            if compare("min, max", item, found) == wanted:
                found = item
        return found

    return run


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(compare("isSorted", a, b) <= 0 for a, b in pairwise(items))


def _index_of(items: Sequence[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: Sequence[Any], wanted: Any) -> int:
    last = _index_of(items[::-1], wanted)
    return -1 if last < 0 else len(items) - 1 - last


def _rows() -> Iterable[Function]:
    for kind in ("int", "uint", "double", "duration"):
        yield Function("sum", (f"list({kind})",), kind, _sum)
    ordered = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
    for kind in ordered:
        yield Function("isSorted", (f"list({kind})",), "bool", _is_sorted)
        yield Function("min", (f"list({kind})",), kind, _extreme(-1))
        yield Function("max", (f"list({kind})",), kind, _extreme(1))
    yield Function("indexOf", ("list(dyn)", ANY), "int", _index_of)
    yield Function("lastIndexOf", ("list(dyn)", ANY), "int", _last_index_of)


LISTS = tuple(_rows())
"""To be declared to the CEL checker."""
