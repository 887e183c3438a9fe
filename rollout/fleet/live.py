"""On what terms does one rollout go on, and what is decided now?

One (workload, placementRef): `Standings` has what is known of its clusters. All instants come from
outside, on the hub's clock.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.fleet.handover import carried_over
from rollout.fleet.observations import reported_of
from rollout.fleet.standings import Standings
from rollout.fleet.terms import (
    Terms,
    gates_of,
    not_heard_in,
    places_in,
    relevant_outages,
    reselected,
    rollout_on,
    timing_of,
    until_expiry,
)
from rollout.fleet.unbrought import NOT_BROUGHT
from rollout.fleet.witness import Witness
from rollout.model.kinds import Obj, Ref
from rollout.model.waits import Wait
from rollout.planning.holds import barred, going_back, limits_of, revision_hold, why_back
from rollout.planning.record import Basis, Record, Rollback
from rollout.strategies.base import (
    Checkpoint,
    Phase,
    Rollout,
    Selection,
    Staging,
    Standing,
    Step,
    Timing,
    Verdict,
)
from rollout.strategies.judge import Judgement, judge
from rollout.strategies.ocm_step import ocm_decision
from rollout.strategies.retreat import Retreat, retreat
from rollout.strategies.stages import had_members

UNKNOWN_STAGE = "?"  # a cluster left while nobody looked; it counts in the first stage


class LiveRollout(Standings):
    """The rollout of one workload over one placement: its clusters, its terms and what is decided."""

    def __init__(
        self, workload: Ref, placement: str, uid: str, now: datetime, namespace: str = ""
    ) -> None:
        super().__init__(workload, placement, uid, now, namespace)
        self.witness: Witness | None = None
        self.retreat: Retreat | None = None  # who goes back now, while a revision is taken back
        self.barred_in = ""  # another placement in which the present revision is taken back
        self._terms: Terms | None = None
        self.last = Step()  # the latest answer
        self.carriers: Collection[str] | None = None  # clusters that carry anything; None: observed
        self._by_ocm: Mapping[str, Judgement] | None = (
            None  # who carries it, where OCM's rules decide
        )

    # -- terms ---------------------------------------------------------------------------------

    def restore(self, record: Record, now: datetime) -> None:
        """Go on from a record that was read back, before anything is agreed or observed."""
        standings: dict[str, Standing] = {}
        for cluster, line in record.lines.items():
            if line.lost_from:
                self.losses.add(cluster, line.lost_from)
            elif line.standing is not None:
                standings[cluster] = line.standing
            if line.cause:
                self.causes[cluster] = line.cause
            self.soaked.restore(cluster, line.soaked)
        self.ledger.reset(
            Rollout(record.head.revision, Staging(), standings, passed=record.head.passed), now
        )

    def missed(self, begin: datetime, end: datetime) -> None:
        """Nobody looked after this rollout from the last word of its record until this process had read
        everything: neither deadlines nor soaks ran.
        """
        if begin < end:
            self.book.set_head(replace(self.head, outages=(*self.head.outages, (begin, end))))

    def agree(self, terms: Terms, available: Callable[[str], bool], now: datetime) -> None:
        """Roll out on these terms from now on.

        A new revision starts with no stage passed and its budget whole; what is in flight on the old
        one stays in flight (row 18). ``available`` tells of a cluster that left whether it was
        reachable when it did (row 17).
        """
        if terms == self._terms:
            return
        before, self._terms = self._terms, terms
        self._keeps_watch = terms.as_ocm is None
        head = self.head
        outages = relevant_outages(head, terms.outages, self.ledger.standings.values(), now)
        was = not_heard_in(self.ledger.rollout, outages, terms.blind_since)
        settled = carried_over(before, terms, was, self.observations, head, self.soaked, now)
        if terms.revision != self.head.revision:
            self._supersede(terms.revision)
        seen = self.head.seen | had_members(terms.spec, terms.selection)
        remembered = replace(self.head, seen=seen, outages=outages)
        self.book.set_head(remembered.waiving(terms.intents.waivers))
        may_be_empty = terms.intents.may_be_empty
        selection = replace(terms.selection, seen=seen, may_be_empty=may_be_empty)
        staging = terms.strategy.stages(terms.spec, selection)
        standings = {**self.ledger.standings, **settled}
        timing = timing_of(terms, outages)
        read = before.selection if before is not None and before.is_known else None
        if terms.is_known and read != terms.selection:
            self._part(standings, staging, terms.revision, timing, available, now)
        hold = self.ledger.rollout.hold
        rollout = rollout_on(terms, staging, standings, timing, self.head, self.lost, hold)
        self.ledger.reset(rollout, now)
        for cluster in settled.keys() & standings.keys():
            self._write(cluster)
        for cluster in sorted(self.observations.keys() | standings.keys()):
            self.observe(cluster, self.observations.get(cluster), now)

    def reselect(
        self, selection: Selection, known: bool, available: Callable[[str], bool], now: datetime
    ) -> None:
        """Go on as last agreed with other clusters: what is asked for now cannot be honoured."""
        terms = reselected(self._terms, self.head, selection, known)
        if terms is not None:
            self.agree(terms, available, now)

    def settle_lost(self, selected: Container[str], touched: Iterable[str], now: datetime) -> None:
        """What was lost here and is another placement's now is that one's to judge (rows 17, 21).

        Args:
            selected: by another placement now. Until it has touched them, nothing is held against
                them here, and nothing forgotten: they may be dropped as they came.
            touched: what another placement has a standing for.
        """
        before = self.lost
        for cluster in touched:
            self._forget(cluster)
        self.losses.lend(selected)
        if self.lost != before:
            self.ledger.reset(replace(self.ledger.rollout, lost=dict(self.lost)), now)

    def _supersede(self, revision: str) -> None:
        if self.head.revision:  # else the head was lost, and nobody can tell that it is another one
            for cluster in self.losses.all():
                self._forget(cluster)
        self.rejections.clear()
        self.book.set_head(self.head.superseded(revision))

    def _part(
        self,
        standings: dict[str, Standing],
        staging: Staging,
        revision: str,
        timing: Timing,
        available: Callable[[str], bool],
        now: datetime,
    ) -> None:
        """Take leave of clusters that are selected no more; one that comes back is lost no more."""
        members = places_in(staging)
        places = places_in(self.ledger.rollout.staging)
        for cluster in [c for c in standings if c not in members]:
            standing = standings.pop(cluster)
            self.rejections.pop(cluster, None)
            self.astray.discard(cluster)
            phase = judge(standing, revision, timing, now).phase
            at_stake = standing.revision == revision and (phase.holds_slot or phase.is_failure)
            if at_stake and not available(cluster):
                self.losses.add(cluster, places.get(cluster, UNKNOWN_STAGE))
                self.causes[cluster] = "Lost"
                self._write(cluster)
            else:
                self._forget(cluster)
        for cluster in self.losses.all() & members.keys():
            self.losses.discard(cluster)
            self.causes.pop(cluster, None)
            self.book.set(cluster, None)

    # -- decisions -----------------------------------------------------------------------------

    def step(self, hold: Wait | None, now: datetime, kept: Container[str] = ()) -> Step:
        """Decide, and take the verdicts, stages and gates of the answer into the record.

        ``kept`` are the revisions that can be given back. Asked again at once, it touches the same.
        """
        self._void_failures(now)
        held = self._revision_hold(kept, now)
        self._by_ocm = None
        if self._terms is not None and self._terms.as_ocm is not None:
            step = self._as_ocm(self._terms.as_ocm, hold or held, now)
        else:
            step = self._strict(hold or held, now)
        self.last = until_expiry(step, self._terms, now)
        if hold is not None:
            self.retreat = None
        elif self._begin_rollback(held, now):
            return self.step(hold, now, kept)
        return self.last

    def judgement(self, cluster: str) -> Judgement:
        """Where a selected cluster stands as of the last step, by the rules that decide here."""
        if self._by_ocm is None:
            return self.ledger.judgement(cluster)
        return self._by_ocm.get(cluster, Judgement(Phase.WAITING))

    def judgements(self) -> Iterable[Judgement]:
        """Where each cluster stands as of the last step; of OCM's rules: each that carries it."""
        return self.ledger.judgements() if self._by_ocm is None else self._by_ocm.values()

    def next_due(self) -> tuple[datetime, str] | None:
        """When time alone next changes how a cluster stands, and which; None if never."""
        if self._by_ocm is None:
            return self.ledger.next_due()
        dues = ((each.until, c) for c, each in self._by_ocm.items() if each.until is not None)
        return min(dues, default=None)

    def _strict(self, hold: Wait | None, now: datetime) -> Step:
        self.ledger.admit(self.head.passed, hold, self._checkpoints(now))
        step = self.ledger.step(now)
        if self.witness is not None:
            self.witness.decided(self.workload, self.placement, self.ledger.rollout, now, step)
        for verdict in step.settled:
            self._settle(verdict, now)
        if step.passed or step.opened:
            head = self.head
            passed, opened = head.passed | set(step.passed), head.opened | set(step.opened)
            self.book.set_head(replace(head, passed=passed, opened=opened))
            self.ledger.admit(passed, hold, self._checkpoints(now))
        return step

    def _checkpoints(self, now: datetime) -> tuple[Checkpoint, ...]:
        if self._terms is None:
            return ()
        gates = gates_of(self._terms, self.workload, self.placement)
        return gates.checkpoints(self.ledger.rollout.staging, self.head.opened, now)

    def _revision_hold(self, kept: Container[str], now: datetime) -> Wait | None:
        """Why the present revision goes no further; sets `retreat` while it is taken back."""
        self.retreat = None
        terms, back, rollout = self._terms, self.head.rollback, self.ledger.rollout
        if terms is None:
            return None
        if back is None:
            asked = revision_hold(self.revision, terms.intents, terms.approvals, now)
            asked = asked or barred(self.revision, self.barred_in)
            gates = gates_of(terms, self.workload, self.placement)
            return asked or gates.misplaced(rollout.staging, terms.selection)
        targets = self.soaked.targets(rollout.standings, self.revision, back.to, kept)
        limits = limits_of(terms.intents)
        found = retreat(rollout, targets, back.began, limits, now)
        # While the selection may be half written nothing is touched, not even to take it back.
        self.retreat = found if terms.unsettled is None else replace(found, touch=())
        if self.witness is not None:
            self.witness.retreated(
                self.workload, self.placement, rollout, targets, back.began, limits, now, found
            )
        return going_back(back, found, terms.approvals, now)

    def _begin_rollback(self, held: Wait | None, now: datetime) -> bool:
        """Begin to take the present revision back, where it is time to; whether that was so."""
        terms = self._terms
        if terms is None or not terms.keeps_templates or self.head.rollback is not None:
            return False
        cause = why_back(self.last, held, terms.intents)
        if not cause:
            return False
        to = terms.intents.undo_to if cause == "Undo" else ""
        self.book.set_head(replace(self.head, rollback=Rollback(self.revision, cause, now, to)))
        return True

    def _void_failures(self, now: datetime) -> None:
        """A person asked to retry: what failed waits for another attempt, and the bar is lifted, unless
        somebody still asks for what it came of.
        """
        terms = self._terms
        if terms is None or terms.intents.retry in ("", self.head.retried):
            return
        for cluster, standing in list(self.ledger.standings.items()):
            here = standing.revision == self.revision and cluster in self.ledger
            if not here or self.causes.get(cluster) == NOT_BROUGHT:
                continue  # the latter has nothing to try: what it lacks comes first
            if judge(standing, self.revision, self.ledger.rollout.timing, now).phase.is_failure:
                self.rejections.pop(cluster, None)
                self.ledger.put(replace(standing, verdict=Verdict.RETRY), now)
                self._write(cluster)
        still = revision_hold(self.revision, terms.intents, terms.approvals, now)
        back = self.head.rollback if still else None
        self.book.set_head(replace(self.head, retried=terms.intents.retry, rollback=back))

    def _as_ocm(self, strategy: Obj, hold: Wait | None, now: datetime) -> Step:
        """OCM's answer follows from the works alone; the record only keeps who was touched."""
        assert self._terms is not None
        reported = reported_of(self.observations, self.revision)
        groups = self._terms.selection.groups
        there = self.observations if self.carriers is None else self.carriers
        others = [c for c in sorted(there) if c not in reported]
        step, self._by_ocm = ocm_decision(strategy, groups, reported, hold, now, others)
        if self.witness is not None:
            self.witness.decided_as_ocm(
                self.workload, self.placement, strategy, groups, reported, others, hold, now, step
            )
        return step

    def remember(self, basis: Basis, removals: tuple[tuple[datetime, int], ...]) -> None:
        """Note what membership follows from, and what has been removed lately (row 16)."""
        self.book.set_head(replace(self.head, basis=basis, removals=removals))
