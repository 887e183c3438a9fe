"""docs/kubernetes.md lists the rights of the controller that every installation gives it."""

from collections.abc import Iterator
from pathlib import Path

from rollout.runtime.permissions import ALWAYS, Permission

PAGE = Path(__file__).parents[3] / "docs" / "kubernetes.md"
HEADER = "| group | resource | verbs | for |\n|---|---|---|---|\n"
Right = tuple[str, str, frozenset[str]]


def rows(table: str) -> Iterator[Right]:
    """Each right of a table: its group, its resource and its verbs.

    A row without a group has that of the row above. ``a; /b`` means ``a`` and ``a/b``, each with
    verbs of its own.
    """
    group = ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        group = cells[0] or group
        resources = cells[1].split(" (")[0]
        parts = list(zip(resources.split("; "), cells[2].split("; "), strict=True))
        names = parts[0][0].split(", ")
        groups = [each.split(" (")[0] for each in group.split(", ")]
        for of, name in zip(groups * (len(names) // len(groups)), names, strict=True):
            yield of, name, frozenset(parts[0][1].split())
            for below, verbs in parts[1:]:
                yield of, name + below, frozenset(verbs.split())


def right(permission: Permission) -> Right:
    return permission.group, permission.resource, frozenset(permission.verbs)


def test_the_table_of_rights_has_what_is_always_needed_and_nothing_else_outside_components() -> (
    None
):
    table = PAGE.read_text().split(HEADER)[1].split("\n\n")[0]
    listed = [found for found in rows(table) if not found[0].startswith("*component")]

    assert sorted(listed, key=str) == sorted(map(right, ALWAYS), key=str)
