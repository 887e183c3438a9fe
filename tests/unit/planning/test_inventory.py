"""Published decisions follow ours, one write at a time, and no cluster is missing in between."""

import random

import pytest

from rollout.model.inventory import SLICE_SIZE
from rollout.planning.inventory import step

Slices = dict[str, tuple[str, ...]]


def arrive(wanted: Slices, known: Slices, order: random.Random) -> list[Slices]:
    """All states on the way, one slice written after the other in any order."""
    states = [known]
    for _ in range(50):
        after = step(wanted, states[-1])
        if after == states[-1]:
            return states
        differing = [n for n in {**after, **states[-1]} if after.get(n) != states[-1].get(n)]
        order.shuffle(differing)
        for name in differing:
            state = {**states[-1], name: after.get(name, ())}
            states.append({n: found for n, found in state.items() if n in after or n != name})
    raise AssertionError(f"never arrives: {wanted}, {known}")


def named(slices: Slices) -> set[str]:
    return {cluster for found in slices.values() for cluster in found}


@pytest.mark.parametrize("seed", range(200))
def test_a_cluster_that_moves_is_never_missing_and_all_arrive(seed: int) -> None:
    rng = random.Random(seed)
    fleet = [f"c{n:03d}" for n in range(rng.randint(0, 260))]

    def cut() -> Slices:
        chosen = [c for c in fleet if rng.random() < 0.9]
        if rng.random() < 0.5:
            rng.shuffle(chosen)
        size = rng.choice((30, 90, 99))
        pages = [chosen[at : at + size] for at in range(0, len(chosen), size)]
        return {f"p-{n}": tuple(page) for n, page in enumerate(pages)}

    before, wanted = cut(), cut()
    states = arrive(wanted, before, rng)

    assert states[-1] == wanted
    always = named(before) & named(wanted)
    for state in states:
        assert always <= named(state)
        assert all(len(found) <= SLICE_SIZE for found in state.values())


def test_full_slices_hand_over_along_a_line_and_none_is_ever_too_long() -> None:
    fleet = [f"c{n:03d}" for n in range(299)]
    before = {"a": tuple(fleet[:100]), "b": tuple(fleet[100:200]), "c": tuple(fleet[200:])}
    wanted = {
        "a": ("aaa", *fleet[:99]),
        "b": tuple(fleet[99:199]),
        "c": tuple(fleet[199:]),
    }

    states = arrive(wanted, before, random.Random(1))

    assert states[-1] == wanted
    assert all(set(fleet) <= named(state) for state in states)
    assert all(len(found) <= SLICE_SIZE for state in states for found in state.values())


def test_full_slices_that_exchange_clusters_are_written_at_once() -> None:
    fleet = [f"c{n:03d}" for n in range(200)]
    before = {"a": tuple(fleet[:100]), "b": tuple(fleet[100:])}
    wanted = {"a": (*fleet[:99], fleet[100]), "b": (fleet[99], *fleet[101:])}

    assert step(wanted, before) == wanted


def test_a_slice_that_is_to_go_stays_until_its_clusters_stand_elsewhere() -> None:
    before: Slices = {"a": ("one",), "b": ("two", "gone")}
    wanted: Slices = {"a": ("one", "two")}

    assert step(wanted, before) == {"a": ("one", "two"), "b": ("two",)}
    assert step(wanted, {"a": ("one", "two"), "b": ("two",)}) == wanted
