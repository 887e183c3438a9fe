"""Which history is the first that breaks a promise? What a process does that looks for a kept fault."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice

from tests.safety.focus import draw, focus_of
from tests.safety.foreseen import foreseen
from tests.safety.hunting import Catch
from tests.safety.mutating import Mutant
from tests.safety.pairs import lossy_watch
from tests.safety.sizes import measure
from tests.safety.suite import silence
from tests.safety.world import History

Blame = Callable[[str, str], None]


def seeds_about(focus: str) -> Iterator[int]:
    """The seeds from 0 on whose histories are about this ("": all seeds)."""
    return (seed for seed in count() if not focus or focus_of(seed) == focus)


def chase(mutant: Mutant, kind: str, most: int, first: int) -> Catch | None:
    """Histories one after the other, until one breaks a promise; the ``first`` of them, by number, before
    all others.
    """
    look = mutant.look
    broken: list[tuple[str, str]] = []
    numbered = list(enumerate(islice(seeds_about(mutant.focus), most), 1))
    with silence():
        for number, seed in sorted(numbered, key=lambda each: each[0] != first):
            _run(look, kind, seed, lambda promise, said: broken.append((promise, said)))
            if broken:
                promise, message = broken[0]
                return Catch(promise, number, seed, message)
            if look == "sizes":
                break
    return None


def _run(look: str, kind: str, seed: int, blame: Blame) -> None:
    if look == "sizes":
        measure(kind, Counter(), blame)
    elif look == "lossy":
        lossy_watch(kind, seed, Counter(), blame)
    elif look == "foreseen":
        foreseen(kind, seed, Counter(), blame)
    else:
        for violation in History(draw(seed, kind)).run().violations:
            blame(violation.promise, str(violation))
