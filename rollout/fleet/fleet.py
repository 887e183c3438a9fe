"""What do we know of the whole fleet, and whom does news concern?

`Fleet.apply` takes one event and says which objects are worth planning; planners read the rest. There
is one writer, the engine's thread; nothing here waits, locks or does I/O.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rollout.api.decoding import shaped
from rollout.fleet.analyses import TAKEN, Analyses
from rollout.fleet.book import Shelf
from rollout.fleet.calendars import Calendars
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.consents import Consents
from rollout.fleet.live import LiveRollout
from rollout.fleet.outages import Outages, Spans
from rollout.fleet.placings import Placings
from rollout.fleet.presence import Presence
from rollout.fleet.records import Records, is_other, uid_of
from rollout.fleet.rejections import refusal
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.tracker import Standing, Tracker
from rollout.fleet.versions import Versions
from rollout.fleet.watched import WATCHED
from rollout.fleet.witness import Witness
from rollout.model.approvals import Approval, Freeze
from rollout.model.events import Event
from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    FREEZE,
    LEASE,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    Kind,
    Ref,
)
from rollout.model.placement import Decision, Placement
from rollout.planning.clustersets import STANDARD
from rollout.planning.facts import Decided, Fact
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, Touch, Write
from rollout.planning.policy import DEFAULT, Policy
from rollout.strategies.base import Closed, Strategy
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
        self.trackers = (ReplicaSets(self), *(make(self) for make in trackers))
        self.tracked = frozenset(kind for tracker in self.trackers for kind in tracker.kinds)
        self._outages = Outages()
        self._presence = Presence(self.clusters, self._outages)
        self._strategies = strategies
        self.gates = gates
        self._versions = Versions()
        self.records = Records(policy.namespace)
        self._consents = Consents()
        self._placings = Placings(self.clusters, self._follow)
        self._calendars = Calendars()
        self.measured = Analyses(policy.namespace, self.clusters)
        self._handlers = self._made_handlers()

    def _made_handlers(self) -> dict[str, Callable[[Event, datetime], Iterable[Ref]]]:
        """Who takes in the events of each kind, by its name."""
        return {
            ROLLOUT_RECORD.name: self._on_page,
            ROLLOUT_REVISION.name: self._on_revision,
            APPROVAL.name: self._on_approval,
            FREEZE.name: self._on_freeze,
            **dict.fromkeys((CALENDAR.name, CLUSTER_CALENDAR.name), self._on_calendar),
            **dict.fromkeys((kind.name for kind in TAKEN), self._on_analysis),
            LEASE.name: self._presence.take_lease,
            MANAGED_CLUSTER.name: self._on_cluster,
            PLACEMENT.name: self._placings.take_placement,
            PLACEMENT_DECISION.name: self._placings.take_decision,
            **{
                kind.name: self._placings.take_other
                for kind in (CLUSTER_SET, CLUSTER_SET_BINDING, SCORE)
            },
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
        if (handler := self._handlers.get(event.ref.kind.name)) is not None:
            found.update(handler(event, now))
        for tracker in self.trackers:
            found.update(tracker.take(event, now))
        return found

    @property
    def essential(self) -> frozenset[Kind]:
        """Kinds without whose news nothing can be judged."""
        return self.tracked.union(self.watched)

    def wanted_kinds(self) -> frozenset[Kind]:
        """Kinds to be watched besides `watched`; they come and go."""
        found = (tracker.wanted_kinds() for tracker in self.trackers)
        return self.measured.wanted_kinds().union(*found)

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

    def _on_cluster(self, event: Event, now: datetime) -> set[Ref]:
        found = self._presence.take_cluster(event, now)
        cluster = self.clusters.cluster(event.ref.name)
        calendars = self._calendars.take_cluster(event.ref.name, cluster, now)
        if calendars:
            found |= calendars | set(self.rolled_out())
        if self.is_detached(event.ref.name):  # what the removal brake held there may go
            standing = ((ref, self.rollout(ref)) for ref in self.rolled_out())
            found |= {ref for ref, each in standing if each and event.ref.name in each.strays}
        return found

    def _follow(self, key: str) -> set[Ref]:
        """The workloads that refer to a placement; their terms may have changed."""
        return set().union(*(tracker.follow(key) for tracker in self.trackers))

    def _on_page(self, event: Event, now: datetime) -> Iterable[Ref]:
        """A page that somebody else changed, or took away, is written again from memory (S18)."""
        page = self.records.take_page(event)
        if page is None:
            return ()
        owner, placement, rid, number = page
        live = self._live(owner, placement)
        if live is None or live.book.rid != rid:
            return ()
        self._written(live.workload)
        return (live.workload,) if is_other(live.book, number, event) else ()

    def _live(self, owner: str, placement: str) -> LiveRollout | None:
        found = (tracker.live(owner, placement) for tracker in self.trackers)
        return next((live for live in found if live is not None), None)

    def _on_revision(self, event: Event, now: datetime) -> Iterable[Ref]:
        loser = Ref(REPLICA_SET, self.records.take_revision(event))
        self._written(Ref(REPLICA_SET, self.records.owner_of(event.ref)))
        return () if self.rollout(loser) is None else (loser,)

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

    def _on_calendar(self, event: Event, now: datetime) -> Iterable[Ref]:
        return self._calendars.take_calendar(event, now) | set(self.rolled_out())

    def _on_analysis(self, event: Event, now: datetime) -> Iterable[Ref]:
        found = self.measured.take(event, now)
        self._restate(found)
        return found

    # -- what planners and workloads read ------------------------------------------------------

    def view(self, kind: Kind) -> "ClusterStore | Presence | Calendars | Analyses | Tracker":
        """What the planner of a kind reads."""
        for tracker in self.trackers:
            if kind in tracker.planned:
                return tracker
        if kind in (CALENDAR, CLUSTER_CALENDAR):
            return self._calendars
        others = self.measured if kind in TAKEN else self.clusters
        return self._presence if kind is MANAGED_CLUSTER else others

    def rolled_out(self) -> list[Ref]:
        """Workloads of every kind."""
        return [ref for tracker in self.trackers for ref in tracker.workloads()]

    def rollout(self, workload: Ref) -> Standing | None:
        """A workload of any kind as it was last planned; None where it is not known."""
        for tracker in self.trackers:
            if workload.kind in tracker.planned:
                return tracker.workload(workload.key)
        return None

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload of any kind says, of what it is now, that it is rolled out."""
        return any(t.is_done(workload) for t in self.trackers if workload.kind in t.planned)

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]:
        return self._consents.approvals(workload, namespace)

    def freeze(self, now: datetime) -> Freeze | None:
        return self._consents.freeze(now)

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        known = self.rollout(workload)
        return self._calendars.closed(workload, known.raw if known is not None else None, now)

    def placement(self, key: str) -> Placement | None:
        return self.clusters.placement(key)

    def decisions(self, key: str) -> tuple[Decision, ...]:
        return tuple(self.clusters.decisions(key))

    def decisions_changed_at(self, key: str, now: datetime) -> datetime:
        return self._placings.changed_at(key, now)

    def assume_still(self) -> None:
        """Take all decisions to have stood for long, where they were read once and nobody watched them."""
        self._placings.assume_still(self.policy.quiet)

    def is_available(self, cluster: str) -> bool:
        return self._presence.is_available(cluster)

    def is_detached(self, cluster: str) -> bool:
        return self._presence.is_detached(cluster)

    def strategy(self, name: str) -> Strategy | None:
        return self._strategies.get(name)

    def record(self, workload: Ref, placement: str) -> Shelf:
        """A record as the hub holds it."""
        known = self.rollout(workload)
        uid = uid_of(known.raw) if known is not None and known.raw is not None else ""
        return self.records.read(workload, placement, uid)

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
        for tracker in self.trackers:
            tracker.restate(workloads)

    # -- what the engine reports ---------------------------------------------------------------

    def refresh(self, ref: Ref, now: datetime) -> None:
        """Bring a workload up to date with what it refers to and with the time. To be called before it
        is planned; nothing for other objects.
        """
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
        for tracker in self.trackers:
            tracker.told(write, now)
        workload = self.rollout(owner) if owner is not None else None
        if write.ref.kind is ROLLOUT_RECORD and workload is not None:
            workload.sends_page(write)
        touch, live = self._touched(write)
        if live is not None and touch is not None and touch.first:
            live.attempt(touch.cluster, touch.cause, now, touch.revision)

    def rejected(
        self, write: Write, message: str, now: datetime, owner: Ref | None = None
    ) -> datetime | None:
        """The server refused the write, which was planned for ``owner``; returns when to plan that again.

        None: nothing is kept of it, and it is tried again after a pause.
        """
        touch, live = self._touched(write)
        if live is not None and touch is not None:
            live.reject(touch.cluster, message, now, fails=touch.brings)
            return live.rejections[touch.cluster].retry_at
        if owner is None:
            return None
        if self._is_unwritten(write, message, now, owner):
            return now  # it is said at once; the planner knows when to try again
        found = (tracker.refused(write, owner, message, now) for tracker in self.trackers)
        return next((at for at in found if at is not None), None)

    def _is_unwritten(self, write: Write, message: str, now: datetime, owner: Ref) -> bool:
        """Note what is to outlive the process and cannot be written down; whether it is that."""
        workload = self.rollout(owner)
        if workload is None or write.ref.kind not in (ROLLOUT_RECORD, ROLLOUT_REVISION):
            return False
        workload.unwritten = refusal(workload.unwritten, f"{write.ref}: {message}", now)
        return True

    def landed(self, write: Write, now: datetime) -> None:
        """The write was accepted."""
        for tracker in self.trackers:
            tracker.told(write, now)
        if isinstance(write, Delete) and write.removed_from is not None:
            window = self.policy.brake_window
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
