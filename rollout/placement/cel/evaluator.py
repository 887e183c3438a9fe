"""Evaluates the tree of a CEL expression, with nested Python functions that are made once.

``&&``, ``||`` and the loops made of them absorb a `CelError`, as CEL asks. Nothing absorbs `Exhausted`,
which ends an evaluation that takes too much.
Source: cel-spec, "Evaluation", "Logical Operators", "Macros", "List of Standard Definitions".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollout.errors import ConfigError
from rollout.placement.cel import parsing as tree
from rollout.placement.cel.bounds import NODES_PER_STEP, Evaluation, Run
from rollout.placement.cel.standard import FunctionTable, Overloads
from rollout.placement.cel.text import SEARCHES, price_of_pattern, price_of_search
from rollout.placement.cel.values import (
    TYPES,
    CelError,
    CelType,
    Optional,
    Uint,
    compare,
    element,
    equal,
    has_key,
    held,
    key_of,
    no_overload,
    optional_at,
)

DEEP = frozenset({"format", "indexOf", "lastIndexOf"})
"""Functions that go down into their arguments."""

MAKERS = frozenset({"findAll", "getQuery", "parseJSON", "split"})
"""Functions that make many values of one text: what they made is paid for, too."""


def build(node: tree.Node, table: FunctionTable) -> Run:
    """The function that evaluates the tree.

    Raises: ConfigError for a function that there is not; CelError (when called).
    """
    match node:
        case tree.Const(value):
            return lambda _: value
        case tree.Ident(name):
            return _ident(name)
        case tree.Select(operand, field, test):
            return _select(build(operand, table), field, test)
        case tree.Call(function, args):
            makes_pattern = len(args) > 1 and not isinstance(args[1], tree.Const)
            return _call(function, [build(arg, table) for arg in args], table, makes_pattern)
        case tree.ListLiteral(items, optional):
            return _listing([build(item, table) for item in items], optional)
        case tree.MapLiteral(entries):
            made = [(build(k, table), build(v, table), optional) for k, v, optional in entries]
            return _mapping(made)
        case tree.Comprehension():
            return _comprehension(node, table)


class _Held:
    """An error in the accumulator of a loop: a later step may absorb it."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error


def _ident(name: str) -> Run:
    if name in TYPES.values():
        kind = CelType(name)
        return lambda _: kind

    def run(on: Evaluation) -> Any:
        value = on.variables[name]
        if value.__class__ is _Held:
            raise value.error
        return value

    return run


def _select(operand: Run, field: str, test: bool) -> Run:
    def run(on: Evaluation) -> Any:
        value = operand(on)
        if value.__class__ is dict:
            if field in value:
                return value[field]
            raise CelError(f"no such key: {field}")
        if value.__class__ is Optional:
            return optional_at(value, field)
        raise no_overload("select", value)

    def has(on: Evaluation) -> bool:
        value = operand(on)
        if value.__class__ is Optional:
            return optional_at(value, field).present
        if value.__class__ is not dict:
            raise no_overload("has", value)
        return field in value

    return has if test else run


def _call(function: str, args: Sequence[Run], table: FunctionTable, makes_pattern: bool) -> Run:
    match function:
        case "_&&_":
            return _logical(args, stops_at=False)
        case "_||_":
            return _logical(args, stops_at=True)
        case "_?_:_":
            return _ternary(*args)
        case "@not_strictly_false" | "__not_strictly_false__":
            return _not_strictly_false(args[0])
        case "or" | "orValue" if len(args) == 2:
            return _or(function, *args)
        case "scores":
            cluster, name = args
            return lambda on: on.scores(cluster(on), name(on))
    if len(args) == 2 and function in _OPERATORS:
        return _OPERATORS[function](*args)
    if function not in table:
        raise ConfigError(f"there is no function {function}")
    run = _function(function, args, table[function], makes_pattern)
    return (lambda on: on.paid_deep(run(on))) if function in MAKERS else run


def _logical(args: Sequence[Run], *, stops_at: bool) -> Run:
    """One side that decides hides an error of the other."""

    def run(on: Evaluation) -> bool:
        error: CelError | None = None
        for arg in args:
            try:
                value = arg(on)
            except CelError as raised:
                error = error or raised
                continue
            if value is stops_at:
                return bool(value)
            if value.__class__ is not bool:
                error = error or no_overload("_||_" if stops_at else "_&&_", value)
        if error is not None:
            raise error
        return not stops_at

    return run


def _ternary(condition: Run, then: Run, otherwise: Run) -> Run:
    def run(on: Evaluation) -> Any:
        value = condition(on)
        if value.__class__ is not bool:
            raise no_overload("_?_:_", value)
        return then(on) if value else otherwise(on)

    return run


def _not_strictly_false(arg: Run) -> Run:
    def run(on: Evaluation) -> bool:
        try:
            return arg(on) is not False
        except CelError:
            return True

    return run


def _or(function: str, one: Run, other: Run) -> Run:
    """The second side is not evaluated where the first has a value."""

    def run(on: Evaluation) -> Any:
        value = one(on)
        if value.__class__ is not Optional:
            raise no_overload(function, value)
        if not value.present:
            return other(on)
        return value.content if function == "orValue" else value

    return run


