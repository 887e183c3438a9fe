"""What is the value of a CEL tree? Trees become nested Python functions, made once per expression.

Every step of a loop is paid from a budget, so an evaluation is bounded, and bounded in the same way
on every machine. ``&&``, ``||`` and the loops made of them absorb errors as CEL asks.
Source: cel-spec, "Evaluation", "Logical Operators", "Macros".
"""

from collections.abc import Callable, Sequence
from typing import Any

from rollout.errors import ConfigError
from rollout.placement import cel_tree as tree
from rollout.placement.cel_frame import STEP_NODES, Frame, Run
from rollout.placement.cel_functions import Overloads, Table
from rollout.placement.cel_operators import operator, optional_at
from rollout.placement.cel_regex import SEARCHES, price_of_pattern, price_of_search
from rollout.placement.cel_values import TYPES, CelError, CelType, Exhausted, Optional, no_overload

DEEP = frozenset({"format", "indexOf", "lastIndexOf"})
"""Functions that go down into their arguments."""

MAKERS = frozenset({"findAll", "getQuery", "parseJSON", "split"})
"""Functions that make many values of one text: what they made is paid for, too."""


def build(node: tree.Node, table: Table) -> Run:
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
            return _call(function, _arguments(function, args, table), table)
        case tree.Listing(items, optional):
            return _listing([build(item, table) for item in items], optional)
        case tree.Mapping(entries):
            made = [(build(k, table), build(v, table), optional) for k, v, optional in entries]
            return _mapping(made)
        case tree.Comprehension():
            return _comprehension(node, table)


def _arguments(function: str, args: Sequence[tree.Node], table: Table) -> list[Run]:
    runs = [build(arg, table) for arg in args]
    if function in SEARCHES and len(args) > 1 and not isinstance(args[1], tree.Const):
        runs[1] = _made_pattern(runs[1])
    return runs


def _made_pattern(made: Run) -> Run:
    def run(frame: Frame) -> Any:
        pattern = made(frame)
        frame.spend(price_of_pattern(pattern))
        return pattern

    return run


