"""Reads a rolloutStrategy as OCM's library reads it.

Loosely, and in the library's order: a threshold is looked at only where the decision needs it, so
a bad one can stay unnoticed. `rollout.strategies.ocm` decides; this module only reads.
Refusals are `ConfigError` with the library's words.

Source: OCM rollout spec 1.1, 1.3 and 3.3.
"""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta

from rollout.errors import ConfigError
from rollout.model.loose import LONGEST, go_duration, go_float, share
from rollout.model.replicaset import GroupRef

MEMBERS = {
    "All": "all",
    "Progressive": "progressive",
    "ProgressivePerGroup": "progressivePerGroup",
}

# OCM's pattern, its slips included: "|" is a unit, and each alternative has one anchor only.
_DEADLINE = re.compile(r"\A[0-9]+[h|m|s]|None\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class OcmStrategy:
    """One rolloutStrategy, decoded but not yet judged. Thresholds and deadline are as written."""

    type: str
    _: KW_ONLY
    soak: timedelta = timedelta(0)
    deadline: str = ""
    max_failures: int | str = 0
    max_concurrency: int | str = 0
    mandatory: tuple[GroupRef, ...] = ()


def read_strategy(raw: Mapping[str, object]) -> OcmStrategy:
    """Decode the member that ``type`` selects; the others only must be decodable.

    Raises:
        ConfigError: a field has a JSON type, or a minSuccessTime, that a typed client cannot
            decode. (No typed client would get as far as asking for a decision.)
    """
    kind = raw.get("type") or ""
    if not isinstance(kind, str):
        raise ConfigError("cannot decode rolloutStrategy.type: not a string")
    asked = {name: _member(name, raw.get(member)) for name, member in MEMBERS.items()}
    return asked.get(kind) or OcmStrategy(kind)


def _member(kind: str, raw: object) -> OcmStrategy:
    at = MEMBERS[kind]
    if raw is None:
        return OcmStrategy(kind)
    if not isinstance(raw, Mapping):
        raise ConfigError(f"cannot decode rolloutStrategy.{at}: not an object")
    soak = raw.get("minSuccessTime")
    return OcmStrategy(
        kind,
        soak=timedelta(0) if soak is None else _microseconds(go_duration(_text(soak, at))),
        deadline=_text(raw.get("progressDeadline") or "", at),
        max_failures=_int_or_string(raw.get("maxFailures"), at),
        max_concurrency=_int_or_string(raw.get("maxConcurrency"), at),
        mandatory=_refs(raw.get("mandatoryDecisionGroups"), at),
    )


def _text(value: object, at: str) -> str:
    if isinstance(value, str):
        return value
    raise ConfigError(f"cannot decode rolloutStrategy.{at}: {value!r} is not a string")


def _int_or_string(value: object, at: str) -> int | str:
    if value is None:
        return 0
    whole = isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31
    if isinstance(value, str) or (whole and isinstance(value, int)):
        return value
    raise ConfigError(f"cannot decode rolloutStrategy.{at}: {value!r} is not an int-or-string")


def _refs(value: object, at: str) -> tuple[GroupRef, ...]:
    found = []
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, Mapping):
            raise ConfigError(f"cannot decode rolloutStrategy.{at}: {item!r} is not a group")
        index = _int_or_string(item.get("groupIndex"), at)
        if isinstance(index, str):
            raise ConfigError(f"cannot decode rolloutStrategy.{at}: {index!r} is not a group index")
        found.append(GroupRef(_text(item.get("groupName") or "", at), index))
    return tuple(found)


def deadline(written: str) -> timedelta | None:
    """A progressDeadline; None waits for ever. Below a microsecond it rounds up.

    Instants are whole microseconds, so rounding up never changes whether one lies before it.

    Raises:
        ConfigError: it does not look like a duration, or Go cannot parse it.
    """
    if written in ("None", ""):
        return None
    if not _DEADLINE.search(written):
        raise ConfigError("invalid timeout format")
    nanoseconds = go_duration(written)
    return None if nanoseconds == LONGEST else _microseconds(nanoseconds)


def _microseconds(nanoseconds: int) -> timedelta:
    return timedelta(microseconds=-(-nanoseconds // 1000))


def size(value: int | str, total: int, default: int) -> int:
    """A threshold in clusters. Nothing, less than nothing, or more than ``total`` is ``default``.

    Raises:
        ConfigError: a string that is no percentage. Digits alone are none.
    """
    if isinstance(value, int):
        wanted = value
    elif value.endswith("%"):
        wanted = share(go_float(value[:-1]), total)
    else:
        raise ConfigError(
            f"'{value}' is an invalid maximum threshold value: string is not a percentage"
        )
    return wanted if 0 < wanted <= total else default


def threshold(name: str, value: int | str, total: int, default: int) -> int:
    """`size`, with the field's name in the refusal."""
    try:
        return size(value, total, default)
    except ConfigError as refusal:
        raise ConfigError(f"failed to parse the provided {name}: {refusal}") from refusal
