"""Takes over what the first edition kept in ConfigMaps and ControllerRevisions, as far as it can
be verified.

Whoever may write ConfigMaps could have written these. So an object counts only where its name, its
place, its owner's uid and its content agree; and of what it says only that counts which the works and
the workload's own status bear out, or which asks for less to be touched. The rest is said, and rebuilt
from the works by the controller: soaks begin again, gates ask again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from rollout.api.decoding import decode
from rollout.errors import AlreadyExists, Gone, HubError
from rollout.hub.base import EmbeddedHub
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANIFEST_WORK,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.ownership import belongs_to, owned_object
from rollout.model.replicaset import ReplicaSet
from rollout.model.wording import first_of
from rollout.model.work import Work, work_name
from rollout.model.writes import Create
from rollout.planning.revisions import read_revision, revision_ref
from rollout.rollouts.book import RecordBook
from rollout.rollouts.head import Head
from rollout.rollouts.line import Line
from rollout.rollouts.record import page_of, read_record, record_id
from rollout.strategies.base import Verdict

OLD: Mapping[Kind, str] = {
    CONFIG_MAP: names.RECORD_LABEL,
    CONTROLLER_REVISION: names.REVISION_LABEL,
}
"""The kinds of the first edition, and the label by which its objects are found."""


@dataclass(kw_only=True)
class MigrationStep:
    """What becomes of the record, or of one template, of a workload.

    ``writes`` are the objects that take over what is believed, ``old`` those that are then deleted;
    ``doubts`` say what is not believed, and why.
    """

    workload: str
    what: str
    writes: list[tuple[Ref, Obj]] = field(default_factory=list)
    old: list[Obj] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    kind: Kind = CONFIG_MAP


def migration(hub: EmbeddedHub, home: str) -> Iterator[MigrationStep]:
    """All that is to be done, record by record and template by template. Nothing is written.

    Args:
        home: the controller's namespace, where records of add-ons lie.
    Raises: HubError.
    """
    works = _works(hub)
    yield from _records(hub, home, works)
    yield from _revisions(hub, works)


def perform(hub: EmbeddedHub, step: MigrationStep) -> None:
    """Write what is believed, then delete the old objects. May be repeated. Raises: HubError."""
    for ref, obj in step.writes:
        try:
            hub.create(ref, obj)
        except AlreadyExists:
            step.doubts.append(f"{ref} is there already and is left as it is")
    for obj in step.old:
        try:
            hub.delete(ref_of(step.kind, obj), str(obj["metadata"].get("uid", "")))
        except Gone:
            continue


def _works(hub: EmbeddedHub) -> dict[str, dict[str, Work]]:
    """The works under the names that we give them: name -> cluster -> work."""
    found: dict[str, dict[str, Work]] = {}
    for obj in hub.list(MANIFEST_WORK).items:
        work = decode(MANIFEST_WORK, obj)
        assert isinstance(work, Work)
        found.setdefault(work.name, {})[work.cluster] = work
    return found


# -- records ---------------------------------------------------------------------------------------


def _records(
    hub: EmbeddedHub, home: str, works: Mapping[str, Mapping[str, Work]]
) -> Iterator[MigrationStep]:
    groups: dict[tuple[str, str, str, str], list[Obj]] = {}
    for obj in hub.list(CONFIG_MAP, None, label_selector=names.RECORD_LABEL).items:
        meta = obj["metadata"]
        notes = meta.get("annotations") or {}
        named = page_of(ref_of(CONFIG_MAP, obj))
        owner, placement = notes.get(names.OWNER, ""), notes.get(names.RECORD_PLACEMENT, "")
        if named is None or not owner or (meta["namespace"], named[0]) != _place(owner, placement):
            what = f"ConfigMap {meta['namespace']}/{meta['name']}"
            said = "its name, its place and its annotations do not agree; it is left where it is"
            yield MigrationStep(workload=owner or "nobody", what=what, doubts=[said])
            continue
        groups.setdefault((owner, placement, *_place(owner, placement)), []).append(obj)
    for (owner, placement, _, _), pages in sorted(groups.items(), key=lambda pair: pair[0]):
        yield _record(hub, home, works, owner, placement=placement, pages=pages)


def _place(owner: str, placement: str) -> tuple[str, str]:
    """Where the first edition kept a record; that of an add-on beside its placement."""
    workload = _workload(owner)
    beside = workload.namespace or placement.partition("/")[0]
    return beside, record_id(workload, placement)


def _workload(owner: str) -> Ref:
    return Ref(REPLICA_SET if "/" in owner else CLUSTER_MANAGEMENT_ADDON, owner)


def _record(
    hub: EmbeddedHub,
    home: str,
    works: Mapping[str, Mapping[str, Work]],
    owner: str,
    *,
    placement: str,
    pages: Sequence[Obj],
) -> MigrationStep:
    step = MigrationStep(workload=owner, what=f"record of placement {placement}", old=list(pages))
    ref = _workload(owner)
    obj = _read(hub, ref)
    uid = str(obj["metadata"].get("uid", "")) if obj is not None else ""
    believed = [page for page in pages if belongs_to(page, uid)]
    if len(believed) < len(pages):
        step.doubts.append(
            f"{len(pages) - len(believed)} of {len(pages)} pages name no owner, or one that is not"
            " this object"
        )
    if obj is None or not believed:
        return step
    read = read_record(believed)
    book = RecordBook(ref, placement, uid, ref.namespace or home)
    book.set_head(_head(read.head, step.doubts))
    mine = works.get(work_name(owner), {}) if ref.kind is REPLICA_SET else {}
    done = _is_done(obj)
    doubted: list[str] = []
    for cluster, line in sorted(read.lines.items()):
        kept = _line(line, mine.get(cluster), done=done)
        if kept is None:
            doubted.append(cluster)
        else:
            book.set(cluster, kept)
    if doubted:
        named = first_of(doubted, 5)
        step.doubts.append(f"what it says of {named} is not borne out by their works")
    writes = book.writes()
    step.writes = [(write.ref, write.obj) for write in writes if isinstance(write, Create)]
    return step


def _head(told: Head, doubts: list[str]) -> Head:
    """What asks for less: no stage has passed, no gate is open, and a bar stays."""
    if told.passed:
        doubts.append("stages are passed again from the clusters that have soaked")
    if told.opened:
        doubts.append("gates are asked again")
    back = told.rollback
    if back is not None and back.to:
        doubts.append(
            f"revision {back.revision} stays barred; what clusters get back is found anew"
        )
    return Head(
        revision=told.revision,
        removals=told.removals,
        retried=told.retried,
        rollback=replace(back, to="") if back is not None else None,
    )


def _line(line: Line, work: Work | None, *, done: bool) -> Line | None:
    """What is believed of a cluster: a loss, a failure that its work bears out, and success where the
    whole workload says that it is rolled out. None: nothing.
    """
    standing = line.standing
    if standing is None:
        return structs.replace(line, soaked=())
    agrees = (
        work is not None
        and work.revision == standing.revision
        and work.started_at == standing.touched
    )
    if not agrees or not (done or standing.verdict is Verdict.FAILED):
        return None
    return structs.replace(line, soaked=())


def _is_done(obj: Obj) -> bool:
    """Whether a workload says, of its present generation, that it is rolled out."""
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition.get("type") == names.READY:
            current = condition.get("observedGeneration") == obj["metadata"].get("generation")
            return current and bool(condition.get("status") == "True")
    return False


def _read(hub: EmbeddedHub, ref: Ref) -> Obj | None:
    try:
        return hub.get(ref)
    except Gone:
        return None


# -- templates -------------------------------------------------------------------------------------


def _revisions(
    hub: EmbeddedHub, works: Mapping[str, Mapping[str, Work]]
) -> Iterator[MigrationStep]:
    for obj in hub.list(CONTROLLER_REVISION, None, label_selector=names.REVISION_LABEL).items:
        try:
            yield _revision(hub, works, obj)
        except HubError as error:
            what = f"ControllerRevision {obj['metadata']['name']}"
            yield MigrationStep(workload="", what=what, doubts=[f"it cannot be looked at: {error}"])


def _revision(hub: EmbeddedHub, works: Mapping[str, Mapping[str, Work]], obj: Obj) -> MigrationStep:
    meta = obj["metadata"]
    what = f"ControllerRevision {meta['namespace']}/{meta['name']}"
    found = read_revision({**obj, "template": obj.get("data")})
    if found is None:
        said = "its name, its place and its content do not agree; it is left where it is"
        return MigrationStep(workload="nobody", what=what, doubts=[said])
    ref = found.owner
    step = MigrationStep(workload=ref.key, what=what, old=[obj], kind=CONTROLLER_REVISION)
    raw = _read(hub, ref)
    uid = str(raw["metadata"].get("uid", "")) if raw is not None else ""
    if raw is None or found.owner_uid != uid:
        step.doubts.append("it names no owner, or one that is not this object")
        return step
    replicaset = decode(REPLICA_SET, raw)
    assert isinstance(replicaset, ReplicaSet)
    carried = {work.revision for work in works.get(work_name(ref.key), {}).values()}
    if found.content not in carried | {replicaset.template.content}:
        step.doubts.append("no cluster carries it, so nothing bears out that it was rolled out")
        return step
    target, template = _kept(ref, uid, obj, found.content)
    step.writes = [(target, template)]
    return step


def _kept(ref: Ref, uid: str, obj: Obj, content: str) -> tuple[Ref, Obj]:
    """The template as the controller keeps it now."""
    target = revision_ref(ref, content)
    number = obj.get("revision")
    number = number if isinstance(number, int) and number >= 0 else 0
    return target, owned_object(
        target,
        ref,
        uid,
        {"revision": number, "template": obj["data"]},
        labels={names.REVISION_LABEL: record_id(ref, "")},
        annotations={names.OWNER: ref.key, names.REVISION: content},
    )
