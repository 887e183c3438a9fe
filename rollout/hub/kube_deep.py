"""Reads the readable part of an object that is nested too deeply for the JSON decoder.

An API server stores manifests of up to 10,000 levels; the decoder, as all of Python, goes down about
1,000. Text is taken apart level by level here, without going down, so that one such object, which any
tenant may write, hides nothing but itself.
"""

import re
from typing import Any

import msgspec

from rollout.model.problems import TOO_DEEP

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_OPENING = b"{["
_ANY = msgspec.json.Decoder()


def fields_of(raw: bytes) -> dict[str, Any]:
    """The fields of an object: of one that is a list or an object its text, all others as they are.

    Raises: msgspec.DecodeError, UnicodeDecodeError where the text is no JSON object.
    """
    shell, parts = _taken_apart(raw)
    if not isinstance(shell, dict):
        raise msgspec.DecodeError("no object")
    return {name: _whole(value, parts) for name, value in shell.items()}


def items_of(raw: bytes) -> list[bytes]:
    """The texts of the lists and objects in a list. Raises: as `fields_of`."""
    shell, parts = _taken_apart(raw)
    if not isinstance(shell, list):
        raise msgspec.DecodeError("no list")
    return parts


def stand_in(raw: bytes) -> dict[str, Any]:
    """The object, with `TOO_DEEP` for each of its fields that cannot be read, its status left out.

    ``managedFields``, as deep as what they tell of, are left out of its metadata. Raises: as `fields_of`.
    """
    found: dict[str, Any] = {}
    for name, value in fields_of(raw).items():
        read = _read(value)
        if read is TOO_DEEP and name == "metadata":
            parts = fields_of(value)
            parts.pop("managedFields", None)
            read = {part: _read(each) for part, each in parts.items()}
        if read is not TOO_DEEP or name != "status":
            found[name] = read
    return found


def _read(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return _ANY.decode(value)
    except RecursionError:
        return TOO_DEEP


def _whole(value: Any, parts: list[bytes]) -> Any:
    return parts[value[0]] if isinstance(value, list) else value


def _taken_apart(raw: bytes) -> tuple[Any, list[bytes]]:
    """The outermost value, with ``[3]`` for the list or object in it that is the fourth part."""
    shell, parts = bytearray(), list[bytes]()
    depth = told = began = 0
    for token in _TOKENS.finditer(raw):
        sign = token[0]
        if len(sign) > 1 or sign == b'"':
            continue
        if sign in _OPENING:
            depth += 1
            if depth == 2:
                began = token.start()
                shell += raw[told:began] + b"[%d]" % len(parts)
        else:
            depth -= 1
            if depth == 1:
                told = token.end()
                parts.append(raw[began:told])
    return _ANY.decode(bytes(shell + raw[told:])), parts
