"""Decides which revisions, and which rendered contents, are kept for restoring and going back.

What is about to be written to a cluster is kept before it is written, so that it can be restored there and
given back; what no cluster has, is to have, or would get back goes; what somebody changed is put back.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from rollout.model.kinds import Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.writes import Create, Delete
from rollout.planning.notes import edited_note, occupant_note
from rollout.planning.plan import Note, Write
from rollout.planning.revisions import (
    Occupant,
    Revision,
    content_object,
    kept_object,
    revision_object,
    revision_ref,
)
from rollout.rollouts.facts import Decided
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload


def to_keep(
    workload: ReplicaSetWorkload, kept: Mapping[str, Revision], decided: Mapping[str, Decided]
) -> list[str]:
    """The revision, and the contents that clusters have or are about to get, of those that are not kept
    yet, or no more.
    """
    replicaset = workload.replicaset
    if replicaset is None or replicaset.problems or workload.contents.problems:
        return []
    touched = (
        map(share.live.wanted, decided[name].step.touch) for name, share in workload.shares.items()
    )
    first = [workload.revision] if workload.shares else []
    wanted = dict.fromkeys(chain(first, *touched, _lost(workload, kept)))
    return [content for content in wanted if content and content not in kept]


def _lost(workload: ReplicaSetWorkload, kept: Mapping[str, Revision]) -> Iterator[str]:
    """Present contents that clusters were given and that are no longer kept as RolloutRevisions."""
    missing = set(workload.contents.contents.values()) - kept.keys()
    for cluster, content in workload.contents.contents.items() if missing else ():
        owner = workload.members.get(cluster)
        if content not in missing or owner is None:
            continue
        standing = workload.shares[owner].live.ledger.standings.get(cluster)
        if standing is not None and standing.revision == content:
            yield content


def history(
    workload: ReplicaSetWorkload,
    replicaset: ReplicaSet,
    kept: Mapping[str, Revision],
    *,
    wanted: Iterable[str],
    edited: Sequence[Revision] = (),
) -> list[Write]:
    """What is kept from now on.

    Args:
        wanted: what `to_keep` found.
        edited: of ``kept``, what somebody changed on the hub; what is there makes way before.
    """
    writes: list[Write] = [Create(*kept_object(each)) for each in edited]
    return writes + [_keep(workload, replicaset, content, kept) for content in wanted]


def outdated(
    workload: ReplicaSetWorkload,
    replicaset: ReplicaSet,
    kept: Mapping[str, Revision],
    *,
    edited: Sequence[Revision] = (),
) -> list[Write]:
    """What is kept no more. ``edited``: see `history`."""
    revisions = sorted((r for r in kept.values() if not r.base), key=lambda r: r.number)
    too_many = max(0, len(revisions) - replicaset.intents.history_limit)
    if not too_many and len(revisions) == len(kept):
        return []
    used = _in_use(workload, kept)
    spare = [r for r in revisions if r.content not in used][:too_many]
    soaked = used | _soaked(workload)  # somebody may go back further than to what soaked last
    gone = {r.content for r in spare}
    spare += [
        r for r in kept.values() if r.base and r.content not in (used if r.base in gone else soaked)
    ]
    if replicaset.problems or not workload.shares:
        return []
    spare = [r for r in spare if r not in edited]  # those that come back go by their new uid
    return [Delete(revision_ref(workload.ref, r.content), r.uid) for r in spare]


def way_cleared(
    workload: Ref,
    wanted: Collection[str],
    edited: Collection[Revision],
    occupant: Callable[[Ref, Ref], Occupant | None],
) -> tuple[list[Write], list[Note]]:
    """Deletes what is in the way of the revisions that are written now, and tells it (S18)."""
    if not wanted and not edited:
        return [], []  # as nearly always
    writes: list[Write] = []
    notes: list[Note] = []
    changed = dict.fromkeys(each.content for each in edited)
    for content in (*changed, *wanted):
        ref = revision_ref(workload, content)
        there = occupant(ref, workload)
        if there is not None:
            writes.append(Delete(ref, there.uid))
        if content in changed:
            notes.append(edited_note(workload, ref, there))
        elif there is not None:
            notes.append(occupant_note(workload, ref, there))
    return writes, notes


def _keep(
    workload: ReplicaSetWorkload, replicaset: ReplicaSet, content: str, kept: Mapping[str, Revision]
) -> Write:
    if content == workload.revision:
        number = max((r.number for r in kept.values()), default=0) + 1
        rules = workload.contents.written
        return Create(*revision_object(workload.ref, replicaset, content, number, rules=rules))
    values = workload.contents.assignments(content) or ()
    return Create(
        *content_object(workload.ref, replicaset, content, workload.revision, values=values)
    )


def _soaked(workload: ReplicaSetWorkload) -> set[str]:
    return set().union(*(share.live.all_soaked() for share in workload.shares.values()))


def _in_use(workload: ReplicaSetWorkload, kept: Mapping[str, Revision]) -> set[str]:
    """What some cluster has, is to have, or would get back; and what that is made from."""
    found = {workload.revision, *workload.contents.contents.values()}
    for share in workload.shares.values():
        for standing in share.live.ledger.standings.values():
            found |= {standing.revision, standing.of_revision}
        found |= share.live.newest_soaked()
    return found | {r.base for r in kept.values() if r.content in found}
