"""How is what the agents have pending kept? As JSON, with instants to the microsecond."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rollout.errors import ConfigError
from rollout.sim.reports import Report

_FORMAT = 1


class SavedWork(msgspec.Struct, array_like=True, frozen=True):
    """One work, of a cluster that has joined or not: where its agent is, what it has still to say, and when it acts next."""

    key: str
    uid: str
    generation: int
    attempt: int
    leaving: bool
    joined: bool
    steps: Sequence[tuple[datetime, Report]]
    due: datetime | None


class Saved(msgspec.Struct, frozen=True, omit_defaults=True):
    """All agents. ``attempts`` are of works that are gone; ``gone`` are clusters."""

    format: int = _FORMAT
    started_at: datetime | None = None
    events_done: Sequence[int] = ()
    gone: Sequence[str] = ()
    attempts: dict[str, int] = {}
    works: Sequence[SavedWork] = ()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Saved).decode


def write(saved: Saved) -> bytes:
    return _encode(saved)


def read(saved: bytes) -> Saved:
    """Raises: ConfigError where these are not the bytes of `write`."""
    try:
        found = _decode(saved)
    except msgspec.MsgspecError as fault:
        raise ConfigError(f"cannot read what the agents had pending: {fault}") from fault
    if found.format != _FORMAT:
        raise ConfigError(f"cannot read the agents' format {found.format}: known is {_FORMAT}")
    return found
