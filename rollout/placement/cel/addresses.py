"""Kubernetes' CEL libraries for IP addresses, networks and URLs.

Source: the Kubernetes documentation, "Common Expression Language in Kubernetes".
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, urlsplit

from rollout.model.amounts import parse_digits
from rollout.placement.cel.standard import Function, kind_of_value
from rollout.placement.cel.values import CelError, shown


@dataclass(frozen=True, slots=True)
class Ip:
    """An address of either family."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with the length of its network's prefix; host bits may be set."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    prefix: int

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False)


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute URL or an absolute path."""

    parts: SplitResult


IP = kind_of_value("net.IP", Ip)
CIDR = kind_of_value("net.CIDR", Cidr)
URL = kind_of_value("kubernetes.URL", Url)


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


ADDRESSES = (
    Function("ip", ("string",), IP, _ip, member=False),
    Function("isIP", ("string",), "bool", lambda s: _parse_ip(s) is not None, member=False),
    Function("ip.isCanonical", ("string",), "bool", _canonical, member=False),
    Function("family", (IP,), "int", lambda i: i.address.version),
    Function("isUnspecified", (IP,), "bool", lambda i: i.address.is_unspecified),
    Function("isLoopback", (IP,), "bool", lambda i: i.address.is_loopback),
    Function("isLinkLocalMulticast", (IP,), "bool", _link_local_multicast),
    Function("isLinkLocalUnicast", (IP,), "bool", lambda i: i.address.is_link_local),
    Function("isGlobalUnicast", (IP,), "bool", _is_global),
    Function("cidr", ("string",), CIDR, _cidr, member=False),
    Function("isCIDR", ("string",), "bool", lambda s: _parse_cidr(s) is not None, member=False),
    Function("containsIP", (CIDR, "string"), "bool", lambda c, s: _contains_ip(c, _ip(s))),
    Function("containsIP", (CIDR, IP), "bool", _contains_ip),
    Function("containsCIDR", (CIDR, "string"), "bool", lambda c, s: _contains_cidr(c, _cidr(s))),
    Function("containsCIDR", (CIDR, CIDR), "bool", _contains_cidr),
    Function("ip", (CIDR,), IP, lambda c: Ip(c.address)),
    Function("masked", (CIDR,), CIDR, lambda c: Cidr(c.network.network_address, c.prefix)),
    Function("prefixLength", (CIDR,), "int", lambda c: c.prefix),
    Function("url", ("string",), URL, _url, member=False),
    Function("isURL", ("string",), "bool", lambda s: _parse_url(s) is not None, member=False),
    Function("getScheme", (URL,), "string", lambda u: u.parts.scheme),
    Function("getHost", (URL,), "string", _host),
    Function("getHostname", (URL,), "string", _hostname),
    Function("getPort", (URL,), "string", _port),
    Function("getEscapedPath", (URL,), "string", lambda u: u.parts.path),
    Function(
        "getQuery",
        (URL,),
        "map(string, list(string))",
        lambda u: parse_qs(u.parts.query, keep_blank_values=True),
    ),
)
"""Declared to the CEL library."""
