"""What does a person choose of objects? ``-o jsonpath=``, ``-o custom-columns=``, ``--sort-by``, as kubectl has them.

Of JSONPath there is what people use: fields, entries by number or by a field's value, ``[*]``,
``{range PATH}...{end}``, and texts in quotes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

from rollout.api.columns import values_at
from rollout.cli.tables import text_table
from rollout.model.kinds import Obj

JSONPATH, COLUMNS = "jsonpath=", "custom-columns="
_PART = re.compile(r"\{([^{}]*)\}|([^{}]+)")
_QUOTED = re.compile(r"""\A(["'])(.*)\1\Z""", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\\": "\\"}


def chosen(output: str, value: Obj, objects: Sequence[Obj]) -> str:
    """What ``-o jsonpath=...`` prints of the object (or List), or ``custom-columns`` of the objects.

    Raises: UsageError where it cannot be read.
    """
    if output.startswith(JSONPATH):
        return "".join(_rendered(_parts(output.removeprefix(JSONPATH)), value)).removesuffix("\n")
    columns = [each.partition(":") for each in output.removeprefix(COLUMNS).split(",")]
    if not all(name and path for name, _, path in columns):
        raise click.UsageError(f"-o {output}: write custom-columns=NAME:.PATH,NAME:.PATH")
    rows = [
        tuple(",".join(map(_text, _found(obj, path))) or "<none>" for _, _, path in columns)
        for obj in objects
    ]
    return "\n".join(text_table(tuple(name for name, _, _ in columns), rows))


def sorted_by(path: str, objects: Sequence[Obj]) -> list[Obj]:
    """The objects in the order of a field; those that lack it come first. Raises: UsageError."""
    plain = path.removeprefix("{").removesuffix("}") if path.endswith("}") else path
    if set(plain) & set("{}"):
        raise click.UsageError(f"--sort-by {path}: write a path such as .metadata.name")

    def order(obj: Obj) -> tuple[bool, bool, Any]:
        found = _found(obj, plain)
        value = found[0] if found else None
        is_number = isinstance(value, int | float)
        return value is not None, not is_number, value if is_number else _text(value or "")

    return sorted(objects, key=order)


def _parts(template: str) -> list[tuple[bool, str]]:
    """Texts, and (True) what stands in braces. Raises: UsageError."""
    found, at = [], 0
    for part in _PART.finditer(template):
        if part.start() != at:
            break
        found.append((part[1] is not None, part[1] if part[1] is not None else part[2]))
        at = part.end()
    if at != len(template) or not template:
        raise click.UsageError(f"-o jsonpath={template}: cannot be read at {template[at:]!r}")
    return found


def _rendered(parts: Sequence[tuple[bool, str]], value: Any) -> Iterator[str]:
    at = 0
    while at < len(parts):
        is_path, text = parts[at]
        at += 1
        quoted = _QUOTED.match(text) if is_path else None
        if quoted is not None:
            yield re.sub(r"\\.", lambda m: _ESCAPES.get(m[0], m[0]), quoted[2])
        elif is_path and text.startswith("range "):
            end = _end(parts, at)
            for each in _found(value, text.removeprefix("range ").strip()):
                yield from _rendered(parts[at:end], each)
            at = end + 1
        else:
            yield " ".join(map(_text, _found(value, text))) if is_path else text


def _end(parts: Sequence[tuple[bool, str]], start: int) -> int:
    """Where the range that begins before ``start`` ends. Raises: UsageError."""
    depth = 1
    for at in range(start, len(parts)):
        is_path, text = parts[at]
        depth += is_path and text.startswith("range ")
        depth -= is_path and text == "end"
        if not depth:
            return at
    raise click.UsageError("-o jsonpath: {range ...} without {end}")


def _found(value: Any, path: str) -> list[Any]:
    plain = path.removeprefix("$").removeprefix("@")
    try:
        if plain in ("", "."):
            return [value]
        return values_at(value, plain if plain.startswith((".", "[")) else f".{plain}")
    except ValueError as fault:
        raise click.UsageError(str(fault)) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
