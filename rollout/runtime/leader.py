"""Leader election by a Lease: one process at a time may write.

`decide` is pure; `LeaderCandidate` is the thin shell that reads and writes the Lease, driven by timers of
its own, so that a long plan never delays a renewal. All spans are measured on a steady clock of this
process, which nothing that a server tells moves: what others wrote as a time is compared, never read,
but for telling how long nobody was in charge.

Fencing (safety contract R2). The leader may write until `LeaseTerms.deadline` after the renewal that
last succeeded was *sent*; a request that goes out then has timed out before the lease ends; and a
successor waits the whole duration after it last *saw* the lease change. Leadership that was lost is
never regained by the same process: it ends, and another one starts with what the hub says.
"""

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from rollout.clock import Clock
from rollout.errors import Conflict, Fenced, Gone, HubError
from rollout.hub.base import Hub
from rollout.model.instants import parse_instant, rfc3339_micro
from rollout.model.kinds import LEASE, Obj, Ref
from rollout.model.names import HEARD_UNTIL
from rollout.runtime.timers import Timers, Wake

log = logging.getLogger(__name__)

LONGEST = 3600  # seconds: nobody waits longer for a lease, whatever it says of itself


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a lease holds, how long a leader tries to renew it, and how often anyone looks."""

    duration: timedelta = timedelta(seconds=15)
    deadline: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLease:
    """A lease as it was last read. ``since``: when it was first seen as it is, on our steady clock.

    A lease that was there and is gone has the version 0.
    """

    holder: str
    renewal: str  # as written
    duration: timedelta
    transitions: int
    version: int
    since: datetime


DELETED = "nobody: it was deleted"


class LeaseAction(Enum):
    """What to do about the lease, now."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    FOLLOW = "follow"
    RESIGN = "resign"  # leadership is lost


def sighted(obj: Obj, before: SeenLease | None, now: datetime) -> SeenLease:
    """What a read of the lease says. ``since`` moves with what leaders write, not with other edits."""
    spec = obj.get("spec") or {}
    found = SeenLease(
        holder=str(spec.get("holderIdentity") or ""),
        renewal=str(spec.get("renewTime") or ""),
        duration=timedelta(seconds=min(max(_whole(spec.get("leaseDurationSeconds")), 1), LONGEST)),
        transitions=_whole(spec.get("leaseTransitions")),
        version=int(obj["metadata"]["resourceVersion"]),
        since=now,
    )
    if before is not None and before == replace(found, since=before.since, version=before.version):
        return replace(found, since=before.since)
    return found


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def decide(
    me: str, seen: SeenLease | None, held: datetime | None, terms: LeaseTerms, now: datetime
) -> LeaseAction:
    """What follows from the last read.

    Args:
        seen: None where no lease was ever seen.
        held: when the renewal that last succeeded was sent; None: we do not lead.
    """
    if held is not None:
        mine = seen is not None and seen.holder == me
        return LeaseAction.RENEW if mine and now < held + terms.deadline else LeaseAction.RESIGN
    if seen is None:
        return LeaseAction.CREATE
    if not seen.holder or now >= seen.since + max(seen.duration, terms.duration):
        return LeaseAction.TAKE if seen.version else LeaseAction.CREATE
    return LeaseAction.FOLLOW


class LeaderState(Enum):
    """How this process stands."""

    WAITING = "waiting"  # another one leads, or nobody does yet
    LEADING = "leading"
    LOST = "lost"  # it led, and does no more: it has to end


@dataclass(frozen=True, slots=True)
class Predecessor:
    """Who led before, and when the hub last heard of it (None: nobody ever led).

    ``labels`` are those that the lease had then, ``heard`` is until when somebody who led heard of the hub
    (None: the lease does not say).
    """

    name: str = ""
    renewed: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    heard: datetime | None = None

    @property
    def last_sign(self) -> datetime | None:
        """Until when somebody looked after the fleet: who renews a lease may hear nothing else."""
        if self.renewed is None or self.heard is None:
            return self.renewed
        return min(self.heard, self.renewed)


