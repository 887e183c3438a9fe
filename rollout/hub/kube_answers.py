"""Turns bad or missing answers of an API server into errors that say who must act.

Source: Kubernetes API conventions, "Response Status Kind".
"""

import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import aiohttp
import msgspec

from rollout.errors import (
    AlreadyExists,
    ConfigError,
    Conflict,
    Denied,
    Expired,
    Gone,
    HubError,
    Invalid,
    NotServed,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from rollout.model.secrets import scrubbed

LONGEST_WAIT = timedelta(minutes=5)
_MOST_WORDS = 1_000
_PAYLOAD = re.compile(
    r"workload(?=[.\[:])|manifestWorkTemplate(?=\s*:)"
    r"|(?<![\w.\[])(?:data|spec)(?:[.\[](?:data|stringData)\b|(?=\s*:))"
)
"""Fields at, above or below objects of users, Secrets among them: a template, a work's manifests, a
revision's data."""
_EXCERPT = re.compile(r",?\s*error found in #\d+ byte of .*", re.DOTALL)
"""A JSON decoder's quotation of what it was reading."""


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct):
    name: str = ""
    kind: str = ""
    causes: list[_Cause] | None = None
    retryAfterSeconds: int = 0  # noqa: N815 - as on the wire


class _StatusAnswer(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_StatusAnswer)


def error_of(
    what: str,
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    *,
    of_object: bool = False,
) -> HubError:
    """The error that an answer stands for.

    Args:
        what: what was attempted, to begin the message with.
        status: an HTTP status of 400 or more, or the code of a watch's ERROR event.
        body: a Status object, or anything at all.
        secrets: values that the message must not repeat.
        of_object: it was a request for one object.
    """
    said = _read(body)
    told = scrubbed(_EXCERPT.sub("", _words(said)) or _plain(body) or f"HTTP {status}", secrets)
    words = f"{what}: {told[:_MOST_WORDS]}"
    match status:
        case 401:
            return Unauthenticated(words)
        case 403:
            return Invalid(words) if _is_terminating(said) else Denied(words)
        case 404:
            return _not_found(words, said, of_object=of_object)
        case 409:
            return AlreadyExists(words) if said.reason == "AlreadyExists" else Conflict(words)
        case 410:
            return Expired(words)
        case 429:
            return Throttled(words, wait_of(said.details, headers) or timedelta(seconds=1))
        case 400 | 405 | 406 | 413 | 415 | 422:
            return Invalid(words)
    if "request is too large" in said.message or "trying to send message larger" in said.message:
        return Invalid(words)  # etcd's refusal comes as a 500
    return Unavailable(words)


def watch_error(what: str, raw: bytes) -> HubError:
    """The error in an ERROR event of a watch."""
    return error_of(what, _read(raw).code or 500, raw)


def wait_of(details: Any, headers: Mapping[str, str] | None) -> timedelta | None:
    """How long the server asks to wait, by its header or in its words; None where it does not ask."""
    asked = (headers or {}).get("Retry-After", "")
    seconds = int(asked) if asked.isascii() and asked.isdigit() else 0
    if not seconds and isinstance(details, _Details):
        seconds = details.retryAfterSeconds
    return min(timedelta(seconds=min(seconds, 10_000)), LONGEST_WAIT) if seconds > 0 else None


def _read(body: bytes) -> _StatusAnswer:
    try:
        return _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # not even a Status
        return _StatusAnswer()


def _not_found(words: str, said: _StatusAnswer, *, of_object: bool) -> HubError:
    """That an object is not there is said by a Status that names what is missing. Any other 404, as
    while a definition is being replaced, is no word about the object.
    """
    is_named = said.reason == "NotFound" and said.details is not None and bool(said.details.name)
    if is_named or not of_object:
        return Gone(words)
    return NotServed(f"{words}; the server does not have the kind")


def _is_terminating(said: _StatusAnswer) -> bool:
    causes = (said.details.causes if said.details else None) or []
    return (
        any(cause.reason == "NamespaceTerminating" for cause in causes)
        or "because it is being terminated" in said.message
    )


def _words(said: _StatusAnswer) -> str:
    """The server's words, without the values of fields that lie in a user's manifests."""
    causes = (said.details.causes if said.details else None) or []
    if any(_is_payload(cause.field) for cause in causes):
        parts = [
            f"{cause.field}: {cause.reason}" if _is_payload(cause.field) else cause.message
            for cause in causes
        ]
        return "; ".join(parts)
    if _PAYLOAD.search(said.message):
        return said.reason or "refused"
    return said.message


def _is_payload(field: str) -> bool:
    return _PAYLOAD.search(f"{field}:") is not None


def _plain(body: bytes) -> str:
    """An answer that is no Status, such as a proxy's, as one short line."""
    text = body[:400].decode("utf-8", "replace").strip()
    return "" if not text or text[0] in "<{" else " ".join(text.split())[:200]


# -- where no whole answer came ------------------------------------------------------------------

BROKEN = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""What a connection can raise: ValueError for a line or a header beyond all limits."""


def short(path: str) -> str:
    """A path without its query."""
    return path.partition("?")[0]


def broken_said(error: BaseException) -> str:
    """Why no whole answer came, in plain words. Raises: ConfigError where the address can be none."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            raise ConfigError(
                f"the API server's address is not a URL: {short(str(error))}; one such as "
                "https://HOST:6443 is accepted"
            ) from error
        case aiohttp.ClientConnectorDNSError():
            return f"there is no host {error.host} ({_of_system(error)})"
        case aiohttp.ClientConnectorCertificateError():
            return f"the certificate of {error.host}:{error.port} is not trusted: {error.certificate_error}"
        case aiohttp.ClientConnectorError():
            return f"cannot connect to {error.host}:{error.port}: {_of_system(error)}"
        case aiohttp.ServerDisconnectedError():
            return "the server closed the connection"
    return str(error) or type(error).__name__


def _of_system(error: aiohttp.ClientConnectorError) -> str:
    """The operating system's word for it: ``connection refused``."""
    found = error.os_error
    words = os.strerror(found.errno) if found.errno and found.errno > 0 else found.strerror
    return (words or str(found)).lower()
