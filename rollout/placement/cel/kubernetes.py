"""Kubernetes' CEL libraries for quantities, versions, lists and formats, and OCM's parseJSON.

A list may hold anything, whatever the CEL library took it for. The rules for names are those of
Kubernetes' API conventions. IP addresses, networks and URLs are in `addresses`.
Source: the Kubernetes documentation, "Common Expression Language in Kubernetes"; OCM placement spec
2.6 (which of them OCM enables, and ``parseJSON``).
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from rollout.model.instants import parse_instant
from rollout.model.selectors import is_label_key, is_label_value
from rollout.placement.cel.standard import ANY, Function, kind_of_value, span
from rollout.placement.cel.values import (
    NONE,
    CelError,
    Optional,
    Uint,
    checked,
    checked_uint,
    compare,
    equal,
    no_overload,
    shown,
)
from rollout.placement.quantity import Quantity, parse_quantity

# -- quantities and versions -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; build metadata does not count."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...]

    def key(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        """What orders versions: a release after its prereleases, numbers before words.

        A number has no leading zeros, so the longer one is the larger.
        """
        parts = tuple(
            (not p.isdecimal(), len(p) if p.isdecimal() else 0, p) for p in self.prerelease
        )
        return self.numbers, not self.prerelease, parts


def _quantity(text: str) -> Quantity:
    found = parse_quantity(text)
    if found is None:
        raise CelError(f"quantity: {shown(text)} is not a quantity")
    return found


def _integer(quantity: Quantity) -> int:
    found = quantity.as_integer()
    if found is None:
        raise CelError("cannot convert value to integer")
    return found


_SEMVER = re.compile(
    r"\A(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    r"(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\Z",
    re.ASCII,
)


def _parse_semver(text: str) -> Semver | None:
    match = _SEMVER.match(text)
    if match is None or max(len(part) for part in match.groups()[:3]) > 19:
        return None
    major, minor, patch, prerelease = match.groups()
    parts = tuple(prerelease.split(".")) if prerelease else ()
    return Semver((int(major), int(minor), int(patch)), parts)


def _semver(text: str) -> Semver:
    found = _parse_semver(text)
    if found is None:
        raise CelError(f"semver: {shown(text)} is not a semantic version")
    return found


def _order(one: Any, other: Any) -> int:
    return bool(one > other) - bool(one < other)


# -- lists -----------------------------------------------------------------------------------------

_SUMS: Mapping[type, Callable[[Any, Any], Any]] = {
    int: lambda a, b: checked(a + b),
    Uint: lambda a, b: checked_uint(int(a) + int(b)),
    float: float.__add__,
    timedelta: lambda a, b: span(a + b),
}


def _sum(items: Sequence[Any]) -> Any:
    if not items:
        return 0
    total = items[0]
    kind = type(total)
    add = _SUMS.get(kind)
    if add is None:
        raise no_overload("sum", total)
    for item in items[1:]:
        if type(item) is not kind:
            raise no_overload("sum", total, item)
        total = add(total, item)
    return total


def _extreme(wanted: int) -> Callable[[Sequence[Any]], Any]:
    def run(items: Sequence[Any]) -> Any:
        if not items:
            raise CelError("min or max called on empty list")
        found = items[0]
        for item in items[1:]:
            if compare("min, max", item, found) == wanted:
                found = item
        return found

    return run


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(compare("isSorted", a, b) <= 0 for a, b in pairwise(items))


def _index_of(items: Sequence[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: Sequence[Any], wanted: Any) -> int:
    last = _index_of(items[::-1], wanted)
    return -1 if last < 0 else len(items) - 1 - last


def _list_rows() -> Iterable[Function]:
    for kind in ("int", "uint", "double", "duration"):
        yield Function("sum", (f"list({kind})",), kind, _sum)
    ordered = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
    for kind in ordered:
        yield Function("isSorted", (f"list({kind})",), "bool", _is_sorted)
        yield Function("min", (f"list({kind})",), kind, _extreme(-1))
        yield Function("max", (f"list({kind})",), kind, _extreme(1))
    yield Function("indexOf", ("list(dyn)", ANY), "int", _index_of)
    yield Function("lastIndexOf", ("list(dyn)", ANY), "int", _last_index_of)


# -- formats of text, and JSON ---------------------------------------------------------------------

_LABEL_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Format:
    """A named format; ``accepted`` says what it wants."""

    name: str
    accepted: str
    fits: Callable[[str], bool]

    def complaints(self, text: str) -> list[str]:
        """What is wrong with the text; empty where it fits."""
        return [] if self.fits(text) else [f"Invalid value: {self.accepted}"]


def _within(pattern: re.Pattern[str], most: int, *, prefix: bool = False) -> Callable[[str], bool]:
    """``prefix``: a trailing dash is cut off, since something will be put behind it."""

    def fits(text: str) -> bool:
        body = text.removesuffix("-") if prefix else text
        return len(text) <= most and pattern.fullmatch(body) is not None

    return fits


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text  # Python also reads 2026-W05-6
    except ValueError:
        return False


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_instant(text: str) -> bool:
    return "T" in text and parse_instant(text) is not None


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("dns1123Label", "a lowercase RFC 1123 label", _within(_LABEL_1123, 63)),
        Format("dns1123Subdomain", "a lowercase RFC 1123 subdomain", _within(_SUBDOMAIN, 253)),
        Format("dns1035Label", "an RFC 1035 label", _within(_LABEL_1035, 63)),
        Format(
            "dns1123LabelPrefix",
            "the beginning of a lowercase RFC 1123 label",
            _within(_LABEL_1123, 63, prefix=True),
        ),
        Format(
            "dns1123SubdomainPrefix",
            "the beginning of a lowercase RFC 1123 subdomain",
            _within(_SUBDOMAIN, 253, prefix=True),
        ),
        Format(
            "dns1035LabelPrefix",
            "the beginning of an RFC 1035 label",
            _within(_LABEL_1035, 63, prefix=True),
        ),
        Format("qualifiedName", "a label key: [prefix/]name", is_label_key),
        Format("labelValue", "a label value", is_label_value),
        Format("uri", "a URI", _is_uri),
        Format("uuid", "a UUID", lambda text: _UUID.fullmatch(text) is not None),
        Format("byte", "base64", _is_base64),
        Format("date", "a date such as 2026-01-31", _is_date),
        Format("datetime", "an instant such as 2026-01-31T12:00:00Z", _is_instant),
    )
}


def _parse_json(text: str) -> Any:
    """Every number becomes a double, as OCM's library has it."""
    try:
        return json.loads(text, parse_int=float, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise CelError("parseJSON: invalid JSON") from None


def _refused(word: str) -> Any:
    raise ValueError(word)


def _named(name: str) -> Optional:
    return Optional(True, FORMATS[name]) if name in FORMATS else NONE


def _validate(wanted: Format, text: str) -> Optional:
    complaints = wanted.complaints(text)
    return Optional(True, complaints) if complaints else NONE


QUANTITY = kind_of_value("kubernetes.Quantity", Quantity)
SEMVER = kind_of_value("kubernetes.Semver", Semver)
FORMAT = kind_of_value("kubernetes.NamedFormat", Format)


def _format_rows() -> Iterable[Function]:
    for name, each in FORMATS.items():
        yield Function(f"format.{name}", (), FORMAT, lambda each=each: each, member=False)
    yield Function("format.named", ("string",), ANY, _named, member=False)
    yield Function("validate", (FORMAT, "string"), ANY, _validate)


KUBERNETES = (
    Function("quantity", ("string",), QUANTITY, _quantity, member=False),
    Function(
        "isQuantity", ("string",), "bool", lambda s: parse_quantity(s) is not None, member=False
    ),
    Function("sign", (QUANTITY,), "int", lambda q: q.sign, member=False),
    Function("isGreaterThan", (QUANTITY, QUANTITY), "bool", lambda a, b: a.compare(b) > 0),
    Function("isLessThan", (QUANTITY, QUANTITY), "bool", lambda a, b: a.compare(b) < 0),
    Function("compareTo", (QUANTITY, QUANTITY), "int", Quantity.compare),
    Function("asApproximateFloat", (QUANTITY,), "double", Quantity.as_float),
    Function("asInteger", (QUANTITY,), "int", _integer),
    Function("isInteger", (QUANTITY,), "bool", lambda q: q.as_integer() is not None),
    Function("add", (QUANTITY, QUANTITY), QUANTITY, Quantity.plus),
    Function("add", (QUANTITY, "int"), QUANTITY, lambda q, i: q.plus(Quantity(i))),
    Function("sub", (QUANTITY, QUANTITY), QUANTITY, Quantity.minus),
    Function("sub", (QUANTITY, "int"), QUANTITY, lambda q, i: q.minus(Quantity(i))),
    Function("semver", ("string",), SEMVER, _semver, member=False),
    Function("isSemver", ("string",), "bool", lambda s: _parse_semver(s) is not None, member=False),
    Function("major", (SEMVER,), "int", lambda v: v.numbers[0]),
    Function("minor", (SEMVER,), "int", lambda v: v.numbers[1]),
    Function("patch", (SEMVER,), "int", lambda v: v.numbers[2]),
    Function("isGreaterThan", (SEMVER, SEMVER), "bool", lambda a, b: a.key() > b.key()),
    Function("isLessThan", (SEMVER, SEMVER), "bool", lambda a, b: a.key() < b.key()),
    Function("compareTo", (SEMVER, SEMVER), "int", lambda a, b: _order(a.key(), b.key())),
    *_list_rows(),
    *_format_rows(),
    Function("parseJSON", ("string",), ANY, _parse_json),
)
"""Declared to the CEL library."""
