"""What is a kept fault? A change in the text of the engine's own modules that breaks one promise.

The change is made while the module is loaded, in a process of its own, so that no name of the engine's
inside is needed here, and nothing is left behind. This module imports nothing of the engine.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

KINDS = ("replicaset", "addon")


@dataclass(frozen=True, slots=True)
class Edit:
    """In one module, the one place where ``old`` stands says ``new``."""

    module: str
    old: str
    new: str

    def of(self, source: str) -> str:
        """The source with the change. Raises: LookupError where ``old`` does not stand there once."""
        found = source.count(self.old)
        if found != 1:
            raise LookupError(
                f"{self.module} has this text {found} times, not once; bring the kept fault up to "
                f"date with the code: {self.old!r}"
            )
        return source.replace(self.old, self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A fault that breaks one promise.

    ``kinds``: of workloads, or what else its histories are about. ``focus``: the histories that it is
    looked for in, "" for all (`tests.safety.focus`). ``look``: for promises that need more than one
    history, or histories of one thing ("values", "analyses", "gated").
    """

    promise: str
    what: str
    edits: tuple[Edit, ...]
    kinds: tuple[str, ...] = KINDS
    focus: str = ""
    look: str = "history"


def fault(
    promise: str,
    what: str,
    *edits: tuple[str, str, str],
    kinds: tuple[str, ...] = KINDS,
    focus: str = "",
    look: str = "history",
) -> Mutant:
    """A mutant, its edits as (module below `rollout`, old text, new text)."""
    changed = tuple(Edit(f"rollout.{module}", old, new) for module, old, new in edits)
    return Mutant(
        promise=promise,
        what=what,
        edits=changed,
        kinds=kinds,
        focus=focus,
        look=look,
    )


def in_days(look: str, *mutants: Mutant) -> tuple[Mutant, ...]:
    """The same faults, looked for in the histories of one thing."""
    return tuple(replace(mutant, kinds=(look,), look=look) for mutant in mutants)


def each(mutants: Sequence[Mutant]) -> list[tuple[Mutant, str]]:
    """Every mutant with every kind of workload that it concerns."""
    return [(mutant, kind) for mutant in mutants for kind in mutant.kinds]


def name_of(part: Mutant | str) -> str:
    """How a test is called."""
    return part if isinstance(part, str) else f"{part.promise} {part.what}"


class _Changed(SourceFileLoader):
    """Loads a module from its source with some edits."""

    def __init__(self, name: str, path: str, edits: Sequence[Edit]) -> None:
        super().__init__(name, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        for edit in self._edits:
            source = edit.of(source)
        return compile(source, path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = edits

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        mine = [edit for edit in self._edits if edit.module == fullname]
        spec = PathFinder.find_spec(fullname, path) if mine else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Changed(fullname, spec.origin, mine)
        return spec


def apply(mutant: Mutant) -> None:
    """From now on modules are loaded with the fault. Raises: RuntimeError where one is loaded already."""
    loaded = [edit.module for edit in mutant.edits if edit.module in sys.modules]
    if loaded:
        raise RuntimeError(f"{loaded[0]} is loaded already; apply faults before anything else")
    sys.meta_path.insert(0, _Finder(mutant.edits))
