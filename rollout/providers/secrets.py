"""Reads the data of a Secret when it is needed, and keeps it nowhere."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from rollout.errors import Gone, HubError
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Ref, key_of
from rollout.providers.workers import Blocking

SECRET = Kind("Secret", "secrets", "", "v1", has_status=False)


class UnreadSecretError(Exception):
    """A Secret cannot be read; the message says which and why, and nothing of what is in it."""


async def read_secret(hub: Hub, threads: Blocking, namespace: str, name: str) -> Mapping[str, str]:
    """All entries of a Secret that are text. Raises: UnreadSecretError."""
    where = Ref(SECRET, key_of(namespace, name))
    try:
        found: dict[str, Any] = await threads.call(lambda: hub.get(where))
    except Gone as error:
        raise UnreadSecretError(f"there is no {where}") from error
    except HubError as error:
        raise UnreadSecretError(f"{where} cannot be read: {error}") from error
    entries = {key: _text(value) for key, value in (found.get("data") or {}).items()}
    return {key: text for key, text in entries.items() if text is not None}


def _text(encoded: object) -> str | None:
    """What an entry says; None where that is no text."""
    try:
        return base64.b64decode(encoded).decode().strip() if isinstance(encoded, str) else None
    except ValueError:
        return None


def without(secrets: Iterable[str], message: str) -> str:
    """The message, in which no Secret stands."""
    for secret in filter(None, secrets):
        message = message.replace(secret, "***")
    return message
