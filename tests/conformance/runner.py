"""Do all suites agree with their vectors? Counting, judging and showing."""

import json
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.suite import Excuse, Json, Suite, Vector, files, vectors

Print = Callable[[str], None]
RAISED = "raised"
"""What differs where there is no answer."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One vector, our answer, and what comes of it: it agrees, is excused, or failed.

    ``differing``: the fields in which it is another answer.
    """

    vector: Vector
    got: Json
    differing: set[str]
    excuse: Excuse | None = None

    @property
    def agrees(self) -> bool:
        return not self.differing


@dataclass(slots=True)
class Tally:
    """One suite's counts, the ids that failed, and those excused by each excuse."""

    agreed: int = 0
    total: int = 0
    excused: dict[Excuse, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @property
    def excepted(self) -> int:
        return sum(len(ids) for ids in self.excused.values())

    @property
    def adds_up(self) -> bool:
        return 0 < self.total == self.agreed + self.excepted

    def count(self, judged: Judged) -> None:
        self.total += 1
        if judged.agrees:
            self.agreed += 1
        elif judged.excuse is not None:
            self.excused.setdefault(judged.excuse, []).append(judged.vector.id)
        else:
            self.failed.append(judged.vector.id)


def judge(suite: Suite, vector: Vector) -> Judged:
    """Run one vector. A suite that raises has answered wrongly, with the traceback, and nothing excuses it."""
    try:
        got = suite.run(vector.input)
        found = [suite.differing(answer, got, vector) for answer in vector.answers]
    except Exception:  # noqa: BLE001  # whatever it is, it must not hide the other vectors
        return Judged(vector, traceback.format_exc(), {RAISED})
    wrong = min(found, key=len)
    if not wrong:
        return Judged(vector, got, wrong)
    excuses = [each for each in suite.exceptions if each.applies(vector.input)]
    forgiven = frozenset[str]().union(*(each.fields for each in excuses))
    for differing in found:
        if differing <= forgiven:  # never what raised: that has no answer to compare
            excuse = next(each for each in excuses if each.fields & differing)
            return Judged(vector, got, differing, excuse)
    return Judged(vector, got, wrong)


def tally(suite: Suite, path: Path) -> Tally:
    counts = Tally()
    for vector in vectors(path):
        counts.count(judge(suite, vector))
    return counts


@dataclass(frozen=True, slots=True)
class Runner:
    """A directory of vectors, the suites that must be there, and where lines of output go."""

    directory: Path
    suites: Sequence[Suite]
    not_yet: Collection[str]
    out: Print = print

    def run(self, *, excepted: bool = False) -> int:
        """Run every suite, one line each; 1 where any does not add up or is missing."""
        found = files(self.directory)
        by_name = {suite.name: suite for suite in self.suites}
        ran = ok = 0
        for name, path in found.items():
            suite = by_name.get(name)
            if suite is None:
                ok += self._without_suite(name)
                continue
            ran += 1
            counts = tally(suite, path)
            ok += self._report(name, counts, excepted=excepted)
        missing = [name for name in by_name if name not in found]
        for name in missing:
            self.out(f"{name} missing: no vectors in {self.directory}")
        if not ran:
            self.out(f"no suite found in {self.directory}")
        return 0 if ran and not missing and ok == len(found) else 1

    def show(self, wanted: str) -> int:
        """Print input, expected and got of every vector with this id (or SUITE/ID)."""
        shown = 0
        for suite, vector in self._all():
            if wanted not in (vector.id, f"{suite.name}/{vector.id}"):
                continue
            shown += 1
            judged = judge(suite, vector)
            self.out(f"{suite.name}/{vector.id}: {_verdict(judged)}")
            for answer in vector.answers:
                self._block("expected", answer)
            self._block("got", judged.got)
            self._block("input", vector.input)
        if not shown:
            self.out(f"no vector {wanted} in {self.directory}")
        return 0 if shown else 1

    def _all(self) -> Iterator[tuple[Suite, Vector]]:
        found = files(self.directory)
        for suite in self.suites:
            if suite.name in found:
                for vector in vectors(found[suite.name]):
                    yield suite, vector

    def _without_suite(self, name: str) -> bool:
        known = name in self.not_yet
        self.out(f"{name} not covered" if known else f"{name} unknown: no suite answers it")
        return known

    def _report(self, name: str, counts: Tally, *, excepted: bool) -> bool:
        self.out(f"{name} {counts.agreed}+{counts.excepted}/{counts.total}")
        for excuse, ids in counts.excused.items() if excepted else ():
            self.out(f"  {excuse.name} (semantics row {excuse.row}): {', '.join(ids)}")
        if counts.failed:
            more = f" and {len(counts.failed) - 10} more" if len(counts.failed) > 10 else ""
            self.out(f"  failed: {', '.join(counts.failed[:10])}{more}")
        return counts.adds_up

    def _block(self, title: str, value: Json) -> None:
        text = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)
        self.out(f"--- {title}\n{text}")


def _verdict(judged: Judged) -> str:
    if judged.agrees:
        return "agrees"
    fields = ", ".join(sorted(judged.differing))
    if judged.excuse is not None:
        return f"excepted: {judged.excuse.name} (semantics row {judged.excuse.row}), in {fields}"
    return f"FAILED in {fields}"
