"""The memory of a simulated agent for one work, and its saved form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec
from msgspec import structs

from rollout.errors import ConfigError
from rollout.hub.base import Kept, StateKey
from rollout.model.kinds import Obj, Ref
from rollout.model.names import APPLIED
from rollout.sim.members import Member
from rollout.sim.reports import AgentReport, said_of
from rollout.sim.template import WorkTemplate
from rollout.sim.timeline import TimedReport

_FORMAT = 1
_MOST_GONE = 4_096


class SavedWork(msgspec.Struct, array_like=True, frozen=True):
    """One work: how far its agent is, the reports still to come, and when it acts next.

    ``joined``: its cluster has, or had, a ManagedCluster.
    """

    key: str
    uid: str
    generation: int
    attempt: int
    leaving: bool
    joined: bool
    steps: Sequence[tuple[datetime, AgentReport]]
    due: datetime | None


class WorkInHand:
    """A ManifestWork as its agent knows it.

    ``generation`` is the one that the agent works on; ``steps`` are the reports still to come.
    """

    __slots__ = (
        "attempt",
        "generation",
        "labels",
        "leaving",
        "member",
        "obj",
        "ref",
        "steps",
        "template",
        "uid",
        "version",
    )

    def __init__(self, ref: Ref, uid: str, attempt: int, member: Member) -> None:
        self.ref, self.uid, self.attempt, self.member = ref, uid, attempt, member
        self.obj: Obj = {}
        self.version = self.generation = 0
        self.leaving = False
        self.labels: Obj | None = None  # as they were when it began, or last wrote
        self.template: WorkTemplate | None = None
        self.steps: tuple[TimedReport, ...] = ()

    def is_news(self) -> bool:
        """Whether the work has another generation than its agent works on, or is being deleted.

        A changed label makes the agent apply once more. That changes something only where applying
        was refused before. Annotations do not wake the agent.
        """
        meta = self.obj["metadata"]
        if "deletionTimestamp" in meta:
            return not self.leaving
        if meta["generation"] != self.generation:
            return True
        is_relabelled = self.labels is not None and self.labels != (meta.get("labels") or {})
        return is_relabelled and not self.steps and self._is_refused()

    def _is_refused(self) -> bool:
        return any(
            c.get("type") == APPLIED and c.get("status") == "False" for c in said_of(self.obj)
        )

    def saved(self, key: str, due: datetime | None) -> SavedWork:
        """The form in which it is saved; ``due`` is when its agent acts next."""
        return SavedWork(
            key=key,
            uid=self.uid,
            generation=self.generation,
            attempt=self.attempt,
            leaving=self.leaving,
            joined=self.member.joined,
            steps=self.steps,
            due=due,
        )


def recalled(ref: Ref, entry: SavedWork, member: Member) -> WorkInHand:
    """A work from its saved form. Its object is not known yet."""
    work = WorkInHand(ref, entry.uid, entry.attempt, member)
    work.generation, work.leaving = entry.generation, entry.leaving
    work.steps = tuple(TimedReport(at, AgentReport(report)) for at, report in entry.steps)
    member.joined = entry.joined
    return work


class SavedAgents(msgspec.Struct, frozen=True, omit_defaults=True):
    """All agents. ``attempts`` are of deleted works; ``gone`` are deleted clusters."""

    format: int = _FORMAT
    started_at: datetime | None = None
    events_done: Sequence[int] = ()
    gone: Sequence[str] = ()
    attempts: dict[str, int] = {}
    works: Sequence[SavedWork] = ()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SavedAgents).decode


class Keeping(Kept, Protocol):
    """A hub, as far as it keeps what is no object, one by one."""

    def get_states(self, prefix: str) -> Mapping[str, bytes]: ...


OF_ONE_WORK = f"{StateKey.AGENTS}/"
_read = msgspec.json.Decoder(SavedWork | int).decode


def kept_agents(hub: Keeping) -> bytes:
    """The state of all agents that a run has saved, put together; b"" if there was no run.

    A run saves each work under a key of its own, so that it writes only works that changed. For a work
    that is gone, it keeps the number of attempts.
    """
    head = hub.get_state(StateKey.AGENTS)
    if head is None:
        return b""
    saved = decode_saved(head)
    works: dict[str, SavedWork] = {work.key: work for work in saved.works}
    attempts = dict(saved.attempts)
    for key, value in hub.get_states(OF_ONE_WORK).items():
        try:
            found = _read(value)
        except msgspec.MsgspecError as fault:
            raise ConfigError(
                f"cannot read what the agent of {key} had pending: {fault}"
            ) from fault
        works.pop(key, None)
        attempts.pop(key, None)
        if isinstance(found, int):
            attempts[key] = found
        else:
            works[key] = found
    whole = structs.replace(saved, works=[w for _, w in sorted(works.items())], attempts=attempts)
    return encode_saved(whole)


def encode_saved(saved: SavedAgents) -> bytes:
    return _encode(saved)


def decode_saved(saved: bytes) -> SavedAgents:
    """Raises: ConfigError where these are not the bytes of `encode_saved`."""
    try:
        found = _decode(saved)
    except msgspec.MsgspecError as fault:
        raise ConfigError(f"cannot read what the agents had pending: {fault}") from fault
    if found.format != _FORMAT:
        raise ConfigError(f"cannot read the agents' format {found.format}: known is {_FORMAT}")
    return found


class WorksInHand:
    """All works that agents know, the attempts of works that are gone, and what of it has changed.

    The works of one cluster are found without a look at the others. The works of which attempts are
    remembered are the last `_MOST_GONE` that went: an agent that begins with an earlier one again counts
    from nothing.

    Args:
        kept: whether somebody saves `changes` from time to time; where nobody does, none are collected.
    """

    def __init__(self, *, kept: bool) -> None:
        self._on: dict[str, dict[str, WorkInHand]] = {}  # cluster -> key -> work
        self._attempts: dict[str, int] = {}  # of works that are gone; the last one went last
        self._kept = kept
        self._changed: set[str] = set()

    def __getitem__(self, key: str) -> WorkInHand:
        return self._on[_cluster(key)][key]

    def get(self, key: str) -> WorkInHand | None:
        return self._on.get(_cluster(key), {}).get(key)

    def on(self, cluster: str) -> list[WorkInHand]:
        return list(self._on.get(cluster, {}).values())

    def all(self) -> Iterator[WorkInHand]:
        """By cluster, as they came."""
        return (work for held in self._on.values() for work in held.values())

    def begin(self, ref: Ref, uid: str, member: Member) -> WorkInHand:
        """Take a new work in hand. It goes on with the attempts of one of the same key that is gone."""
        work = WorkInHand(ref, uid, self._attempts.pop(ref.key, 0), member)
        self.put(work)
        return work

    def put(self, work: WorkInHand) -> None:
        self._on.setdefault(_cluster(work.ref.key), {})[work.ref.key] = work
        self.changed(work.ref.key)

    def recall_gone(self, attempts: Mapping[str, int]) -> None:
        for key, attempt in attempts.items():
            self._went(key, attempt)

    def forget(self, key: str) -> None:
        """The work is gone. Raises: KeyError where it is not known."""
        self._went(key, self._on[_cluster(key)].pop(key).attempt)

    def _went(self, key: str, attempt: int) -> None:
        self._attempts[key] = attempt
        self.changed(key)
        if len(self._attempts) > _MOST_GONE:
            oldest = next(iter(self._attempts))
            del self._attempts[oldest]
            self.changed(oldest)

    def changed(self, key: str) -> None:
        """What is saved of this work is no longer what was saved last."""
        if self._kept:
            self._changed.add(key)

    def changes(self, due: Callable[[str], datetime | None]) -> Iterator[tuple[str, bytes | None]]:
        """What has changed since the last call, as `kept_agents` reads it; None for what is forgotten.

        ``due`` says when the agent of a work acts next.
        """
        changed, self._changed = self._changed, set()
        for key in sorted(changed):
            if (work := self.get(key)) is not None:
                yield OF_ONE_WORK + key, _encode(work.saved(key, due(key)))
            else:
                attempt = self._attempts.get(key)
                yield OF_ONE_WORK + key, None if attempt is None else _encode(attempt)


def _cluster(key: str) -> str:
    return key.partition("/")[0]
