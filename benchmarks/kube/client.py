"""How does the driver reach the API server? Requests without models, many at once, and watches.

The connections are those of the official client, as the engine's own are.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from rollout.hub.kube_access import Access, Credentials, credentials
from rollout.hub.kube_objects import encode, lines_of

T = TypeVar("T")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
AT_ONCE = 32
_FOREVER = aiohttp.ClientTimeout(total=None, sock_connect=5)
_SOON = aiohttp.ClientTimeout(total=60)


class Refused(Exception):
    """The API server would not."""


class Client:
    """One pool of connections, as whoever the kubeconfig names. Used on the running loop."""

    def __init__(self, known: Credentials) -> None:
        self._known, self._http = known, known.session()
        self._host = known.configuration.host.rstrip("/")

    @classmethod
    async def open(cls, kubeconfig: Path) -> "Client":
        return cls(await credentials(Access(str(kubeconfig))))

    async def send(
        self, method: str, path: str, obj: Any = None, content_type: str = JSON
    ) -> bytes:
        """One request. Returns: the body. Raises: Refused."""
        body = obj if obj is None or isinstance(obj, bytes) else encode(obj)
        headers = {"Accept": JSON, "Accept-Encoding": "identity"}  # as the controller asks
        if body is not None:
            headers["Content-Type"] = content_type
        url = URL(self._host + path, encoded=True)
        async with self._http.request(
            method, url, data=body, headers=headers, timeout=_SOON
        ) as answer:
            read = await answer.read()
            if answer.status >= 300:
                raise Refused(f"{method} {path}: {answer.status} {read[:300]!r}")
            return read

    async def watch(self, path: str, since: int) -> AsyncIterator[list[bytes]]:
        """The lines of a watch, as many at a time as have come."""
        url = URL(f"{self._host}{path}?watch=true&resourceVersion={since}", encoded=True)
        tail = b""
        async with self._http.get(url, timeout=_FOREVER) as answer:
            if answer.status >= 300:
                raise Refused(f"watch {path}: {answer.status}")
            with suppress(aiohttp.ClientPayloadError):  # it was cut: what is missing comes again
                async for chunk in answer.content.iter_any():
                    lines, tail = lines_of(tail, chunk)
                    yield lines

    async def close(self) -> None:
        await self._http.close()
        await self._known.close()
        await asyncio.sleep(0.05)  # connections are closed by turns of the loop after this


async def each(
    items: Iterable[T], act: Callable[[T], Awaitable[Any]], at_once: int = AT_ONCE
) -> None:
    """``act`` on all of them, so many at once. Raises: what the first one raises."""
    left = iter(items)

    async def work() -> None:
        for item in left:
            await act(item)

    await asyncio.gather(*(work() for _ in range(at_once)))
