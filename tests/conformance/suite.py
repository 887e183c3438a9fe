"""What is a suite, an excuse, a vector?"""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Json = Any
"""A value as JSON has it."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One scenario: an input, and the answers of the reference that are right.

    ``raw`` is the whole line, for what a suite may want besides (oddity, quirks).
    """

    id: str
    input: Json
    answers: tuple[Json, ...]
    raw: dict[str, Json] = field(repr=False)

    @classmethod
    def read(cls, line: str) -> "Vector":
        raw = json.loads(line)
        answers = raw["expectedOneOf"] if "expectedOneOf" in raw else [raw["expected"]]
        return cls(raw["id"], raw["input"], tuple(answers), raw)


@dataclass(frozen=True, slots=True)
class Excuse:
    """A difference on purpose: where the input looks like this, our answer may be another one in these fields.

    ``row`` names the row of the semantics that rules it ("12", "Placement W3"). ``fields`` are as
    `Suite.differing` names them; in all others the answer has to be the reference's.
    """

    name: str
    row: str
    applies: Callable[[Json], bool]
    fields: frozenset[str]


class Suite(Protocol):
    """Answers the vectors of the file that bears its name."""

    @property
    def name(self) -> str: ...

    @property
    def exceptions(self) -> Sequence[Excuse]:
        """Empty for pure decisions."""
        ...

    def run(self, given: Json) -> Json:
        """The project's answer, in the shape of ``expected``."""
        ...

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        """The fields in which an answer is another one than this; none where it agrees."""
        ...


def unlike(expected: Json, got: Json) -> set[str]:
    """The keys under which two answers differ, or "answer" where they are no objects."""
    if not (isinstance(expected, dict) and isinstance(got, dict)):
        return set() if expected == got else {"answer"}
    keys = expected.keys() | got.keys()
    return {key for key in keys if expected.get(key, ...) != got.get(key, ...)}


SUFFIXES = (".jsonl.gz", ".jsonl")


def files(directory: Path) -> dict[str, Path]:
    """The vector files of a directory by suite name; the packed one where there are both."""
    found: dict[str, Path] = {}
    for suffix in reversed(SUFFIXES):
        for path in sorted(directory.glob(f"*{suffix}")):
            found[path.name.removesuffix(suffix)] = path
    return dict(sorted(found.items()))


def lines(path: Path) -> Iterator[str]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            yield from packed
    else:
        with path.open(encoding="utf-8") as plain:
            yield from plain


def vectors(path: Path) -> Iterator[Vector]:
    return (Vector.read(line) for line in lines(path) if line.strip())
