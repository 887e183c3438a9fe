"""Decides which revisions, and which rendered contents, are kept for restoring and going back.

What is about to be written to a cluster is kept before it is written, so that it can be restored there and
given back; what no cluster has, is to have, or would get back goes.
"""

from collections.abc import Mapping
from itertools import chain

from rollout.model.replicaset import ReplicaSet
from rollout.model.writes import Create, Delete
from rollout.planning.plan import Write
from rollout.planning.revisions import Revision, content_object, revision_object, revision_ref
from rollout.rollouts.facts import Decided
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload


def to_keep(
    workload: ReplicaSetWorkload, kept: Mapping[str, Revision], decided: Mapping[str, Decided]
) -> list[str]:
    """The revision, and the contents that are about to be written, of those that are not kept yet."""
    replicaset = workload.replicaset
    if replicaset is None or replicaset.problems or workload.contents.problems:
        return []
    touched = (
        map(share.live.wanted, decided[name].step.touch) for name, share in workload.shares.items()
    )
    wanted = dict.fromkeys(chain([workload.revision] if workload.shares else [], *touched))
    return [content for content in wanted if content and content not in kept]


def history(
    workload: ReplicaSetWorkload,
    replicaset: ReplicaSet,
    kept: Mapping[str, Revision],
    decided: Mapping[str, Decided],
) -> list[Write]:
    """What is kept from now on, and what no more."""
    writes = [
        _keep(workload, replicaset, content, kept) for content in to_keep(workload, kept, decided)
    ]
    revisions = sorted((r for r in kept.values() if not r.base), key=lambda r: r.number)
    too_many = max(0, len(revisions) - replicaset.intents.history_limit)
    if not too_many and len(revisions) == len(kept):
        return writes
    used = _in_use(workload, kept)
    spare = [r for r in revisions if r.content not in used][:too_many]
    soaked = used | _soaked(workload)  # somebody may go back further than to what soaked last
    gone = {r.content for r in spare}
    spare += [
        r for r in kept.values() if r.base and r.content not in (used if r.base in gone else soaked)
    ]
    if replicaset.problems or not workload.shares:
        return []
    return writes + [Delete(revision_ref(workload.ref, r.content), r.uid) for r in spare]


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
