"""Parses and type-checks CEL expressions; the one module that uses the CEL library.

The library hands an expression over as the protobuf message ``cel.expr.CheckedExpr``. It is read here
without a protobuf library, since only a dozen messages occur in it.
Source: cel-spec, ``checked.proto`` and ``syntax.proto`` (field numbers).
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rollout.errors import ConfigError
from rollout.placement.cel.standard import Function
from rollout.placement.cel.values import Uint

Fields = dict[int, list[Any]]


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable, or the name of a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``; with ``test``: ``has(operand.field)``."""

    operand: "Node"
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function; of a member function the target is the first argument."""

    function: str
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list literal; elements at the places in ``optional`` are left out where they have no value."""

    items: tuple["Node", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """A map literal: key, value, and whether the entry is optional."""

    entries: tuple[tuple["Node", "Node", bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comprehension:
    """The loop that all macros are made of."""

    variable: str
    over: "Node"
    accumulator: str
    start: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node = Const | Ident | Select | Call | ListLiteral | MapLiteral | Comprehension


class Environment:
    """What expressions may use: variables, and functions beside CEL's own."""

    def __init__(
        self, declared: Sequence[Function], variables: tuple[tuple[str, str], ...]
    ) -> None:
        """Args: variables: the CEL type of each."""
        # Imported with the first expression that somebody writes: it takes ten megabytes.
        from cel_expr_python import cel  # noqa: PLC0415
        from cel_expr_python.ext import ext_optional  # noqa: PLC0415

        overloads: dict[str, list[Any]] = {}
        for number, row in enumerate(declared):
            result, params = _type(cel.Type, row.result), [_type(cel.Type, p) for p in row.params]
            overload = cel.Overload(f"{row.name}_{number}", result, params, row.member)
            overloads.setdefault(row.name, []).append(overload)
        self._boolean = (cel.Type.BOOL, cel.Type.DYN)
        self._library = cel.NewEnv(
            variables={name: _type(cel.Type, type_) for name, type_ in variables},
            extensions=[ext_optional.ExtOptional()],
            functions=[cel.FunctionDecl(name, each) for name, each in overloads.items()],
        )

    @staticmethod
    @lru_cache(maxsize=4)
    def of(declared: tuple[Function, ...], variables: tuple[tuple[str, str], ...]) -> "Environment":
        """The environment with these declarations, made once."""
        return Environment(declared, variables)

    def parse(self, text: str) -> tuple[Node, bool]:
        """The tree, and False where its value can never be a bool.

        Raises: ConfigError with what is wrong; RecursionError where it is nested too deeply.
        """
        try:
            text.encode()  # the library takes text that is UTF-8
            expression = self._library.compile(text)
        except UnicodeEncodeError as error:
            raise ConfigError("it has a surrogate, which is half a character") from error
        except (RuntimeError, ValueError) as error:
            words = str(error).removesuffix(" [INVALID_ARGUMENT]")
            raise ConfigError(words.removeprefix("INVALID_ARGUMENT: ")) from error
        return read(expression.serialize()), expression.return_type() in self._boolean


def _type(types: Any, text: str) -> Any:
    """The library's type of a type as our tables write it. ``types``: where the library has them."""
    head, _, inner = text.removesuffix(")").partition("(")
    if head == "list":
        return types.List(_type(types, inner))
    if head == "map":
        key, _, value = inner.partition(", ")
        return types.Map(_type(types, key), _type(types, value))
    # The plain types are constants of the library; Kubernetes' own have a dot in their names.
    return types.AbstractType(text) if "." in text else getattr(types, text.upper())


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _wire(data: bytes) -> Iterator[tuple[int, Any]]:
    """Field number and value: bytes for anything with a length, int for numbers."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, data[at : at + 8]
                at += 8
            case 2:
                length, at = _varint(data, at)
                yield tag >> 3, data[at : at + length]
                at += length
            case other:
                raise ValueError(f"read a CEL tree: wire type {other} does not occur in one")


def _fields(data: bytes) -> Fields:
    found: Fields = {}
    for number, value in _wire(data):
        found.setdefault(number, []).append(value)
    return found


def read(serialized: bytes) -> Node:
    """The tree of a ``CheckedExpr`` packed in an ``Any``.

    Raises: ConfigError for an expression that makes a message of protobuf.
    """
    checked = _fields(_fields(serialized)[2][0])
    return _node(checked[4][0])


def _text(fields: Fields, number: int) -> str:
    return str(fields[number][0], "utf-8") if number in fields else ""


def _node(data: bytes) -> Node:
    fields = _fields(data)
    for number, read_one in _READERS.items():
        if number in fields:
            return read_one(_fields(fields[number][0]))
    raise ConfigError("it has a part of an unknown form")


def _const(fields: Fields) -> Node:
    number, (value,) = next(iter(fields.items()))
    match number:
        case 1:
            return Const(None)
        case 2:
            return Const(bool(value))
        case 3:
            return Const(value - 2**64 if value >= 2**63 else value)
        case 4:
            return Const(Uint(value))
        case 5:
            return Const(struct.unpack("<d", value)[0])
        case 6:
            return Const(str(value, "utf-8"))
    return Const(value)


def _select(fields: Fields) -> Node:
    return Select(_node(fields[1][0]), _text(fields, 2), bool(fields.get(3, [0])[0]))


def _call(fields: Fields) -> Node:
    listed = [*fields.get(1, ()), *fields.get(3, ())]
    return Call(_text(fields, 2), tuple(_node(each) for each in listed))


def _listing(fields: Fields) -> Node:
    optional: list[int] = []
    for packed in fields.get(2, ()):
        if isinstance(packed, int):
            optional.append(packed)
            continue
        at = 0
        while at < len(packed):
            value, at = _varint(packed, at)
            optional.append(value)
    return ListLiteral(tuple(_node(each) for each in fields.get(1, ())), frozenset(optional))


def _mapping(fields: Fields) -> Node:
    if 1 in fields:
        raise ConfigError(f"it makes a {_text(fields, 1)}: there is no such value here")
    entries = []
    for data in fields.get(2, ()):
        entry = _fields(data)
        entries.append((_node(entry[3][0]), _node(entry[4][0]), bool(entry.get(5, [0])[0])))
    return MapLiteral(tuple(entries))


def _comprehension(fields: Fields) -> Node:
    return Comprehension(
        variable=_text(fields, 1),
        over=_node(fields[2][0]),
        accumulator=_text(fields, 3),
        start=_node(fields[4][0]),
        condition=_node(fields[5][0]),
        step=_node(fields[6][0]),
        result=_node(fields[7][0]),
    )


_READERS = {
    3: _const,
    4: lambda fields: Ident(_text(fields, 1)),
    5: _select,
    6: _call,
    7: _listing,
    8: _mapping,
    9: _comprehension,
}


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    match node:
        case Select(operand):
            return (operand,)
        case Call(_, args):
            return args
        case ListLiteral(items):
            return items
        case MapLiteral(entries):
            return tuple(part for key, value, _ in entries for part in (key, value))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
    return ()
