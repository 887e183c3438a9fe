"""A hub of which lists and watches of a kind show only what a label selector names, as an API server does it.

An object that no longer matches is told of as deleted, one that begins to match as added.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from rollout.hub.base import Listing
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref, ref_of


def matcher(selector: str) -> Callable[[Obj], bool]:
    """Of ``key notin (a,b)``, which is true as well of what has no such label."""
    found = re.fullmatch(r"(\S+) notin \((\S+)\)", selector)
    assert found is not None, selector
    key, values = found[1], found[2].split(",")
    return lambda obj: (obj["metadata"].get("labels") or {}).get(key) not in values


class SelectedHub:
    """The hub behind it does everything else."""

    def __init__(self, hub: Any, only: Mapping[Kind, str]) -> None:
        self._hub = hub
        self._only = {kind: matcher(selector) for kind, selector in only.items()}
        self._shown: dict[Kind, set[Ref]] = {kind: set() for kind in only}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def list(self, kind: Kind, namespace: str | None = None, labels: Any = None) -> Listing:
        found: Listing = self._hub.list(kind, namespace, labels)
        if kind not in self._only or namespace is not None:
            return found
        items = tuple(obj for obj in found.items if self._only[kind](obj))
        self._shown[kind] = {ref_of(kind, obj) for obj in items}
        return replace(found, items=items)

    def watch(self, kind: Kind, since: int, sink: Callable[[Event], None], *more: Any) -> Any:
        if kind not in self._only:
            return self._hub.watch(kind, since, sink, *more)
        shown, matches = self._shown[kind], self._only[kind]

        def show(event: Event) -> None:
            is_shown = event.change is not Change.DELETED and matches(event.obj)
            if is_shown:
                shown.add(event.ref)
                sink(event)
            elif event.ref in shown:
                shown.discard(event.ref)
                sink(structs.replace(event, change=Change.DELETED))

        return self._hub.watch(kind, since, show, *more)
