"""Says which hosts may be asked for metrics, and told of rollouts.

A template is written by whoever may write in a namespace, and asked from inside the hub's network. So
link-local addresses, among them those at which clouds hand out credentials, are never asked; loopback
addresses only where the allow-list names them.
"""

import fnmatch
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from rollout.providers.workers import Blocking

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_NEVER = tuple(
    map(
        ipaddress.ip_network,
        (
            "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata of most clouds
            "fe80::/10",
            "fd00:ec2::/32",  # metadata of AWS by IPv6
            "fd20:ce::254/128",  # of Google Cloud by IPv6
            "fd00:42::42/128",  # of Scaleway by IPv6
            "fd00:c1::a9fe:a9fe/128",  # of Oracle by IPv6
            "100.100.100.200/32",  # of Alibaba
            "168.63.129.16/32",  # of Azure: its wire server
            "192.0.0.192/32",  # of Oracle
            "64:ff9b:1::/48",  # local NAT64: who knows where its addresses of version 4 stand in it
            "0.0.0.0/8",
            "::/128",
            "224.0.0.0/4",
            "255.255.255.255/32",
            "ff00::/8",
        ),
    )
)
NAMES_AT_ONCE, NAMES_OF_ONE = 64, 4
"""So many names are looked up at once, and so many of one namespace."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


class RefusedHostError(Exception):
    """The host may not be asked."""


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """``allowed`` are patterns of hosts (``*.example.com``); empty: all but loopback addresses."""

    allowed: tuple[str, ...] = ()

    def check_name(self, host: str) -> None:
        """Raises: RefusedHostError for a host that is not on the list."""
        if self.allowed and not self._is_listed(host):
            raise RefusedHostError(f"host {host} is not among those that may be asked")
        address = address_of(host)
        if address is not None:
            self.check_address(host, address)

    def check_address(self, host: str, address: IpAddress) -> None:
        """Raises: RefusedHostError for an address of ``host`` that is not asked."""
        inner = _inside(address)
        if any(inner.version == net.version and inner in net for net in _NEVER):
            raise RefusedHostError(f"host {host} has a link-local or reserved address")
        if inner.is_loopback and not self._is_listed(host):
            raise RefusedHostError(f"host {host} has a loopback address")

    def _is_listed(self, host: str) -> bool:
        return any(fnmatch.fnmatchcase(host.lower(), each.lower()) for each in self.allowed)


def address_of(host: str) -> IpAddress | None:
    """The address that a host is written as, also as one number; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:  # 2852039166 and 0xa9.254 are addresses to whoever connects
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _inside(address: IpAddress) -> IpAddress:
    """The address of version 4 that one of version 6 stands for."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):  # 0 is none, 1 loopback
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses addresses that may not be asked. The connection goes to the address that
    was checked, so a name cannot have another one a moment later. Names are looked up on threads of their
    own: one that hangs delays its own namespace only.
    """

    def __init__(self, policy: HostPolicy) -> None:
        self._policy = policy
        self._threads = Blocking("names", NAMES_AT_ONCE, NAMES_OF_ONE)

    async def resolve(
        self, host: str, port: int = 0, family: Any = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._threads.call(
            lambda: socket.getaddrinfo(
                host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
            )
        )
        return [self._checked(host, each) for each in found]

    def _checked(self, host: str, found: tuple[Any, ...]) -> ResolveResult:
        """Raises: RefusedHostError."""
        family, _, proto, _, place = found
        address = address_of(str(place[0]))
        if address is None:
            raise RefusedHostError(f"host {host} has no address that can be checked")
        self._policy.check_address(host, address)
        return ResolveResult(
            hostname=host,
            host=str(place[0]),
            port=int(place[1]),
            family=family,
            proto=proto,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )

    async def close(self) -> None:
        return


def policy_of(listed: str) -> HostPolicy:
    """The policy of a setting: patterns separated by commas."""
    parts: Iterable[str] = (part.strip() for part in listed.split(","))
    return HostPolicy(tuple(part for part in parts if part))
