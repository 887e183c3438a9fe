"""``python -m tests.support.map`` draws the table of packages in docs/architecture.md."""

import re
from collections import Counter
from typing import NamedTuple

from tests.support.syntax import ROOT, modules

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- drawn by `make map` -->", "<!-- end -->"
EVERYWHERE = {"errors", "model"}  # every package may import them


class Package(NamedTuple):
    """How large a package is, and which others it imports."""

    name: str
    modules: int
    lines: int
    imports: tuple[str, ...]


def packages() -> list[Package]:
    """The packages in the order of the page: each below all that it imports."""
    found: dict[str, set[str]] = {}
    sizes: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for module in modules():
        if "/" not in module.path:
            continue
        sizes[module.package] += 1
        lines[module.package] += module.lines
        ours = {name.split(".")[1] for name in module.imports() if name.startswith("rollout.")}
        found.setdefault(module.package, set()).update(ours - EVERYWHERE - {module.package})
    order = layers()
    return [
        Package(
            name,
            sizes[name],
            lines[name],
            tuple(sorted(found[name] & set(order), key=order.index)),
        )
        for name in order
    ]


def layers() -> list[str]:
    """The packages as the page lists them."""
    return re.findall(r"^([a-z]+)  +\S", PAGE.read_text(), re.MULTILINE)


def table() -> str:
    """The table; lines to the next hundred."""
    rows = [
        f"| `{p.name}` | {p.modules} | {round(p.lines, -2):,} | {', '.join(p.imports)} |"
        for p in packages()
    ]
    head = [
        "| package | modules | lines | imports, besides `errors` and `model` |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def drawn() -> list[Package]:
    """What the table on the page says."""
    text = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| ([\d,]+) \| (.*?) ?\|$", text, re.MULTILINE)
    return [
        Package(
            name, int(count), int(lines.replace(",", "")), tuple(filter(None, found.split(", ")))
        )
        for name, count, lines, found in rows
    ]


def draw() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")


if __name__ == "__main__":
    draw()
