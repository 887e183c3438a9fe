"""The RolloutRevisions of a workload: what it has rolled out, as Deployments keep theirs.

A cluster that still carries an older revision can be restored to it, and a person can go back to it. Where
clusters have values of their own, a revision is the template with the rules over it, and each content that
was rendered from it is kept too: what differs from the template, once for all clusters that carry it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.instants import rfc3339
from rollout.model.kinds import ROLLOUT_REVISION, WORKLOADS, Kind, Obj, Ref, workloads_called
from rollout.model.ownership import owned_object
from rollout.model.replicaset import ReplicaSet
from rollout.rollouts.line import KeptContent
from rollout.rollouts.record import record_id
from rollout.values.rendering import Assignment, assigned
from rollout.values.rules import revision_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What was rolled out, under its hash; ``number`` counts up from 1.

    ``owner_uid`` is the uid of the workload that owns it: an earlier one of that name is another. ``base``
    is "" for a revision of the workload; for a content that was rendered for clusters it is the revision
    that it was rendered from, ``template`` is empty then and ``values`` are what is put into that one's.
    """

    owner: Ref
    owner_uid: str
    name: str
    uid: str
    content: str
    number: int
    template: Obj
    base: str = ""
    values: tuple[Assignment, ...] = ()
    rules: tuple[Obj, ...] = ()
    """Of ClusterValues over the template, as they were written."""
    cause: str = ""
    """Why it was made, as annotation `names.CHANGE_CAUSE` of the workload said then."""


class Occupant(NamedTuple):
    """What has the name of a revision of a workload and is none; ``writer`` is "" where nobody knows."""

    uid: str
    writer: str = ""


def kept_contents(revisions: Mapping[str, Revision]) -> dict[str, KeptContent]:
    """What can be given back to clusters, by content."""
    made_for = {content: each.base or content for content, each in revisions.items()}
    return {
        content: KeptContent(of, revisions[of].number)
        for content, of in made_for.items()
        if of in revisions
    }


