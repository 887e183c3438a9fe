"""Decides when a write that the server refused is tried again (row 19)."""

from datetime import datetime, timedelta

from msgspec import Struct

from rollout.model.backoff import Backoff

RETRY = Backoff(first=timedelta(seconds=5), longest=timedelta(minutes=5))


class RefusedWrite(Struct, frozen=True):
    """A write that the server refused, and when it is tried again.

    ``content``: what it would have brought; another one need not wait ("": it is not told apart).
    """

    message: str
    tries: int
    retry_at: datetime
    content: str = ""


def refusal(
    known: RefusedWrite | None, message: str, now: datetime, content: str = ""
) -> RefusedWrite:
    """What follows from a refusal, after those of the same content before it."""
    tries = known.tries + 1 if known and known.content == content else 1
    return RefusedWrite(message, tries, now + RETRY.wait(tries), content)
