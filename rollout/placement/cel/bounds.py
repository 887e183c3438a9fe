"""Every bound on CEL expressions, and the account that an evaluation pays from.

Bounds count steps and never time, so that a decision is the same on every machine. A step is a turn
of a loop, a call of a function, or so much of a long value; it takes 0.2 to 2 microseconds on a small
machine. ADR 0021 has the figures behind the numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rollout.placement.cel.values import CelError, Optional

# -- of one Placement ------------------------------------------------------------------------------

MOST_EXPRESSIONS = 64
"""Expressions in all predicates together."""

LONGEST_TOGETHER = 16_384
"""Characters of all expressions together. To compile them takes some tenths of a second."""

MOST_STEPS = 5_000_000
"""Steps of all expressions over all candidates. Five usual expressions over 10,000 clusters take a
fifth of that."""

SLICE_STEPS = 5_000
"""Steps between two looks at the engine's inbox: some ten milliseconds, and at most one evaluation
more."""

# -- of one expression -----------------------------------------------------------------------------

LONGEST_EXPRESSION = 4_096
"""Characters. What is longer is refused before it is parsed."""

LONGEST_DOUBLED = 16 * LONGEST_EXPRESSION
"""Characters, doubled for each optMap and optFlatMap: the checker writes their operand twice."""

STEPS_PER_CHARACTER = 8
"""To compile an expression takes as long as so many steps for each of its characters."""

LONGEST_SHOWN = 1_000
"""Characters of an expression that a message shows."""

LONGEST_FAILURE = 300
"""Characters of a message that says why an evaluation failed."""

# -- of one evaluation -----------------------------------------------------------------------------

BUDGET = 15_000
"""Steps of one expression for one cluster: some tens of milliseconds at most."""

ROOM = 2_000_000
"""Characters and elements that one evaluation may make: some tens of megabytes at most."""

LONGEST_VALUE = 1_000_000
"""Characters or elements of one value that an expression makes."""

LONGEST_FORMAT = 16_384
"""Characters of a format string."""

FINEST_FORMAT = 1_000
"""Digits after the point that a format string may ask for; more of them count as so many."""

NODES_PER_STEP = 32
"""An evaluation costs a step, and another one for so many nodes of the expression. So does each turn
of a loop. Each call of a function costs one more."""

LENGTH_PER_STEP: Mapping[type, int] = {str: 2048, bytes: 2048, list: 32, dict: 32}
"""What goes along a value once costs a step for each so many of its characters or elements, where it
has more than that."""

PARTS_PER_STEP = 16
"""What looks through nested values (``==``, ``in``, format, indexOf) costs a step for each so many of
the values in them."""

CHARACTERS_PER_PART = 128
"""So many characters of a text count as one value."""

# -- of regular expressions ------------------------------------------------------------------------

PATTERN_MEMORY = 1 << 17
"""Bytes of a compiled pattern. To compile one of that size takes about a millisecond."""

SEARCH_STEPS = 2
"""Steps for beginning a search."""

WORK_PER_STEP = 2048
"""A search takes a step for so many instructions of the pattern times characters of the text."""

INSTRUCTIONS_PER_STEP = 16
"""A search takes a step for so many instructions: the pattern may have to be compiled again."""

BAD_PATTERN_STEPS = 250
"""Steps for a pattern that cannot be compiled."""

NEW_PATTERN_STEPS = 500
"""Steps for a pattern that the expression makes: it may have to be compiled for each evaluation."""

PATTERN_CHARACTERS_PER_STEP = 4
"""Such a pattern takes another step for so many characters of it."""


class Exhausted(Exception):  # ends an evaluation; `expressions` makes words of it
    """The evaluation took more than it may. No operator absorbs this, as it does a `CelError`."""


ScoresOf = Callable[[Any, Any], list[Any]]
"""``<cluster>.scores(<name>)``: what an expression cannot read from the cluster itself."""


class Evaluation:
    """The variables of one evaluation, how it reads scores, and the steps and the room left to it.

    ``price``: steps that are taken already. No expression that is accepted is so long that it takes all.
    """

    __slots__ = ("left", "room", "scores", "variables")

    def __init__(self, variables: dict[str, Any], scores: ScoresOf, price: int) -> None:
        self.variables = variables
        self.scores = scores
        self.left = BUDGET - price
        self.room = ROOM

    def spend(self, steps: int) -> None:
        """Raises: Exhausted."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted(f"it takes more than {BUDGET} steps")

    def paid(self, value: Any) -> Any:
        """The value, paid for whatever goes along it once."""
        length = LENGTH_PER_STEP.get(value.__class__)
        if length is not None and len(value) > length:
            self.spend(len(value) // length)
        return value

    def looped(self, items: Any) -> Any:
        """The list or object that a loop (``all``, ``exists``, ``map``, ``filter``) goes through."""
        return items

    def made(self, value: Any) -> Any:
        """The value, which a function has just made: it takes room, and steps where it is long."""
        if value.__class__ in LENGTH_PER_STEP:
            self.room -= len(value)
            if self.room < 0:
                raise Exhausted(f"it makes more than {ROOM} characters and elements")
        return self.paid(value)

    def paid_deep(self, value: Any) -> Any:
        """The value, paid for whatever goes through all that is in it, however deep.

        Paid on the way and not afterwards: a value can hold itself many times over.
        """
        open_, parts = [value], 0
        while open_:
            each = open_.pop()
            kind = each.__class__
            if kind is str or kind is bytes:
                parts += len(each) // CHARACTERS_PER_PART
            elif kind is list:
                parts += len(each)
                open_ += each
            elif kind is dict:
                parts += len(each)
                open_ += each.values()
            elif kind is Optional:
                parts += 1
                open_.append(each.content)
            if parts >= PARTS_PER_STEP:
                self.spend(parts // PARTS_PER_STEP)
                parts %= PARTS_PER_STEP
        return value


Run = Callable[[Evaluation], Any]
"""Evaluates an expression, or a part of one."""


def bounded(value: Any) -> Any:
    """A string, list or bytes that an expression has made. Raises: CelError where it is too long."""
    if len(value) > LONGEST_VALUE:
        raise CelError(f"a value grew beyond {LONGEST_VALUE} elements")
    return value
