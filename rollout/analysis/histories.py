"""Which revisions has a workload had?"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from rollout.account.interventions import rollback
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import Snapshot
from rollout.fleet.tracker import Standing
from rollout.hub.base import Hub
from rollout.model.instants import parse_instant
from rollout.model.kinds import ROLLOUT_REVISION, Obj, Ref
from rollout.planning.revisions import read_revision


class Role(Enum):
    """What a revision is to its workload."""

    ROLLING = "rolling"  # what the template is now, on its way
    CURRENT = "current"  # what the fleet is on: rolled out, or the one that is being replaced
    BARRED = "barred"  # what the template is now, taken back: no cluster gets it
    PAST = ""


@dataclass(frozen=True, slots=True)
class RevisionAccount:
    """One revision. ``number`` None: it is not recorded (yet); ``clusters`` carry it now.

    ``created``: when it was recorded, else when it was first brought to a cluster that still stands on
    it; None where neither is known. ``made_of`` are the objects that it consists of, where it does.
    ``cause`` is why it was made, as the workload's annotation said.
    """

    number: int | None
    revision: str
    role: Role
    clusters: int
    created: datetime | None
    made_of: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """All revisions of a workload that are known, newest first. ``unknown`` clusters carry none of them."""

    kind: str
    key: str
    now: datetime
    revisions: tuple[RevisionAccount, ...]
    unknown: int


def history(hub: Hub | Lookout, snapshot: Snapshot, ref: Ref) -> History | None:
    """A workload's revisions; None where it does not exist.

    Templates are recorded; of configurations, which are objects of their own, there are those that are
    asked for and those that clusters still carry.
    """
    workload = snapshot.workload(ref)
    if workload is None:
        return None
    carried: dict[str, Counter[str]] = {revision: Counter() for revision in workload.revisions}
    for cluster in workload.clusters:
        found = workload.carried(cluster)
        if found is not None and found.revision:
            carried.setdefault(workload.revision_at(cluster), Counter())[found.revision] += 1
    kept = _kept(hub, ref)
    total = sum(carried.values(), Counter[str]())
    known = {*kept, *workload.revisions, *(r for r in total if workload.made_of(r))}
    roles = _roles(
        snapshot, workload, carried, {r: kept[r].number if r in kept else 0 for r in known}
    )
    accounts = [
        RevisionAccount(
            kept[revision].number if revision in kept else None,
            revision,
            roles.get(revision, Role.PAST),
            total[revision],
            kept[revision].created if revision in kept else _first_touch(workload, revision),
            workload.made_of(revision),
            kept[revision].cause if revision in kept else "",
        )
        for revision in known
    ]
    present = (Role.ROLLING, Role.BARRED)
    accounts.sort(key=lambda each: (each.role not in present, each.role is Role.PAST))
    accounts.sort(key=lambda each: each.created or snapshot.now, reverse=True)
    accounts.sort(key=lambda each: (each.number is not None, -(each.number or 0)))
    unknown = sum(n for revision, n in total.items() if revision not in known)
    return History(ref.kind.name, ref.key, snapshot.now, tuple(accounts), unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRevision:
    """A revision that is recorded, with the template that it is."""

    number: int
    revision: str
    created: datetime | None
    cause: str
    template: Obj


def kept_revision(hub: Hub, ref: Ref, word: str) -> KeptRevision | None:
    """The recorded revision of a workload with this number, or this name; None where there is none."""
    kept = _kept(hub, ref)
    return next((each for each in kept.values() if word in (str(each.number), each.revision)), None)


def _kept(hub: Hub | Lookout, ref: Ref) -> dict[str, KeptRevision]:
    """The revisions that are recorded, by name."""
    kept: dict[str, KeptRevision] = {}
    for obj in hub.list(ROLLOUT_REVISION, ref.namespace).items if ref.namespace else ():
        found = read_revision(obj)
        if found is not None and found.owner == ref.key and not found.base:
            made = parse_instant(obj["metadata"].get("creationTimestamp"))
            kept[found.content] = KeptRevision(
                number=found.number,
                revision=found.content,
                created=made,
                cause=found.cause,
                template=found.template,
            )
    return kept


def _first_touch(workload: Standing, revision: str) -> datetime | None:
    touched = (
        standing.touched
        for share in workload.shares.values()
        for standing in share.live.ledger.standings.values()
        if standing.of_revision == revision
    )
    return min(touched, default=None)


def _roles(
    snapshot: Snapshot,
    workload: Standing,
    carried: dict[str, Counter[str]],
    numbers: dict[str, int],
) -> dict[str, Role]:
    """What is asked for is current once it is rolled out; until then the last one before it.

    Args:
        carried: what is asked for -> what the clusters that are to have it carry.
        numbers: of the known revisions, 0 where they have none.
    """
    roles: dict[str, Role] = {}
    barred = {
        back.revision
        for share in workload.shares.values()
        if (back := rollback(share.live)) is not None
    }
    for asked in workload.revisions:
        if _is_done(snapshot, workload, asked):
            roles.setdefault(asked, Role.CURRENT)
            continue
        roles[asked] = Role.BARRED if asked in barred else Role.ROLLING
        counts = carried[asked]
        older = [r for r in numbers if r != asked and counts[r]]
        last = max(older, key=lambda r: (numbers[r], counts[r]), default=None)
        if last is not None:
            roles.setdefault(last, Role.CURRENT)
    return roles


def _is_done(snapshot: Snapshot, workload: Standing, asked: str) -> bool:
    if len(workload.revisions) == 1:
        return snapshot.state(workload.ref).is_done
    lives = [share.live for share in workload.shares.values()]
    return all(live.last.complete for live in lives if live.revision == asked)
