"""Which templates has a workload had? One ControllerRevision each, as Deployments of apps/v1 keep them.

A cluster that still carries an older revision can be restored to it, and a person can go back to it.
"""

from dataclasses import dataclass
from typing import Any

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import CONTROLLER_REVISION, REPLICA_SET, Obj, Ref
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
    """A ControllerRevision of ours; None for those of others.

    It may end up on clusters, and anybody may create one in a namespace of their own: it counts only
    under its own name, beside its workload, with the content that its name says.
    """
    meta = obj["metadata"]
    annotations: dict[str, Any] = meta.get("annotations") or {}
    content, template = annotations.get(names.REVISION), obj.get("data")
    owner = annotations.get(names.OWNER)
    if names.REVISION_LABEL not in (meta.get("labels") or {}):
        return None
    if not isinstance(content, str) or not isinstance(owner, str) or not isinstance(template, dict):
        return None
    workload = Ref(REPLICA_SET, owner)
    if Ref(CONTROLLER_REVISION, f"{meta.get('namespace')}/{meta['name']}") != revision_ref(
        workload, content
    ):
        return None
    if not _is(template, content):
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


def _is(template: Obj, content: str) -> bool:
    try:
        return content_hash(template) == content
    except (TypeError, ValueError, RecursionError):  # no JSON, or nested beyond reason
        return False


def revision_ref(workload: Ref, content: str) -> Ref:
    name = f"rollout-revision-{record_id(workload, '')}-{content}"
    return Ref(CONTROLLER_REVISION, f"{workload.namespace}/{name}")


def revision_object(ref: Ref, replicaset: ReplicaSet, number: int) -> tuple[Ref, Obj]:
    """The present template as a new ControllerRevision."""
    revision = revision_ref(ref, replicaset.template.content)
    return revision, {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": revision.namespace,
            "name": revision.name,
            "labels": {names.REVISION_LABEL: record_id(ref, "")},
            "annotations": {names.OWNER: ref.key, names.REVISION: replicaset.template.content},
            "ownerReferences": [owned_by(ref, replicaset.uid)],
        },
        "revision": number,
        "data": replicaset.template.spec,
    }
