"""Which writes does each history bring about? One file for each seed, so that two engines can be compared.

``python -m tests.safety.tracing DIR`` writes the traces of the engine that is checked out;
``python -m tests.safety.tracing DIR --against BASE`` compares them with those of another one, and prints
the first difference of each seed. Nothing is judged, and no planner is asked but by the engine.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, Self

from rollout.model.kinds import Obj, Ref
from tests.safety.door import Door
from tests.safety.focus import SHARE, draw
from tests.safety.observer import Violation
from tests.safety.silence import silence
from tests.safety.world import History

FOCUSES = (
    "back", "budget", "deadlines", "emptied", "exodus", "gates", "groups", "lost", "operations",
    "order", "outages", "own", "pairs", "refused", "restarts", "stages", "strict", "twice", "zero",
)  # fmt: skip
"""What traced histories are about. Later focuses stay out: a seed is the same history for ever."""


def setting_of(seed: int, kind: str) -> Any:
    dice = Random(f"focus:{seed}")
    return draw(seed, kind, dice.choice(FOCUSES) if dice.random() < SHARE else "")


class _Deaf(list[Violation]):
    """No judgement ends a history before its time."""

    def append(self, violation: Violation) -> None:
        del violation


class TracedDoor(Door):
    """Writes down what the engine tries, in order, and what came of it."""

    lines: list[str]
    now: Callable[[], datetime]

    def create(self, ref: Ref, obj: Obj) -> Obj:
        self._note("create", ref, obj)
        return super().create(ref, obj)

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        self._note("patch", ref, changes)
        return super().patch(ref, changes, version)

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        self._note("status", ref, changes)
        return super().patch_status(ref, changes, version)

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._note("delete", ref, {})
        super().delete(ref, uid, version)

    def _note(self, verb: str, ref: Ref, body: Obj) -> None:
        text = json.dumps(_without_versions(body), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        now = f"{self.now():%H:%M:%S.%f}"
        self.lines.append(f"{now} {verb} {ref.kind.name} {ref.key} {digest} {text}")


class TracedHistory(History):
    """A history whose writes are written down."""

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(setting_of(seed, kind))
        self.lines: list[str] = []
        self.judge.violations = _Deaf()

    def make_door(self) -> Door:
        door = TracedDoor(self.faulty, self.judge, self.subject.carrier, self.hands.refusing)
        door.lines, door.now = self.lines, self.clock.now
        return door

    def follow(self) -> Self:
        """Run all of it. Where the engine raises, that is the last line."""
        with silence():
            try:
                self.run()
            except Exception as error:  # noqa: BLE001 - a difference as any other
                self.lines.append(f"raised {type(error).__name__}: {error}")
        return self

    def _rest(self) -> None:
        """Nothing is asked but once."""

    def _judge_end(self) -> None:
        """Who judges the end asks the planners."""


def _without_versions(body: Any) -> Any:
    if isinstance(body, dict):
        return {k: _without_versions(v) for k, v in body.items() if k != "resourceVersion"}
    return [_without_versions(each) for each in body] if isinstance(body, list) else body


def trace(seed: int, kind: str) -> list[str]:
    """The writes of one history, one line each."""
    return TracedHistory(seed, kind).follow().lines


def path_of(where: Path, kind: str, seed: int) -> Path:
    return where / kind / f"{seed:05d}.txt.gz"


def write(seed: int, kind: str, where: Path) -> None:
    path = path_of(where, kind, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=3) as file:
        file.writelines(f"{line}\n" for line in trace(seed, kind))


def compare(seed: int, kind: str, where: Path, base: Path, ignored: frozenset[str]) -> str:
    """The first difference from the trace under ``base``, "" where there is none."""
    write(seed, kind, where)
    old, new = (_read(path_of(each, kind, seed), ignored) for each in (base, where))
    for number, (one, other) in enumerate(zip_longest(old, new, fillvalue="(end)"), 1):
        if one != other:
            return f"{kind} {seed}: write {number}\n" + "\n".join(_told(one, other))
    return ""


def _read(path: Path, ignored: frozenset[str]) -> list[str]:
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    return [line for line in lines if line.split(" ", 3)[2] not in ignored]


def _told(one: str, other: str) -> Iterator[str]:
    """Two lines from where they begin to differ; their beginnings say which writes they are."""
    old, new = one.split(" ", 5), other.split(" ", 5)
    yield f"  base: {' '.join(old[:5])}"
    yield f"  here: {' '.join(new[:5])}"
    if old[1:4] == new[1:4] and len(old) == len(new) == 6:
        paths = list(_differing(json.loads(old[5]), json.loads(new[5]), ""))
        yield from (f"    {path}: {was!r:.300} | {now!r:.300}" for path, was, now in paths[:6])


def _differing(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differing(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, str) and isinstance(other, str) and one[:1] == other[:1] == "{":
        yield from _differing(json.loads(one), json.loads(other), path)  # pages of the record
    elif one != other:
        yield path, one, other


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.tracing", description=__doc__)
    parser.add_argument("where", type=Path, metavar="DIR")
    parser.add_argument("--against", type=Path, metavar="BASE", help="traces of another engine")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the first one")
    parser.add_argument("--histories", type=int, default=500, metavar="N")
    parser.add_argument("--kinds", default="replicaset,addon", metavar="KINDS")
    parser.add_argument(
        "--ignore", default="", metavar="KINDS", help="of objects, as RolloutRecord"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="J")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.histories)
    differing, ignored = 0, frozenset(options.ignore.split(","))
    with ProcessPoolExecutor(options.jobs) as pool:
        for kind in options.kinds.split(","):
            if options.against is None:
                list(pool.map(partial(write, kind=kind, where=options.where), seeds, chunksize=5))
                continue
            job = partial(
                compare, kind=kind, where=options.where, base=options.against, ignored=ignored
            )
            for told in filter(None, pool.map(job, seeds, chunksize=5)):
                differing += 1
                print(told, flush=True)
    if options.against is not None:
        print(f"{differing} of {len(seeds) * len(options.kinds.split(','))} histories differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
