"""Keeps what is known of the whole fleet, and tells which objects to plan after an event.

There is one writer, the engine's thread; nothing here waits, locks or does I/O.
"""

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from rollout.api.decoding import shaped
from rollout.fleet.analyses import TAKEN, Analyses
from rollout.fleet.calendars import Calendars
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.consents import Consents
from rollout.fleet.inventory import Inventory
from rollout.fleet.notifications import Notifications
from rollout.fleet.placings import Placings
from rollout.fleet.presence import Presence
from rollout.fleet.records import Page, Records, is_other, uid_of
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.tracker import Tracker
from rollout.fleet.versions import Versions
from rollout.fleet.watched import WATCHED
from rollout.model.analyses import AnalysisVerdict
from rollout.model.approvals import Approval, Freeze
from rollout.model.cluster import Cluster
from rollout.model.events import Event
from rollout.model.intents import Intents
from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    FREEZE,
    LEASE,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_NOTIFICATION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    WORKLOADS,
    Kind,
    Ref,
)
from rollout.model.placement import Decision, Placement
from rollout.model.policy import DEFAULT, Policy
from rollout.model.writes import Create, Delete, Patch, Touch
from rollout.planning.clustersets import STANDARD
from rollout.planning.plan import Write, touch_of
from rollout.rollouts.book import Shelf
from rollout.rollouts.facts import Decided, Fact
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.outages import Outages
from rollout.rollouts.rejections import refusal
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.witness import Witness
from rollout.rollouts.workload import Workload, lives_of
from rollout.strategies.base import Closed, Strategy
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import Gate
from rollout.strategies.stages import BUILT_IN

