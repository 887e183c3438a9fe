"""A ManifestWork: one cluster's share of a workload, and what its agent says of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout.model.conditions import Condition
from rollout.model.kinds import Obj


@dataclass(frozen=True, slots=True)
class Work:
    """A ManifestWork without its payload.

    ``content`` is the hash of the normalised spec (`rollout.model.content`); ``revision`` and
    ``started_at`` are our annotations (empty, None where absent). ``owner`` is the
    ``namespace/name`` of the ManifestWorkReplicaSet it belongs to, "" where it belongs to none.
    ``updated_by_us`` and the like are not kept: ownership is by label, content by hash. ``faults`` say which manifests are
    not well, and why (`rollout.api.manifest_faults`): few, and short. ``spec`` is as on the wire: shared, never altered, and empty in works that were read from bytes.
    """

    cluster: str
    name: str
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
    annotations: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    spec: Obj = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.name}"
