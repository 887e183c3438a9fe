"""Random inputs: mostly ordinary rollouts, each oddity now and then."""

import random
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from rollout.model.placement import Group
from rollout.strategies.base import select
from rollout.strategies.stages import BUILT_IN
from tests.differential.case import Case, Known
from tests.support.fleets import spec_of


def cases(count: int, seed: int = 1) -> Iterator[Case]:
    rng = random.Random(seed)
    for _ in range(count):
        yield _case(rng)


def _seldom(rng: random.Random, percent: int) -> bool:
    return rng.random() * 100 < percent


def _case(rng: random.Random) -> Case:
    seldom = partial(_seldom, rng)
    limits: list[int | str | None] = [None, 0, 1, 2, 3, 5, "25%", "50%", "100%"]
    budgets: list[int | str] = [0, 1, 2, "0%", "25%", "50%", "100%"]
    if seldom(15):
        limits += ["0", "0%", "2"]
    if seldom(10):
        budgets += [9, "55%", "1", "7%"]
    kind = rng.choice(["All", "Progressive", "Progressive", "ProgressivePerGroup"])
    groups = _groups(rng, odd=seldom(8), unsorted=seldom(10))
    names = sorted({c for g in groups for c in g.clusters})
    deadline = rng.choice([None, 90, 90, 600])
    soak = rng.choice([0, 0, 60])
    share = rng.choice([0, 30, 60, 90, 100])
    letters = rng.choice(["S", "SSSP", "SSPPA", "SSSPFF", "PFAS", "A"])
    known = {
        name: _known(rng, rng.choice(letters), deadline, odd=seldom(6))
        for name in names
        if seldom(share)
    }
    mandatory, named = _mandatory(rng, groups)
    lost = {"gone": _last_key(kind, groups, mandatory)} if names and seldom(4) else {}
    return Case(
        kind,
        groups,
        known,
        rng.choice(limits),
        rng.choice(budgets),
        tuple(mandatory),
        soak,
        deadline,
        (rng.choice([200, 50]), rng.choice([40, 0])) if seldom(5) else None,
        lost,
        named,
    )


def _mandatory(
    rng: random.Random, groups: tuple[Group, ...]
) -> tuple[list[str | int], tuple[str, ...]]:
    """References to mandatory groups; and the names, perhaps, of those that do not exist."""
    present: list[str | int] = [g.name or g.index for g in groups]
    mandatory = rng.sample(present, min(rng.choice([0, 0, 1, 2]), len(present)))
    if _seldom(rng, 80):
        mandatory.sort(key=present.index)
    named: tuple[str, ...] = ()
    if _seldom(rng, 4):
        unknown: list[str | int] = ["nope", 9]
        mandatory.append(rng.choice(unknown))
        named = rng.choice([(), ("nope",)])
    return mandatory, named


def _groups(rng: random.Random, *, odd: bool, unsorted: bool) -> tuple[Group, ...]:
    names = [
        f"c{n:02}" for n in range(rng.choice([1, 2, 4, 6, 9, 12] if rng.random() > 0.02 else [0]))
    ]
    if unsorted:
        rng.shuffle(names)
    titles = ["canary", "early", "", ""]
    if not names:
        return (Group(0, "", ()),)
    count = min(rng.randint(1, 4), len(names))
    titles = rng.sample(titles[:2], min(count - 1, rng.randint(0, 2))) + [""] * count
    cuts = [0, *sorted(rng.sample(range(1, len(names)), count - 1)), len(names)]
    groups = [Group(n, titles[n], tuple(names[a:b])) for n, (a, b) in enumerate(pairwise(cuts))]
    if odd:
        last = groups.pop()
        index = rng.choice([last.index + 2, last.index - 1 if last.index else 1])
        extra = (names[0],) if rng.random() < 0.5 and names[0] not in last.clusters else ()
        groups.append(Group(index, "odd", last.clusters + extra))
    return tuple(groups)


def _known(rng: random.Random, letter: str, deadline: int | None, *, odd: bool) -> Known:
    since = rng.choice([1, 30, 59, 60, 61, 89, 90, 91, 400, 700])
    touched = since
    if letter == "S":
        touched += rng.choice([0, 10, 80])
    if not odd:
        return Known(letter, touched, since)
    match rng.choice(["flap", "soaked", "old"]):
        case "flap":
            return Known(letter, since + rng.choice([30, 95, 700]), since)
        case "soaked":
            return Known(letter, touched, since, soaked=True)
        case _:
            return Known(letter, touched, since, old=True)


def _last_key(kind: str, groups: tuple[Group, ...], mandatory: list[str | int]) -> str:
    """The key of the stage that comes last, where lost clusters are lost from."""
    spec = spec_of(kind, mandatory=mandatory)
    return BUILT_IN[kind].stages(spec, select(groups)).stages[-1].key
