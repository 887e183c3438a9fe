"""What is kept of faults, and after how many histories is each noticed? The table in docs/safety-contract.md."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.safety.hunting import ROOT, Catch, hunt
from tests.safety.mutants import SECTIONS, cases
from tests.safety.mutating import Mutant

PAGE = ROOT / "docs" / "safety-contract.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One fault with one kind of workload; ``catch`` None: nothing noticed it."""

    mutant: Mutant
    kind: str
    catch: Catch | None

    @property
    def head(self) -> str:
        """The part of the line that follows from the fault alone."""
        return f"| {self.mutant.what} | {self.kind} | {self.mutant.promise} |"

    @property
    def line(self) -> str:
        if self.catch is None:
            return f"{self.head} nothing | |"
        if not self.catch.histories:
            return f"{self.head} `{self.catch.promise.partition('::')[0]}` | |"
        about = f" about {self.mutant.focus}" if self.mutant.focus else ""
        return f"{self.head} {self.catch.promise} | {self.catch.histories}{about} |"


def hunt_all(only: set[str], jobs: int) -> list[Row]:
    """Look for every kept fault, and print what came of each."""
    chosen = [(m, k) for m, k in cases() if not only or m.promise in only]

    def one(case: tuple[Mutant, str]) -> Row:
        return Row(*case, hunt(*case, control=True))

    rows: list[Row] = []
    with ThreadPoolExecutor(jobs) as pool:  # each hunt is a process of its own
        for row in pool.map(one, chosen):
            print(row.line, flush=True)
            rows.append(row)
    return rows


def write_table(rows: Sequence[Row], *, whole: bool, page: Path = PAGE) -> None:
    """Put the rows into the page, where they are all of them."""
    if not whole:
        return
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    head = "| the fault | kind | promise | noticed by | after histories |\n|---|---|---|---|---|"
    lines = [BEGIN]
    for title, mutants in SECTIONS.items():
        found = [row.line for row in rows if row.mutant in mutants]
        lines += [f"### {title}", "", head, *found, ""]
    page.write_text("\n".join([before + lines[0], *lines[1:], END]) + after)


def heads_in(page: Path = PAGE) -> list[str]:
    """The faults that the page lists."""
    _, _, rest = page.read_text().partition(BEGIN)
    lines = [line for line in rest.partition(END)[0].splitlines() if line.startswith("| ")]
    return ["|".join(line.split("|")[:4]) + "|" for line in lines if "| the fault |" not in line]


def number_in(what: str, kind: str, page: Path = PAGE) -> int:
    """After how many histories the page says that a fault was noticed; 1 where it does not say."""
    found = re.search(
        rf"^\| {re.escape(what)} \| {kind} \|.*\| (\d+)\b", page.read_text(), re.MULTILINE
    )
    return int(found[1]) if found else 1
