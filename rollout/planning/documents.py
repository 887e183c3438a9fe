"""What does a ManifestWork that we write look like?

One work per cluster under a name that follows from its owner alone, so that a crash never makes a twin;
OCM's labels; our annotations. Keys set by others are left alone.
"""

import hashlib
import json
from datetime import datetime
from functools import lru_cache

from rollout.model import names
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.selectors import is_label_value
from rollout.model.work import Work


@lru_cache(maxsize=4_096)
def work_name(owner: str) -> str:
    """The name of each work of the ManifestWorkReplicaSet ``namespace/name``: readable, unique to it, at
    most 121 characters.

    A dot at the cut goes, since none may stand before a dash.
    """
    digest = hashlib.sha256(owner.encode()).hexdigest()[:10]
    return f"{owner.rpartition('/')[2][:110].rstrip('.')}-{digest}"


def owner_label(namespace: str, name: str) -> str:
    """``<namespace>.<name>`` as OCM has it, or a hash where that is no label value."""
    plain = f"{namespace}.{name}"
    if is_label_value(plain):
        return plain
    return "h-" + hashlib.sha256(plain.encode()).hexdigest()[:40]


def work_labels(replicaset: ReplicaSet, placement: str) -> dict[str, str]:
    """The workload's own labels and the two that say whose work it is."""
    return {
        **replicaset.labels,
        names.WORK_OWNER_LABEL: owner_label(replicaset.namespace, replicaset.name),
        names.WORK_PLACEMENT_LABEL: placement
        if is_label_value(placement)
        else "h-" + hashlib.sha256(placement.encode()).hexdigest()[:40],
    }


def work_annotations(replicaset: ReplicaSet, revision: str, started_at: datetime) -> dict[str, str]:
    return {
        names.OWNER: replicaset.key,
        names.REVISION: revision,
        names.STARTED_AT: rfc3339_micro(started_at),
    }


def attempt_label(started_at: datetime) -> dict[str, str]:
    """What tells an agent to try the same content again: another value for each attempt."""
    digest = hashlib.sha256(rfc3339_micro(started_at).encode()).hexdigest()
    return {names.ATTEMPT: digest[:10]}


def new_work(
    replicaset: ReplicaSet,
    labels: dict[str, str],
    cluster: str,
    spec: Obj,
    revision: str,
    started_at: datetime,
) -> tuple[Ref, Obj]:
    """A work that does not exist yet."""
    name = work_name(replicaset.key)
    return Ref(MANIFEST_WORK, f"{cluster}/{name}"), {
        "apiVersion": MANIFEST_WORK.api_version,
        "kind": MANIFEST_WORK.name,
        "metadata": {
            "namespace": cluster,
            "name": name,
            "labels": labels,
            "annotations": work_annotations(replicaset, revision, started_at),
        },
        "spec": spec,
    }


def names_another_owner(work: Work, owner: str) -> bool:
    """Whether a work of this owner says that it is another one's. One that says nothing does not."""
    labelled = work.labels.get(names.WORK_OWNER_LABEL)
    expected = owner_label(*owner.split("/", 1))
    return work.annotations.get(names.OWNER, owner) != owner or labelled not in (None, expected)


def difference(old: Obj, new: Obj) -> Obj:
    """The JSON merge patch that turns ``old`` into ``new``; empty where they are equal."""
    changes: Obj = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            inner = difference(before, value)
            if inner:
                changes[key] = inner
        elif key not in old or before != value or _text(before) != _text(value):
            changes[key] = value
    return changes


def _text(value: object) -> str:
    """As JSON, since to Python true is 1 and 1 is 1.0."""
    return json.dumps(value, sort_keys=True)
