"""A ManifestWork: one cluster's share of a workload, how it is known, and what its agent says of it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from rollout.model import names
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.model.replicaset import ReplicaSet
from rollout.model.selectors import is_label_value
from rollout.model.sharding import ALONE, Sharding

SIZE_LIMIT = 500 * 1024
"""Bytes of all manifests of one work that OCM's webhook lets in, by default."""


def size_of(manifest: object) -> int:
    """Bytes that a manifest counts for: its JSON, and how a list of byte strings frames it."""
    raw = len(
        json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    )
    frame, rest = 1, raw
    while rest >= 0x80:
        frame, rest = frame + 1, rest >> 7
    return raw + 1 + frame


class WorkAt(Struct, frozen=True, gc=False):
    """The part of a `Work` that is given by place: which one it is."""

    cluster: str
    name: str


class Work(WorkAt, frozen=True, kw_only=True):
    """A ManifestWork without its payload.

    ``content`` is the hash of the normalised spec (`rollout.model.content`); ``revision`` and
    ``started_at`` are our annotations (empty, None where absent). ``owner`` is the
    ``namespace/name`` of the ManifestWorkReplicaSet it belongs to, "" where it belongs to none;
    ``said_owner`` is our annotation of it, as written (None: absent). ``faults`` say which manifests are
    not well, and why (`rollout.api.manifest_faults`): few, and short. ``labels`` and ``spec`` are as on
    the wire: shared, and never altered.
    """

    owner: str = ""
    placement: str = ""
    content: str = ""
    revision: str = ""
    started_at: datetime | None = None
    generation: int = 0
    version: int = 0
    uid: str = ""
    created: str = ""
    deleting: bool = False
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    said_owner: str | None = None
    faults: tuple[str, ...] = ()
    spec: Obj = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.name}"

    def says_as(self, other: "Work") -> bool:
        """Whether both say the same, in whatever version. The content stands for the spec."""
        return replace(self, version=other.version, spec=other.spec) == other

    def is_labelled_as(self, other: "Work") -> bool:
        """Whether both say the same of whose work they are."""
        same_labels = self.labels is other.labels or self.labels == other.labels
        return same_labels and (self.name, self.said_owner) == (other.name, other.said_owner)

    def differs_at_most_in_status(self, later: "Work") -> bool:
        """Whether ``later`` is the same object, and nothing was written since but its status, or labels
        and annotations that say nothing to us.
        """
        known, found = (
            (
                *(w.uid, w.generation, w.content, w.deleting),
                *(w.labels, w.revision, w.started_at, w.said_owner),
            )
            for w in (self, later)
        )
        return bool(self.uid and self.generation) and known == found


@lru_cache(maxsize=1_024)
def work_name(owner: str) -> str:
    """The name of each work of the ManifestWorkReplicaSet ``namespace/name``: readable, unique to it, at
    most 121 characters.

    A dot at the cut goes, since none may stand before a dash.
    """
    digest = hashlib.sha256(owner.encode()).hexdigest()[:10]
    return f"{owner.rpartition('/')[2][:110].rstrip('.')}-{digest}"


@lru_cache(maxsize=1_024)
def owner_label(namespace: str, name: str) -> str:
    """``<namespace>.<name>`` as OCM has it, or a hash where that is no label value."""
    plain = f"{namespace}.{name}"
    if is_label_value(plain):
        return plain
    return "h-" + hashlib.sha256(plain.encode()).hexdigest()[:40]


def work_labels(
    replicaset: ReplicaSet, placement: str, sharding: Sharding = ALONE
) -> dict[str, str]:
    """The workload's own labels, the two that say whose work it is, and that of its shard."""
    return {
        **replicaset.labels,
        **sharding.labels(replicaset.namespace),
        names.WORK_OWNER_LABEL: owner_label(replicaset.namespace, replicaset.name),
        names.WORK_PLACEMENT_LABEL: placement
        if is_label_value(placement)
        else "h-" + hashlib.sha256(placement.encode()).hexdigest()[:40],
    }


def names_another_owner(work: Work, owner: str) -> bool:
    """Whether this work names another owner, or no owner although it has the name that we give works.

    Works that OCM named have no owner annotation, so its absence means nothing there.
    """
    labelled = work.labels.get(names.WORK_OWNER_LABEL)
    expected = owner_label(*owner.split("/", 1))
    silent = None if work.name != work_name(owner) else owner
    return work.said_owner not in (silent, owner) or labelled not in (None, expected)


def oldest(works: Sequence[Work]) -> Work | None:
    """The one that was made first; of several of one second, the first by name. None where there is none."""
    if len(works) == 1:  # as nearly always
        return works[0]
    return min(works, key=lambda work: (work.created, work.name), default=None)