class LeaderCandidate:
    """One process that wants to lead. Its timers' thread alone reads and writes the lease.

    ``standing``, `may_write` and ``leader`` may be asked on any thread.

    Args:
        clock: tells what is written on the lease, and `heard_at`; it may step.
        me: an identity that no other process, nor a later one in the same place, has.
        timers: made for this alone, on the steady clock; on a real one they run on a thread of their own.
        changed: called on the timers' thread when the standing may have changed.
        labels: put on the lease when it is taken, for whoever asks who leads and how.
        agree: asked right before each write that takes or renews the lease, on the timers' thread;
            raises HubError where this process must not lead, or that cannot be told.
        steady: measures how long leases last and deadlines are away. None: ``clock`` never steps.
    """

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        timers: Callable[[Wake], Timers],
        lease: Ref,
        *,
        me: str,
        terms: LeaseTerms = LeaseTerms(),
        changed: Callable[[], None] = lambda: None,
        labels: Mapping[str, str] | None = None,
        agree: Callable[[], None] = lambda: None,
        steady: Clock | None = None,
    ) -> None:
        assert lease.kind is LEASE, "leadership is a Lease"
        self.me, self.lease, self.terms = me, lease, terms
        self.predecessor = Predecessor()
        # Until when this process has heard of the hub; None: it has not read everything yet. Asked on the
        # timers' thread.
        self.heard: Callable[[], datetime | None] = lambda: None
        self._hub, self._clock, self._changed = hub, clock, changed
        self._steady = steady or clock
        self._labels, self._agree = dict(labels or {}), agree
        self._seen: SeenLease | None = None
        self._seen_labels: Mapping[str, str] = {}
        self._seen_heard: datetime | None = None
        self._held: datetime | None = None
        self._why_lost = ""
        self._heard_at: datetime | None = None
        self._trouble = f"{lease} was not read yet"
        self._over = False
        self._busy = threading.Lock()  # a release waits for the turn that is under way
        self._timers = timers(self._woken)

    def start(self) -> None:
        self._timers.arm(("lease", self.lease), self._steady.now())

    # -- what others ask -----------------------------------------------------------------------

    @property
    def standing(self) -> LeaderState:
        if self._why_lost:
            return LeaderState.LOST
        held = self._held
        if held is None:
            return LeaderState.WAITING
        late = self._steady.now() >= held + self.terms.deadline
        return LeaderState.LOST if late else LeaderState.LEADING

    @property
    def leader(self) -> str:
        """Who holds the lease, as far as we know."""
        return self._seen.holder if self._seen else ""

    @property
    def heard_at(self) -> datetime | None:
        """When the lease was last looked after: read, and written where that was due."""
        return self._heard_at

    @property
    def trouble(self) -> str:
        """What the last look at the lease failed at; "" where it did not."""
        return self._trouble

    def may_write(self) -> bool:
        """Whether a request that goes out now is over before a successor may begin."""
        held = self._held
        return (
            held is not None
            and not self._why_lost
            and self._steady.now() < held + self.terms.deadline
        )

    def check(self) -> None:
        """Raises: Fenced where leadership is lost."""
        if not self.may_write():
            raise Fenced(f"{self.lease} is lost: {self.why_lost}")

    @property
    def why_lost(self) -> str:
        return self._why_lost or f"it was not renewed for {self.terms.deadline.total_seconds():g} s"

    # -- the lease -----------------------------------------------------------------------------

    def _woken(self, key: Hashable) -> None:
        with self._busy:
            if self._over:
                return
            before = self.standing
            try:
                self._turn()
                self._heard_at, self._trouble = self._clock.now(), ""
            except HubError as error:
                self._trouble = str(error)
                log.warning("%s: %s", self.lease, error)
            except Exception as error:
                log.exception("%s: looking after it failed", self.lease)
                self._resign(f"looking after it failed: {type(error).__name__}")
            after = self.standing
            if after is LeaderState.LOST:
                self._resign(self.why_lost)
            else:
                self._timers.arm(key, self._steady.now() + self.terms.retry)
        if after is not before:
            log.info("%s: %s is %s", self.lease, self.me, after.value)
        self._changed()

    def _turn(self) -> None:
        """One look: a leader renews what it knows, everybody else reads first."""
        if self._held is None or self._seen is None:
            self._read()
        action = decide(self.me, self._seen, self._held, self.terms, now=self._steady.now())
        try:
            self._do(action)
        except (Conflict, Gone):
            self._read()
            if (
                decide(self.me, self._seen, self._held, self.terms, now=self._steady.now())
                is LeaseAction.RENEW
            ):
                # Someone edited it, or the answer to our own write was lost.
                self._do(LeaseAction.RENEW)
            elif self._held is not None:
                self._resign(f"{self.leader or 'nobody'} holds it")

    def _read(self) -> None:
        try:
            obj = self._hub.get(self.lease)
        except Gone:
            before = self._seen
            if before is not None and before.version:
                # Its holder may not know yet: it is given the same time as a silent one.
                self._seen = replace(before, holder=DELETED, version=0, since=self._steady.now())
        else:
            self._seen = sighted(obj, self._seen, self._steady.now())
            self._seen_labels = obj["metadata"].get("labels") or {}
            notes = obj["metadata"].get("annotations") or {}
            self._seen_heard = parse_instant(notes.get(HEARD_UNTIL))

    def _do(self, action: LeaseAction) -> None:
        sent = self._steady.now()  # before others are asked: what they said may be as old
        if action in (LeaseAction.CREATE, LeaseAction.TAKE, LeaseAction.RENEW):
            self._agree()
        match action:
            case LeaseAction.CREATE:
                self._create(sent)
            case LeaseAction.TAKE:
                self._take(sent)
            case LeaseAction.RENEW:
                self._hold({"renewTime": rfc3339_micro(self._clock.now())}, sent, self._told())
            case LeaseAction.RESIGN:
                late = self._seen is not None and self._seen.holder == self.me
                self._resign("" if late else f"{self.leader or 'nobody'} holds it")
            case LeaseAction.FOLLOW:
                pass

    def _create(self, sent: datetime) -> None:
        obj: Obj = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {
                "namespace": self.lease.namespace,
                "name": self.lease.name,
                "labels": self._labels,
            },
            "spec": self._spec(0),
        }
        self._got(self._hub.create(self.lease, obj), sent)

    def _take(self, sent: datetime) -> None:
        seen = self._seen
        assert seen is not None, "only what was read is taken"
        self.predecessor = Predecessor(
            seen.holder, parse_instant(seen.renewal), self._seen_labels, self._seen_heard
        )
        meta = {"labels": self._labels, **self._told()}
        self._hold(self._spec(seen.transitions + 1), sent, meta)

    def _told(self) -> Obj:
        """What the lease is to say of until when this process heard. Before it has read everything that is
        what its predecessor said: it may end before it does, and its successor must not take it for one
        that looked.
        """
        heard = self.heard() or self.predecessor.last_sign
        return {"annotations": {HEARD_UNTIL: rfc3339_micro(heard)}} if heard else {}

    def _spec(self, transitions: int) -> Obj:
        now = self._clock.now()
        return {
            "holderIdentity": self.me,
            "leaseDurationSeconds": int(self.terms.duration.total_seconds()),
            "acquireTime": rfc3339_micro(now),
            "renewTime": rfc3339_micro(now),
            "leaseTransitions": transitions,
        }

    def _hold(self, spec: Obj, sent: datetime, meta: Obj | None = None) -> None:
        """Write the lease over what was last read of it."""
        assert self._seen is not None, "only what was read is written"
        changes: Obj = {"metadata": meta, "spec": spec} if meta else {"spec": spec}
        self._got(self._hub.patch(self.lease, changes, self._seen.version), sent)

    def _got(self, obj: Obj, sent: datetime) -> None:
        self._seen = sighted(obj, self._seen, self._steady.now())
        self._held = sent

    def _resign(self, why: str) -> None:
        if not self._why_lost:
            self._why_lost = why or self.why_lost
            log.error("%s is lost: %s", self.lease, self._why_lost)

    # -- the end -------------------------------------------------------------------------------

    def release(self) -> None:
        """Let go, so that a successor need not wait. Only when no write of ours is out any more."""
        with self._busy:
            self._over = True
            self._timers.cancel(("lease", self.lease))
            if self.standing is not LeaderState.LEADING:
                return
            now = rfc3339_micro(self._clock.now())
            try:
                spec: Obj = {"holderIdentity": "", "renewTime": now}
                self._hold(spec, self._steady.now(), self._told())
            except HubError as error:
                log.info("%s was not released, it runs out by itself: %s", self.lease, error)
            finally:
                self._why_lost = "it was released"

    def stop(self) -> None:
        """Look after the lease no more; it runs out by itself."""
        with self._busy:
            self._over = True
            self._timers.cancel(("lease", self.lease))
