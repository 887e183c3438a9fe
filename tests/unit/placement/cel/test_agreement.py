"""The CEL library can evaluate too, without bounds. Do the two evaluators agree on what is random?"""

import random
from functools import partial

import pytest
from cel_expr_python import cel as library
from cel_expr_python.ext import ext_optional

from rollout.model.cluster import Cluster
from rollout.placement.cel import expressions

LIBRARY = library.NewEnv(extensions=[ext_optional.ExtOptional()])
NOBODY = Cluster("c")


def own(text: str) -> bool | str:
    return expressions.Judge(lambda _: {}, None).verdict(text, NOBODY)[0]


ATOMS = (
    "0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", "1u", "0u", "1.0", "-0.5",
    "1e20", "'a'", "''", "'1'", "'-5'", "'true'", "'日本'", "b'a'", "true", "false", "null",
    "[]", "[1]", "[1, 2.0, 3u]", "['a', 'b']", "[[1]]", "{}", "{'a': 1}", "{1: 'x'}", "{0: 5}",
    "{true: 1, false: 0}", "{1u: 3}", "{'true': true}", "{'a': {'b': [1]}}", "type(1)",
    "timestamp('2026-01-31T23:59:59.5Z')", "timestamp('1970-01-01T00:00:00+01:00')",
    "duration('90m')", "duration('-1.5s')",
)  # fmt: skip
OPERATORS = ("==", "==", "!=", "<", "<=", ">", ">=")


def some(dice: random.Random, depth: int, bound: tuple[str, ...] = ()) -> str:
    """An expression of any type, often of the wrong one: the type check lets ``dyn`` pass."""
    return f"dyn({_some(dice, depth, bound)})"


def _some(dice: random.Random, depth: int, bound: tuple[str, ...]) -> str:
    one = partial(some, dice, depth - 1, bound)
    match dice.randrange(16) if depth else 7:
        case 0:
            return f"({one()} {dice.choice(['+', '-', '*', '/', '%'])} {one()})"
        case 1:
            return f"({truth(dice, depth - 1, bound)} ? {one()} : {one()})"
        case 2:
            return f"{one()}[{one()}]"
        case 3:
            return f"{dice.choice(['size', 'type', 'bool', 'uint', 'double'])}({one()})"
        case 4:
            return f"{one()}.{dice.choice(['getDayOfYear', 'getHours', 'size'])}()"
        case 5:
            name = f"v{len(bound)}"
            if dice.random() < 0.5:
                return f"{one()}.map({name}, {some(dice, depth - 1, (*bound, name))})"
            return f"{one()}.filter({name}, {truth(dice, depth - 1, (*bound, name))})"
        case 6:
            key = dice.choice(["1", "true", "'a'"])
            return f"[{one()}, {{{key}: {one()}}}]"
    return dice.choice((*ATOMS, *bound, *bound))


def truth(dice: random.Random, depth: int, bound: tuple[str, ...] = ()) -> str:
    """An expression that is true, false or without a value."""
    one = partial(some, dice, depth, bound)
    match dice.randrange(5):
        case 0:
            name, macro = f"v{len(bound)}", dice.choice(["all", "exists", "exists_one"])
            inner = truth(dice, max(depth - 1, 0), (*bound, name)) if depth else "true"
            return f"{one()}.{macro}({name}, {inner})"
        case 1 if depth:
            both = (truth(dice, depth - 1, bound), truth(dice, depth - 1, bound))
            return f"({both[0]} {dice.choice(['&&', '||'])} !{both[1]})"
        case 2:
            return f"{one()} in [{one()}, {one()}]"
    return f"({one()} {dice.choice(OPERATORS)} {one()})"


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_have_the_verdict_that_the_library_gives(seed: int) -> None:
    dice, valued = random.Random(seed), 0
    for _ in range(150):
        text = truth(dice, 2)
        found = LIBRARY.compile(text).eval(data={})
        failed = found.type() == library.Type.ERROR
        verdict = own(text)

        assert isinstance(verdict, str) if failed else verdict is found.value(), text
        valued += not failed

    assert valued > 15
