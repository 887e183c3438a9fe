"""Lists the revisions of a workload, and what happened to it when."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from rollout.account.interventions import rollback
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import Snapshot
from rollout.api.fields import mapping, text
from rollout.hub.base import EmbeddedHub, Hub, StateKey
from rollout.model.instants import parse_instant
from rollout.model.kinds import ROLLOUT_REVISION, Obj, Ref, key_of
from rollout.planning.revisions import read_revision
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.runtime.events import EVENT


class Role(Enum):
    """What a revision is to its workload."""

    ROLLING = "rolling"  # what the template is now, on its way
    CURRENT = "current"  # what the fleet is on: rolled out, or the one that is being replaced
    BARRED = "barred"  # what the template is now, taken back: no cluster gets it
    PAST = ""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    carried = _carried(workload)
    kept = _kept(hub, ref)
    total = sum(carried.values(), Counter[str]())
    known = {*kept, *workload.revisions, *(r for r in total if workload.made_of(r))}
    numbers = {r: kept[r].number if r in kept else 0 for r in known}
    roles = _roles(snapshot, workload, carried, numbers)
    accounts = [
        RevisionAccount(
            number=record.number if record else None,
            revision=revision,
            role=roles.get(revision, Role.PAST),
            clusters=total[revision],
            created=record.created if record else _first_touch(workload, revision),
            made_of=workload.made_of(revision),
            cause=record.cause if record else "",
        )
        for revision in known
        for record in [kept.get(revision)]
    ]
    present = (Role.ROLLING, Role.BARRED)
    accounts.sort(key=lambda each: (each.role not in present, each.role is Role.PAST))
    accounts.sort(key=lambda each: each.created or snapshot.now, reverse=True)
    accounts.sort(key=lambda each: (each.number is not None, -(each.number or 0)))
    return History(
        kind=ref.kind.name,
        key=ref.key,
        now=snapshot.now,
        revisions=tuple(accounts),
        unknown=sum(n for revision, n in total.items() if revision not in known),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRevision:
    """A revision that is recorded, with the template that it is, and the rules of values over that."""

    number: int
    revision: str
    created: datetime | None
    cause: str
    template: Obj
    rules: Sequence[Obj] = ()

    @property
    def whole(self) -> Obj:
        """All that it is, to be compared with another one."""
        return {**self.template, "clusterValues": list(self.rules)} if self.rules else self.template


def kept_revision(hub: Hub | Lookout, ref: Ref, word: str) -> KeptRevision | None:
    """The recorded revision of a workload with this number, or this name; None where there is none."""
    return _called(_kept(hub, ref), word)


def kept_pair(
    hub: Hub | Lookout, ref: Ref, word: str
) -> tuple[KeptRevision | None, KeptRevision | None]:
    """A recorded revision as of `kept_revision`, and the one that was recorded before it."""
    kept = _kept(hub, ref)
    new = _called(kept, word)
    older = [each for each in kept.values() if new is not None and each.number < new.number]
    return new, max(older, key=lambda each: each.number, default=None)


def _called(kept: Mapping[str, KeptRevision], word: str) -> KeptRevision | None:
    return next((each for each in kept.values() if word in (str(each.number), each.revision)), None)


def _kept(hub: Hub | Lookout, ref: Ref) -> dict[str, KeptRevision]:
    """The revisions that are recorded, by name."""
    kept: dict[str, KeptRevision] = {}
    for obj in hub.list(ROLLOUT_REVISION, ref.namespace).items if ref.namespace else ():
        found = read_revision(obj)
        if found is not None and found.owner == ref and not found.base:
            made = parse_instant(obj["metadata"].get("creationTimestamp"))
            kept[found.content] = KeptRevision(
                number=found.number,
                revision=found.content,
                created=made,
                cause=found.cause,
                template=found.template,
                rules=found.rules,
            )
    return kept


def _carried(workload: Workload[PlacementShare]) -> dict[str, Counter[str]]:
    """For each revision that is asked for somewhere: how many clusters there carry which revision."""
    carried: dict[str, Counter[str]] = {revision: Counter() for revision in workload.revisions}
    for cluster in workload.clusters:
        found = workload.carried(cluster)
        if found is not None and found.revision:
            carried.setdefault(workload.revision_at(cluster), Counter())[found.revision] += 1
    return carried


def _first_touch(workload: Workload[PlacementShare], revision: str) -> datetime | None:
    touched = (
        standing.touched
        for share in workload.shares.values()
        for standing in share.live.ledger.standings.values()
        if standing.of_revision == revision
    )
    return min(touched, default=None)


def _roles(
    snapshot: Snapshot,
    workload: Workload[PlacementShare],
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


def _is_done(snapshot: Snapshot, workload: Workload[PlacementShare], asked: str) -> bool:
    if len(workload.revisions) == 1 and snapshot.state(workload.ref).is_done:
        return True
    lives = [share.live for share in workload.shares.values() if share.live.revision == asked]
    return bool(lives) and all(live.last.complete for live in lives)


CONTROLLER = "rollout-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """Something that happened to an object; ``times`` where it happened again and was counted."""

    at: datetime
    kind: str
    key: str
    reason: str
    message: str
    times: int = 1


def happened(
    hub: EmbeddedHub, ref: Ref | None, namespace: str, *, on_server: bool
) -> list[TimelineEntry]:
    """What happened to one workload, or in a namespace, or at all; oldest first.

    A state file keeps what its last runs told; a server (``on_server``) has Events, and is asked for
    those of the namespace. Raises: HubError.
    """
    told = _of_server(hub, namespace) if on_server else _of_state(hub)
    return sorted((each for each in told if _is_about(each, ref, namespace)), key=_order)


def _of_state(hub: EmbeddedHub) -> Iterator[TimelineEntry]:
    for at, kind, key, reason, message in json.loads(hub.get_state(StateKey.TOLD) or b"[]"):
        found = parse_instant(at)
        if found is not None:
            yield TimelineEntry(at=found, kind=kind, key=key, reason=reason, message=message)


def _of_server(hub: EmbeddedHub, namespace: str) -> Iterator[TimelineEntry]:
    for event in hub.list(EVENT, namespace or None).items:
        about, series = mapping(event.get("regarding")), mapping(event.get("series"))
        at = parse_instant(series.get("lastObservedTime") or event.get("eventTime"))
        if at is None or event.get("reportingController") != CONTROLLER:
            continue
        times = series.get("count")
        yield TimelineEntry(
            at=at,
            kind=text(about.get("kind")),
            key=key_of(text(about.get("namespace")), text(about.get("name"))),
            reason=text(event.get("reason")),
            message=text(event.get("note")),
            times=times if isinstance(times, int) else 1,
        )


def _is_about(each: TimelineEntry, ref: Ref | None, namespace: str) -> bool:
    if ref is not None:
        return (each.kind, each.key) == (ref.kind.name, ref.key)
    return not namespace or each.key.startswith(f"{namespace}/")


def _order(each: TimelineEntry) -> datetime:
    return each.at
