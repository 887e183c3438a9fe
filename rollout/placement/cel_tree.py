"""What does a checked CEL expression look like as a tree?

Reads the protobuf message ``cel.expr.CheckedExpr`` that the CEL library writes, without a protobuf
library: only the dozen messages of an expression occur. Source: cel-spec, ``checked.proto`` and
``syntax.proto`` (field numbers).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rollout.errors import ConfigError
from rollout.placement.cel_values import Uint

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
class Listing:
    """A list literal; elements at the places in ``optional`` are left out where they have no value."""

    items: tuple["Node", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map literal: key, value, and whether the entry is optional."""

    entries: tuple[tuple["Node", "Node", bool], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """The loop that all macros are made of."""

    variable: str
    over: "Node"
    accumulator: str
    start: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node = Const | Ident | Select | Call | Listing | Mapping | Comprehension


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
    return Listing(tuple(_node(each) for each in fields.get(1, ())), frozenset(optional))


def _mapping(fields: Fields) -> Node:
    if 1 in fields:
        raise ConfigError(f"it makes a {_text(fields, 1)}: there is no such value here")
    entries = []
    for data in fields.get(2, ()):
        entry = _fields(data)
        entries.append((_node(entry[3][0]), _node(entry[4][0]), bool(entry.get(5, [0])[0])))
    return Mapping(tuple(entries))


def _comprehension(fields: Fields) -> Node:
    return Comprehension(
        _text(fields, 1),
        _node(fields[2][0]),
        _text(fields, 3),
        *(_node(fields[number][0]) for number in (4, 5, 6, 7)),
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
        case Listing(items):
            return items
        case Mapping(entries):
            return tuple(part for key, value, _ in entries for part in (key, value))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
    return ()
