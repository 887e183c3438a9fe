"""``python -m tests.support.sizes`` prints the sizes that docs/adr/0048-size.md tells."""

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from tests.support.syntax import ROOT, Module, length, modules

PAGE = ROOT / "docs" / "adr" / "0048-size.md"
LATER = {
    "dashboard": r"^dashboard/|^cli/dashboard",
    "calendars": r"^calendars/|/calendars?\.py|/closings\.py",
    "analyses and providers": r"^measuring/|^providers/|/analys[ei]s|/measur|/cluster_job",
    "add-on templates": r"/addon_template|^planning/templates/",
    "values": r"^values/|(?<!/cel)/values\.py",
    "notifications": r"/notif|/deliver|/channels\.py",
    "published decisions": r"/inventory\.py",
    "traces": r"/otel\.py|/spans\.py",
    "shards": r"/sharding\.py|/layout\.py",
    "adoption": r"/leaving\.py|/migrat",
}
"""What was added after the budget was set, by the names of files; the first pattern that fits counts."""


class Size(NamedTuple):
    """One row: what is counted, its modules and its lines."""

    what: str
    modules: int
    lines: int


def feature(module: Module) -> str:
    """Which later feature the module's name tells of; "" for none."""
    found = (name for name, pattern in LATER.items() if re.search(pattern, module.path))
    return next(found, "")


def counted(what: str, several: Iterable[Module]) -> Size:
    each = [module.lines for module in several]
    return Size(what, len(each), sum(each))


def sizes() -> list[Size]:
    """The package whole, each later feature, and what is left without them."""
    every = modules()
    rows = [counted("`rollout/`", every)]
    rows += [counted(name, (m for m in every if feature(m) == name)) for name in LATER]
    return [*rows, counted("without those", (m for m in every if not feature(m)))]


def told() -> list[Size]:
    """The rows of the page's table."""
    rows = re.findall(r"^\| (\S[^|]*) \| (\d+) \| ([\d,]+) \|$", PAGE.read_text(), re.MULTILINE)
    return [Size(what, int(several), int(lines.replace(",", ""))) for what, several, lines in rows]


def shares() -> dict[str, float]:
    """Parts of all lines: headers of modules, docstrings; and lines of tests for each line of code."""
    every = modules()
    lines = sum(m.lines for m in every)
    tests = sum(p.read_text().count("\n") for p in (ROOT / "tests").rglob("*.py"))
    return {
        "headers": sum(m.header() for m in every) / lines,
        "docstrings": sum(map(docstrings, every)) / lines,
        "tests": tests / lines,
    }


def docstrings(module: Module) -> int:
    """Lines of text that stand by themselves: docstrings of modules, classes, functions and fields."""
    return sum(
        length(node)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


if __name__ == "__main__":
    print("\n".join(f"| {what} | {several} | {lines:,} |" for what, several, lines in sizes()))
    print("\n".join(f"{what}: {share:.3f}" for what, share in shares().items()))
