"""What is a kept fault? A patch of the engine's own code that breaks one promise."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that breaks one promise. ``look``: how it is looked for; ``kind``: of the workload."""

    promise: str
    name: str
    patch: Patch
    seed: int = 0
    look: str = "history"
    kind: str = "replicaset"


def swap(where: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Replace a function by one made from it."""
    return lambda: patch.object(where, name, make(getattr(where, name)))


def always(where: Any, name: str, value: Any) -> Patch:
    return swap(where, name, lambda _: lambda *a, **k: value)
