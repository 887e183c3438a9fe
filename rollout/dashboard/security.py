"""Refuses requests that no page is for, and puts the same headers on every answer.

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
from rollout.errors import ConfigError
from rollout.model.amounts import parse_digits

FORGERY_FIELD = "forgery"
LARGEST_BODY = 256 * 1024
MOST_FIELDS = 100
HEALTH = "/healthz"
"""Whoever asks for this may know the dashboard by any name: probes know it by its address."""
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
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
    """The fields of a form; of several of one name the last. Raises: ConfigError for too many."""
    text = body.decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError as fault:
        raise ConfigError(f"a form has at most {MOST_FIELDS} fields") from fault


def cookie_name(headers: Headers, *, secure: bool) -> str:
    """What the cookie of a session is called.

    Browsers send the cookies of a name to all of its ports, where several dashboards may be. Where it is
    sent over TLS alone, no other name of the same domain can set it.
    """
    host = headers.get("host", "")
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    if secure and name not in LOCAL_NAMES:
        return "__Host-rollout-session"
    return f"rollout-session-{parse_digits(port, most=5) or 80}"


class Guard:
    """Refuses requests to other hosts and bodies that are too large; adds the headers to every answer.

    Args:
        hosts: what the Host header may say, with its port; empty: anything, since a proxy decides.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        plain = (host.removesuffix(port) for host in hosts for port in (":80", ":443"))
        self._app, self._hosts = app, frozenset((*hosts, *plain))  # browsers leave these ports out

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
        refusal = self._refusal(scope["method"], scope["path"], headers)
        if refusal is not None:
            await refusal(scope, receive, sending)
            return
        await self._app(scope, receive, sending)

    def _refusal(self, method: str, path: str, headers: Headers) -> PlainTextResponse | None:
        if self._hosts and headers.get("host", "") not in self._hosts and path != HEALTH:
            return PlainTextResponse("this host is not served here", 421)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("only GET, HEAD and POST are answered", 405)
        length = parse_digits(headers.get("content-length", "0"))
        if "transfer-encoding" in headers or length is None or length > LARGEST_BODY:
            return PlainTextResponse("the body is too large", 413)
        if method == "POST" and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return PlainTextResponse("this form is of another page", 403)
        return None
