"""Agrees with other processes on the number of shards before this one begins.

The answer is a label on the Lease of shard 0, which a process that is alone on its hub holds as well.
Shard 0 changes it in two steps: it says that it changes, waits for one lease, and then writes the new
number. Every other shard reads it right before each renewal of its own lease, and renews it only for the
number it was started with. So none of the old shards writes any more when the first of the new begins:
what they read before the change ends within that wait (contract S28).
"""

from datetime import datetime, timedelta

from rollout.clock import Clock
from rollout.errors import Conflict, Gone, Unavailable
from rollout.hub.base import Hub
from rollout.model.kinds import LEASE, Obj, Ref
from rollout.model.names import SHARDS_LABEL
from rollout.model.sharding import FIRST, Sharding
from rollout.runtime.leader import Predecessor

CHANGING = "changing"


def lease_of(namespace: str, name: str, shard: int) -> Ref:
    """The Lease of a shard. That of shard 0 has the name that was set, the others a number behind it."""
    return Ref(LEASE, f"{namespace}/{name}" if shard == FIRST else f"{namespace}/{name}-{shard}")


class Layout:
    """See the module.

    Args:
        clock: measures how long is waited: a steady one.
        base: the lease of shard 0.
        me: the identity of this process, as leases name their holders.
        lasts: how long a lease holds.
    """

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        base: Ref,
        *,
        me: str,
        sharding: Sharding,
        lasts: timedelta,
    ) -> None:
        self._hub, self._clock, self._base, self._me = hub, clock, base, me
        self._sharding, self._lasts = sharding, lasts
        self._changed_at: datetime | None = None

    def agree(self) -> None:
        """For `LeaderCandidate`. Raises: HubError where the shards are not those of this process."""
        if self._sharding.shard == FIRST:
            return  # its lease is that of a process that is alone: only one of them has it
        try:
            written = _number_on(self._hub.get(self._base))
        except Gone:
            raise Unavailable(f"shard 0 has never led: there is no {self._base}") from None
        if not self._is_mine(written):
            raise Unavailable(
                f"{self._base} says {_in_words(written)}, and this is one of "
                f"{self._sharding.shards}; it waits for shard 0 of {self._sharding.shards}"
            )

    def begin(self) -> None:
        """Have the number of this process written, once it leads. Raises: HubError; try again then."""
        if self._sharding.shard != FIRST:
            return
        lease = self._hub.get(self._base)
        written = _number_on(lease)
        if self._is_mine(written):
            return
        if written != CHANGING or self._changed_at is None:
            self._write(CHANGING, lease)
            self._changed_at = self._clock.now()
        left = self._changed_at + self._lasts - self._clock.now()
        if left > timedelta(0):
            raise Unavailable(
                f"the namespaces are dealt to {_in_words(str(self._sharding.shards))} from now on: "
                f"the shards of before have {left.total_seconds():.0f} s to end"
            )
        self._write(str(self._sharding.shards), lease)

    def last_sign(self, predecessor: Predecessor) -> datetime | None:
        """Of the one before, for `Fleet.began`; None where it looked after other namespaces."""
        is_same = self._is_mine(predecessor.labels.get(SHARDS_LABEL, ""))
        return predecessor.last_sign if is_same else None

    def _is_mine(self, written: str) -> bool:
        return (written or "1") == str(self._sharding.shards)

    def _write(self, value: str, lease: Obj) -> None:
        """On the lease as it was read: one that froze here meets that of its successor. Raises: HubError."""
        if (lease.get("spec") or {}).get("holderIdentity") != self._me:
            raise Conflict(f"{self._base} has another holder")
        changes = {"metadata": {"labels": {SHARDS_LABEL: value}}}
        self._hub.patch(self._base, changes, int(lease["metadata"]["resourceVersion"]))


def _number_on(lease: Obj) -> str:
    return str((lease["metadata"].get("labels") or {}).get(SHARDS_LABEL) or "")


def _in_words(written: str) -> str:
    if written == CHANGING:
        return "that the number of shards changes"
    return "1 shard" if written in ("", "1") else f"{written} shards"
