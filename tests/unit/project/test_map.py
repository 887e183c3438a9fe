"""What docs/architecture.md says of packages and functions is what the code has."""

import re

import pytest

from tests.support import map as drawing
from tests.support.syntax import ROOT, Function, called, module

PLACE = r"([a-z_/]+\.py):([\w.]+)"
STEPS = re.findall(
    rf"^\| `{PLACE}` \| (?:`{PLACE}`|[^|`]+) \|", drawing.PAGE.read_text(), re.MULTILINE
)


def function(path: str, name: str) -> Function:
    found = module(path)
    assert found is not None, f"there is no rollout/{path}"
    node = found.definition(name)
    assert isinstance(node, Function), f"rollout/{path} has no function {name}"
    return node


def test_the_table_of_packages_has_the_packages_and_their_imports_as_they_are() -> None:
    told = [(package.name, package.imports) for package in drawing.drawn()]
    assert told == [(package.name, package.imports) for package in drawing.packages()]


def test_the_sizes_in_the_table_are_about_right() -> None:
    now = {package.name: package for package in drawing.packages()}
    for told in drawing.drawn():
        found = now[told.name]
        assert told.modules == pytest.approx(found.modules, rel=0.25, abs=3), told.name
        assert told.lines == pytest.approx(found.lines, rel=0.25, abs=200), told.name


def test_the_path_of_an_event_is_told_from_the_watch_to_the_answer() -> None:
    told = [name for _, name, _, _ in STEPS]
    assert len(told) > 10
    assert {"Fleet.apply", "Engine._answer"} <= set(told)


@pytest.mark.parametrize(("path", "name", "from_path", "caller"), STEPS, ids=lambda part: part)
def test_each_function_on_the_path_is_there_and_called_from_where_the_page_says(
    path: str, name: str, from_path: str, caller: str
) -> None:
    function(path, name)
    if caller:
        assert name.rpartition(".")[2] in called(function(from_path, caller))


def test_every_definition_that_the_page_names_is_there() -> None:
    named = re.findall(rf"`{PLACE}`", drawing.PAGE.read_text())
    assert len(named) > 20
    lacking = [
        f"{path}:{name}"
        for path, name in named
        if (found := module(path)) is None or found.definition(name) is None
    ]
    assert lacking == []


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z_/]+\.(?:py|md))[:`]", drawing.PAGE.read_text()))
    named |= set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*/)`", drawing.PAGE.read_text()))
    assert len(named) > 10
    assert [n for n in named if not ((ROOT / "rollout" / n).exists() or (ROOT / n).exists())] == []
