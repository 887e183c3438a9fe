"""Which prioritizers count for a placement, and how much?

Source: OCM placement spec 2.8. Difference: a configuration replaces every earlier one, and the
default, that names the same score; the order is the defaults', then that of the configurations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rollout.model.placement import Coordinate, Placement
from rollout.model.problems import Problem
from rollout.placement.framework import Prioritizer
from rollout.placement.prioritizers import AddOnScore, Balance, ResourceAllocatable, Steady
from rollout.placement.spread import SPREAD

DEFAULTS = (Coordinate(builtin="Balance"), Coordinate(builtin="Steady"))

Factory = Callable[[], Prioritizer]

BUILTINS: Mapping[str, Factory] = {
    "Balance": Balance,
    "Steady": Steady,
    "ResourceAllocatableCPU": lambda: ResourceAllocatable("ResourceAllocatableCPU", "cpu"),
    "ResourceAllocatableMemory": lambda: ResourceAllocatable("ResourceAllocatableMemory", "memory"),
}


@dataclass(frozen=True, slots=True)
class Weighted:
    """A prioritizer and the factor of its scores, never 0."""

    prioritizer: Prioritizer
    weight: int


def effective(placement: Placement) -> dict[Coordinate, int]:
    """The weight of every score that is named, 0 included."""
    found = {} if placement.mode == "Exact" else dict.fromkeys(DEFAULTS, 1)
    for coordinate, weight in placement.weights:
        found[coordinate] = weight
    return found


def unknown(placement: Placement, builtins: Mapping[str, Factory]) -> list[Problem]:
    """Prioritizers that nobody provides. Those with weight 0 are not asked for."""
    return [
        Problem(
            "spec.prioritizerPolicy.configurations",
            coordinate.builtin,
            f"one of {', '.join(sorted(builtins))}",
        )
        for coordinate, weight in effective(placement).items()
        if weight
        and coordinate.type == "BuiltIn"
        and coordinate.builtin not in builtins
        and coordinate != SPREAD
    ]


def prioritizers(placement: Placement, builtins: Mapping[str, Factory]) -> list[Weighted]:
    """What to run, in a stable order. All of it is known: see `unknown`."""
    return [
        Weighted(
            builtins[coordinate.builtin]()
            if coordinate.type == "BuiltIn"
            else AddOnScore(coordinate.resource, coordinate.score),
            weight,
        )
        for coordinate, weight in effective(placement).items()
        if weight and coordinate != SPREAD
    ]
