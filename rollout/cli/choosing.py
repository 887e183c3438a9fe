"""Prints the chosen fields of objects: ``-o jsonpath=``, ``-o custom-columns=``, ``--sort-by``, as kubectl
has them.

kubectl's paths are translated to those of RFC 9535. In both there are fields, entries, slices, ``..`` and
filters; kubectl writes a backslash before a dot within a field's name. Around them stand ``{range PATH}...{end}``
and texts in quotes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

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
        tuple(",".join(map(_text, values_at(obj, path))) or "<none>" for _, _, path in columns)
        for obj in objects
    ]
    return "\n".join(text_table(tuple(name for name, _, _ in columns), rows))


def sorted_by(path: str, objects: Sequence[Obj]) -> list[Obj]:
    """The objects in the order of a field; those that lack it come first. Raises: UsageError."""
    plain = path.removeprefix("{").removesuffix("}") if path.endswith("}") else path
    if set(plain) & set("{}"):
        raise click.UsageError(f"--sort-by {path}: write a path such as .metadata.name")

    def order(obj: Obj) -> tuple[bool, bool, Any]:
        found = values_at(obj, plain)
        value = found[0] if found else None
        is_number = isinstance(value, int | float)
        return value is not None, not is_number, value if is_number else _text(value or "")

    if objects and not any(values_at(obj, plain) for obj in objects):
        raise click.UsageError(f"--sort-by {path}: none of these objects has such a field")
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
            for each in values_at(value, text.removeprefix("range ").strip()):
                yield from _rendered(parts[at:end], each)
            at = end + 1
        else:
            yield " ".join(map(_text, values_at(value, text))) if is_path else text


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


def values_at(value: Any, path: str) -> list[Any]:
    """Everything that the path leads to but nulls. Raises: UsageError where it cannot be read."""
    import jsonpath_rfc9535  # noqa: PLC0415  (20 ms that other outputs need not)

    try:
        found = [
            each
            for query in translated(path.strip())
            for each in jsonpath_rfc9535.find(query, value).values()
        ]
    except (ValueError, jsonpath_rfc9535.JSONPathError) as fault:
        raise click.UsageError(f"jsonpath {path!r} cannot be read: {fault}") from None
    return [each for each in found if each is not None]


# -- paths ---------------------------------------------------------------------------------------

_NAME = re.compile(r"(?:\\.|[^.\[\]\\\s])+")
_ENTRIES = re.compile(r"[-0-9:,*\s]+")
_STRING = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""")
_STRINGS = re.compile(rf"\s*{_STRING.pattern}\s*(?:,|$)")
_COMPARES = re.compile(rf"{_STRING.pattern}|(==|!=|<=|>=|<|>)")


def translated(path: str, root: str = "$") -> list[str]:
    """A path as kubectl takes it, as RFC 9535 writes it: one path, or several where it joins paths.

    Raises: ValueError that says what cannot be read.
    """
    plain = path[1:] if path[:1] in ("$", "@") else path
    if plain in ("", "."):
        return [root]
    if plain[0] not in ".[":
        plain = f".{plain}"
    found, at = [root], 0
    while at < len(plain):
        if plain[at] == "[":
            end = _closing(plain, at)
            steps = _bracket(plain[at + 1 : end])
            found = [before + step for before in found for step in steps]
            at = end + 1
            continue
        dots = ".." if plain.startswith("..", at) else "." if plain[at] == "." else ""
        at += len(dots)
        if dots == ".." and plain[at : at + 1] == "[":
            found = [before + dots for before in found]
            continue
        name = _NAME.match(plain, at)
        if not dots or name is None:
            raise ValueError(f"unexpected {plain[at - len(dots) :]!r}")
        field = "*" if name[0] == "*" else _quoted(name[0])
        found = [f"{before}{dots if dots == '..' else ''}[{field}]" for before in found]
        at = name.end()
    return found


def _closing(path: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes; brackets in texts, and pairs within, do not count."""
    depth, at = 0, start
    while at < len(path):
        text = _STRING.match(path, at)
        if text is not None:
            at = text.end()
            continue
        depth += (path[at] == "[") - (path[at] == "]")
        if not depth:
            return at
        at += 1
    raise ValueError(f"{path[start:]!r} is not closed")


def _bracket(inner: str) -> list[str]:
    """What stands in brackets: numbers, slices, a filter ``?(...)``, or names in quotes.

    A name may be a path, as kubectl has it, unless it has a slash, as keys of labels have.
    """
    inner = inner.strip()
    if _ENTRIES.fullmatch(inner):
        return [f"[{inner}]"]
    if inner.startswith("?(") and inner.endswith(")"):
        return [f"[?{_filter(inner[2:-1])}]"]
    names, at = list[str](), 0
    while at < len(inner) and (name := _STRINGS.match(inner, at)):
        if "/" in name[2] or _NAME.fullmatch(name[2]) or "." not in name[2]:
            names.append(f"[{_quoted(name[2])}]")
        else:
            names += translated(name[2], "")
        at = name.end()
    if not names or at != len(inner):
        raise ValueError(f"unexpected '[{inner}]'")
    return names


def _filter(text: str) -> str:
    """One comparison, or a path that is to be there."""
    compare = next((each for each in _COMPARES.finditer(text) if each[3]), None)
    if compare is None:
        return _operand(text)
    left, right = text[: compare.start()], text[compare.end() :]
    return f"{_operand(left)} {compare[3]} {_operand(right)}"


def _operand(text: str) -> str:
    """A path from the entry on, a text in quotes, a number, or true, false, null."""
    text = text.strip()
    string = _STRING.fullmatch(text)
    if string is not None:
        return _quoted(string[2])
    if text.startswith("@"):
        return translated(text, "@")[0]
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|true|false|null", text):
        return text
    raise ValueError(f"unexpected {text!r} in a filter; @.FIELD == 'VALUE' is accepted")


def _quoted(text: str) -> str:
    """The text in quotes, without the backslashes that stood before single letters of it."""
    return json.dumps(re.sub(r"\\(.)", r"\1", text))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
