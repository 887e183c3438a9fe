"""Keeps the line of each cluster of one rollout, as observations, writes and verdicts come in.

What is known of a cluster is one `Line`; the ledger, from which steps are decided, and the record's pages,
which outlive the process, follow from the lines. All instants come from outside, on the hub's clock.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from rollout.model.kinds import Ref
from rollout.rollouts.book import RecordBook
from rollout.rollouts.handover import measured_anew
from rollout.rollouts.head import Head
from rollout.rollouts.line import (
    CameBack,
    Course,
    Forgotten,
    Line,
    LineEvent,
    Lost,
    Refused,
    Seen,
    Touched,
    next_line,
)
from rollout.rollouts.observations import Observation
from rollout.rollouts.outages import Outages
from rollout.rollouts.rejections import RefusedWrite
from rollout.rollouts.terms import Terms, joined, places_in
from rollout.strategies.base import Rollout, Staging, Standing, Timing
from rollout.strategies.judge import judge
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
        self.ledger = Ledger(Rollout(revision="", staging=Staging(), standings={}), now)
        self.lines: dict[str, Line] = {}
        # What is looked up in the lines, kept with them:
        self.astray: set[str] = set()  # do not carry what they are supposed to
        self.rejections: dict[str, RefusedWrite] = {}
        self._lost: set[str] = set()
        self._carriers = Counter[str]()  # content -> how many clusters carry it
        self._keeps_watch = True  # over what the clusters carry
        self.outages = Outages()  # of this process, as they are known now
        self._terms: Terms | None = None  # the latest that were agreed

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
        lost = (self.lines[cluster] for cluster in sorted(self._lost))
        return {line.cluster: line.lost_from for line in lost if not line.is_lent}

    @property
    def all_lost(self) -> frozenset[str]:
        """Those that another placement selects now included."""
        return frozenset(self._lost)

    @property
    def observations(self) -> Mapping[str, Observation]:
        """What each cluster carries, where it carries anything."""
        return {c: line.seen for c, line in self.lines.items() if line.seen is not None}

    def carrying(self, content: str) -> int:
        """How many clusters carry this content. Counted as they change: it is asked after every pass."""
        return self._carriers[content]

    def line(self, cluster: str) -> Line:
        """What is known of a cluster; a blank one where nothing is."""
        return self.lines.get(cluster) or Line(cluster=cluster)

    def newest_soaked(self) -> set[str]:
        """What some cluster would get back: templates that must be kept."""
        return {line.soaked[0] for line in self.lines.values() if line.soaked}

    def all_soaked(self) -> set[str]:
        """What some cluster could get back, the earlier ones included."""
        return {content for line in self.lines.values() for content in line.soaked}

    # -- what happens --------------------------------------------------------------------------

    def look(self, observations: Mapping[str, Observation]) -> None:
        """These clusters carry this, and no others carry anything. What follows from it is for `agree`."""
        for cluster in self.lines.keys() | observations.keys():
            line, seen = self.line(cluster), observations.get(cluster)
            if line.seen != seen:
                self._put(structs.replace(line, seen=seen))

    def remember_soaked(self, cluster: str, soaked: tuple[str, ...]) -> None:
        """These contents soaked there while another placement had it."""
        self._put(structs.replace(self.line(cluster), soaked=soaked))

    def observe(self, cluster: str, seen: Observation | None, now: datetime) -> None:
        """Take in what the cluster carries now (None: nothing)."""
        if cluster in self.ledger:
            self._take(cluster, Seen(seen), now)
        else:
            self._put(structs.replace(self.line(cluster), seen=seen))

    def attempt(self, cluster: str, cause: str, now: datetime, revision: str = "") -> None:
        """A write of a revision ("": the present one) to this cluster is about to go out."""
        self._take(cluster, Touched(cause, revision), now)

    def reject(
        self,
        cluster: str,
        message: str,
        now: datetime,
        *,
        fails: bool = True,
        is_attempt: bool = False,
    ) -> None:
        """The server refused the write (row 19). It is tried again, more and more rarely.

        ``fails``: the cluster goes without what it is supposed to have. ``is_attempt``: it was the first
        write of an attempt.
        """
        self._take(cluster, Refused(message, fails, is_attempt), now)

    def landed(self, cluster: str) -> None:
        """The write was accepted."""
        if cluster in self.rejections:
            self._put(structs.replace(self.line(cluster), refusal=None))

    def rejection(self, cluster: str) -> RefusedWrite | None:
        """What the server refused there, where it is still what the cluster is supposed to carry: the pause
        after a refusal holds for the content that was refused, and no other one waits for it (L5).
        """
        if cluster not in self.rejections:
            return None
        return self.line(cluster).refused(self.wanted(cluster))

    def refused(self, now: datetime) -> dict[str, datetime]:
        """Clusters at which the server refused what they are to carry now, and when each is tried again."""
        return {
            cluster: each.retry_at
            for cluster, each in self.rejections.items()
            if each.retry_at > now
            and each.content == self.supposed(cluster) == self.wanted(cluster)
        }

    def supposed(self, cluster: str) -> str:
        """The revision that this cluster is supposed to carry, "" where it was never touched."""
        return self.line(cluster).supposed

    def carries(self, cluster: str) -> bool:
        """Whether the cluster carries what the present revision is to bring there."""
        seen = self.line(cluster).seen
        return seen is not None and seen.content == self.wanted(cluster)

    def carry(self, terms: Terms, changed: Collection[str], now: datetime) -> None:
        """Go on with other contents on some clusters. Cost: these clusters."""
        for cluster in changed:
            line = measured_anew(self.line(cluster), terms)
            if line.present is not None and line is not self.line(cluster):
                self.ledger.put(line.present, now)
                self._put(line)
        self.ledger.carry(terms.contents, terms.unrendered, changed, now)
        for cluster in changed:
            self.observe(cluster, self.line(cluster).seen, now)

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
        staging: Staging,
        terms: Terms,
        timing: Timing,
        available: Callable[[str], bool],
        now: datetime,
    ) -> None:
        """Take leave of clusters that are selected no more; one that comes back is lost no more."""
        members, was = places_in(staging), self.ledger.rollout
        places = places_in(was.staging)
        present = self.present()
        for cluster in [c for c in present if c not in members]:
            standing = present[cluster]
            phase = judge(standing, standing.revision, timing, now).phase
            is_wanted = was.revision == terms.revision and was.wanted(cluster) == standing.revision
            is_mine = standing.of_revision == terms.revision or is_wanted
            at_stake = is_mine and (phase.holds_slot or phase.is_failure)
            if at_stake and not available(cluster):
                left: LineEvent = Lost(places.get(cluster, UNKNOWN_STAGE), terms.revision)
            else:
                left = Forgotten()
            self._put(self._next(cluster, left, now))
        for cluster in self._lost & members.keys():
            self._put(self._next(cluster, CameBack(), now))

    def present(self) -> dict[str, Standing]:
        """How each cluster stands that was touched, and is not lost."""
        found = ((cluster, line.present) for cluster, line in self.lines.items())
        return {cluster: standing for cluster, standing in found if standing is not None}

    def forget(self, clusters: Iterable[str], now: datetime) -> None:
        """They are no clusters of this rollout, and nothing is held against them."""
        for cluster in clusters:
            self._put(self._next(cluster, Forgotten(), now))

    # -- one line ------------------------------------------------------------------------------

    def _take(self, cluster: str, event: LineEvent, now: datetime) -> None:
        """Something happens to a cluster of this rollout."""
        line = self._next(cluster, event, now)
        before, after = self.ledger.standings.get(cluster), line.present
        if after is None:
            if before is not None:
                self.ledger.drop(cluster, now)
        elif after is not before:
            self.ledger.put(after, now)
        self._put(line)

    def _next(self, cluster: str, event: LineEvent, now: datetime) -> Line:
        rollout = self.ledger.rollout
        course = Course(
            revision=rollout.revision,
            content=rollout.wanted(cluster),
            timing=self._timing(now),
            rollback=self.book.head.rollback,
            is_missed=self.outages.blind_since is not None,
        )
        return next_line(self.line(cluster), event, course, now)

    def _timing(self, now: datetime) -> Timing:
        """The waits as agreed, with what is known by now of when nobody heard: that is agreed on only in a
        moment, and what is taken in until then must not be judged without it.
        """
        timing, known = self.ledger.rollout.timing, self.outages
        blind, agreed = known.blind_since, self._terms.outages if self._terms else ()
        if blind is not None and blind < (timing.blind_since or now):
            timing = replace(timing, blind_since=blind)
        if known.spans != agreed:
            timing = replace(timing, outages=tuple(joined({*timing.outages, *known.spans})))
        return timing

    def _put(self, line: Line) -> None:
        """Keep a line, and what follows from it but for the ledger."""
        cluster, before = line.cluster, self.line(line.cluster)
        if line.is_blank:
            self.lines.pop(cluster, None)
        else:
            self.lines[cluster] = line
        if (left := before.carried) != (came := line.carried):
            self._count(left, -1)
            self._count(came, 1)
        if not line.is_told_as(before):
            self._write(line)
        if line.refusal is not None:
            self.rejections[cluster] = line.refusal
        else:
            self.rejections.pop(cluster, None)
        (self._lost.add if line.lost_from else self._lost.discard)(cluster)
        is_astray = self._keeps_watch and line.is_astray and cluster in self.ledger
        (self.astray.add if is_astray else self.astray.discard)(cluster)

    def _count(self, content: str, by: int) -> None:
        """Keep `carrying`."""
        if content:
            self._carriers[content] += by
            if not self._carriers[content]:
                del self._carriers[content]

    def _write(self, line: Line) -> None:
        self.book.set(line.cluster, line if line.is_remembered else None)
