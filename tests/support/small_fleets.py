"""Groups of a few clusters in one line, two stages of two, and a specification of every sort for them."""

import re

from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.strategies.base import Rollout
from tests.support.fleets import fleet


def groups(text: str) -> list[Group]:
    """``0(m)={a,b} 2={c}``."""
    return [
        Group(int(index), name, tuple(filter(None, members.split(","))))
        for index, name, members in re.findall(r"(\d+)(?:\((\w+)\))?=\{([\w,]*)\}", text)
    ]


PAIRS, FIVE = "0={a,b} 1={c,d} 2={e,f}", "0={a,b,c,d,e}"
HALTED = "MaxFailuresExceeded"

TWO_STAGES = [Group(0, "m", ("a", "b")), Group(1, "", ("c", "d"))]


def in_two(word: str, spec: RolloutSpec, *, strict_tolerance: bool = False) -> Rollout:
    return fleet(word, spec, groups=TWO_STAGES, strict_tolerance=strict_tolerance)
