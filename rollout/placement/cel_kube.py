"""What do Kubernetes' CEL libraries do: quantities, versions, addresses, URLs, formats?

Source: the Kubernetes documentation, "Common Expression Language in Kubernetes"; OCM placement spec
2.6 (which of them OCM enables, and ``parseJSON``).
"""

import ipaddress
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from rollout.model.amounts import parse_digits
from rollout.placement.cel_formats import FORMATS, Format
from rollout.placement.cel_functions import ANY, PYTHON, Function
from rollout.placement.cel_values import NONE, TYPES, CelError, Optional, shown
from rollout.placement.quantity import Quantity, parse_quantity

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Ip:
    """An address of either family."""

    address: Address


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with the length of its network's prefix; host bits may be set."""

    address: Address
    prefix: int

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False)


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute URL or an absolute path."""

    parts: SplitResult


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


KINDS: dict[str, type] = {
    "kubernetes.Quantity": Quantity,
    "net.IP": Ip,
    "net.CIDR": Cidr,
    "kubernetes.URL": Url,
    "kubernetes.Semver": Semver,
    "kubernetes.NamedFormat": Format,
}
TYPES.update({kind: name for name, kind in KINDS.items()})
PYTHON.update(KINDS)
Q, IP, CIDR, URL, SEMVER, FORMAT = KINDS


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


def _parse_ip(text: str) -> Ip | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if "%" in text or (found.version == 6 and found.ipv4_mapped is not None):
        return None
    return Ip(found)


def _ip(text: str) -> Ip:
    found = _parse_ip(text)
    if found is None:
        raise CelError(f"IP address {shown(text)} parse error")
    return found


def _parse_cidr(text: str) -> Cidr | None:
    address, _, written = text.partition("/")
    found, prefix = _parse_ip(address), parse_digits(written, most=3)
    if found is None or prefix is None or written != str(prefix):
        return None
    return Cidr(found.address, prefix) if prefix <= found.address.max_prefixlen else None


def _cidr(text: str) -> Cidr:
    found = _parse_cidr(text)
    if found is None:
        raise CelError(f"network address {shown(text)} parse error")
    return found


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return ip.address in cidr.network


def _contains_cidr(outer: Cidr, inner: Cidr) -> bool:
    same_family = outer.address.version == inner.address.version
    return same_family and outer.prefix <= inner.prefix and inner.address in outer.network


def _canonical(text: str) -> bool:
    return str(_ip(text).address) == text


def _is_global(ip: Ip) -> bool:
    address = ip.address
    limited = address.version == 4 and str(address) == "255.255.255.255"
    return not (
        limited
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _link_local_multicast(ip: Ip) -> bool:
    address = ip.address
    net = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(net)


_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _parse_url(text: str) -> Url | None:
    if not text or _ESCAPES.search(text) or any(ord(c) < 33 or ord(c) == 127 for c in text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if not text.startswith("/") and not parts.scheme:
        return None
    return Url(parts) if port is None or port >= 0 else None


def _url(text: str) -> Url:
    found = _parse_url(text)
    if found is None:
        raise CelError(f"URL parse error during conversion from string: {shown(text)}")
    return found


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1 : host.find("]")]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].partition(":")[2]


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


def _format_rows() -> Iterable[Function]:
    for name, each in FORMATS.items():
        yield Function(f"format.{name}", (), FORMAT, lambda each=each: each, member=False)
    yield Function("format.named", ("string",), ANY, _named, member=False)
    yield Function("validate", (FORMAT, "string"), ANY, _validate)


def _member(name: str, kind: str, result: str, run: Callable[..., Any]) -> Function:
    return Function(name, (kind,), result, run)


KUBERNETES = (
    Function("quantity", ("string",), Q, _quantity, member=False),
    Function(
        "isQuantity", ("string",), "bool", lambda s: parse_quantity(s) is not None, member=False
    ),
    Function("sign", (Q,), "int", lambda q: q.sign, member=False),
    Function("isGreaterThan", (Q, Q), "bool", lambda a, b: a.compare(b) > 0),
    Function("isLessThan", (Q, Q), "bool", lambda a, b: a.compare(b) < 0),
    Function("compareTo", (Q, Q), "int", Quantity.compare),
    _member("asApproximateFloat", Q, "double", Quantity.as_float),
    _member("asInteger", Q, "int", _integer),
    _member("isInteger", Q, "bool", lambda q: q.as_integer() is not None),
    Function("add", (Q, Q), Q, Quantity.plus),
    Function("add", (Q, "int"), Q, lambda q, i: q.plus(Quantity(i))),
    Function("sub", (Q, Q), Q, Quantity.minus),
    Function("sub", (Q, "int"), Q, lambda q, i: q.minus(Quantity(i))),
    Function("semver", ("string",), SEMVER, _semver, member=False),
    Function("isSemver", ("string",), "bool", lambda s: _parse_semver(s) is not None, member=False),
    _member("major", SEMVER, "int", lambda v: v.numbers[0]),
    _member("minor", SEMVER, "int", lambda v: v.numbers[1]),
    _member("patch", SEMVER, "int", lambda v: v.numbers[2]),
    Function("isGreaterThan", (SEMVER, SEMVER), "bool", lambda a, b: a.key() > b.key()),
    Function("isLessThan", (SEMVER, SEMVER), "bool", lambda a, b: a.key() < b.key()),
    Function("compareTo", (SEMVER, SEMVER), "int", lambda a, b: _order(a.key(), b.key())),
    Function("ip", ("string",), IP, _ip, member=False),
    Function("isIP", ("string",), "bool", lambda s: _parse_ip(s) is not None, member=False),
    Function("ip.isCanonical", ("string",), "bool", _canonical, member=False),
    _member("family", IP, "int", lambda i: i.address.version),
    _member("isUnspecified", IP, "bool", lambda i: i.address.is_unspecified),
    _member("isLoopback", IP, "bool", lambda i: i.address.is_loopback),
    _member("isLinkLocalMulticast", IP, "bool", _link_local_multicast),
    _member("isLinkLocalUnicast", IP, "bool", lambda i: i.address.is_link_local),
    _member("isGlobalUnicast", IP, "bool", _is_global),
    Function("cidr", ("string",), CIDR, _cidr, member=False),
    Function("isCIDR", ("string",), "bool", lambda s: _parse_cidr(s) is not None, member=False),
    Function("containsIP", (CIDR, "string"), "bool", lambda c, s: _contains_ip(c, _ip(s))),
    Function("containsIP", (CIDR, IP), "bool", _contains_ip),
    Function("containsCIDR", (CIDR, "string"), "bool", lambda c, s: _contains_cidr(c, _cidr(s))),
    Function("containsCIDR", (CIDR, CIDR), "bool", _contains_cidr),
    _member("ip", CIDR, IP, lambda c: Ip(c.address)),
    _member("masked", CIDR, CIDR, lambda c: Cidr(c.network.network_address, c.prefix)),
    _member("prefixLength", CIDR, "int", lambda c: c.prefix),
    Function("url", ("string",), URL, _url, member=False),
    Function("isURL", ("string",), "bool", lambda s: _parse_url(s) is not None, member=False),
    _member("getScheme", URL, "string", lambda u: u.parts.scheme),
    _member("getHost", URL, "string", _host),
    _member("getHostname", URL, "string", _hostname),
    _member("getPort", URL, "string", _port),
    _member("getEscapedPath", URL, "string", lambda u: u.parts.path),
    _member(
        "getQuery",
        URL,
        "map(string, list(string))",
        lambda u: parse_qs(u.parts.query, keep_blank_values=True),
    ),
    *_format_rows(),
    Function("parseJSON", ("string",), ANY, _parse_json),
)
"""To be declared to the CEL checker."""
