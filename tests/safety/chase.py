"""Which history is the first that breaks a promise? What a process does that looks for a kept fault."""

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count, islice

from tests.safety.days import BrokenPromise, run_days
from tests.safety.focus import draw, focus_of
from tests.safety.focus_asked import ASKED
from tests.safety.foreseen import foreseen
from tests.safety.hunting import Catch
from tests.safety.mutating import Mutant
from tests.safety.pairs import lossy_watch
from tests.safety.silence import silence
from tests.safety.sizes import measure
from tests.safety.world import History

Blame = Callable[[str, str], None]


def seeds_about(focus: str) -> Iterator[int]:
    """The seeds from 0 on whose histories are about this ("": all seeds); any, where it has to be asked for."""
    anybody = not focus or focus in ASKED
    return (seed for seed in count() if anybody or focus_of(seed) == focus)


def chase(mutant: Mutant, kind: str, most: int, first: int) -> Catch | None:
    """Histories one after the other, until one breaks a promise; the ``first`` of them, by number, before
    all others.
    """
    broken: list[tuple[str, str]] = []
    numbered = list(enumerate(islice(seeds_about(mutant.focus), most), 1))
    with silence():
        for number, seed in sorted(numbered, key=lambda each: each[0] != first):
            _run(mutant, kind, seed, lambda promise, said: broken.append((promise, said)))
            if broken:
                promise, message = broken[0]
                return Catch(promise, number, seed, message)
            if mutant.look == "sizes":
                break
    return None


def broken(mutant: Mutant, kind: str, seed: int) -> list[str]:
    """What breaks in a history as things are."""
    found: list[str] = []
    with silence():
        _run(mutant, kind, seed, lambda promise, said: found.append(f"{promise}: {said}"))
    return found


_DAYS = {
    "values": ("tests.safety.values", "ValuesDay"),
    "analyses": ("tests.safety.analyses", "MeasuredDay"),
    "gated": ("tests.safety.gated", "GatedDay"),
}
"""Histories of one thing, by the word that a fault looks for them with."""


def _day(look: str, seed: int, blame: Blame) -> None:
    module, name = _DAYS[look]
    day = getattr(import_module(module), name)
    try:
        run_days(day, range(seed, seed + 1), day.steps)
    except BrokenPromise as broken:
        promise, _, said = str(broken).partition(": ")[2].partition(": ")
        blame(promise, said)
    except Exception as error:  # noqa: BLE001  (a fault may break the engine in any way)
        blame("a crash", f"{type(error).__name__}: {error}")


def _run(mutant: Mutant, kind: str, seed: int, blame: Blame) -> None:
    look = mutant.look
    if look in _DAYS:
        _day(look, seed, blame)
    elif look == "sizes":
        measure(kind, Counter(), blame)
    elif look == "lossy":
        lossy_watch(kind, seed, Counter(), blame)
    elif look == "foreseen":
        foreseen(kind, seed, Counter(), blame)
    else:
        focus = mutant.focus if mutant.focus in ASKED else None
        for violation in History(draw(seed, kind, focus)).run().violations:
            blame(violation.promise, str(violation))