def read_revision(obj: Obj, workloads: Iterable[Kind] = WORKLOADS) -> Revision | None:
    """What is kept of a workload of one of these kinds. None where name, place and content do not agree: it
    may end up on clusters.

    Whether a rendered content is what its name says shows only with its base, see `spec_kept`.
    """
    meta = obj["metadata"]
    annotations: dict[str, Any] = meta.get("annotations") or {}
    content, key = annotations.get(names.REVISION), annotations.get(names.OWNER)
    is_labelled = names.REVISION_LABEL in (meta.get("labels") or {})
    if not is_labelled or not isinstance(content, str) or not isinstance(key, str):
        return None
    place = f"{meta.get('namespace')}/{meta['name']}"
    named = (w for w in workloads_called(key, workloads) if revision_ref(w, content).key == place)
    owner = next(named, None)
    if owner is None:
        return None
    template, base, values = obj.get("template"), obj.get("base") or "", _values(obj.get("values"))
    if base:
        if not isinstance(base, str) or values is None or template is not None:
            return None
        template = {}
    elif not isinstance(template, dict) or not _is(template, obj.get("rules"), content):
        return None
    number, owners = obj.get("revision"), meta.get("ownerReferences") or [{}]
    return Revision(
        owner=owner,
        owner_uid=str(owners[0].get("uid") or ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        content=content,
        number=number if isinstance(number, int) else 0,
        template=template,
        base=base,
        values=values or (),
        rules=tuple(obj.get("rules") or ()) if not base else (),
        cause=str(annotations.get(names.CHANGE_CAUSE) or ""),
    )


def _is(template: Obj, rules: Any, content: str) -> bool:
    try:
        return revision_of(content_hash(template), rules or []) == content
    except (TypeError, ValueError, RecursionError):  # no JSON, or nested beyond reason
        return False


def _values(raw: Any) -> tuple[Assignment, ...] | None:
    """The values of a content; None where they are none."""
    found: list[Assignment] = []
    for each in raw if isinstance(raw, list) else []:
        body = each if isinstance(each, dict) else {}
        manifest, place = body.get("manifest"), body.get("place")
        if type(manifest) is not int or not isinstance(place, list):
            return None
        if not all(isinstance(part, str) or type(part) is int for part in place):
            return None
        found.append(Assignment(manifest, tuple(place), body.get("value")))
    return tuple(found)


def spec_kept(content: str, kept: Mapping[str, Revision]) -> Obj | None:
    """The template with this content, from what is kept; None where it is not, or is another one."""
    found = kept.get(content)
    if found is None:
        return None
    if not found.base:
        return found.template if content_hash(found.template) == content else None
    base = kept.get(found.base)
    try:
        spec = assigned(base.template, found.values) if base is not None else {}
        return spec if content_hash(spec) == content else None
    except (TypeError, ValueError, LookupError, RecursionError):  # values that fit no such template
        return None


def revision_ref(workload: Ref, content: str) -> Ref:
    name = f"rollout-revision-{record_id(workload, '')}-{content}"
    return Ref(ROLLOUT_REVISION, f"{workload.namespace}/{name}")


def revision_object(
    ref: Ref, replicaset: ReplicaSet, revision: str, number: int, rules: Sequence[Obj] = ()
) -> tuple[Ref, Obj]:
    """The present template, with the rules over it if any, as a new RolloutRevision."""
    where, obj = _object(ref, replicaset.uid, revision, _cause(replicaset))
    obj |= {"revision": number, "template": replicaset.template.spec}
    return where, obj | ({"rules": list(rules)} if rules else {})


def content_object(
    ref: Ref, replicaset: ReplicaSet, content: str, base: str, values: Sequence[Assignment]
) -> tuple[Ref, Obj]:
    """A content that was rendered from the revision ``base``, as a new RolloutRevision."""
    where, obj = _object(ref, replicaset.uid, content, _cause(replicaset))
    return where, obj | {"revision": 0, "base": base, "values": _said(values)}


def kept_object(kept: Revision) -> tuple[Ref, Obj]:
    """The RolloutRevision that this was read from."""
    cause = {names.CHANGE_CAUSE: kept.cause} if kept.cause else {}
    where, obj = _object(kept.owner, kept.owner_uid, kept.content, cause)
    obj |= {"revision": kept.number}
    if kept.base:
        return where, obj | {"base": kept.base, "values": _said(kept.values)}
    rules = {"rules": list(kept.rules)} if kept.rules else {}
    return where, obj | {"template": kept.template, **rules}


def _said(values: Iterable[Assignment]) -> list[Obj]:
    return [
        {"manifest": each.manifest, "place": list(each.place), "value": each.value}
        for each in values
    ]


def _cause(replicaset: ReplicaSet) -> Mapping[str, str]:
    return {k: v for k, v in replicaset.annotations.items() if k == names.CHANGE_CAUSE}


def _object(ref: Ref, uid: str, content: str, cause: Mapping[str, str]) -> tuple[Ref, Obj]:
    revision = revision_ref(ref, content)
    return revision, owned_object(
        revision,
        ref,
        uid,
        {},
        labels={names.REVISION_LABEL: record_id(ref, "")},
        annotations={**cause, names.OWNER: ref.key, names.REVISION: content},
    )


def told_revisions(
    replicaset: ReplicaSet, update: str, *, is_complete: bool, aborted: Iterable[datetime]
) -> Obj:
    """What the status says of revisions: the one that last went all the way, and ``update``, the one to
    be rolled out.

    ``aborted``: since when each placement takes the latter back. That is told where the spec has
    fields that OCM has proposed, as the proposal tells it.
    """
    old: Obj = replicaset.raw.get("status") or {}
    current = update if is_complete else old.get("currentRevision")
    found: Obj = {"updateRevision": update} | ({"currentRevision": current} if current else {})
    if replicaset.follows_ocm:
        found["collisionCount"] = 0
    first = min(aborted, default=None) if replicaset.follows_ocm else None
    if first is not None or old.get("abortedTime"):
        found["abortedTime"] = None if first is None else rfc3339(first)
    return found
