"""Decides when a write that the server refused is tried again (row 19)."""

from datetime import datetime, timedelta

from msgspec import Struct

from rollout.model.backoff import Backoff

RETRY = Backoff(first=timedelta(seconds=5), longest=timedelta(minutes=5))


class RefusedWrite(Struct, frozen=True, gc=False, kw_only=True):
    """A write that the server refused, and when it is tried again.

    ``content``: what it would have brought; another one need not wait ("": it is not told apart).
    ``is_attempt``: it would have been the first one of an attempt, which nobody has heard of so far.
    """

    message: str
    tries: int
    retry_at: datetime
    content: str = ""
    is_attempt: bool = False


def refusal(
    known: RefusedWrite | None,
    message: str,
    now: datetime,
    content: str = "",
    *,
    is_attempt: bool = False,
) -> RefusedWrite:
    """What follows from a refusal, after those of the same content before it."""
    before = known if known and known.content == content else None
    tries = before.tries + 1 if before else 1
    is_attempt = is_attempt or (before is not None and before.is_attempt)
    return RefusedWrite(
        message=message,
        tries=tries,
        retry_at=now + RETRY.wait(tries),
        content=content,
        is_attempt=is_attempt,
    )
