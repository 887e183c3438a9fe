"""What does an evaluation of a CEL expression read, and what does it pay for each step?

Time is never looked at: the same expression takes the same steps about the same cluster everywhere.
A price is set so that a step is a few microseconds of work at most.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rollout.placement.cel_values import Exhausted, Optional

BUDGET = 15_000
"""Steps that one expression may take for one cluster: some tens of milliseconds at most."""

ROOM = 2_000_000
"""Characters and elements that one evaluation may make: some tens of megabytes at most."""

STEP_NODES = 32
"""An expression costs a step, and another one for so many nodes of it; so does each turn of a loop,
and each call of a function costs one more."""

STEP_LENGTH: Mapping[type, int] = {str: 2048, bytes: 2048, list: 32, dict: 32}
"""Whatever goes along a value takes a step for each so many elements of a longer one."""

STEP_PARTS = 16
"""Whatever goes down into a value takes a step for each so many of all the values in it."""

_PART_LENGTH = 128
"""So many characters count as one of them."""

ScoresOf = Callable[[Any, Any], list[Any]]
"""``<cluster>.scores(<name>)``: reads what no expression can see by itself."""


class Frame:
    """What an evaluation reads and keeps: its variables, the steps and the room left, the scores."""

    __slots__ = ("left", "room", "scores", "variables")

    def __init__(self, variables: dict[str, Any], scores: ScoresOf) -> None:
        self.variables = variables
        self.left = BUDGET
        self.room = ROOM
        self.scores = scores

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise Exhausted(f"it takes more than {BUDGET} steps")

    def paid(self, value: Any) -> Any:
        """The value, for whatever goes along it once."""
        length = STEP_LENGTH.get(value.__class__)
        if length is not None and len(value) > length:
            self.spend(len(value) // length)
        return value

    def made(self, value: Any) -> Any:
        """The value, which a function has just made: it takes room, and steps if it is long."""
        length = STEP_LENGTH.get(value.__class__)
        if length is not None:
            size = len(value)
            self.room -= size
            if self.room < 0:
                raise Exhausted(f"it makes more than {ROOM} characters and elements")
            if size > length:
                self.spend(size // length)
        return value

    def paid_deep(self, value: Any) -> Any:
        """The value, for whatever goes through all that is in it, however deep.

        Paid on the way, before anything is looked into: a value can hold itself many times over.
        """
        open_, parts = [value], 0
        while open_:
            each = open_.pop()
            kind = each.__class__
            if kind is str or kind is bytes:
                parts += len(each) // _PART_LENGTH
            elif kind is list or kind is dict:
                parts += len(each)
            elif kind is Optional:
                open_.append(each.content)
                parts += 1
            if parts >= STEP_PARTS:
                self.spend(parts // STEP_PARTS)
                parts %= STEP_PARTS
            if kind is list:
                open_ += each
            elif kind is dict:
                open_ += each.values()
        return value


Run = Callable[[Frame], Any]
"""Evaluates a tree, or a part of one."""
