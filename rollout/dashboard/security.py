"""Which requests are answered at all, and which headers does every answer carry?

A wrong Host header is a page of somebody else whose name was made to point here (DNS rebinding). A form
must carry the token of its session, else another page could send it in a person's name.
"""

import hmac
from collections.abc import Collection
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rollout.dashboard.people import Person

COOKIE = "rollout-session"
FORGERY_FIELD = "forgery"
LARGEST_BODY = 256 * 1024
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_ours(person: Person, sent: str) -> bool:
    """Whether a form carries the token of this person's session."""
    return hmac.compare_digest(sent.encode(), person.forgery.encode())


def form_of(body: bytes) -> dict[str, str]:
    """The fields of a form; of several of one name the last."""
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)
    return dict(pairs)


class Guard:
    """Refuses requests to other hosts and bodies that are too large; adds the headers to every answer.

    Args:
        hosts: what the Host header may say, with its port; empty: anything, since a proxy decides.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await refusal(scope, receive, sending)
            return
        await self._app(scope, receive, sending)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if self._hosts and headers.get("host", "") not in self._hosts:
            return PlainTextResponse("this host is not served here", 421)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("only GET, HEAD and POST are answered", 405)
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LARGEST_BODY:
            return PlainTextResponse("the body is too large", 413)
        if method == "POST" and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return PlainTextResponse("this form is of another page", 403)
        return None
