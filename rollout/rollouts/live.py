"""One rollout: a workload over one placement, its terms, and what is decided now.

One (workload, placementRef): `Standings` has what is known of its clusters. All instants come from
outside, on the hub's clock.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from rollout.model.kinds import Obj, Ref
from rollout.model.waits import Wait
from rollout.rollouts.facts import Decided, Made, OcmStepMade, RetreatMade, StepMade
from rollout.rollouts.handover import carried_over, ended
from rollout.rollouts.head import Head, Rollback
from rollout.rollouts.holds import going_back, limits_of, revision_hold
from rollout.rollouts.line import NOT_BROUGHT, KeptContent, Retried, VerdictFound, targets_of
from rollout.rollouts.observations import reported_of
from rollout.rollouts.outages import Outages
from rollout.rollouts.record import Record
from rollout.rollouts.standings import Standings
from rollout.rollouts.terms import (
    Circumstances,
    Terms,
    differ_in_contents_alone,
    differ_in_time_alone,
    gates_of,
    heard,
    held_here,
    not_heard_in,
    open_only,
    other_contents,
    redirected,
    relevant_outages,
    reselected,
    rollout_on,
    timing_of,
    untouched_while_unsettled,
    with_next_look,
    with_rollback,
)
from rollout.rollouts.witness import Witness
from rollout.strategies.base import (
    NOTHING_CLOSED,
    Checkpoint,
    Closed,
    Phase,
    Rollout,
    Selection,
    Staging,
    Step,
)
from rollout.strategies.gates import Gates
from rollout.strategies.judge import Judgement, judge
from rollout.strategies.ledger import Ledger
from rollout.strategies.ocm_step import ocm_step, passed_by, waiting_shut, with_waiting
from rollout.strategies.retreat import Retreat, retreat
from rollout.strategies.stages import had_members

NOTHING_KEPT: Mapping[str, KeptContent] = {}


class LiveRollout(Standings):
    """The rollout of one workload over one placement: its clusters, its terms and what is decided."""

    def __init__(
        self, workload: Ref, placement: str, uid: str, now: datetime, namespace: str = ""
    ) -> None:
        super().__init__(workload, placement, uid, now, namespace=namespace)
        self.witness: Witness | None = None
        self.retreat: Retreat | None = None  # who goes back now, while a revision is taken back
        self.last = Step()  # the latest answer
        self.closed = NOTHING_CLOSED  # the clusters that were shut then
        self.carriers: Collection[str] | None = None  # clusters that carry anything; None: observed
        self._by_ocm: Mapping[str, Judgement] | None = (
            None  # who carries it, where OCM's rules decide
        )

    # -- terms ---------------------------------------------------------------------------------

    def restore(self, record: Record, now: datetime) -> None:
        """Go on from a record that was read back, before anything is agreed or observed."""
        self.lines = dict(record.lines)
        self._lost = {cluster for cluster, line in record.lines.items() if line.lost_from}
        head = record.head
        self.ledger.reset(
            Rollout(
                revision=head.revision,
                staging=Staging(),
                standings=self.present(),
                passed=head.passed,
            ),
            now,
        )

    def missed(self, begin: datetime, end: datetime) -> None:
        """Nobody looked after this rollout in this span: neither deadlines nor soaks ran."""
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
        open_ = self.ledger.open_standings() if before is not None else None
        outages = relevant_outages(head, terms.outages, open_, now)
        if before is not None and self._is_light(before, terms, outages, now):
            return
        was = not_heard_in(self.ledger.rollout, outages, terms.blind_since)
        for line in carried_over(before, terms, was.timing, self.lines, head=head, now=now):
            self._put(line)
        if terms.revision != self.head.revision:
            self._supersede(terms.revision, now)
        seen = self.head.seen | had_members(terms.spec, terms.selection)
        remembered = replace(self.head, seen=seen, outages=outages)
        self.book.set_head(remembered.waiving(terms.intents.waivers))
        may_be_empty = terms.intents.may_be_empty
        selection = replace(terms.selection, seen=seen, may_be_empty=may_be_empty)
        staging = terms.strategy.stages(terms.spec, selection)
        timing = timing_of(terms, outages)
        read = before.selection if before is not None and before.is_known else None
        if terms.is_known and read != terms.selection:
            self.part(staging, terms, timing, available, now=now)
        hold = self.ledger.rollout.hold
        rollout = rollout_on(
            terms, staging, self.present(), timing, head=self.head, lost=self.lost, hold=hold
        )
        self.ledger.reset(rollout, now)
        for cluster in sorted(self.lines):
            self.observe(cluster, self.line(cluster).seen, now)
        self._void_failures(now)

    def _is_light(
        self,
        before: Terms,
        terms: Terms,
        outages: tuple[tuple[datetime, datetime], ...],
        now: datetime,
    ) -> bool:
        """Agree on terms that differ in little, where they do, at the cost of what they differ in."""
        if differ_in_time_alone(before, terms):
            self._amend(terms, outages, now)
            return True
        if before.revision != terms.revision:
            return False
        changed = other_contents(before, terms)
        self.reopen(changed, terms)
        if not differ_in_contents_alone(before, terms):
            return False
        self.carry(terms, changed, now)
        return True

    def _amend(
        self, terms: Terms, outages: tuple[tuple[datetime, datetime], ...], now: datetime
    ) -> None:
        """Go on with the same clusters, stages and revision. Cost: the clusters of which time decides."""
        ledger = self.ledger
        known = [each for each in ledger.open_standings() if each.cluster in ledger]
        was = not_heard_in(ledger.rollout, outages, terms.blind_since)
        settled = ended(known, was.timing, now) if terms.as_ocm is None else {}
        self.book.set_head(replace(self.head, outages=outages))
        for cluster, standing in settled.items():
            self._take(cluster, VerdictFound(standing), now)
        strict = terms.intents.strict_tolerance
        timing = timing_of(terms, outages)
        ledger.amend(timing, terms.unsettled, now, strict_tolerance=strict)
        for standing in known:
            self.observe(standing.cluster, self.line(standing.cluster).seen, now)
        self._void_failures(now)

    def reselect(
        self,
        selection: Selection,
        known: bool,
        outages: Outages,
        available: Callable[[str], bool],
        now: datetime,
    ) -> None:
        """Go on as last agreed with other clusters: what is asked for now cannot be honoured."""
        standings = self.present().values()
        terms = reselected(self._terms, self.head, standings, selection, known=known)
        if terms is not None:
            self.agree(heard(terms, outages), available, now)

    def hear_of(self, outages: Outages, available: Callable[[str], bool], now: datetime) -> None:
        """Go on as last agreed, where nobody can say otherwise: the waits go on, and outages count in them."""
        if self._terms is not None:
            self.agree(heard(self._terms, outages), available, now)

    def settle_lost(self, selected: Container[str], touched: Iterable[str], now: datetime) -> None:
        """What was lost here and is another placement's now is that one's to judge (rows 17, 21).

        Args:
            selected: by another placement now. Until it has touched them, nothing is held against
                them here, and nothing forgotten: they may be dropped as they came.
            touched: what another placement has a standing for.
        """
        before = self.lost
        self.forget(touched, now)
        for line in [self.lines[cluster] for cluster in self._lost]:
            self._put(structs.replace(line, is_lent=line.cluster in selected))
        if self.lost != before:
            self.ledger.reset(structs.replace(self.ledger.rollout, lost=dict(self.lost)), now)

    def _supersede(self, revision: str, now: datetime) -> None:
        if self.head.revision:  # else the head was lost, and nobody can tell that it is another one
            self.forget(list(self._lost), now)
        self.book.set_head(self.head.superseded(revision, now))

    # -- decisions -----------------------------------------------------------------------------

    def advance(self, now: datetime) -> None:
        """Judge anew what time alone changes until this instant."""
        self.ledger.advance(now)

    def decide(
        self,
        hold: Wait | None,
        now: datetime,
        *,
        kept: Mapping[str, KeptContent] = NOTHING_KEPT,
        barred: str = "",
        closed: Closed = NOTHING_CLOSED,
    ) -> Decided:
        """What is to be done now. Nothing changes by asking. Arguments: as `Circumstances` has them."""
        given = Circumstances(hold=hold, now=now, kept=kept, barred=barred, closed=closed)
        first = self._decide(redirected(self.head, self._terms), given)
        if hold is not None:
            return replace(first, retreat=None)
        head = with_rollback(first, self._terms, self.revision, now)
        if head is None:
            return first
        again = self._decide(head, given)
        return replace(again, made=first.made + again.made)

    def take(self, decided: Decided, now: datetime) -> None:
        """Go on from this decision, which was asked for just now."""
        if self.witness is not None:
            for made in decided.made:
                self.witness.made(self.workload, self.placement, made, now)
        for cluster, standing in decided.settled.items():
            self._take(cluster, VerdictFound(standing), now)
        self.book.set_head(decided.head)
        for made in decided.made:
            if isinstance(made, StepMade):
                rollout, opened = made.rollout, decided.head.opened
                gates = tuple(gate for gate in rollout.checkpoints if gate.key not in opened)
                self.ledger.admit(decided.head.passed, rollout.hold, gates, rollout.shut)
        self._by_ocm = decided.by_ocm
        self.last, self.retreat, self.closed = decided.step, decided.retreat, decided.closed

    def step(
        self, hold: Wait | None, now: datetime, kept: Mapping[str, KeptContent] = NOTHING_KEPT
    ) -> Step:
        """Come to this instant, decide, and go on from there. Asked again at once, it touches the same."""
        self.advance(now)
        self.take(self.decide(hold, now, kept=kept), now)
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

    def _decide(self, head: Head, given: Circumstances) -> Decided:
        """One decision on the record as ``head`` has it."""
        terms, now, ledger = self._terms, given.now, self.ledger.at(given.now)
        gates = gates_of(terms, self.workload, self.placement, self.head)
        made: list[Made] = []
        held, back = None, None
        if terms is not None and head.rollback is None:
            held = held_here(terms, self.head, gates, given, staging=self.ledger.rollout.staging)
        elif terms is not None and head.rollback is not None:
            back = self._retreat(terms, head.rollback, given)
            made.append(back)
            held = going_back(head.rollback, back.retreat, terms.approvals, now, by=terms.intents)
        given = structs.replace(given, hold=given.hold or held)
        by_ocm: Mapping[str, Judgement] | None = None
        if terms is not None and terms.as_ocm is not None:
            answer, step, by_ocm = self._as_ocm(terms, terms.as_ocm, given)
            made.append(answer)
            step, settled = open_only(step, self.refused(now)), {}
        else:
            made.append(own := self._strict(head, gates, given, ledger))
            step = own.step
            settled = ledger.settled(step)
            head = head.advanced(step.passed, step.opened)
        if step.complete:
            head = head.finished()
        return Decided(
            workload=self.workload,
            placement=self.placement,
            hold=given.hold,
            step=with_next_look(step, terms, given.hold, now),
            retreat=untouched_while_unsettled(back.retreat, terms) if back and terms else None,
            head=head,
            settled=settled,
            lines=[structs.replace(self.line(c), standing=each) for c, each in settled.items()],
            by_ocm=by_ocm,
            made=tuple(made),
            closed=given.closed,
            ledger=ledger,
        )

    def _strict(
        self, head: Head, gates: Gates | None, given: Circumstances, ledger: Ledger
    ) -> StepMade:
        """The step by the rules of profile strict."""
        asked = structs.replace(
            self.ledger.rollout,
            passed=head.passed,
            hold=given.hold,
            checkpoints=self._checkpoints(gates, head, given.now),
            shut=given.closed.touch,
        )
        return StepMade(rollout=asked, step=ledger.answer(asked))

    def _checkpoints(
        self, gates: Gates | None, head: Head, now: datetime
    ) -> tuple[Checkpoint, ...]:
        if gates is None:
            return ()
        return gates.checkpoints(self.ledger.rollout.staging, head.opened, now)

    def _retreat(self, terms: Terms, back: Rollback, given: Circumstances) -> RetreatMade:
        """Who goes back now."""
        rollout = structs.replace(self.ledger.rollout, shut_back=given.closed.rollback)
        limits, now = limits_of(terms.intents), given.now
        targets = targets_of(rollout, self.lines, back.to, given.kept)
        found = retreat(rollout, targets, back.began, limits, now=now)
        return RetreatMade(
            rollout=rollout, targets=targets, began=back.began, limits=limits, retreat=found
        )

    def _void_failures(self, now: datetime) -> None:
        """A person asked to retry: what failed waits for another attempt, and bars are lifted."""
        terms = self._terms
        if terms is None or terms.intents.retry in ("", self.head.retried):
            return
        for cluster, standing in list(self.ledger.standings.items()):
            here = standing.revision == self.wanted(cluster) and cluster in self.ledger
            if not here or self.line(cluster).cause == NOT_BROUGHT:
                continue  # the latter has nothing to try: what it lacks comes first
            judged = judge(standing, standing.revision, self.ledger.rollout.timing, now)
            if judged.phase.is_failure:
                self._take(cluster, Retried(), now)
        still = revision_hold(self.revision, terms.intents, terms.approvals, now)
        self.book.set_head(self.head.retrying(terms.intents.retry, is_stopped=still is not None))

    def _as_ocm(
        self, terms: Terms, strategy: Obj, given: Circumstances
    ) -> tuple[OcmStepMade, Step, Mapping[str, Judgement]]:
        """OCM's answer follows from the works alone; the record only keeps who was touched."""
        groups, unrendered = terms.selection.groups, terms.unrendered
        reported = reported_of(self.observations, self.wanted)
        there = self.observations if self.carriers is None else self.carriers
        shut = waiting_shut(groups, given.closed.touch, reported, unrendered)
        hidden = passed_by(strategy, groups, unrendered, shut)
        others = [c for c in sorted(there) if c not in reported and c not in hidden]
        groups = terms.selection.without(hidden).groups if hidden else groups
        step, judged = ocm_step(
            strategy, groups, reported, hold=given.hold, now=given.now, others=others
        )
        answer = OcmStepMade(
            strategy=strategy,
            groups=groups,
            reported=reported,
            others=others,
            hold=given.hold,
            step=step,
        )
        judged |= dict.fromkeys(unrendered, Judgement(Phase.UNRENDERED))
        return answer, with_waiting(step, unrendered, shut, hidden), judged

    def remember(self, known: Head) -> None:
        """Note what ``known`` tells of edits, and of what has been removed lately (row 16)."""
        self.book.set_head(self.head.knowing(known))