def _equality(one: Run, other: Run) -> Run:
    def run(on: Evaluation) -> bool:
        a, b = one(on), other(on)
        kind = a.__class__
        if kind is str and b.__class__ is str:
            same: bool = a == b
            return same
        # What is of another type or length is told apart without a look at what is in it.
        if kind is b.__class__ and (
            kind is Optional or (kind in (list, dict) and len(a) == len(b))
        ):
            on.paid_deep(a)  # no more of b is looked at than there is of a
        return equal(a, b)

    return run


def _inequality(one: Run, other: Run) -> Run:
    same = _equality(one, other)
    return lambda on: not same(on)


def _membership(one: Run, other: Run) -> Run:
    def run(on: Evaluation) -> bool:
        item, container = one(on), other(on)
        if container.__class__ is dict:
            return has_key(on.paid(container), on.paid(item))
        if container.__class__ is not list:
            raise no_overload("@in", item, container)
        on.paid_deep(container)
        return any(equal(item, each) for each in container)

    return run


def _at(read: Callable[[Any, Any], Any]) -> Callable[[Run, Run], Run]:
    """One element is read, however many there are: nothing is paid for the others."""
    return lambda one, other: lambda on: read(one(on), other(on))


def _comparison(name: str, holds: Callable[[int], bool]) -> Callable[[Run, Run], Run]:
    def build_one(one: Run, other: Run) -> Run:
        return lambda on: holds(compare(name, on.paid(one(on)), on.paid(other(on))))

    return build_one


_OPERATORS: Mapping[str, Callable[[Run, Run], Run]] = {
    "_==_": _equality,
    "_!=_": _inequality,
    "@in": _membership,
    "in": _membership,
    "_in_": _membership,
    "_[_]": _at(element),
    "_?._": _at(optional_at),
    "_[?_]": _at(optional_at),
    "_<_": _comparison("_<_", lambda order: order < 0),
    "_<=_": _comparison("_<=_", lambda order: order <= 0),
    "_>_": _comparison("_>_", lambda order: order > 0),
    "_>=_": _comparison("_>=_", lambda order: order >= 0),
}


def _function(name: str, args: Sequence[Run], overloads: Overloads, makes_pattern: bool) -> Run:
    """The overload for the values that the arguments have."""
    pay = Evaluation.paid_deep if name in DEEP else Evaluation.paid
    anything, is_search = overloads.get(None), name in SEARCHES
    if len(args) == 1:
        only = args[0]

        def run_one(on: Evaluation) -> Any:
            value = pay(on, only(on))
            on.spend(1)
            found = overloads.get((value.__class__,)) or anything
            if found is None:
                raise no_overload(name, value)
            return on.made(found(value))

        return run_one

    def run(on: Evaluation) -> Any:
        values = [pay(on, arg(on)) for arg in args]
        on.spend(1)
        found = overloads.get(tuple([v.__class__ for v in values])) or anything
        if found is None:
            raise no_overload(name, *values)
        if is_search:
            if makes_pattern:
                on.spend(price_of_pattern(values[1]))
            on.spend(price_of_search(*values[:2]))
        return on.made(found(*values))

    return run


def _is_present(value: Any) -> bool:
    """Whether an optional element of a literal is there."""
    if value.__class__ is not Optional:
        raise no_overload("?", value)
    return bool(value.present)


def _listing(items: Sequence[Run], optional: frozenset[int]) -> Run:
    if not optional:
        return lambda on: [item(on) for item in items]

    def run(on: Evaluation) -> list[Any]:
        found = []
        for i, item in enumerate(items):
            value = item(on)
            if i not in optional:
                found.append(value)
            elif _is_present(value):
                found.append(value.content)
        return found

    return run


def _mapping(entries: Sequence[tuple[Run, Run, bool]]) -> Run:
    def run(on: Evaluation) -> dict[Any, Any]:
        found = {}
        for run_key, run_value, optional in entries:
            key, value = run_key(on), run_value(on)
            if type(key) not in _KEYS:
                raise CelError(f"unsupported key type: {TYPES.get(type(key), '?')}")
            if optional:
                if not _is_present(value):
                    continue
                value = value.content
            if held(key) in found:
                raise CelError(f"repeated key: {key}")
            found[held(key)] = value
        return found

    return run


_KEYS = (bool, int, str, Uint)


def price_of(*nodes: tree.Node) -> int:
    """The steps for going through these nodes once, the calls of functions not counted."""
    return 1 + sum(map(_repeated, nodes)) // NODES_PER_STEP


def _repeated(node: tree.Node) -> int:
    """The nodes evaluated each time; what an inner loop repeats is paid for there."""
    if isinstance(node, tree.Comprehension):
        return 1 + sum(map(_repeated, (node.over, node.start, node.result)))
    return 1 + sum(map(_repeated, tree.children(node)))


def _comprehension(node: tree.Comprehension, table: FunctionTable) -> Run:
    over, start = build(node.over, table), build(node.start, table)
    condition, step = build(node.condition, table), build(node.step, table)
    result, variable, accumulator = build(node.result, table), node.variable, node.accumulator
    price = price_of(node.condition, node.step)

    def run(on: Evaluation) -> Any:
        items = on.looped(over(on))
        if items.__class__ is not list and items.__class__ is not dict:
            raise no_overload("comprehension", items)
        outer = on.variables
        variables = on.variables = dict(outer)
        try:
            variables[accumulator] = start(on)
            for item in items:
                on.spend(price)
                variables[variable] = key_of(item)
                if not condition(on):
                    break
                try:
                    variables[accumulator] = step(on)
                except CelError as error:
                    variables[accumulator] = _Held(error)
            return result(on)
        finally:
            on.variables = outer

    return run