class _Held:
    """An error in the accumulator of a loop: a later step may absorb it."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error


def _ident(name: str) -> Run:
    if name in TYPES.values():
        kind = CelType(name)
        return lambda _: kind
    if name.startswith(("@", "__")):
        return _accumulated(name)

    def run(frame: Frame) -> Any:
        return frame.variables[name]

    return run


def _accumulated(name: str) -> Run:
    def run(frame: Frame) -> Any:
        value = frame.variables[name]
        if value.__class__ is _Held:
            raise value.error
        return value

    return run


def _select(operand: Run, field: str, test: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        if value.__class__ is dict:
            if field in value:
                return value[field]
            raise CelError(f"no such key: {field}")
        if value.__class__ is Optional:
            return optional_at(value, field)
        raise no_overload("select", value)

    def has(frame: Frame) -> bool:
        value = operand(frame)
        if value.__class__ is Optional:
            return optional_at(value, field).present
        if value.__class__ is not dict:
            raise no_overload("has", value)
        return field in value

    return has if test else run


def _call(function: str, args: Sequence[Run], table: Table) -> Run:
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
            return _scores(*args)
    found = operator(function, *args) if len(args) == 2 else None
    return found or _function(function, args, table)


def _logical(args: Sequence[Run], *, stops_at: bool) -> Run:
    """One side that decides hides an error of the other."""

    def run(frame: Frame) -> bool:
        error: CelError | None = None
        for arg in args:
            try:
                value = arg(frame)
            except Exhausted:
                raise
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
    def run(frame: Frame) -> Any:
        value = condition(frame)
        if value.__class__ is not bool:
            raise no_overload("_?_:_", value)
        return then(frame) if value else otherwise(frame)

    return run


def _not_strictly_false(arg: Run) -> Run:
    def run(frame: Frame) -> bool:
        try:
            return arg(frame) is not False
        except Exhausted:
            raise
        except CelError:
            return True

    return run


def _or(function: str, one: Run, other: Run) -> Run:
    """The second side is not evaluated where the first has a value."""

    def run(frame: Frame) -> Any:
        value = one(frame)
        if value.__class__ is not Optional:
            raise no_overload(function, value)
        if not value.present:
            return other(frame)
        return value.content if function == "orValue" else value

    return run


def _function(name: str, args: Sequence[Run], table: Table) -> Run:
    overloads = table.get(name)
    if overloads is None:
        raise ConfigError(f"there is no function {name}")
    pay = Frame.paid_deep if name in DEEP else Frame.paid
    run = _chosen(name, overloads, args, pay)
    return (lambda frame: frame.paid_deep(run(frame))) if name in MAKERS else run


def _chosen(
    name: str, overloads: Overloads, args: Sequence[Run], pay: Callable[[Frame, Any], Any]
) -> Run:
    """The overload for the values that the arguments have."""
    anything, is_search = overloads.get(None), name in SEARCHES
    if len(args) == 1:
        only = args[0]

        def run_one(frame: Frame) -> Any:
            value = pay(frame, only(frame))
            frame.spend(1)
            found = overloads.get((value.__class__,)) or anything
            if found is None:
                raise no_overload(name, value)
            return frame.made(found(value))

        return run_one

    def run(frame: Frame) -> Any:
        values = [pay(frame, arg(frame)) for arg in args]
        frame.spend(1)
        found = overloads.get(tuple([v.__class__ for v in values])) or anything
        if found is None:
            raise no_overload(name, *values)
        if is_search:
            frame.spend(price_of_search(*values))
        return frame.made(found(*values))

    return run


def _scores(cluster: Run, name: Run) -> Run:
    def run(frame: Frame) -> Any:
        return frame.scores(cluster(frame), name(frame))

    return run


def _is_present(value: Any) -> bool:
    """Whether an optional element of a literal is there."""
    if value.__class__ is not Optional:
        raise no_overload("?", value)
    return bool(value.present)


def _listing(items: Sequence[Run], optional: frozenset[int]) -> Run:
    def run(frame: Frame) -> list[Any]:
        return [item(frame) for item in items]

    def run_optional(frame: Frame) -> list[Any]:
        found = []
        for i, item in enumerate(items):
            value = item(frame)
            if i not in optional:
                found.append(value)
            elif _is_present(value):
                found.append(value.content)
        return found

    return run_optional if optional else run


def _mapping(entries: Sequence[tuple[Run, Run, bool]]) -> Run:
    def run(frame: Frame) -> dict[Any, Any]:
        found = {}
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if type(key) not in _KEYS:
                raise CelError(f"unsupported key type: {TYPES.get(type(key), '?')}")
            if optional:
                if not _is_present(value):
                    continue
                value = value.content
            if key in found:
                raise CelError(f"repeated key: {key}")
            found[key] = value
        return found

    return run


_KEYS = (bool, int, str, *(kind for kind, name in TYPES.items() if name == "uint"))


def price_of(*nodes: tree.Node) -> int:
    """The steps for going through these nodes once, the calls of functions not counted."""
    return 1 + sum(map(_repeated, nodes)) // STEP_NODES


def _repeated(node: tree.Node) -> int:
    """The nodes evaluated each time; what an inner loop repeats is paid for there."""
    if isinstance(node, tree.Comprehension):
        return 1 + sum(map(_repeated, (node.over, node.start, node.result)))
    return 1 + sum(map(_repeated, tree.children(node)))


def _comprehension(node: tree.Comprehension, table: Table) -> Run:
    over, start = build(node.over, table), build(node.start, table)
    condition, step = build(node.condition, table), build(node.step, table)
    result, variable, accumulator = build(node.result, table), node.variable, node.accumulator
    price = price_of(node.condition, node.step)

    def run(frame: Frame) -> Any:
        items = over(frame)
        if items.__class__ is not list and items.__class__ is not dict:
            raise no_overload("comprehension", items)
        outer = frame.variables
        variables = frame.variables = dict(outer)
        try:
            variables[accumulator] = start(frame)
            for item in items:
                frame.spend(price)
                variables[variable] = item
                if not condition(frame):
                    break
                try:
                    variables[accumulator] = step(frame)
                except Exhausted:
                    raise
                except CelError as error:
                    variables[accumulator] = _Held(error)
            return result(frame)
        finally:
            frame.variables = outer

    return run
