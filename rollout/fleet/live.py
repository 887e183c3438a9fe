"""How does one rollout stand, kept current observation by observation?

One (workload, placementRef): the ledger that steps are decided from, and the record that outlives the
process. It knows nothing of what carries a revision to a cluster: it is told `Observation` values.
All instants come from outside, on the hub's clock.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.fleet.book import RecordBook
from rollout.fleet.handover import carried_over
from rollout.fleet.losses import Losses
from rollout.fleet.observations import Observation, reported_of, stand
from rollout.fleet.rejections import Rejection, refusal
from rollout.fleet.rollbacks import Soaked
from rollout.fleet.terms import (
    Terms,
    misplaced_gate,
    places_in,
    relevant_outages,
    reselected,
    rollout_on,
    shut_gates,
    until_expiry,
)
from rollout.fleet.unbrought import NOT_BROUGHT, Unbrought
from rollout.fleet.witness import Witness
from rollout.model.kinds import Obj, Ref
from rollout.planning.holds import going_back, limits_of, revision_hold, why_back
from rollout.planning.record import Basis, Head, Line, Record, Rollback
from rollout.strategies.base import (
    Checkpoint,
    Health,
    Hold,
    Rollout,
    Selection,
    Settled,
    Staging,
    Standing,
    Step,
    Timing,
    Verdict,
)
from rollout.strategies.judge import concluded, judge
from rollout.strategies.ledger import Ledger
from rollout.strategies.ocm_step import ocm_step
from rollout.strategies.retreat import Retreat, retreat
from rollout.strategies.stages import had_members

UNKNOWN_STAGE = "?"  # a cluster left while nobody looked; it counts in the first stage


class LiveRollout:
    """The rollout of one workload over one placement."""

    def __init__(
        self, workload: Ref, placement: str, uid: str, now: datetime, namespace: str = ""
    ) -> None:
        self.workload, self.placement = workload, placement
        self.book = RecordBook(workload, placement, uid, namespace)
        self.observations: dict[str, Observation] = {}
        self.causes: dict[str, str] = {}
        self._unbrought = Unbrought(self.causes)
        self.rejections: dict[str, Rejection] = {}
        self.astray: set[str] = set()
        self.soaked = Soaked()
        self.witness: Witness | None = None
        self.retreat: Retreat | None = None  # who goes back now, while a revision is taken back
        self.losses = Losses()
        self._terms: Terms | None = None
        self.ledger = Ledger(Rollout("", Staging(), {}), now)
        self.last = Step()  # the latest answer

    # -- terms ---------------------------------------------------------------------------------

    @property
    def revision(self) -> str:
        return self.ledger.rollout.revision

    @property
    def head(self) -> Head:
        return self.book.head

    @property
    def lost(self) -> Mapping[str, str]:
        """What counts as lost: cluster to the key of its stage."""
        return self.losses.missed()

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

    def agree(self, terms: Terms, available: Callable[[str], bool], now: datetime) -> None:
        """Roll out on these terms from now on.

        A new revision starts with no stage passed and its budget whole; what is in flight on the old
        one stays in flight (row 18). ``available`` tells of a cluster that left whether it was
        reachable when it did (row 17).
        """
        if terms == self._terms:
            return
        before, self._terms = self._terms, terms
        was, head = self.ledger.rollout, self.head
        settled = carried_over(before, terms, was, self.observations, head, self.soaked, now)
        if terms.revision != self.head.revision:
            self._supersede(terms.revision)
        seen = self.head.seen | had_members(terms.spec, terms.selection)
        outages = relevant_outages(self.head, terms.outages, self.ledger.standings.values())
        self.book.set_head(replace(self.head, seen=seen, outages=outages))
        staging = terms.strategy.stages(terms.spec, replace(terms.selection, seen=seen))
        standings = {**self.ledger.standings, **settled}
        timing = Timing(terms.soak, terms.spec.deadline, terms.grace, outages)
        read = before.selection if before is not None and before.is_known else None
        if terms.is_known and read != terms.selection:
            self._part(standings, staging, terms.revision, timing, available, now)
        hold, passed = self.ledger.rollout.hold, self.head.passed
        rollout = rollout_on(terms, staging, standings, timing, passed, self.lost, hold)
        self.ledger.reset(rollout, now)
        for cluster in settled.keys() & standings.keys():
            self._write(cluster)
        for cluster in sorted(self.observations.keys() | standings.keys()):
            self.observe(cluster, self.observations.get(cluster), now)

    def reselect(
        self, selection: Selection, known: bool, available: Callable[[str], bool], now: datetime
    ) -> None:
        """Go on as last agreed with other clusters: what is asked for now cannot be honoured."""
        terms = reselected(self._terms, self.head.revision, selection, known)
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

    def _forget(self, cluster: str) -> None:
        """It is no cluster of this rollout, and nothing is held against it."""
        self.losses.discard(cluster)
        self.causes.pop(cluster, None)
        self._unbrought.forget(cluster)
        self.soaked.forget(cluster)
        self.book.set(cluster, None)

    def _supersede(self, revision: str) -> None:
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

    # -- facts ---------------------------------------------------------------------------------

    def observe(self, cluster: str, seen: Observation | None, now: datetime) -> None:
        """Take in what the cluster carries now (None: nothing)."""
        if seen is None:
            self.observations.pop(cluster, None)
        else:
            self.observations[cluster] = seen
        if cluster not in self.ledger:
            return
        if self.causes.get(cluster) == NOT_BROUGHT and (seen is None or seen.is_brought):
            again = self._unbrought.end(cluster)
            if again is None:
                self.ledger.drop(cluster, now)
            else:
                self.ledger.put(again, now)
            self._write(cluster)
        before = known = self.ledger.standings.get(cluster)
        if known is not None and known.revision != self.revision:
            # What came of an older revision stays: later trouble there takes no slot again.
            known = concluded(known, self.ledger.rollout.timing, now)
        # What was taken back is not taken over again: it is drift.
        wanted = "" if before is not None and self.head.gave(before) else self.revision
        after = stand(cluster, known, seen, wanted, now)
        is_new = after is not None and (before is None or before.revision != after.revision)
        if is_new and seen is not None and not seen.is_brought:
            self._unbrought.begin(cluster, before)
        elif after is not None and before is None:
            self.causes.setdefault(cluster, "Found")  # who touched it, and why, nobody wrote down
        if after is not None and after != before:
            if before is not None and after.revision != before.revision:
                self.soaked.note(before, self.ledger.rollout.timing, now)
            self.ledger.put(after, now)
            self._write(cluster)
        self._mark(cluster)

    def attempt(self, cluster: str, cause: str, now: datetime, revision: str = "") -> None:
        """A write of a revision ("": the present one) to this cluster is about to go out."""
        brought = revision or self.revision
        standing = self.ledger.standings.get(cluster)
        if standing is None or standing.revision != brought:
            undone = self.revision if brought != self.revision else ""
            self.soaked.note(standing, self.ledger.rollout.timing, now, undone)
        elif standing.verdict is not Verdict.RETRY:
            return
        self.causes[cluster] = cause
        self.ledger.put(Standing(cluster, brought, now, Health.SILENT, now), now)
        self._write(cluster)
        seen = self.observations.get(cluster)
        if seen is not None and seen.content == brought:
            self.observe(cluster, seen, now)  # no news may come of what is there already
        self._mark(cluster)

    def reject(self, cluster: str, message: str, now: datetime) -> None:
        """The server refused the write (row 19). It is tried again, more and more rarely."""
        self.rejections[cluster] = refusal(self.rejections.get(cluster), message, now)
        standing = self.ledger.standings.get(cluster)
        if standing is None or not (standing.revision == self.revision or self.head.gave(standing)):
            return
        if standing.health is not Health.FAILED and standing.verdict is not Verdict.SOAKED:
            refused = replace(standing, health=Health.FAILED, since=now, reason="WriteRejected")
            self.ledger.put(refused, now)
            self._write(cluster)

    def landed(self, cluster: str) -> None:
        """The write was accepted."""
        self.rejections.pop(cluster, None)

    # -- decisions -----------------------------------------------------------------------------

    def step(self, hold: Hold | None, now: datetime, kept: Container[str] = ()) -> Step:
        """Decide, and take the verdicts, stages and gates of the answer into the record.

        ``kept`` are the revisions that can be given back. Asked again at once, it touches the same.
        """
        self._void_failures(now)
        held = self._revision_hold(kept, now)
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

    def _strict(self, hold: Hold | None, now: datetime) -> Step:
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
        rollout, opened = self.ledger.rollout, self.head.opened
        return shut_gates(self._terms, self.placement, rollout, opened, now)

    def _revision_hold(self, kept: Container[str], now: datetime) -> Hold | None:
        """Why the present revision goes no further; sets `retreat` while it is taken back."""
        self.retreat = None
        terms, back, rollout = self._terms, self.head.rollback, self.ledger.rollout
        if terms is None:
            return None
        if back is None:
            asked = revision_hold(self.revision, terms.intents, terms.approvals, now)
            return asked or misplaced_gate(terms, self.placement, rollout.staging)
        targets = self.soaked.targets(rollout.standings, self.revision, back.to, kept)
        limits = limits_of(terms.intents)
        found = self.retreat = retreat(rollout, targets, back.began, limits, now)
        if self.witness is not None:
            self.witness.retreated(
                self.workload, self.placement, rollout, targets, back.began, limits, now, found
            )
        return going_back(back, found, terms.approvals, now)

    def _begin_rollback(self, held: Hold | None, now: datetime) -> bool:
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
        """A person asked to retry: what failed waits for another attempt, and the bar is lifted."""
        token = self._terms.intents.retry if self._terms is not None else ""
        if not token or token == self.head.retried:
            return
        for cluster, standing in list(self.ledger.standings.items()):
            here = standing.revision == self.revision and cluster in self.ledger
            if not here or self.causes.get(cluster) == NOT_BROUGHT:
                continue  # the latter has nothing to try: what it lacks comes first
            if judge(standing, self.revision, self.ledger.rollout.timing, now).phase.is_failure:
                self.rejections.pop(cluster, None)
                self.ledger.put(replace(standing, verdict=Verdict.RETRY), now)
                self._write(cluster)
        self.book.set_head(replace(self.head, retried=token, rollback=None))

    def _as_ocm(self, strategy: Obj, hold: Hold | None, now: datetime) -> Step:
        """OCM's answer follows from the works alone; the record only keeps who was touched."""
        assert self._terms is not None
        reported = reported_of(self.observations, self.revision)
        groups = self._terms.selection.groups
        step = ocm_step(strategy, groups, reported, hold, now)
        if self.witness is not None:
            self.witness.decided_as_ocm(
                self.workload, self.placement, strategy, groups, reported, hold, now, step
            )
        return step

    def _settle(self, verdict: Settled, now: datetime) -> None:
        standing = self.ledger.standings[verdict.cluster]
        settled = replace(standing, verdict=verdict.verdict, reason=verdict.reason)
        self.ledger.put(settled, now)
        self._write(verdict.cluster)

    def remember(self, basis: Basis, removals: tuple[tuple[datetime, int], ...]) -> None:
        """Note what membership follows from, and what has been removed lately (row 16)."""
        self.book.set_head(replace(self.head, basis=basis, removals=removals))

    def supposed(self, cluster: str) -> str:
        """The revision that this cluster is supposed to carry, "" where it was never touched."""
        standing = self.ledger.standings.get(cluster)
        return standing.revision if standing else ""

    def _write(self, cluster: str) -> None:
        standing = self.ledger.standings.get(cluster)
        lost = self.losses.stage_of(cluster)
        if standing is None and not lost:
            self.book.set(cluster, None)
        else:
            cause, soaked = self.causes.get(cluster, ""), self.soaked.of(cluster)
            self.book.set(cluster, Line(standing, cause, lost, soaked))

    def _mark(self, cluster: str) -> None:
        """Keep `astray`: clusters that do not carry what they are supposed to."""
        supposed = self.supposed(cluster)
        seen = self.observations.get(cluster)
        as_ocm = self._terms is not None and self._terms.as_ocm is not None
        if supposed and not as_ocm and (seen is None or seen.content != supposed):
            self.astray.add(cluster)
        else:
            self.astray.discard(cluster)
