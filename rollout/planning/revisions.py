"""Which templates has a workload had? One RolloutRevision each, as Deployments keep theirs.

A cluster that still carries an older revision can be restored to it, and a person can go back to it.
"""

from dataclasses import dataclass
from typing import Any

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import REPLICA_SET, ROLLOUT_REVISION, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.planning.record import owned_by, record_id


@dataclass(frozen=True, slots=True)
class Revision:
    """A template that was rolled out, under its content hash; ``number`` counts up from 1.

    ``owner_uid`` is the uid of the workload that owns it: an earlier one of that name is another.
    """

    owner: str
    owner_uid: str
    name: str
    uid: str
    content: str
    number: int
    template: Obj
    base: str = ""


def read_revision(obj: Obj) -> Revision | None:
    """A kept template. None where name, place and content do not agree: it may end up on clusters."""
    meta = obj["metadata"]
    annotations: dict[str, Any] = meta.get("annotations") or {}
    content, template = annotations.get(names.REVISION), obj.get("template")
    owner = annotations.get(names.OWNER)
    if names.REVISION_LABEL not in (meta.get("labels") or {}):
        return None
    if not isinstance(content, str) or not isinstance(owner, str) or not isinstance(template, dict):
        return None
    workload = Ref(REPLICA_SET, owner)
    if Ref(ROLLOUT_REVISION, f"{meta.get('namespace')}/{meta['name']}") != revision_ref(
        workload, content
    ):
        return None
    if not _is(template, content):
        return None
    number = obj.get("revision")
    owners = meta.get("ownerReferences") or [{}]
    return Revision(
        owner,
        str(owners[0].get("uid") or ""),
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
    return Ref(ROLLOUT_REVISION, f"{workload.namespace}/{name}")


def revision_object(ref: Ref, replicaset: ReplicaSet, number: int) -> tuple[Ref, Obj]:
    """The present template as a new RolloutRevision."""
    revision = revision_ref(ref, replicaset.template.content)
    return revision, {
        "apiVersion": ROLLOUT_REVISION.api_version,
        "kind": ROLLOUT_REVISION.name,
        "metadata": {
            "namespace": revision.namespace,
            "name": revision.name,
            "labels": {names.REVISION_LABEL: record_id(ref, "")},
            "annotations": {names.OWNER: ref.key, names.REVISION: replicaset.template.content},
            "ownerReferences": [owned_by(ref, replicaset.uid)],
        },
        "revision": number,
        "template": replicaset.template.spec,
    }
