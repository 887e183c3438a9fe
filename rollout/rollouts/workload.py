"""What workloads of every kind share: placements, members, and which placement owns which cluster.

A workload has a share for each placement, each with its rollout, and the members that follow from their
selections. Source: semantics rows 14-16.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, TypeVar

from rollout.model import names
from rollout.model.content import json_hash
from rollout.model.intents import NO_INTENTS, Intents
from rollout.model.kinds import ROLLOUT_RECORD, Obj, Ref
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.model.workload import Carried, WorkloadSpec
from rollout.model.writes import Create, Patch
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Basis, Head, generations
from rollout.rollouts.inheritance import still_asked_for, take_over
from rollout.rollouts.line import KeptContent
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.overlaps import deal, settle_owners
from rollout.rollouts.record import page_of
from rollout.rollouts.rejections import RefusedWrite
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import (
    PlacementShare,
    Surroundings,
    open_rollout,
    read_placement,
    without,
)
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Closed
from rollout.strategies.stages import soak_of
from rollout.values.rendering import ValueShown


def _taken_back(heads: Mapping[str, Head]) -> dict[str, str]:
    """Revisions that are taken back, with the placement that does, or did until it was left out."""
    bars = {h.revision: h.barred_by for h in heads.values() if h.barred_by}
    return bars | {h.rollback.revision: p for p, h in heads.items() if h.rollback is not None}


S_co = TypeVar("S_co", bound=PlacementShare, covariant=True)


class Workload(ABC, Generic[S_co]):
    """A workload of any kind: its shares by placement, its members, and what each cluster has of it.

    ``later_first``: of two placements that select a cluster the later one has it.
    """

    later_first = False

    def __init__(self, ref: Ref, profile: str) -> None:
        """``profile`` decides where it asks for none."""
        self.ref, self.profile = ref, profile
        self.shares: dict[str, S_co] = {}
        self.members: dict[str, str] = {}  # cluster -> placement that owns it
        self.stale = True  # shares, members and terms may have changed since the last sync
        self.restated = False  # the terms may have, but not to whom they apply
        self.strays: set[str] = set()  # clusters that hold something of it, selected by nobody
        self.asked_for: set[str] = set()  # clusters whose placement a person took out
        self.unwritten: RefusedWrite | None = None  # a part of its record that the server refuses

    @property
    @abstractmethod
    def spec(self) -> WorkloadSpec | None:
        """What it asks for; None where the object is gone."""

    @property
    def raw(self) -> Obj | None:
        """The object; None where it is gone."""
        return spec.raw if (spec := self.spec) is not None else None

    @property
    def intents(self) -> Intents:
        """What its annotations ask for."""
        return spec.intents if (spec := self.spec) is not None else NO_INTENTS

    def placement_key(self, placement: str) -> str:
        """The key of a placement that it names: one of its own namespace."""
        return f"{self.ref.namespace}/{placement}"

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
    def placements(self) -> tuple[str, ...]:
        """The placements that it names, in their order: the keys of its shares."""

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

    # -- placements ----------------------------------------------------------------------------

    def sync(self, around: Surroundings, now: datetime) -> None:
        """Bring shares, members and terms up to date with what it asks for, its placements and decisions."""
        asked = self.spec
        if asked is None:
            return
        if self.is_due(now):
            self.stale = self.restated = False
            self._deal(asked, around, now)
        elif self.restated:
            self.restated = False
            for placement, share in self.shares.items():
                terms = self._terms(placement, around)
                if terms is None:
                    share.live.hear_of(around.outages, self._availability(around), now)
                else:
                    share.live.agree(terms, self._availability(around), now)

    def _deal(self, asked: WorkloadSpec, around: Surroundings, now: datetime) -> None:
        """Read whom its placements select, and have each of them agree on its terms."""
        left, owners = self.shares, self.members
        in_turn = self.placements[:: -1 if self.later_first else 1]
        shares, self.members = deal(
            ((name, partial(self._read, name, around, now)) for name in in_turn), left
        )
        self.shares = {name: shares[name] for name in self.placements}
        take_over(
            self.ref, around, left=left, owners=owners, shares=self.shares, members=self.members
        )
        settle_owners(self.shares, self.members, now)
        for placement in self.shares:
            self._agree(placement, around, now)
        asked_for = still_asked_for(self.asked_for, owners, left, self.shares)
        self.asked_for = asked_for - self.members.keys()
        self._dealt(left, owners)
        self._note_basis(asked, around, next(iter(left.values()), None), now)

    @abstractmethod
    def _share(
        self, placement: str, live: LiveRollout, reading: Reading, around: Surroundings
    ) -> S_co:
        """The share of a placement that selects these clusters."""

    @abstractmethod
    def _observed(self, placement: str) -> Mapping[str, Observation]:
        """What those of the clusters carry that a placement selects, and that carry anything."""

    @abstractmethod
    def _terms(self, placement: str, around: Surroundings) -> Terms | None:
        """What is asked for in a placement; None where that cannot be followed."""

    @abstractmethod
    def _why_not(self, placement: str, around: Surroundings) -> str:
        """Why that cannot be followed which is asked for in a placement; "" where its hold says so."""

    @abstractmethod
    def _dealt(self, left: Mapping[str, S_co], owners: Mapping[str, str]) -> None:
        """Shares and members are new: keep what follows from them. Arguments: those until now."""

    def _read(
        self, placement: str, around: Surroundings, now: datetime, taken: Mapping[str, str]
    ) -> S_co:
        """The share of a placement, without the clusters that others have ``taken``."""
        known, key = self.shares.get(placement), self.placement_key(placement)
        if known is not None:
            live = known.live
        else:  # a placement that is named again was left alone until now
            until = now if self.shares else around.outages.began_at
            uid = self.spec.uid if self.spec is not None else ""
            live = open_rollout(self.ref, placement, uid, around, left_until=until, now=now)
        whole = read_placement(key, known.reading if known else None, taken, around, now=now)
        mine = without(whole, taken)
        share = self._share(placement, live, mine, around)
        share.overlapped = whole.selection.total - mine.selection.total
        return share

    def _agree(self, placement: str, around: Surroundings, now: datetime) -> None:
        share, available = self.shares[placement], self._availability(around)
        share.live.look(self._observed(placement))
        terms = self._terms(placement, around)
        if terms is not None:
            share.live.agree(terms, available, now)
            return
        # What it asks for is no new revision: what was agreed stays (row 26).
        if share.hold is None and (text := self._why_not(placement, around)):
            share.hold = Wait(Reason.MISCONFIGURED, text)
        reading = share.reading
        is_known = reading.hold is None
        share.live.reselect(reading.selection, is_known, around.outages, available, now=now)

    def sends_page(self, write: Create | Patch) -> None:
        """A page of its record is about to go out: the book is to know its own words again."""
        named = page_of(write.ref) if write.ref.kind is ROLLOUT_RECORD else None
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
                live, asked = share.live, hold or share.hold
                by = barred.get(live.revision, "")
                found[placement] = live.decide(asked, now, kept=kept, barred=by, closed=closed)
            return found

        before = _taken_back({name: share.live.head for name, share in self.shares.items()})
        found = decided(self.shares, before)
        begun = _taken_back({name: each.head for name, each in found.items()})
        if begun.keys() - before.keys():
            others = [name for name, each in found.items() if each.head.rollback is None]
            found |= decided(others, begun)
        return found

    def _availability(self, around: Surroundings) -> Callable[[str], bool]:
        """Whether a cluster was there to leave; one that only changed its owner did not leave."""
        return lambda cluster: cluster in self.members or around.is_available(cluster)

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
            lease=around.policy.lease,
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
            instead = f"take them out of the annotations, or have {names.SEMANTICS}: strict"
            return f"profile ocm measures nothing, and analyses are asked for ({listed}): {instead}"
        return around.unmeasurable(self.ref, self.intents)

    def advance(self, now: datetime) -> None:
        """Judge anew what time alone changes until this instant."""
        for share in self.shares.values():
            share.live.advance(now)

    def _note_basis(
        self,
        asked: WorkloadSpec,
        around: Surroundings,
        before: PlacementShare | None,
        now: datetime,
    ) -> None:
        """Remember when that last changed which membership follows from (row 16): which placements are
        named, and the spec of each. One that is made again with the same spec is no edit.

        ``before`` is the share that was the first until now: what it remembers goes on.
        """
        first = next(iter(self.shares.values()), None)
        if first is None:
            return
        if before is not None and not first.live.head.basis.of:
            first.live.remember(before.live.head)
        found = [around.placement(share.placement_key) for share in self.shares.values()]
        if None in found:
            return  # one that is gone says nothing of what a person wants
        there = [placement for placement in found if placement is not None]
        of = json_hash([[p.name, p.namespace, p.raw.get("spec")] for p in there])
        if (known := first.live.head.basis).of != of:
            older = generations(asked.generation, sum(p.generation for p in there))
            since = known.since if known.of in ("", older) else now
            first.live.remember(replace(first.live.head, basis=Basis(of, since)))

    def note_removal(
        self, cluster: str, window: timedelta, now: datetime, *, is_gone: bool = True
    ) -> None:
        """What was counted when it was planned is removed only now (row 16).

        ``is_gone`` False: nobody knows whether it was. It counts all the same.
        """
        first = next(iter(self.shares.values()), None)
        if first is not None:
            first.live.remember(first.live.head.removed(cluster, now, window, is_gone=is_gone))


def lives_of(workload: Workload[PlacementShare] | None) -> list[LiveRollout]:
    """The rollouts of its placements, in their order; none where it is not known."""
    return [share.live for share in workload.shares.values()] if workload else []
