"""Makes the ManifestWorks that are written to clusters.

One work per cluster under a name that follows from its owner alone, so that a crash never makes a twin;
OCM's labels; our annotations. Keys set by others are left alone.
"""

import hashlib
import json
from datetime import datetime

from rollout.model import names
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.work import work_name


def work_annotations(replicaset: ReplicaSet, revision: str, started_at: datetime) -> dict[str, str]:
    return {
        names.OWNER: replicaset.key,
        names.REVISION: revision,
        names.STARTED_AT: rfc3339_micro(started_at),
    }


def revision_label(replicaset: ReplicaSet, revision: str) -> dict[str, str]:
    """The label that OCM has proposed, where the workload has fields of that proposal."""
    return {names.WORK_CONTROLLER_HASH: revision} if replicaset.follows_ocm else {}


def attempt_label(started_at: datetime) -> dict[str, str]:
    """What tells an agent to try the same content again: another value for each attempt."""
    digest = hashlib.sha256(rfc3339_micro(started_at).encode()).hexdigest()
    return {names.ATTEMPT: digest[:10]}


def new_work(
    replicaset: ReplicaSet,
    labels: dict[str, str],
    cluster: str,
    spec: Obj,
    *,
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
