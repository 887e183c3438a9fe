"""Which templates has a workload had? One ControllerRevision each, as Deployments of apps/v1 keep them.

A cluster that still carries an older revision can be restored to it, and a person can go back to it.
"""

from dataclasses import dataclass
from typing import Any

from rollout.model import names
from rollout.model.kinds import CONTROLLER_REVISION, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.planning.record import owned_by, record_id


@dataclass(frozen=True, slots=True)
class Revision:
    """A template that was rolled out, under its content hash; ``number`` counts up from 1."""

    owner: str
    name: str
    uid: str
    content: str
    number: int
    template: Obj


def read_revision(obj: Obj) -> Revision | None:
    """A ControllerRevision of ours; None for those of others."""
    meta = obj["metadata"]
    annotations: dict[str, Any] = meta.get("annotations") or {}
    content, template = annotations.get(names.REVISION), obj.get("data")
    owner = annotations.get(names.OWNER)
    if names.REVISION_LABEL not in (meta.get("labels") or {}):
        return None
    if not isinstance(content, str) or not isinstance(owner, str) or not isinstance(template, dict):
        return None
    number = obj.get("revision")
    return Revision(
        owner,
        meta["name"],
        meta.get("uid", ""),
        content,
        number if isinstance(number, int) else 0,
        template,
    )


def revision_object(ref: Ref, replicaset: ReplicaSet, number: int) -> tuple[Ref, Obj]:
    """The present template as a new ControllerRevision."""
    owner_id = record_id(ref, "")
    name = f"rollout-revision-{owner_id}-{replicaset.template.content}"
    return Ref(CONTROLLER_REVISION, f"{ref.namespace}/{name}"), {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": ref.namespace,
            "name": name,
            "labels": {names.REVISION_LABEL: owner_id},
            "annotations": {names.OWNER: ref.key, names.REVISION: replicaset.template.content},
            "ownerReferences": [owned_by(ref, replicaset.uid)],
        },
        "revision": number,
        "data": replicaset.template.spec,
    }
