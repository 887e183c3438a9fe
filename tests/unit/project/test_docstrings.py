"""Docstrings of the package name what exists."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

import pytest

from tests.support.syntax import Module, modules

NAMED = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)(?:\([^`]*\))?`(?!`)")
"""What stands between single backticks, without the arguments of a call."""
CAMEL_CASE = re.compile(r"[A-Z]\w*[a-z]\w*")


def docstrings(module: Module) -> Iterator[str]:
    """Every docstring of a module, also those of constants."""
    for node in ast.walk(module.tree):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                yield str(each.value.value)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def names(module: Module) -> frozenset[str]:
    """What a module defines, imports or uses."""
    return frozenset(name for node in ast.walk(module.tree) for name in _names(node))


@cache
def _by_place() -> dict[str, frozenset[str]]:
    """The names of each module and package, by the last part of its name."""
    found: dict[str, frozenset[str]] = {"rollout": frozenset()}
    for module in modules():
        path = PurePosixPath(module.path)
        here = names(module) | {path.stem}
        for place in (path.stem, *path.parts[:-1], "rollout"):
            found[place] = found.get(place, frozenset()) | here | set(path.parts)
    return found


@cache
def _values() -> frozenset[str]:
    """The texts of the code: reasons, types of conditions and kinds are among them."""
    return frozenset(
        node.value
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def is_known(name: str, module: Module) -> bool:
    """Whether a name of a docstring is one of its package, a value of the code, or Python's."""
    places = _by_place()
    *before, last = name.split(".")
    if not before:
        package = PurePosixPath(module.path).parts[0]
        near = places[package.removesuffix(".py")]
        return last in near or last in _values() or hasattr(builtins, last)
    known = places.get(before[-1], places["rollout"])
    return last in known and all(part in places["rollout"] for part in before)


def unknown(module: Module) -> Iterator[str]:
    """Names in the docstrings of a module that are not known."""
    for text in docstrings(module):
        for name in NAMED.findall(text):
            if ("." in name or CAMEL_CASE.fullmatch(name)) and not is_known(name, module):
                yield f"{module.path}: {name}"


def test_a_docstring_names_what_exists() -> None:
    assert [found for module in modules() for found in unknown(module)] == []


@pytest.mark.parametrize("name", ["Nobody", "leader.Nobody", "unheard_of.LeaderCandidate"])
def test_a_name_that_does_not_exist_is_found(name: str) -> None:
    module = Module("runtime/leader.py", 1, ast.parse(f'"""Uses `{name}`."""'))

    assert list(unknown(module)) == [f"runtime/leader.py: {name}"]
