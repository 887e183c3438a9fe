"""Reads YAML or JSON text into values with line numbers, and finds every fault of the text.

Faults name lines and keys, never values: they may be those of a Secret.

Plain YAML is read as Kubernetes' own tools read it: YAML 1.1 booleans (``on`` is true), but no
timestamps and no base 60, which would silently change what was written; ``1.0`` is the number 1.
A duplicate key, a value that JSON cannot hold, and an alias bomb are faults.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _Parser
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]

MOST_ALIASED = 1_000_000
"""Values that aliases may add to one document, so that a short text cannot fill the memory."""
DEEPEST = 200
"""How deep a document may be nested; an API server's own objects stay far below."""

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {
    word: value
    for value, words in ((True, "true yes on"), (False, "false no off"))
    for lower in words.split()
    for word in (lower, lower.capitalize(), lower.upper())
}
_INT = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z", re.ASCII)
_MOST_DIGITS = 308  # as many as a float has, which is what other readers of JSON make of it
_TAG = "tag:yaml.org,2002:"
_TAGGED: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "bool": bool,
    "null": type(None),
}
_MERGE = object()
"""The key ``<<``: what it holds goes to the object around it."""
_TEMPLATE = re.compile(r"""^[\s-]*(?:[^\s:"'#]+:\s+)?\{\{""", re.MULTILINE)
_SEPARATOR = re.compile(r"^---(?=\s|\Z)|^\.\.\.(?=\s|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:[ \t]*(?:#.*)?\n|%.*\n)*[ \t]*(?:#.*)?\Z")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a text, and in which of its lines (from 1)."""

    line: int
    message: str


@dataclass(slots=True, kw_only=True)
class Parsed:
    """One document: its value, unless it has faults; ``lines`` are those of its objects, by id.

    ``text`` is its own, below ``above`` lines of others.
    """

    line: int
    text: str = ""
    above: int = 0
    value: Any = None
    faults: list[Fault] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)


class _Faulty(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(line, message)


def read_yaml(text: str) -> Iterator[Parsed]:
    """The documents of a YAML text; a broken one hides no other. Empty ones are left out."""
    starts = [(0, 0), *((m.start(), m.end()) for m in _SEPARATOR.finditer(text))]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    for (start, body), end in zip(starts, ends, strict=True):
        if _NOTHING.match(text, body, end):
            continue
        first = text.count("\n", 0, start)
        ours = text[start:end] if text.startswith("---", start) else text[body:end]
        yield _document(ours, first)


def _document(text: str, above: int) -> Parsed:
    leading = re.match(r"(?:---[ \t]*\n)?(?:[ \t]*(?:#.*)?\n)*", text)
    begins = above + 1 + (leading.group().count("\n") if leading else 0)
    parsed = Parsed(line=begins, text=text, above=above)
    builder = _Builder(above, parsed)
    try:
        for event in yaml.parse(text, Loader=_Parser):
            builder.take(event)
    except _Faulty as refused:
        parsed.faults.append(_or_template(refused.fault, text, above))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ": ".join(part for part in (error.context, error.problem) if part)
        fault = Fault(above + 1 + (mark.line if mark else 0), f"not YAML: {message}")
        parsed.faults.append(_or_template(fault, text, above))
    except yaml.YAMLError as error:  # a character that YAML forbids
        parsed.faults.append(Fault(parsed.line, f"not YAML: {str(error).splitlines()[0]}"))
    return parsed


def _or_template(fault: Fault, text: str, above: int) -> Fault:
    """The fault, and where a line until there begins as those of templates do, what to do then.

    Braces in quotes say nothing: arguments of analyses are written so.
    """
    until = "\n".join(text.split("\n")[: fault.line - above])
    if not _TEMPLATE.search(until):
        return fault
    hint = "a template must be rendered first, as `helm template` does"
    return replace(fault, message=f"{fault.message} ({hint})")


@dataclass(slots=True, kw_only=True)
class _OpenCollection:
    """A list or an object that is being read."""

    value: Any
    line: int
    anchor: str | None
    aliased: int  # the count of aliased values when it began
    own: int  # the count of written values when it began
    key: Any = None  # text, or the merge key
    has_key: bool = False
    merged: dict[str, Any] = field(default_factory=dict)


class _Builder:
    """Turns parse events into a value, without recursion: depth is a number here, not a stack."""

    def __init__(self, above: int, parsed: Parsed) -> None:
        self._above = above
        self._parsed = parsed
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int] | None] = {}  # None while it is being read
        self._written = 0
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        line = self._above + 1 + (mark.line if mark else 0)
        match event:
            case yaml.ScalarEvent():
                self._written += 1
                self._scalar(event, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._start(event, line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event.anchor or "", line)

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        kind = "map" if isinstance(value, dict) else "seq"
        if event.tag not in (None, _TAG + kind):
            raise _Faulty(line, "a tag (!) is not supported: put it in quotes if text is meant")
        if len(self._open) >= DEEPEST:
            raise _Faulty(line, f"nested deeper than {DEEPEST} levels")
        self._written += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(
            _OpenCollection(
                value=value,
                line=line,
                anchor=event.anchor,
                aliased=self._aliased,
                own=self._written,
            )
        )

    def _end(self) -> None:
        done = self._open.pop()
        value = done.value
        if done.merged:
            value = {**done.merged, **value}
        if done.anchor is not None:
            size = self._aliased - done.aliased + self._written - done.own + 1
            self._anchors[done.anchor] = (value, size)
        if isinstance(value, dict):
            self._parsed.lines[id(value)] = done.line
        self._add(value, done.line)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise _Faulty(
                line, "an alias (*) is used before it is defined: put it in quotes if text is meant"
            )
        known = self._anchors[anchor]
        if known is None:
            raise _Faulty(line, "an alias (*) contains itself")
        value, size = known
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise _Faulty(line, f"aliases expand to more than {MOST_ALIASED:,} values")
        self._add(value, line)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if self._expects_key():
            self._key(event, line)
            return
        value = _resolved(event, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, line)

    def _expects_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and not self._open[-1].has_key
        )

    def _key(self, event: yaml.ScalarEvent, line: int) -> None:
        """A key is text: a number or a bool is written out, as Kubernetes does."""
        plain = event.implicit[0]
        key = event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = (key, 1)
        if plain and key in _BOOL:
            key = "true" if _BOOL[key] else "false"
        elif plain and _INT.match(key):
            key = str(_int(key, line))
        self._take_key(_MERGE if plain and key == "<<" else key, line)

    def _take_key(self, key: Any, line: int) -> None:
        top = self._open[-1]
        if key in top.value:
            self._parsed.faults.append(Fault(line, f"the key {key!r} is there twice"))
        top.key, top.has_key = key, True

    def _add(self, value: Any, line: int) -> None:
        if not self._open:
            self._parsed.value = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if not top.has_key:
            if not isinstance(value, str):
                raise _Faulty(line, "a key must be text")
            self._take_key(value, line)
            return
        if top.key is _MERGE:
            self._merge(top, value, line)
        else:
            top.value[top.key] = value
        top.key, top.has_key = None, False

    @staticmethod
    def _merge(top: _OpenCollection, value: Any, line: int) -> None:
        """``<<``: fields that the object does not have itself; of several, the first wins."""
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise _Faulty(line, "<< takes an object or a list of objects")
            top.merged = {**source, **top.merged}


def _resolved(event: yaml.ScalarEvent, line: int) -> Any:
    """The value of a scalar: what a plain one looks like, else text."""
    tag, text = event.tag, event.value
    if tag is None:
        return _plain(text, line) if event.implicit[0] else text
    kind = tag.removeprefix(_TAG)
    if kind == "str":
        return text
    value = _plain(text, line)
    wanted = _TAGGED.get(kind)
    if wanted is None:
        raise _Faulty(line, "a tag (!) is not supported: put it in quotes if text is meant")
    if not isinstance(value, wanted) or (kind != "bool" and isinstance(value, bool)):
        raise _Faulty(line, f"the value is not a valid {kind}")
    return value


def _plain(text: str, line: int) -> Any:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text[0] in "-+.0123456789":
        if _INT.match(text):
            return _int(text, line)
        if _FLOAT.match(text):
            return _number(text, line)
        if _NO_NUMBER.match(text):
            raise _Faulty(line, f"{text} is not a JSON number: put it in quotes if text is meant")
    return text


def _int(text: str, line: int) -> int:
    digits = text.replace("_", "").lower()
    if len(digits) > _MOST_DIGITS:
        raise _Faulty(line, f"a number of {len(digits)} digits is too large for a JSON number")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    base = {"0b": 2, "0x": 16, "0o": 8}.get(digits[:2])
    if base is None:
        base = 8 if len(digits) > 1 and digits.startswith("0") else 10
    return sign * int(digits, base)


def _number(text: str, line: int) -> int | float:
    """A float, or the whole number it stands for: an API server stores 1.0 as 1."""
    value = float(text)
    if not math.isfinite(value):
        raise _Faulty(line, f"{text} is too large for a JSON number")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def read_json(text: str) -> Iterator[Parsed]:
    """The documents of a JSON text, one after another. What follows a broken one cannot be read."""
    at, end = 0, len(text)
    while True:
        while at < end and text[at] in " \t\r\n":
            at += 1
        if at == end:
            return
        above = text.count("\n", 0, at)
        parsed = Parsed(line=above + 1, above=above)
        try:
            parsed.value, after = _JSON.raw_decode(text, at)
        except json.JSONDecodeError as error:
            parsed.faults.append(Fault(error.lineno, f"not JSON: {error.msg.lower()}"))
        except RecursionError:
            parsed.faults.append(Fault(parsed.line, f"nested deeper than {DEEPEST} levels"))
        except _Faulty as refused:
            line = _line_of_duplicate(text, at) or parsed.line
            parsed.faults.append(Fault(line, refused.fault.message))
        if parsed.faults:
            yield parsed
            return
        parsed.text = text[at:after]
        yield parsed
        at = after


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise _Faulty(0, f"the key {twice!r} is there twice")
    return found


def _constant(name: str) -> Any:
    raise _Faulty(0, f"{name} is not a JSON number")


_JSON = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_constant=_constant,
    parse_float=lambda text: _number(text, 0),
    parse_int=lambda text: _int(text, 0),
)


def _line_of_duplicate(text: str, at: int) -> int | None:
    """JSON's decoder does not tell lines; JSON is nearly YAML, whose parser does."""
    above = text.count("\n", 0, at)
    faults = _document(text[at:], above).faults
    return faults[0].line if faults and "twice" in faults[0].message else None


@lru_cache(maxsize=4)
def composed(text: str) -> yaml.Node | None:
    """One document as nodes with their places; None for an empty one. Raises: yaml.YAMLError."""
    found: yaml.Node | None = yaml.compose(text, Loader=_Parser)
    return found
