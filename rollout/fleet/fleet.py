"""What do we know of the whole fleet, and whom does news concern?

`Fleet.apply` takes one event and says which objects are worth planning; planners read the rest. There
is one writer, the engine's thread; nothing here waits, locks or does I/O.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rollout.api import decode
from rollout.api.shape import shaped
from rollout.fleet.book import Shelf
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.consents import Consents
from rollout.fleet.live import LiveRollout
from rollout.fleet.outages import Outages, Spans
from rollout.fleet.presence import Presence
from rollout.fleet.records import Records, uid_of, writer_of
from rollout.fleet.rejections import refusal
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.selections import named_in, selects
from rollout.fleet.tracker import Standing, Tracker
from rollout.fleet.versions import Versions
from rollout.fleet.watched import PLACING, WATCHED
from rollout.fleet.witness import Witness
from rollout.fleet.workloads import Workload
from rollout.model.approvals import Approval, Freeze
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    APPROVAL,
    CLUSTER_SET,
    FREEZE,
    LEASE,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Ref,
)
from rollout.model.placement import Decision, Placement
from rollout.planning.clustersets import STANDARD
from rollout.planning.facts import Decided, Fact
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, Touch, Write
from rollout.planning.policy import DEFAULT, Policy
from rollout.planning.record import belongs_to, page_of
from rollout.planning.revisions import Revision
from rollout.strategies.base import Strategy
from rollout.strategies.gates import GATES, Gate
from rollout.strategies.stages import BUILT_IN


class Fleet:
    """Everything known, by key and by index. Implements the views that planners read."""

    def __init__(
        self,
        policy: Policy = DEFAULT,
        strategies: Mapping[str, Strategy] = BUILT_IN,
        *,
        gates: Mapping[str, Gate] = GATES,
        watches_health: bool = False,
        has_filter_plugins: bool = False,
        trackers: Sequence[Callable[["Fleet"], Tracker]] = (),
    ) -> None:
        self.policy = policy
        self.witness: Witness | None = None
        self.clusters = ClusterStore(reads_everything=has_filter_plugins)
        self.watched = (*WATCHED, LEASE) if watches_health else WATCHED
        self.trackers = tuple(make(self) for make in trackers)
        self.tracked = frozenset(kind for tracker in self.trackers for kind in tracker.kinds)
        self._outages = Outages()
        self._presence = Presence(self.clusters, self._outages)
        self._strategies = strategies
        self.gates = gates
        self._versions = Versions()
        self._replicasets = ReplicaSets(policy.profile)
        self._records = Records(policy.namespace)
        self._consents = Consents()
        self._changed_at: dict[str, datetime] = {}  # placement key -> last change of its decisions
        self._handlers: dict[str, Callable[[Event, datetime], Iterable[Ref]]] = {
            MANIFEST_WORK.name: self._replicasets.take_work,
            REPLICA_SET.name: self._replicasets.take_replicaset,
            ROLLOUT_RECORD.name: self._on_page,
            ROLLOUT_REVISION.name: self._on_revision,
            APPROVAL.name: self._on_approval,
            FREEZE.name: self._on_freeze,
            LEASE.name: self._presence.take_lease,
            MANAGED_CLUSTER.name: self._on_cluster,
            PLACEMENT.name: self._on_placement,
            PLACEMENT_DECISION.name: self._on_decision,
        }

    def apply(self, event: Event, now: datetime) -> set[Ref]:
        """Take in one event; returns the objects whose plan it could change.

        An event that is not newer than what is known of the object changes nothing.
        """
        if not self._versions.take(event):
            return set()
        obj = shaped(event.obj)
        if obj is not event.obj:
            event = replace(event, obj=obj)
        found: set[Ref] = set()
        handler = self._handlers.get(event.ref.kind.name)
        if handler is not None or event.ref.kind in WATCHED:
            found.update((handler or self._on_other)(event, now))
        for tracker in self.trackers:
            found.update(tracker.take(event, now))
        return found

    @property
    def essential(self) -> frozenset[Kind]:
        """Kinds without whose news nothing can be judged."""
        return self.tracked.union(self.watched)

    def wanted_kinds(self) -> frozenset[Kind]:
        """Kinds to be watched besides `watched`; they come and go."""
        return frozenset().union(*(tracker.wanted_kinds() for tracker in self.trackers))

    def missed(self, kind: Kind, why: str) -> set[Ref]:
        """A wanted kind cannot be read, or ("") can again; returns what to plan anew."""
        return set().union(*(tracker.missed(kind, why) for tracker in self.trackers))

    def forget(self, kind: Kind) -> None:
        """A kind is watched no more: when it is read again, all of it is news."""
        self._versions.forget(kind)
        for tracker in self.trackers:
            tracker.forget(kind)

    def exists(self, ref: Ref) -> bool:
        return self._versions.exists(ref)

    def version(self, ref: Ref) -> int:
        """The newest version seen of an object, 0 where it was never seen."""
        return self._versions.of(ref)

    def known(self, kind: Kind) -> set[Ref]:
        """All objects of a kind that are known, to find those a new list lacks."""
        return self._versions.known(kind)

    def standing(self, kind: Kind) -> set[Ref]:
        """Objects of a kind that are planned whether they are there or not."""
        return {Ref(CLUSTER_SET, name) for name in STANDARD} if kind is CLUSTER_SET else set()

    # -- what happened -------------------------------------------------------------------------

    def _store(self, event: Event, value: Any) -> set[Ref]:
        if event.change is Change.DELETED:
            return self.clusters.remove(event.ref.kind, event.ref.key)
        return self.clusters.put(event.ref.kind, event.ref.key, value)

    def _on_other(self, event: Event, now: datetime) -> set[Ref]:
        gone = event.change is Change.DELETED
        return self._store(event, None if gone else decode(event.ref.kind, event.obj))

    def _on_cluster(self, event: Event, now: datetime) -> set[Ref]:
        found = self._presence.take_cluster(event, now)
        if self.is_detached(event.ref.name):  # what the removal brake held there may go
            standing = ((ref, self.rollout(ref)) for ref in self.rolled_out())
            found |= {ref for ref, each in standing if each and event.ref.name in each.strays}
        return found

    def _on_placement(self, event: Event, now: datetime) -> set[Ref]:
        key = event.ref.key
        before = self.clusters.placement(key)
        gone = event.change is Change.DELETED
        placement = None if gone else decode(PLACEMENT, event.obj, before)
        found = self._store(event, placement)
        after = self.clusters.placement(key)
        if before is None or after is None or selects(before) != selects(after):
            self._changed_at[key] = now
            found |= self._follow(key)
        if after is None:
            self._changed_at.pop(key, None)
        return found

    def _on_decision(self, event: Event, now: datetime) -> set[Ref]:
        before = self.clusters.decision(event.ref.key)
        found = self._on_other(event, now)
        after = self.clusters.decision(event.ref.key)
        if before is not None and after is not None and named_in(before) == named_in(after):
            return found  # scores alone
        for touched in {d.placement for d in (before, after) if d is not None} - {""}:
            key = f"{event.ref.namespace}/{touched}"
            self._changed_at[key] = now
            found |= self._follow(key)
            if self.clusters.placement(key) is None and not self.clusters.decisions(key):
                del self._changed_at[key]  # all of it is gone
        return found

    def _follow(self, key: str) -> set[Ref]:
        """The workloads that refer to a placement; their terms may have changed."""
        return self._replicasets.follow(key).union(*(t.follow(key) for t in self.trackers))

    def _on_page(self, event: Event, now: datetime) -> Iterable[Ref]:
        """A page that somebody else changed, or took away, is written again from memory (S18)."""
        page = self._records.take_page(event)
        if page is None:
            return ()
        owner, placement, rid, number = page
        live = self._live(owner, placement)
        if live is None or live.book.rid != rid:
            return ()
        self._written(live.workload)
        if event.change is Change.DELETED:
            return (live.workload,) if live.book.seen(number, None, None) else ()
        if not belongs_to(event.obj, live.book.uid):
            live.book.left_behind(number, uid_of(event.obj))
            return (live.workload,)
        data = event.obj.get("data") or {}
        is_edited = live.book.seen(number, data, event.version, writer_of(event.obj))
        return (live.workload,) if is_edited else ()

    def _live(self, owner: str, placement: str) -> LiveRollout | None:
        found = [self._replicasets.live(owner, placement)]
        found += [tracker.live(owner, placement) for tracker in self.trackers]
        return next((live for live in found if live is not None), None)

    def _on_revision(self, event: Event, now: datetime) -> Iterable[Ref]:
        loser = self._replicasets.get(self._records.take_revision(event))
        self._written(Ref(REPLICA_SET, self._records.owner_of(event.ref)))
        return () if loser is None else (loser.ref,)

    def _written(self, owner: Ref) -> None:
        """Something that is to outlive the process was written down."""
        workload = self.rollout(owner)
        if workload is not None:
            workload.unwritten = None

    def _on_approval(self, event: Event, now: datetime) -> Iterable[Ref]:
        found = self._consents.take_approval(event) & set(self.rolled_out())
        self._restate(found)
        return found

    def _on_freeze(self, event: Event, now: datetime) -> Iterable[Ref]:
        self._consents.take_freeze(event)
        return self.rolled_out()

    # -- what planners and workloads read ------------------------------------------------------

    def view(self, kind: Kind) -> "ClusterStore | Presence | Fleet | Tracker":
        """What the planner of a kind reads."""
        for tracker in self.trackers:
            if kind in tracker.planned:
                return tracker
        if kind is MANAGED_CLUSTER:
            return self._presence
        return self.clusters if kind in PLACING else self

    def workload(self, key: str) -> Workload | None:
        """One ManifestWorkReplicaSet as it was last brought up to date; None where it is not known."""
        return self._replicasets.get(key)

    def workloads(self) -> list[str]:
        """Keys of the ManifestWorkReplicaSets that exist."""
        return self._replicasets.keys()

    def rolled_out(self) -> list[Ref]:
        """Workloads of every kind."""
        found = [Ref(REPLICA_SET, key) for key in self.workloads()]
        return [*found, *(ref for tracker in self.trackers for ref in tracker.workloads())]

    def rollout(self, workload: Ref) -> Standing | None:
        """A workload of any kind as it was last planned; None where it is not known."""
        if workload.kind is REPLICA_SET:
            return self._replicasets.get(workload.key)
        for tracker in self.trackers:
            if workload.kind in tracker.planned:
                return tracker.workload(workload.key)
        return None

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload of any kind says, of what it is now, that it is rolled out."""
        if workload.kind is REPLICA_SET:
            return self._replicasets.is_done(workload.key)
        return any(t.is_done(workload) for t in self.trackers if workload.kind in t.planned)

    def revisions(self, key: str) -> Mapping[str, Revision]:
        return self._records.revisions(key, self._uid_of(Ref(REPLICA_SET, key)))

    def occupant(self, revision: Ref, key: str) -> str:
        """The uid of what has the name of a revision of this workload and is none; "" where nothing has."""
        return self._records.occupant(revision, self._uid_of(Ref(REPLICA_SET, key)))

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]:
        return self._consents.approvals(workload, namespace)

    def freeze(self, now: datetime) -> Freeze | None:
        return self._consents.freeze(now)

    def placement(self, key: str) -> Placement | None:
        return self.clusters.placement(key)

    def decisions(self, key: str) -> tuple[Decision, ...]:
        return tuple(self.clusters.decisions(key))

    def decisions_changed_at(self, key: str, now: datetime) -> datetime:
        return self._changed_at.get(key, now)

    def assume_still(self) -> None:
        """Take all decisions to have stood for long, where they were read once and nobody watched them."""
        self._changed_at = {key: at - self.policy.quiet for key, at in self._changed_at.items()}

    def is_available(self, cluster: str) -> bool:
        return self._presence.is_available(cluster)

    def is_detached(self, cluster: str) -> bool:
        return self._presence.is_detached(cluster)

    def strategy(self, name: str) -> Strategy | None:
        return self._strategies.get(name)

    def record(self, workload: Ref, placement: str) -> Shelf:
        """A record as the hub holds it."""
        return self._records.read(workload, placement, self._uid_of(workload))

    def _uid_of(self, workload: Ref) -> str:
        known = self.rollout(workload)
        return uid_of(known.raw) if known is not None and known.raw is not None else ""

    def abandoned(self, key: str, kept: Container[str] | None = None) -> list[tuple[Ref, str]]:
        """Record pages (ref, uid) of placements other than those ``kept`` (those of a replica set)."""
        if kept is None:
            workload = self._replicasets.get(key)
            if workload is None or workload.replicaset is None:
                return []
            kept = {ref.name for ref in workload.replicaset.refs}
        return self._records.abandoned(key, kept)

    def outages(self) -> Spans:
        return self._outages.spans

    def blind_since(self) -> datetime | None:
        return self._outages.blind_since

    def began_at(self) -> datetime | None:
        """When this process had read everything, where nothing else tells how long nobody looked."""
        return self._outages.began_at

    def blind(self, what: Hashable, since: datetime | None) -> None:
        """News of ``what`` may be missing since then (None: no more): until `out_of_touch` tells of the
        whole span, nothing that came due since is taken for decided (row 20).
        """
        if self._outages.blind(what, since):
            self._restate()

    def began(self, last_sign: datetime | None, now: datetime) -> None:
        """All was read for the first time. ``last_sign``: of the process before, by its lease (None: by
        what each record says last).
        """
        if last_sign is None:
            self._outages.began_at = now
        else:
            self.out_of_touch(min(last_sign, now), now)

    def out_of_touch(self, begin: datetime, end: datetime) -> None:
        """The hub was out of touch from ``begin`` to ``end``: no deadline runs in between, nor for
        one lease after (row 20).
        """
        self._outages.note(begin, end, self.policy.lease)
        self._presence.restart(end)
        self._restate()

    def _restate(self, workloads: Container[Ref] | None = None) -> None:
        """Something that the terms of these workloads (None: of all) depend on has changed."""
        for workload in self._replicasets:
            workload.stale = workload.stale or workloads is None or workload.ref in workloads
        for tracker in self.trackers:
            tracker.restate()

    # -- what the engine reports ---------------------------------------------------------------

    def refresh(self, ref: Ref, now: datetime) -> None:
        """Bring a workload up to date with what it refers to and with the time. To be called before it
        is planned; nothing for other objects.
        """
        if ref.kind is REPLICA_SET:
            workload = self._replicasets.get(ref.key)
            if workload is not None:
                workload.sync(self, now)
                workload.advance(now)
        for tracker in self.trackers:
            if ref.kind in tracker.planned:
                tracker.refresh(ref.key, now)

    def take(self, facts: Iterable[Fact], now: datetime) -> None:
        """Remember what a plan found out that is carried out now."""
        for fact in facts:
            if isinstance(fact, Decided):
                live = self._live(fact.workload.key, fact.placement)
                if live is not None:
                    live.take(fact, now)
            else:
                for tracker in self.trackers:
                    tracker.checked(fact)

    def attempted(self, write: Write, now: datetime, owner: Ref | None = None) -> None:
        """The write, which was planned for ``owner``, is about to go out."""
        self._replicasets.told(write, now)
        if write.ref.kind is ROLLOUT_RECORD and owner is not None:
            self._sends_page(write, owner)
        touch, live = self._touched(write)
        if live is not None and touch is not None and touch.first:
            live.attempt(touch.cluster, touch.cause, now, touch.revision)

    def _sends_page(self, write: Write, owner: Ref) -> None:
        """So that the book of the record knows its own words again."""
        named, workload = page_of(write.ref), self.rollout(owner)
        if named is None or workload is None or not isinstance(write, Create | Patch):
            return
        rid, number = named
        data = (write.obj if isinstance(write, Create) else write.changes)["data"]
        for share in workload.shares.values():
            if share.live.book.rid == rid:
                share.live.book.sends(number, data)

    def rejected(
        self, write: Write, message: str, now: datetime, owner: Ref | None = None
    ) -> datetime | None:
        """The server refused the write, which was planned for ``owner``; returns when to plan that again.

        None: nothing is kept of it, and it is tried again after a pause.
        """
        touch, live = self._touched(write)
        if live is None or touch is None:
            return self._unwritten(write, message, now, owner) or self._refused(
                write, message, now, owner
            )
        live.reject(touch.cluster, message, now, fails=touch.brings)
        return live.rejections[touch.cluster].retry_at

    def _unwritten(
        self, write: Write, message: str, now: datetime, owner: Ref | None
    ) -> datetime | None:
        """What is to outlive the process cannot be written down: told at once, tried again later."""
        workload = self.rollout(owner) if owner is not None else None
        if workload is None or write.ref.kind not in (ROLLOUT_RECORD, ROLLOUT_REVISION):
            return None
        workload.unwritten = refusal(workload.unwritten, f"{write.ref}: {message}", now)
        return now

    def _refused(
        self, write: Write, message: str, now: datetime, owner: Ref | None
    ) -> datetime | None:
        """What concerns no rollout: whoever keeps track of its owner says when to try again."""
        if owner is None:
            return None
        found = (tracker.refused(write, owner, message, now) for tracker in self.trackers)
        return next((at for at in found if at is not None), None)

    def landed(self, write: Write, now: datetime) -> None:
        """The write was accepted."""
        self._replicasets.told(write, now)
        if isinstance(write, Delete) and write.removed_from is not None:
            window = self.policy.brake_window
            workload = self._replicasets.get(write.removed_from.key)
            if workload is not None:
                workload.note_removal(write.cluster, window, now)
            for tracker in self.trackers:
                tracker.removed(write.removed_from, write.cluster, window, now)
        touch, live = self._touched(write)
        if live is not None and touch is not None:
            live.landed(touch.cluster)

    def _touched(self, write: Write) -> tuple[Touch | None, LiveRollout | None]:
        touch = write.touch if isinstance(write, Create | Patch | PatchStatus) else None
        if touch is None:
            return None, None
        return touch, self._live(touch.workload.key, touch.placement)
