"""What workloads of every kind share: placements, members, and which placement owns which cluster.

A workload has a share for each placement, each with its rollout, and the members that follow from their
selections. Source: semantics rows 14-16.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from rollout.model import names
from rollout.model.conditions import Condition
from rollout.model.intents import Intents
from rollout.model.kinds import Obj, Ref
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Wait
from rollout.model.writes import Create, Patch
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Basis, Head
from rollout.rollouts.inheritance import Remembered, inherited, soaked_before
from rollout.rollouts.line import KeptContent
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.record import page_of
from rollout.rollouts.rejections import RefusedWrite
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import PlacementShare, Surroundings
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Closed, Selection
from rollout.strategies.stages import soak_of
from rollout.values.rendering import ValueShown

MEASURING = f"take them out of the annotations, or have {names.SEMANTICS}: strict"


@dataclass(frozen=True, slots=True)
class Carried:
    """What a cluster has of a workload: an object, and the revision that it amounts to.

    ``revision`` is "" where the object says nothing yet. Conditions count where they are about
    ``generation``; None: all do. ``faults`` say which manifests are not well, and why.
    """

    name: str
    revision: str
    conditions: tuple[Condition, ...]
    _: KW_ONLY
    generation: int | None = None
    faults: tuple[str, ...] = ()


def _taken_back(heads: Mapping[str, Head]) -> dict[str, str]:
    """Revisions that are taken back, with the placement that does, or did until it was left out."""
    bars = {h.revision: h.barred_by for h in heads.values() if h.barred_by}
    return bars | {h.rollback.revision: p for p, h in heads.items() if h.rollback is not None}


S_co = TypeVar("S_co", bound=PlacementShare, covariant=True)


class Workload(ABC, Generic[S_co]):
    """A workload of any kind: its shares by placement, its members, and what each cluster has of it."""

    def __init__(self, ref: Ref, profile: str) -> None:
        """``profile`` decides where it asks for none."""
        self.ref, self.profile = ref, profile
        self.shares: dict[str, S_co] = {}
        self.members: dict[str, str] = {}  # cluster -> placement that owns it
        self.stale = True  # shares, members and terms may have changed since the last sync
        self.restated = False  # the terms may have, but not to whom they apply
        self.strays: set[str] = set()  # clusters that hold something of it, selected by nobody
        self.removed: dict[str, datetime] = {}  # clusters removed lately -> when
        self.unwritten: RefusedWrite | None = None  # a part of its record that the server refuses

    @property
    @abstractmethod
    def raw(self) -> Obj | None:
        """The object; None where it is gone."""

    @property
    @abstractmethod
    def intents(self) -> Intents:
        """What its annotations ask for."""

    @property
    def is_ocm(self) -> bool:
        """Whether profile ``ocm`` decides for it."""
        return (self.intents.profile or self.profile) == "ocm"

    @property
    def held(self) -> frozenset[str]:
        """The clusters that a person holds; where profile ``ocm`` decides that does nothing."""
        return frozenset() if self.is_ocm else self.intents.held

    @property
    @abstractmethod
    def clusters(self) -> list[str]:
        """Clusters that hold anything of it, by name."""

    @property
    @abstractmethod
    def revisions(self) -> tuple[str, ...]:
        """What it asks for: one thing, or what its placements ask for, in their order."""

    @abstractmethod
    def revision_at(self, cluster: str) -> str:
        """What it asks for there; "" where nobody does."""

    @abstractmethod
    def carried(self, cluster: str) -> Carried | None:
        """What the cluster has; None where it has nothing that would stay."""

    @abstractmethod
    def leaving(self, cluster: str) -> str:
        """The key of the object that is being deleted there; "" where the cluster has one that stays, or
        none at all.
        """

    @abstractmethod
    def body(self, cluster: str) -> Obj | None:
        """What the cluster's agent is to bring about now, for a person to read; None: nothing."""

    @abstractmethod
    def wanted(self, cluster: str) -> Obj | None:
        """The body that it asks for there; None where that is not known."""

    @abstractmethod
    def made_of(self, revision: str) -> tuple[str, ...]:
        """The objects that a revision is made of, in words; nothing where it is one of its own."""

    def is_due(self, now: datetime) -> bool:
        """Whether shares and members may be out of date."""
        return self.stale or any(
            share.reading.quiet_until is not None and share.reading.quiet_until <= now
            for share in self.shares.values()
        )

    @property
    def has_values(self) -> bool:
        """Whether what it asks for differs from cluster to cluster by values that these have of their own."""
        return False

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
        live = LiveRollout(self.ref, placement, uid, now, namespace=namespace)
        shelf = around.record(self.ref, placement)
        live.witness = around.witness
        live.outages = around.outages
        live.book.load(shelf)
        live.restore(shelf.record, now)
        # A placement that is named again was left alone until now.
        until = now if self.shares else around.outages.began_at
        if (span := shelf.record.unattended(until, now)) is not None:
            live.missed(span[0], span[1] + around.policy.lease)
        return live

    def deal(
        self, asked: Iterable[tuple[str, Callable[[Mapping[str, str]], S_co]]]
    ) -> tuple[dict[str, S_co], dict[str, str]]:
        """Who owns which clusters: the first placement that selects one (row 21).

        Args:
            asked: placements in the order in which they take clusters, each with what reads its
                share, given the clusters that are taken (cluster -> placement). One that is asked
                twice counts once.

        After a placement of which it is not known whom it selects, nobody can tell what is left for
        those behind it: they keep what they had and no earlier one selects, and are held for the same reason.
        """
        shares: dict[str, S_co] = {}
        members: dict[str, str] = {}
        unread: Wait | None = None
        for placement, read in asked:
            if placement in shares:
                continue
            share = shares[placement] = read(members)
            if unread is not None:
                before = self.shares.get(placement)
                kept = before.reading.selection.without(members) if before else Selection()
                share.reading, share.hold = Reading(kept, hold=unread), unread
            elif share.may_select_more:
                unread = share.reading.hold
            for group in share.reading.selection.groups:
                members.update(dict.fromkeys(group.clusters, placement))
        return shares, members

    def sends_page(self, write: Create | Patch) -> None:
        """A page of its record is about to go out: the book is to know its own words again."""
        named = page_of(write.ref)
        if named is None:
            return
        rid, number = named
        data = (write.obj if isinstance(write, Create) else write.changes)["data"]
        for share in self.shares.values():
            if share.live.book.rid == rid:
                share.live.book.sends(number, data)

    def decide(
        self, hold: Wait | None, now: datetime, kept: Mapping[str, KeptContent], closed: Closed
    ) -> dict[str, Decided]:
        """What is to be done now in each placement. Nothing changes by asking.

        What one placement takes back goes no further in the others (row 27): where it begins to do so just
        now, they are decided again. Arguments: as `Circumstances` has them.
        """

        def decided(placements: Iterable[str], barred: Mapping[str, str]) -> dict[str, Decided]:
            found: dict[str, Decided] = {}
            for placement in placements:
                share = self.shares[placement]
                by = barred.get(share.live.revision, "")
                asked = hold or share.hold
                found[placement] = share.live.decide(asked, now, kept, by, closed=closed)
            return found

        before = _taken_back({name: share.live.head for name, share in self.shares.items()})
        found = decided(self.shares, before)
        begun = _taken_back({name: each.head for name, each in found.items()})
        if begun.keys() - before.keys():
            others = [name for name, each in found.items() if each.head.rollback is None]
            found |= decided(others, begun)
        return found

    def availability(self, around: Surroundings) -> Callable[[str], bool]:
        """Whether a cluster was there to leave; one that only changed its owner did not leave."""
        return lambda cluster: cluster in self.members or around.is_available(cluster)

    def restate(
        self, terms_of: Callable[[S_co], Terms | None], around: Surroundings, now: datetime
    ) -> None:
        """Agree on the terms as they are now (None: as they were), for the same clusters."""
        self.restated = False
        for share in self.shares.values():
            terms = terms_of(share)
            if terms is None:
                share.live.hear_of(around.outages, self.availability(around), now)
            else:
                share.live.agree(terms, self.availability(around), now)

    def terms_of(
        self,
        share: PlacementShare,
        spec: RolloutSpec | None,
        revision: str,
        around: Surroundings,
        *,
        settles: bool,
    ) -> Terms | None:
        """What is asked for in one placement; None where its strategy cannot be followed.

        Args:
            settles: whether success counts only after it has lasted for a while (`Policy.settle`).
        """
        strategy = around.strategy(spec.type) if spec is not None else None
        if spec is None or strategy is None:
            return None
        return Terms(
            revision=revision,
            spec=spec,
            strategy=strategy,
            selection=share.reading.selection,
            soak=soak_of(spec, around.policy.settle if settles else timedelta(0)),
            grace=around.policy.failure_grace,
            outages=around.outages.spans,
            intents=self.intents,
            approvals=around.approvals(self.ref, share.placement_key.partition("/")[0]),
            as_ocm=share.asked.raw if self.is_ocm else None,
            is_known=share.reading.hold is None,
            blind_since=around.outages.blind_since,
            unsettled=share.reading.unsettled(spec),
            gates=around.gates,
            analyses=around.verdicts(self.ref, share.live.placement),
            unmeasurable=self._unmeasurable(around),
        )

    def _unmeasurable(self, around: Surroundings) -> str:
        """Why an analysis that it asks for cannot be made; "" where all can."""
        if self.is_ocm and self.intents.templates:
            listed = ", ".join(sorted(self.intents.templates))
            return (
                f"profile ocm measures nothing, and analyses are asked for ({listed}): {MEASURING}"
            )
        return around.unmeasurable(self.ref, self.intents)

    def advance(self, now: datetime) -> None:
        """Judge anew what time alone changes until this instant."""
        for share in self.shares.values():
            share.live.advance(now)

    def take_over(
        self, before: Mapping[str, S_co], owners: Mapping[str, str], around: Surroundings
    ) -> None:
        """Let placements go on with what others knew that are gone, or that had their clusters.

        To be called before the shares agree on whom they select now, with those until now, and who owned
        which cluster. A process that begins has none, and reads of those that are gone in the record.
        """
        left: dict[str, Remembered] = {name: share.live for name, share in before.items()}
        for name in () if before else around.recorded(self.ref):
            if name not in self.shares:
                left[name] = around.record(self.ref, name).record
        gone = {name: each.head for name, each in left.items() if name not in self.shares}
        left |= {name: share.live for name, share in self.shares.items()}
        heads = {name: share.live.head for name, share in self.shares.items()}
        for name, share in self.shares.items():
            there = {other: head for other, head in heads.items() if other != name}
            share.live.book.set_head(inherited(share.live.head, gone, there))
        moved = self.members.items() if not before else self.members.items() - owners.items()
        for cluster, owner in moved if len(left) > 1 else ():
            live = self.shares[owner].live
            if cluster not in live.lines and (soaked := soaked_before(cluster, left, owner)):
                live.remember_soaked(cluster, soaked)

    def settle_owners(self, now: datetime) -> None:
        """Tell each rollout which of the clusters that it lost have another owner now.

        To be called before the shares agree on whom they select now: then they still know whom they
        have touched.
        """
        for placement, share in self.shares.items():
            others = [s.live for name, s in self.shares.items() if name != placement]
            lost = share.live.all_lost
            selected = {c for c in lost if self.members.get(c, placement) != placement}
            touched = {c for c in lost if any(c in other.ledger.standings for other in others)}
            share.live.settle_lost(selected, touched, now)

    def note_basis(
        self,
        generation: int,
        placements: Iterable[str],
        around: Surroundings,
        before: S_co | None,
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
        head = first.live.head.removing(now, window)
        first.live.remember(head.basis, head.removals)


def lives_of(workload: Workload[PlacementShare] | None) -> list[LiveRollout]:
    """The rollouts of its placements, in their order; none where it is not known."""
    return [share.live for share in workload.shares.values()] if workload else []
