"""How does each cluster of one rollout stand, as observations, writes and verdicts come in?

What is known is kept twice: in the ledger, from which steps are decided, and in the lines of the record,
which outlive the process. All instants come from outside, on the hub's clock.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.fleet.book import RecordBook
from rollout.fleet.losses import Losses
from rollout.fleet.observations import Observation, stand
from rollout.fleet.rejections import Rejection, refusal
from rollout.fleet.rollbacks import Soaked
from rollout.fleet.terms import Terms, places_in
from rollout.fleet.unbrought import NOT_BROUGHT, Unbrought
from rollout.model.kinds import Ref
from rollout.planning.record import Head, Line
from rollout.strategies.base import Health, Rollout, Staging, Standing, Timing, Verdict
from rollout.strategies.judge import concluded, judge
from rollout.strategies.ledger import Ledger

UNKNOWN_STAGE = "?"  # a cluster left while nobody looked; it counts in the first stage


class Standings:
    """The clusters of one workload over one placement. It knows nothing of what carries a revision to a
    cluster: it is told `Observation` values.
    """

    def __init__(
        self, workload: Ref, placement: str, uid: str, now: datetime, namespace: str = ""
    ) -> None:
        self.workload, self.placement = workload, placement
        self.book = RecordBook(workload, placement, uid, namespace)
        self.ledger = Ledger(Rollout("", Staging(), {}), now)
        self.observations: dict[str, Observation] = {}
        self.causes: dict[str, str] = {}
        self._unbrought = Unbrought(self.causes)
        self.rejections: dict[str, Rejection] = {}
        self.astray: set[str] = set()
        self.soaked = Soaked()
        self.losses = Losses()
        self._keeps_watch = True  # over what the clusters carry
        self.is_blind: Callable[[], bool] = lambda: False  # whether news may be missing now

    @property
    def revision(self) -> str:
        return self.ledger.rollout.revision

    def wanted(self, cluster: str) -> str:
        """The content that the cluster is to carry."""
        return self.ledger.rollout.wanted(cluster)

    @property
    def head(self) -> Head:
        return self.book.head

    @property
    def lost(self) -> Mapping[str, str]:
        """What counts as lost: cluster to the key of its stage."""
        return self.losses.missed()

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
        before = self.ledger.standings.get(cluster)
        present = self.wanted(cluster)
        # What was taken back is not taken over again: it is drift.
        wanted = "" if before is not None and self.head.gave(before) else present
        missed = self.is_blind()
        after = stand(cluster, before, seen, wanted, now, missed=missed)
        if before is not None and after != before and before.revision != present:
            # What came of an older revision stays: later trouble there takes no slot again.
            known = concluded(before, self.ledger.rollout.timing, now)
            after = stand(cluster, known, seen, wanted, now, missed=missed)
        is_new = after is not None and (before is None or before.revision != after.revision)
        if is_new and seen is not None and not seen.is_brought:
            self._unbrought.begin(cluster, before)
        elif after is not None and before is None:
            self.causes.setdefault(cluster, "Found")  # who touched it, and why, nobody wrote down
        if after is not None and is_new and after.revision == present:
            after = replace(after, made_for=self._made_for(present))
        if after is not None and after != before:
            if before is not None and after.revision != before.revision:
                self.soaked.note(before, self.ledger.rollout.timing, now)
            self.ledger.put(after, now)
            self._write(cluster)
        self._mark(cluster)

    def attempt(self, cluster: str, cause: str, now: datetime, revision: str = "") -> None:
        """A write of a revision ("": the present one) to this cluster is about to go out."""
        present = self.wanted(cluster)
        brought = revision or present
        standing = self.ledger.standings.get(cluster)
        if standing is None or standing.revision != brought:
            undone = present if brought != present else ""
            self.soaked.note(standing, self.ledger.rollout.timing, now, undone)
        elif standing.verdict is not Verdict.RETRY:
            return
        self.causes[cluster] = cause
        made_for = "" if revision else self._made_for(present)
        touched = Standing(cluster, brought, now, Health.SILENT, now, made_for=made_for)
        self.ledger.put(touched, now)
        self._write(cluster)
        seen = self.observations.get(cluster)
        if seen is not None and seen.content == brought:
            self.observe(cluster, seen, now)  # no news may come of what is there already
        self._mark(cluster)

    def reject(self, cluster: str, message: str, now: datetime, *, fails: bool = True) -> None:
        """The server refused the write (row 19). It is tried again, more and more rarely.

        ``fails``: the cluster goes without what it is supposed to have.
        """
        self.rejections[cluster] = refusal(self.rejections.get(cluster), message, now)
        standing = self.ledger.standings.get(cluster)
        if (
            not fails
            or standing is None
            or not (standing.revision == self.wanted(cluster) or self.head.gave(standing))
        ):
            return
        if standing.health is not Health.FAILED and standing.verdict is not Verdict.SOAKED:
            refused = replace(standing, health=Health.FAILED, since=now, reason="WriteRejected")
            self.ledger.put(refused, now)
            self._write(cluster)

    def refused(self, now: datetime) -> dict[str, datetime]:
        """Clusters at which the server refused what they are to carry now, and when each is tried again."""
        return {
            cluster: each.retry_at
            for cluster, each in self.rejections.items()
            if each.retry_at > now and self.supposed(cluster) == self.wanted(cluster)
        }

    def landed(self, cluster: str) -> None:
        """The write was accepted."""
        self.rejections.pop(cluster, None)

    def supposed(self, cluster: str) -> str:
        """The revision that this cluster is supposed to carry, "" where it was never touched."""
        standing = self.ledger.standings.get(cluster)
        return standing.revision if standing else ""

    def carries(self, cluster: str) -> bool:
        """Whether the cluster carries what the present revision is to bring there."""
        seen = self.observations.get(cluster)
        return seen is not None and seen.content == self.wanted(cluster)

    def _made_for(self, content: str) -> str:
        """The revision that a touch with this content is made for, where the content does not say it."""
        return "" if content == self.revision else self.revision

    def carry(self, terms: Terms, changed: Collection[str], now: datetime) -> None:
        """Go on with other contents on some clusters. Cost: these clusters."""
        self.ledger.carry(terms.contents, terms.unrendered, changed, now)
        for cluster in changed:
            self.observe(cluster, self.observations.get(cluster), now)

    def reopen(self, changed: Collection[str], terms: Terms) -> None:
        """What clusters are to carry has changed within a revision: their stages have to pass anew, so
        that it goes to the fleet in the order of the stages, like any other change.
        """
        rendered = [c for c in changed if terms.contents.get(c) and c in self.ledger.standings]
        if not rendered or not self.head.passed:
            return
        places = places_in(self.ledger.rollout.staging)
        stages = {places[c] for c in rendered if c in places}
        if stages & self.head.passed:
            self.book.set_head(replace(self.head, passed=self.head.passed - stages))

    def part(
        self,
        standings: dict[str, Standing],
        staging: Staging,
        terms: Terms,
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
            phase = judge(standing, standing.revision, timing, now).phase
            was = self.ledger.rollout
            is_wanted = was.revision == terms.revision and was.wanted(cluster) == standing.revision
            is_mine = standing.of_revision == terms.revision or is_wanted
            at_stake = is_mine and (phase.holds_slot or phase.is_failure)
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

    def _forget(self, cluster: str) -> None:
        """It is no cluster of this rollout, and nothing is held against it."""
        self.losses.discard(cluster)
        self.causes.pop(cluster, None)
        self._unbrought.forget(cluster)
        self.soaked.forget(cluster)
        self.book.set(cluster, None)

    def _write(self, cluster: str) -> None:
        standing = self.ledger.standings.get(cluster)
        lost = self.losses.stage_of(cluster)
        if standing is None and not lost:
            self.book.set(cluster, None)
        else:
            self.book.set(cluster, self._line(cluster, standing))

    def _line(self, cluster: str, standing: Standing | None) -> Line:
        """What the record says of a cluster that stands so."""
        cause, lost = self.causes.get(cluster, ""), self.losses.stage_of(cluster)
        return Line(standing, cause, lost, self.soaked.of(cluster))

    def _mark(self, cluster: str) -> None:
        """Keep `astray`: clusters that do not carry what they are supposed to."""
        supposed = self.supposed(cluster)
        seen = self.observations.get(cluster)
        if supposed and self._keeps_watch and (seen is None or seen.content != supposed):
            self.astray.add(cluster)
        else:
            self.astray.discard(cluster)
