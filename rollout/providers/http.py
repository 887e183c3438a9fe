"""Asks a provider over HTTP, within bounds of time, size and address."""

import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import aiohttp
from yarl import URL

from rollout.providers.hosts import GuardedResolver, HostPolicy, RefusedHostError

LONGEST_SECONDS = 10.0
LARGEST_ANSWER = 1 << 20
"""Bytes of an answer."""
MOST_REDIRECTS = 5
_READ_AT_ONCE = 1 << 16
_SHOWN = 200


class UnmeasuredError(Exception):
    """There is no value; the message says why, and names no Secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRequest:
    """One request. ``ca_bundle``: certificates as PEM; ``insecure``: look at no certificate."""

    url: str
    method: str = "GET"
    headers: Sequence[tuple[str, str]] = field(default_factory=tuple)
    body: bytes | None = None
    seconds: float = LONGEST_SECONDS
    insecure: bool = False
    ca_bundle: str = ""


class HttpClient:
    """Asks. Used on the thread of one event loop."""

    def __init__(self, policy: HostPolicy) -> None:
        self._policy = policy
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, request: MetricRequest) -> bytes:
        """The body of an answer that says that all is well.

        Raises: UnmeasuredError for whatever else comes, or does not.
        """
        try:
            return await self._follow(request)
        except RefusedHostError as error:
            raise UnmeasuredError(str(error)) from error
        except TimeoutError as error:
            raise UnmeasuredError(f"no answer within {request.seconds:g} s") from error
        except aiohttp.ClientError as error:
            raise UnmeasuredError(_words(error)) from error
        except (OSError, ValueError) as error:
            raise UnmeasuredError(f"{type(error).__name__}: {error}") from error

    async def json(self, request: MetricRequest) -> Any:
        """The same, read as JSON. Raises: UnmeasuredError."""
        body = await self.ask(request)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UnmeasuredError("the answer is not JSON") from error

    async def _follow(self, request: MetricRequest) -> bytes:
        url = URL(request.url)
        for _ in range(MOST_REDIRECTS + 1):
            if url.scheme not in ("http", "https") or not url.host:
                raise UnmeasuredError("the address has to begin with http:// or https://")
            self._policy.check_name(url.host)
            body, location = await self._one(url, request)
            if location is None:
                return body
            target = url.join(URL(location))
            if target.origin() != url.origin():
                raise UnmeasuredError("it redirects to another host, which is not followed")
            url = target
        raise UnmeasuredError(f"it redirects more than {MOST_REDIRECTS} times")

    async def _one(self, url: URL, request: MetricRequest) -> tuple[bytes, str | None]:
        """The body, or where it is said to be."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=GuardedResolver(self._policy), use_dns_cache=False, force_close=True
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                auto_decompress=False,  # so that a small answer cannot become a large one
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        headers = [("Accept-Encoding", "identity"), *request.headers]
        async with self._session.request(
            request.method,
            url,
            headers=headers,
            data=request.body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=min(request.seconds, LONGEST_SECONDS)),
            ssl=_tls(request.insecure, request.ca_bundle),
        ) as answer:
            location = answer.headers.get("Location")
            if answer.status in _REDIRECTS and location:
                return b"", location
            body = await _read(answer)
            if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
                said = body[:_SHOWN].decode(errors="replace").strip()
                raise UnmeasuredError(f"it answers {answer.status}{': ' if said else ''}{said}")
            return body, None


_REDIRECTS = (301, 302, 303, 307, 308)


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The body. Raises: UnmeasuredError where it is too long, or packed."""
    packed = answer.headers.get("Content-Encoding", "identity")
    if packed.lower() != "identity":
        raise UnmeasuredError(f"the answer is packed ({packed}), which was not asked for")
    found = bytearray()
    async for part in answer.content.iter_chunked(_READ_AT_ONCE):
        found += part
        if len(found) > LARGEST_ANSWER:
            raise UnmeasuredError(f"the answer has more than {LARGEST_ANSWER} bytes")
    return bytes(found)


@lru_cache(maxsize=32)
def _tls(insecure: bool, ca_bundle: str) -> ssl.SSLContext:
    """Raises: ValueError for a bundle that is none."""
    try:
        context = ssl.create_default_context(cadata=ca_bundle or None)
    except ssl.SSLError as error:
        raise ValueError("caBundle holds no certificates as PEM") from error
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _words(error: aiohttp.ClientError) -> str:
    """What went wrong, without the URL: there may be a Secret in it."""
    refused = error.__cause__ or error.__context__
    if isinstance(refused, RefusedHostError):
        return str(refused)
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return "its certificate is not trusted"
        case aiohttp.ClientConnectorError():
            return f"it cannot be reached: {error.os_error.strerror or error.os_error}"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer was cut off"
        case aiohttp.InvalidURL():
            return "the address is not a URL"
    return f"it does not speak HTTP: {type(error).__name__}"


def headers_of(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers that a provider is told to send."""
    return [(each["key"], each["value"]) for each in told.get("headers") or ()]


def seconds_of(value: object) -> float:
    """How long it may take."""
    return float(value) if isinstance(value, int) and value > 0 else LONGEST_SECONDS
