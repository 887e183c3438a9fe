"""Which clusters are a workload's, by which placement, and what was removed lately?

What workloads of every kind have in common: a share for each placement, each with its rollout, and
the members that follow from their selections. Source: semantics rows 14-16.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from rollout.fleet.analyses import Analyses
from rollout.fleet.book import Shelf
from rollout.fleet.live import LiveRollout
from rollout.fleet.rejections import Rejection
from rollout.fleet.selections import Reading, read_selection
from rollout.fleet.terms import Terms
from rollout.fleet.witness import Witness
from rollout.model.approvals import Approval
from rollout.model.kinds import Ref
from rollout.model.placement import Decision, Placement
from rollout.model.waits import Wait
from rollout.planning.plan import Create, Patch, Write
from rollout.planning.policy import Policy
from rollout.planning.record import Basis, page_of
from rollout.strategies.base import Selection, Strategy
from rollout.strategies.gates import Gate
from rollout.values.rendering import ValueShown

REMOVALS_KEPT = 100
"""Instants of removals that are remembered one by one."""


class Surroundings(Protocol):
    """What a workload must know of the rest of the fleet."""

    policy: Policy
    witness: Witness | None
    gates: Mapping[str, Gate]
    measured: Analyses

    def placement(self, key: str) -> Placement | None: ...

    def decisions(self, key: str) -> tuple[Decision, ...]: ...

    def decisions_changed_at(self, key: str, now: datetime) -> datetime: ...

    def is_available(self, cluster: str) -> bool: ...

    def strategy(self, name: str) -> Strategy | None: ...

    def record(self, workload: Ref, placement: str) -> Shelf: ...

    def outages(self) -> tuple[tuple[datetime, datetime], ...]: ...

    def blind_since(self) -> datetime | None: ...

    def began_at(self) -> datetime | None: ...

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]: ...


class Shared(Protocol):
    """One placement of a workload, live."""

    reading: Reading
    hold: Wait | None

    @property
    def live(self) -> LiveRollout: ...


S = TypeVar("S", bound=Shared)


class Membership(Generic[S]):
    """The shares and members of one workload."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.shares: dict[str, S] = {}
        self.members: dict[str, str] = {}  # cluster -> placement that owns it
        self.stale = True  # shares, members and terms may have changed since the last sync
        self.restated = False  # the terms may have, but not to whom they apply
        self.removed: dict[str, datetime] = {}  # clusters removed lately -> when
        self.unwritten: Rejection | None = None  # a part of its record that the server refuses

    def is_due(self, now: datetime) -> bool:
        """Whether shares and members may be out of date."""
        return self.stale or any(
            share.reading.quiet_until is not None and share.reading.quiet_until <= now
            for share in self.shares.values()
        )

    def values_at(self, cluster: str) -> tuple[ValueShown, ...]:
        """The values that the cluster has of its own, and where they come from. Add-ons have none, but
        variables in their configurations.
        """
        return ()

    def next_quiet(self) -> datetime | None:
        """When the next quiet period ends."""
        return min(
            (s.reading.quiet_until for s in self.shares.values() if s.reading.quiet_until),
            default=None,
        )

    def untold_until(self) -> datetime | None:
        """Until when nothing is said of it: placements that this engine decides are being written."""
        return max(
            (s.reading.untold_until for s in self.shares.values() if s.reading.untold_until),
            default=None,
        )

    def open_rollout(
        self, placement: str, uid: str, around: Surroundings, now: datetime, namespace: str = ""
    ) -> LiveRollout:
        """The rollout over a placement, as its record tells of it."""
        live = LiveRollout(self.ref, placement, uid, now, namespace)
        shelf = around.record(self.ref, placement)
        live.witness = around.witness
        live.is_blind = lambda: around.blind_since() is not None
        live.book.load(shelf)
        live.restore(shelf.record, now)
        began, last = around.began_at(), shelf.record.last_sign()
        if began is not None and last is not None:
            live.missed(last, began + around.policy.lease)
        return live

    def deal(
        self, asked: Iterable[tuple[str, Callable[[Mapping[str, str]], S]]]
    ) -> tuple[dict[str, S], dict[str, str]]:
        """Who owns which clusters: the first placement that selects one (row 21).

        Args:
            asked: placements in the order in which they take clusters, each with what reads its
                share, given the clusters that are taken (cluster -> placement). One that is asked
                twice counts once.

        After a placement of which it is not known whom it selects, nobody can tell what is left for
        those behind it: they keep what they had, and are held for the same reason.
        """
        shares: dict[str, S] = {}
        members: dict[str, str] = {}
        unread: Wait | None = None
        for placement, read in asked:
            if placement in shares:
                continue
            share = shares[placement] = read(members)
            if unread is not None:
                before = self.shares.get(placement)
                selection = before.reading.selection if before else Selection()
                share.reading, share.hold = Reading(selection, unread), unread
            elif _may_select_more(share):
                unread = share.reading.hold
            for group in share.reading.selection.groups:
                members.update(dict.fromkeys(group.clusters, placement))
        return shares, members

    def sends_page(self, write: Write) -> None:
        """A page of its record is about to go out: the book is to know its own words again."""
        named = page_of(write.ref)
        if named is None or not isinstance(write, Create | Patch):
            return
        rid, number = named
        data = (write.obj if isinstance(write, Create) else write.changes)["data"]
        for share in self.shares.values():
            if share.live.book.rid == rid:
                share.live.book.sends(number, data)

    def taken_back(self) -> dict[str, str]:
        """Revisions that are taken back, with the placement that does (row 27)."""
        heads = {placement: share.live.head for placement, share in self.shares.items()}
        return {h.rollback.revision: p for p, h in heads.items() if h.rollback is not None}

    def availability(self, around: Surroundings) -> Callable[[str], bool]:
        """Whether a cluster was there to leave; one that only changed its owner did not leave."""
        return lambda cluster: cluster in self.members or around.is_available(cluster)

    def restate(
        self, terms_of: Callable[[S], Terms | None], around: Surroundings, now: datetime
    ) -> None:
        """Agree on the terms as they are now (None: as they were), for the same clusters."""
        self.restated = False
        for share in self.shares.values():
            terms = terms_of(share)
            if terms is not None:
                share.live.agree(terms, self.availability(around), now)

    def advance(self, now: datetime) -> None:
        """Judge anew what time alone changes until this instant."""
        for share in self.shares.values():
            share.live.advance(now)

    def settle_owners(self, now: datetime) -> None:
        """Tell each rollout which of the clusters that it lost have another owner now.

        To be called before the shares agree on whom they select now: then they still know whom they
        have touched.
        """
        for placement, share in self.shares.items():
            others = [s.live for name, s in self.shares.items() if name != placement]
            lost = share.live.losses.all()
            selected = {c for c in lost if self.members.get(c, placement) != placement}
            touched = {c for c in lost if any(c in other.ledger.standings for other in others)}
            share.live.settle_lost(selected, touched, now)

    def note_basis(
        self,
        generation: int,
        placements: Iterable[str],
        around: Surroundings,
        before: S | None,
        now: datetime,
    ) -> None:
        """Remember when the specs that membership follows from last changed (row 16).

        ``before`` is the share that was the first until now: what it remembers goes on.
        """
        first = next(iter(self.shares.values()), None)
        if first is None:
            return
        if before is not None and not first.live.head.basis.workload:
            first.live.remember(before.live.head.basis, before.live.head.removals)
        found = [around.placement(key) for key in placements]
        if None in found:
            return  # one that is gone says nothing of what a person wants
        total = sum(p.generation for p in found if p is not None)
        known = first.live.head.basis
        if (known.workload, known.placement) != (generation, total):
            since = now if known.workload else None
            first.live.remember(Basis(generation, total, since), first.live.head.removals)

    def note_removal(self, cluster: str, window: timedelta, now: datetime) -> None:
        """Something was removed because its cluster is selected no more. Twins count once."""
        is_twin = self.removed.get(cluster) == now
        self.removed = {c: at for c, at in self.removed.items() if at + window > now}
        self.removed[cluster] = now
        first = next(iter(self.shares.values()), None)
        if first is None or is_twin:
            return
        head = first.live.head
        counted = Counter({at: n for at, n in head.removals if at + window > now})
        counted[now] += 1
        if len(counted) > REMOVALS_KEPT:
            counted = _by_minute(counted)
        first.live.remember(head.basis, tuple(sorted(counted.items())))


