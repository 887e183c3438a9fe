"""The package as syntax trees: its modules, functions and classes, each read once."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef
_CAMEL_CASE = re.compile(r"_?[A-Z]\w*[a-z]\w*")


@dataclass(frozen=True, slots=True)
class Module:
    """One module; ``path`` is relative to the package, such as ``rollouts/live.py``."""

    path: str
    lines: int
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package it is in, or the module's own name where it stands at the top."""
        return self.path.split("/")[0].removesuffix(".py")

    def header(self) -> int:
        """Lines of the module's docstring and imports."""
        found = [n for n in self.tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        if ast.get_docstring(self.tree) is not None:
            return length(self.tree.body[0]) + sum(map(length, found))
        return sum(map(length, found))

    def functions(self) -> Iterator[Function]:
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                yield node

    def aliases(self) -> Iterator[str]:
        """The names that it gives to types: those in CamelCase at its top, without type variables."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if not ast.unparse(node.value).startswith("TypeVar("):
                    yield from filter(_CAMEL_CASE.fullmatch, map(ast.unparse, targets))

    def imports(self) -> set[str]:
        """What it imports, as dotted names of modules."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{self.path}: relative import"
                found.add(node.module)
        return found

    def definition(self, name: str) -> Function | ast.ClassDef | None:
        """What ``function``, ``Class`` or ``Class.method`` is there; None where it is not defined."""
        found: Function | ast.ClassDef | None = None
        body = self.tree.body
        for part in name.split("."):
            found = next(
                (n for n in body if isinstance(n, Function | ast.ClassDef) and n.name == part), None
            )
            body = [] if found is None else found.body
        return found


def length(node: ast.stmt) -> int:
    """How many lines a statement takes, without its decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


@cache
def modules() -> tuple[Module, ...]:
    """All modules of the package, by path."""
    package = ROOT / "rollout"
    found: list[Module] = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text()
        name = path.relative_to(package).as_posix()
        found.append(Module(name, text.count("\n"), ast.parse(text)))
    return tuple(found)


def module(path: str) -> Module | None:
    return next((each for each in modules() if each.path == path), None)


def called(function: Function) -> set[str]:
    """The bare names of all that a function calls or hands on: ``b`` for ``a.b()`` and for ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found
