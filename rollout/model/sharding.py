"""Which process looks after which namespaces, where several share one hub.

Namespaces are dealt to a fixed number of buckets, and buckets to shards, by hashes alone: every process
comes to the same answer. Another number of shards moves only the namespaces of the buckets that get
another owner: from n to n + 1 about one in n + 1. What is in no namespace, and what is remembered of it
in the controller's own, belongs to shard 0.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from rollout.model.kinds import (
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    WORKLOADS,
    Ref,
)
from rollout.model.names import BUCKET_LABEL

BUCKETS = 64
MOST_SHARDS = 16
"""So many that each still has some buckets."""
FIRST = 0
"""The bucket, and the shard, of what is in no namespace."""
_OF_ONE_SHARD = frozenset(
    {
        *(kind for kind in WORKLOADS if kind.namespaced),
        ROLLOUT_RECORD,
        ROLLOUT_REVISION,
        ROLLOUT_ANALYSIS_RUN,
    }
)
"""Kinds that nobody needs to know but the shard of their namespace."""


@lru_cache(maxsize=16_384)
def bucket_of(namespace: str) -> int:
    """1 to 63. Never another one for the same namespace, whatever the version of the program."""
    digest = hashlib.sha256(namespace.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (BUCKETS - 1)


@lru_cache(maxsize=BUCKETS * MOST_SHARDS)
def owner_of(bucket: int, shards: int) -> int:
    """The shard with the highest hash for the bucket."""
    if bucket == FIRST:
        return FIRST
    return max(range(shards), key=lambda i: hashlib.sha256(f"{bucket}/{i}".encode()).digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """One of several processes that share a hub. ``home`` is the controller's own namespace."""

    shards: int = 1
    shard: int = 0
    home: str = ""

    def bucket(self, namespace: str) -> int:
        return FIRST if namespace in ("", self.home) else bucket_of(namespace)

    def concerns(self, ref: Ref) -> bool:
        """Whether this shard plans the object: exactly one of all shards does."""
        return self.shards == 1 or owner_of(self.bucket(ref.namespace), self.shards) == self.shard

    def reads(self, ref: Ref) -> bool:
        """Whether this shard has to know the object."""
        return ref.kind not in _OF_ONE_SHARD or self.concerns(ref)

    def labels(self, namespace: str) -> dict[str, str]:
        """What works of a workload in this namespace carry, so that one shard alone watches them."""
        return {} if self.shards == 1 else {BUCKET_LABEL: str(self.bucket(namespace))}

    @property
    def selector(self) -> str:
        """A label selector of the works to be watched, those that have no such label yet among them.

        "" for all.
        """
        others = [str(b) for b in range(BUCKETS) if owner_of(b, self.shards) != self.shard]
        return f"{BUCKET_LABEL} notin ({','.join(others)})" if others else ""


ALONE = Sharding()
"""The one process of a hub that is not shared."""