def read_placement(
    key: str,
    before: Reading | None,
    taken: Mapping[str, str],
    around: Surroundings,
    now: datetime,
) -> Reading:
    """Whom a placement selects, as far as it counts now; ``before`` is the last reading.

    A cluster of another placement (``taken``) that this one selects no more is not kept in mind.
    """
    return read_selection(
        key,
        around.placement(key),
        around.decisions(key),
        around.decisions_changed_at(key, now),
        without(before, taken) if before else Reading(Selection()),
        around.policy,
        now,
    )


def _may_select_more(share: Shared) -> bool:
    """Whether nobody knows whom the placement selects: its decisions cannot be read yet, or it is gone
    and only the record tells that it had clusters.
    """
    reading = share.reading
    if reading.selection.total:
        return False
    return reading.is_torn or (reading.is_gone and bool(share.live.ledger.standings))


def without(reading: Reading, taken: Mapping[str, str]) -> Reading:
    """The reading without clusters that another placement owns (row 21)."""
    if not taken:
        return reading
    return replace(reading, selection=reading.selection.without(taken))


def _by_minute(counted: Counter[datetime]) -> Counter[datetime]:
    """The same removals by the full minute after them: remembered rather longer than shorter (R8)."""
    merged: Counter[datetime] = Counter()
    for at, n in counted.items():
        merged[at.replace(second=0, microsecond=0) + timedelta(minutes=1)] += n
    return merged