T = TypeVar("T", bound=Tracker)


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
        trackers: Sequence[Callable[["Fleet"], Tracker]] = (ReplicaSets,),
        publishes: Collection[Kind] = (),
    ) -> None:
        self.policy = policy
        self.witness: Witness | None = None
        self.clusters = ClusterStore(reads_everything=has_filter_plugins)
        self.watched = (*WATCHED, LEASE) if watches_health else WATCHED
        self.outages = Outages()
        self.presence = Presence(self.clusters, self.outages)
        self._strategies = strategies
        self.gates = gates
        self.versions = Versions()
        self._consents = Consents()
        self._placings = Placings(self.clusters, self._follow)
        self.inventory = Inventory(self.clusters, publishes)
        self.calendars = Calendars()
        self.measured = Analyses(policy.namespace, self.clusters, self._members)
        self.notifications = Notifications()
        self.trackers = tuple(make(self) for make in trackers)
        self._planning = {kind: each for each in self.trackers for kind in each.planned}
        self.records = Records(policy.namespace, dict.fromkeys((*WORKLOADS, *self._planning)))
        self.tracked = frozenset(kind for tracker in self.trackers for kind in tracker.kinds)
        self._asked: list[frozenset[Kind]] = []  # by each part, when it was last asked
        self._wanted: frozenset[Kind] = frozenset()  # what follows from it
        self._handlers = self._made_handlers()

    def _made_handlers(self) -> dict[Kind, Callable[[Event, datetime], Iterable[Ref]]]:
        """Who takes in the events of each kind."""
        return {
            ROLLOUT_RECORD: self._on_page,
            ROLLOUT_REVISION: self._on_revision,
            FREEZE: self._on_freeze,
            ROLLOUT_NOTIFICATION: self.notifications.take,
            MANIFEST_WORK: self.measured.take_work,
            **dict.fromkeys((CALENDAR, CLUSTER_CALENDAR), self._on_calendar),
            **dict.fromkeys((APPROVAL, *TAKEN), self._on_verdict),
            LEASE: self.presence.take_lease,
            MANAGED_CLUSTER: self._on_cluster,
            PLACEMENT: self._placings.take_placement,
            PLACEMENT_DECISION: self._placings.take_decision,
            **dict.fromkeys((CLUSTER_SET, CLUSTER_SET_BINDING, SCORE), self._placings.take_other),
        }

    def apply(self, event: Event, now: datetime) -> set[Ref]:
        """Take in one event; returns the objects whose plan it could change.

        An event that is not newer than what is known of the object changes nothing, nor does one of
        an object that only another shard has to know.
        """
        if not self.policy.sharding.reads(event.ref) or not self.versions.take(event):
            return set()
        if (obj := shaped(event.obj)) is not event.obj:
            event = Event(event.ref, event.change, obj, event.version)
        handler = self._handlers.get(event.ref.kind)
        found: set[Ref] = set(handler(event, now) if handler is not None else ())
        found.update(self.inventory.take(event))
        for tracker in self.trackers:
            found.update(tracker.take(event, now))
        return found

    @property
    def essential(self) -> frozenset[Kind]:
        """Kinds without whose news nothing can be judged."""
        return self.tracked.union(self.watched)

    def wanted_kinds(self) -> frozenset[Kind]:
        """Kinds to be watched besides `watched`; they come and go."""
        asked = [self.measured.wanted, *[each.wanted for each in self.trackers]]
        if asked != self._asked:  # hardly ever, and this is asked at every turn
            self._asked, self._wanted = asked, self.inventory.kinds.union(*asked)
        return self._wanted

    def missed(self, kind: Kind, why: str) -> set[Ref]:
        """A wanted kind cannot be read, or ("") can again; returns what to plan anew."""
        found = (tracker.missed(kind, why) for tracker in self.trackers)
        return self.inventory.missed(kind, why).union(*found)

    def forget(self, kind: Kind) -> None:
        """A kind is watched no more: when it is read again, all of it is news."""
        self.versions.forget(kind)
        for tracker in self.trackers:
            tracker.forget(kind)

    def standing(self, kind: Kind) -> set[Ref]:
        """Objects of a kind that are planned whether they are there or not."""
        return {Ref(CLUSTER_SET, name) for name in STANDARD} if kind is CLUSTER_SET else set()

    # -- what happened -------------------------------------------------------------------------

    def _on_cluster(self, event: Event, now: datetime) -> set[Ref]:
        found, name = self.presence.take_cluster(event, now), event.ref.key
        if calendars := self.calendars.take_cluster(name, self.clusters.cluster(name), now):
            found |= calendars | set(self.rolled_out())
        if self.is_detached(name):  # what the removal brake held there may go
            standing = ((ref, self.rollout(ref)) for ref in self.rolled_out())
            found |= {ref for ref, each in standing if each and name in each.strays}
        return found

    def _follow(self, key: str) -> set[Ref]:
        """The workloads that refer to a placement; their terms may have changed."""
        return set().union(*(tracker.follow(key) for tracker in self.trackers))

    def _on_page(self, event: Event, now: datetime) -> Iterable[Ref]:
        """A page that somebody else changed, or took away, is written again from memory (S18)."""
        page = self.records.take_page(event)
        live = None if page is None else self._writer_of(page)
        if page is None or live is None or live.book.place != page.where:
            return ()
        self._written(live.workload)
        return (live.workload,) if is_other(live.book, page, event) else ()

    def _writer_of(self, page: Page) -> LiveRollout | None:
        """The rollout that writes a page: as the page says, else looked for among all."""
        if page.workload is not None:
            return self._live(page.workload, page.placement)
        lives = (live for ref in self.rolled_out() for live in lives_of(self.rollout(ref)))
        return next((live for live in lives if live.book.place == page.where), None)

    def _live(self, workload: Ref, placement: str) -> LiveRollout | None:
        share = known.shares.get(placement) if (known := self.rollout(workload)) else None
        return share.live if share else None

    def _on_revision(self, event: Event, now: datetime) -> Iterable[Ref]:
        loser = self.records.take_revision(event)
        self._written(self.records.owner_of(event.ref))
        return () if loser is None or self.rollout(loser) is None else (loser,)

    def _written(self, owner: Ref | None) -> None:
        """Something that is to outlive the process was written down."""
        if owner is not None and (workload := self.rollout(owner)) is not None:
            workload.unwritten = None

    def _on_freeze(self, event: Event, now: datetime) -> Iterable[Ref]:
        self._consents.take_freeze(event)
        return self.rolled_out()

    def _on_calendar(self, event: Event, now: datetime) -> Iterable[Ref]:
        is_news = self.calendars.take_calendar(event, now)
        return {event.ref, *(self.rolled_out() if is_news else ())}

    def _on_verdict(self, event: Event, now: datetime) -> Iterable[Ref]:
        """A person, or an analysis, has judged a revision."""
        if event.ref.kind is APPROVAL:
            found = self._consents.take_approval(event) & set(self.rolled_out())
        else:
            found = self.measured.take(event, now)
        self._restate(found)
        return found

    # -- what planners and workloads read ------------------------------------------------------

    def tracker(self, made_by: type[T]) -> T:
        """The tracker of a class; there is one of each."""
        return next(each for each in self.trackers if isinstance(each, made_by))

    def rolled_out(self) -> list[Ref]:
        """Workloads of every kind."""
        return [ref for tracker in self.trackers for ref in tracker.workloads()]

    def rollout(self, workload: Ref) -> Workload[PlacementShare] | None:
        """A workload of any kind as it was last planned; None where it is not known."""
        return each.workload(workload.key) if (each := self._planning.get(workload.kind)) else None

    def _members(self, workload: Ref) -> Collection[str]:
        return known.members if (known := self.rollout(workload)) is not None else ()

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload of any kind says, of what it is now, that it is rolled out."""
        return each.is_done(workload) if (each := self._planning.get(workload.kind)) else False

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]:
        return self._consents.approvals(workload, namespace)

    def freeze(self, now: datetime) -> Freeze | None:
        return self._consents.freeze(now)

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        known = self.rollout(workload)
        return self.calendars.closed(workload, known.raw if known is not None else None, now)

    def verdicts(self, workload: Ref, placement: str) -> tuple[AnalysisVerdict, ...]:
        return self.measured.verdicts(workload, placement)

    def unmeasurable(self, workload: Ref, intents: Intents) -> str:
        return self.measured.unmeasurable(workload, intents)

    def cluster(self, name: str) -> Cluster | None:
        return self.clusters.cluster(name)

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
        return self.presence.is_available(cluster)

    def is_detached(self, cluster: str) -> bool:
        return self.presence.is_detached(cluster)

    def strategy(self, name: str) -> Strategy | None:
        return self._strategies.get(name)

    def record(self, workload: Ref, placement: str) -> Shelf:
        """A record as the hub holds it."""
        known = self.rollout(workload)
        uid = uid_of(known.raw) if known is not None and known.raw is not None else ""
        return self.records.read(workload, placement, uid)

    def recorded(self, workload: Ref) -> Collection[str]:
        return self.records.placements(workload)

    def blind(self, what: Hashable, since: datetime | None) -> None:
        """News of ``what`` may be missing since then (None: no more): until `out_of_touch` tells of the
        whole span, nothing that came due since is taken for decided (row 20).
        """
        if self.outages.blind(what, since):
            self._restate()

    def began(self, last_sign: datetime | None, now: datetime) -> None:
        """All was read. ``last_sign``: of the process before, by its lease (None: each record tells)."""
        if last_sign is None:
            self.outages.began_at = now
        else:
            self.out_of_touch(min(last_sign, now), now)

    def out_of_touch(self, begin: datetime, end: datetime) -> None:
        """The hub was out of touch from ``begin`` to ``end``: no deadline runs in between, nor for
        one lease after (row 20).
        """
        self.outages.note(begin, end, self.policy.lease)
        self.presence.restart(end)
        self._restate()

    def _restate(self, workloads: Container[Ref] | None = None) -> None:
        """Something that the terms of these workloads (None: of all) depend on has changed."""
        for tracker in self.trackers:
            tracker.restate(workloads)

    # -- what the engine reports ---------------------------------------------------------------

    def refresh(self, ref: Ref, now: datetime) -> None:
        """Bring a workload up to date with what it refers to and with the time, before it is planned."""
        if (tracker := self._planning.get(ref.kind)) is not None:
            tracker.refresh(ref.key, now)

    def take(self, facts: Iterable[Fact], now: datetime) -> None:
        """Remember what a plan found out that is carried out now."""
        for fact in facts:
            if isinstance(fact, Decided):
                if (live := self._live(fact.workload, fact.placement)) is not None:
                    live.take(fact, now)
            else:
                for tracker in self.trackers:
                    tracker.checked(fact)

    def attempted(self, write: Write, now: datetime, owner: Ref | None = None) -> None:
        """The write, which was planned for ``owner``, is about to go out."""
        if (tracker := self._planning.get(write.ref.kind)) is not None:
            tracker.written(write, now)
        workload = self.rollout(owner) if owner is not None else None
        if isinstance(write, Create | Patch) and workload is not None:
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
            live.reject(touch.cluster, message, now, fails=touch.brings, is_attempt=touch.first)
            return live.rejections[touch.cluster].retry_at
        if owner is None:
            return None
        workload = self.rollout(owner)
        if workload is not None and write.ref.kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):
            # What is to outlive the process: it is said at once; the planner knows when to try again.
            workload.unwritten = refusal(workload.unwritten, f"{write.ref}: {message}", now)
            return now
        found = (tracker.refused(write, owner, message, now) for tracker in self.trackers)
        return next((at for at in found if at is not None), None)

    def landed(self, write: Write, now: datetime) -> None:
        """The write was accepted."""
        if (tracker := self._planning.get(write.ref.kind)) is not None:
            tracker.written(write, now)
        if isinstance(write, Delete):
            for each in self.trackers:
                each.deleted(write, now)
        touch, live = self._touched(write)
        if live is not None and touch is not None:
            live.landed(touch.cluster)

    def unanswered(self, write: Write, now: datetime) -> None:
        """Nobody knows whether the write was made: for the removal brake it counts all the same."""
        if not isinstance(write, Delete) or write.removed_from is None:
            return
        if (workload := self.rollout(write.removed_from)) is not None:
            workload.note_removal(write.cluster, self.policy.brake_window, now, is_gone=False)

    def _touched(self, write: Write) -> tuple[Touch | None, LiveRollout | None]:
        touch = touch_of(write)
        live = None if touch is None else self._live(touch.workload, touch.placement)
        return touch, live
