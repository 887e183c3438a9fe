"""Where does each cluster stand, by a plain reading of what the engine was told?

What is uncertain of a cluster is judged by whichever favours the engine (see `tests.safety.tracks`).
Source: docs/semantics.md rows 5-12, 17, 18, 20.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from tests.safety import wishes
from tests.safety.asked import Said
from tests.safety.subject import Carried
from tests.safety.terms import GRACE, LEASE, Groups, Plan, Stage, Terms, stages_of
from tests.safety.tracks import LONG_AGO, Track
from tests.safety.way_back import WayBack

Span = tuple[datetime, datetime]


@dataclass(slots=True)
class Rollout:
    """One placement. ``sure``: since this revision began, nothing was uncertain.

    ``total`` counts what it selects, with what others own. ``carries``: what a cluster has.
    ``noted``: the outages that the engine cannot have forgotten. ``blind_since``: since when it may
    miss news, so that time decides nothing (row 20).
    """

    name: str
    terms: Terms | None = None
    groups: Groups | None = None
    total: int = 0
    named: frozenset[str] = frozenset()
    hold: str = ""
    bad: str = ""  # why what is asked for now cannot be honoured
    quiet_until: datetime | None = None
    leaving: bool = False  # some of the groups are in no decision any more
    waived: dict[str, str] = field(default_factory=dict)  # who is skipped, and for which revision
    unwritten: set[str] = field(default_factory=set)  # of those, what a crash makes forgotten
    tracks: dict[str, Track] = field(default_factory=dict)
    departed: dict[str, Track] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    lent: set[str] = field(default_factory=set)  # of those, what another one selects now
    passed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    plan: Plan = field(default_factory=lambda: Plan((), None, ""))
    outages: list[Span] = field(default_factory=list)
    noted: list[Span] = field(default_factory=list)
    blind_since: Callable[[], datetime | None] = lambda: None
    known_terms: bool = False  # the engine has agreed on the terms itself
    tried: dict[tuple[str, str], datetime] = field(default_factory=dict)  # first attempts
    planned: dict[tuple[str, str], datetime] = field(default_factory=dict)  # latest plans
    carries: Callable[[str], Carried | None] = lambda _: None
    available: Callable[[str], bool] = lambda _: True
    sure: bool = True
    halted: bool = False  # paused or frozen, when the engine takes no stage for passed
    doubt: bool = False  # a stage that the model takes for passed may not have been
    fingerprint: str = ""
    said: Said = field(default_factory=Said)
    opened: set[tuple[str, str]] = field(default_factory=set)  # gate, key of its stage
    retried: str = ""
    back: WayBack = field(default_factory=WayBack)

    @property
    def terms_revision(self) -> str:
        return self.terms.revision if self.terms else ""

    @property
    def selected(self) -> set[str]:
        return {c for members in (self.groups or {}).values() for c in members}

    @property
    def unsettled(self) -> bool:
        """Whether decisions that others write may still be half written, and that matters (row 15)."""
        unquiet = self.quiet_until is not None and self.terms is not None
        return unquiet and (self.leaving or (self.terms is not None and self.terms.is_ordered))

    # -- one cluster ---------------------------------------------------------------------------

    def seen_until(self, now: datetime) -> datetime:
        """Up to when time decides."""
        blind = self.blind_since()
        return now if blind is None else min(now, blind)

    def deadline(self, begin: datetime, outages: Iterable[Span]) -> datetime | None:
        """When success must have been reached, at the latest."""
        if self.terms is None or self.terms.deadline is None:
            return None
        limit, over = begin + self.terms.deadline, begin
        for out, back in sorted(outages):
            if back > over and out < limit:
                limit += back - max(out, over)
                over = back  # of spans that overlap no time counts twice
        return limit

    def _surely_noted(self, track: Track) -> list[Span]:
        """The outages that the engine goes by in any case. One that was over but for its last span of
        lease when the cluster was touched counts only once terms are agreed anew.
        """
        if not track.exact:
            return []
        return [span for span in self.noted if span[1] - LEASE > track.first]

    def has_soaked(self, track: Track, now: datetime) -> bool:
        soak = self.terms.soak if self.terms and self.known_terms else None
        if soak is None or track.soaked:
            return track.soaked
        return track.health == "succeeded" and self.seen_until(now) - track.since >= soak

    def is_free(self, track: Track, now: datetime) -> bool:
        """It may have finally failed, so that it holds no slot."""
        if track.ended:
            return True
        now = self.seen_until(now)
        limit = self.deadline(track.first, self._surely_noted(track))
        if track.health == "succeeded":
            return limit is not None and track.late > limit
        if limit is not None and now >= limit:
            return True
        return track.health == "failed" and limit is None and now - track.since >= GRACE

    def is_failure(self, track: Track, now: datetime) -> bool:
        """It counts against the budget, however one reads it."""
        if self.has_soaked(track, now):
            return False
        limit = self.deadline(track.last, self.outages)
        if track.failed:
            return True
        now = self.seen_until(now)
        if track.health == "succeeded":
            return limit is not None and track.since > limit
        if limit is not None and now >= limit:
            return True
        return track.health == "failed" and now - track.late >= GRACE

    def in_flight(self, cluster: str, now: datetime) -> bool:
        """It holds a slot, however one reads it."""
        if self.terms and cluster in self.terms.skip:
            return False
        track = self.tracks.get(cluster)
        while track is not None and not track.landed:
            track = track.before
        if track is None or track.void or track.maybe_void:
            return False
        return not self.has_soaked(track, now) and not self.is_free(track, now)

    def is_done(self, cluster: str, now: datetime) -> bool:
        """Soaked or finally failed on the present revision, or skipped, in the friendliest reading."""
        if self.terms is None or cluster in self.terms.skip:
            return True
        track = self.tracks.get(cluster)
        if track is None or track.revision != self.terms.revision or track.void:
            return False
        return self.has_soaked(track, now) or self.is_free(track, now)

    def next_change(self, now: datetime) -> tuple[datetime, str] | None:
        """When time alone next changes what is known of a cluster in flight, and which; surely."""
        found: list[tuple[datetime, str]] = []
        for cluster, track in self.tracks.items():
            if not (track.exact and track.landed and self.terms) or track.soaked or track.ended:
                continue
            if track.void or track.maybe_void:
                continue
            if cluster in self.terms.skip:
                continue
            limit = self.deadline(track.first, self.outages)
            if track.health == "succeeded":
                found.append((track.since + self.terms.soak, cluster))
                continue
            if limit is not None:
                found.append((limit, cluster))
            if track.health == "failed":
                found.append((track.since + GRACE, cluster))
        return min((item for item in found if item[0] > now), default=None)

    def is_maybe(self, cluster: str) -> bool:
        """Whether it is not known if its attempt counts."""
        track = self.tracks.get(cluster)
        return track is not None and track.maybe_void

    def current(self, cluster: str, *, surely: bool = True) -> Track | None:
        """The track, where it is on the present revision, and its attempt counts (or may count)."""
        track = self.tracks.get(cluster)
        if track is None or self.terms is None or track.void or (surely and track.maybe_void):
            return None
        return track if track.revision == self.terms.revision else None

    def may_be_failure(self, track: Track, now: datetime) -> bool:
        """It counts against the budget, by one way to read it."""
        if track.soaked:
            return False
        stands = track.health == "failed" and self.seen_until(now) - track.since >= GRACE
        return stands or self.is_free(track, now) or self.is_failure(track, now)

    def failures(self, stage: Stage | None, now: datetime, *, surely: bool = True) -> int:
        """In one stage, or in all."""
        members = stage.members if stage else [c for s in self.plan.stages for c in s.members]
        counts = self.is_failure if surely else self.may_be_failure
        found = sum(1 for c in members if (t := self.current(c)) and counts(t, now))
        keys = [s.key for s in self.plan.stages]
        for home in (home for cluster, home in self.lost.items() if cluster not in self.lent):
            at = home if home in keys else (keys[0] if keys else "")
            found += stage is None or stage.key == at
        return found

    def breach(self, now: datetime, *, surely: bool = True) -> bool:
        """Whether observed failures exceed a budget."""
        plan = self.plan
        if plan.budget is not None and self.failures(None, now, surely=surely) > plan.budget:
            return True
        return any(
            s.budget is not None and self.failures(s, now, surely=surely) > s.budget
            for s in plan.stages
        )

    def may_have_passed(self, stage: Stage, now: datetime) -> bool:
        if stage.key in self.passed:
            return True
        members = [c for c in stage.members if self.terms and c not in self.terms.skip]
        if stage.mandatory:
            tracks = [self.current(c, surely=False) for c in members]
            soaked = all(t is not None and self.has_soaked(t, now) for t in tracks)
            return soaked and not self.failures(stage, now)
        return all(self.is_done(c, now) for c in members) and not self.breach(now)

    # -- what happens --------------------------------------------------------------------------

    def agree(self, terms: Terms, now: datetime) -> None:
        """Take in what is asked for now. The groups have been read before."""
        self.bad = terms.bad
        if terms.bad:
            self.hold = self.hold or terms.bad
            if self.terms is None:
                return
            terms = self.terms
        if self.known_terms:
            for track in self.tracks.values():
                self._settle(track, now)  # what has ended on the terms so far stays so (row 11)
        self.known_terms = self.known_terms or not self.bad
        if self.terms is None or terms.revision != self.terms.revision:
            self.passed.clear()
            self.seen.clear()
            self.lost.clear()
            self.sure = all(t.exact for t in self.tracks.values())
            self.opened.clear()
            self.doubt = False
            self.back.begin_anew()
        self.terms = terms if self.bad else self._waive(terms)
        terms = self.terms
        groups = self.groups or {}
        places = {c: s.key for s in self.plan.stages for c in s.members}
        had = {g for (_, g), members in groups.items() if members and g in terms.mandatory}
        self.seen |= had
        self.plan = stages_of(terms, groups, self.named, frozenset(self.seen))
        self.hold = self.hold or self.plan.hold or wishes.misplaced(self)
        for cluster, track in list(self.tracks.items()):
            self._return(cluster, track, now)
        if self.groups is not None:
            self._part(places, now)
            self._adopt(now)
        for track in self.tracks.values():
            self._settle(track, now)
        wishes.retry(self, now)
        wishes.note_reason(self, now)
        self.doubt = self.doubt or bool(wishes.stop(self)) or self.back.has_reason
        self._pass(now)

    def _waive(self, terms: Terms) -> Terms:
        """A waiver is for the revision that it names, or that was current when it was first seen."""
        plain = {c for c, of in terms.waivers.items() if "" in of}
        self.unwritten = (self.unwritten & plain) | (plain - self.waived.keys())
        self.waived = {c: self.waived.get(c, terms.revision) for c in plain}
        named = {c for c, of in terms.waivers.items() if self.fingerprint in of}
        first = {c for c, revision in self.waived.items() if revision == terms.revision}
        return replace(terms, skip=frozenset(named | first))

    def _pass(self, now: datetime) -> None:
        """Note the stages that may have passed, and the gates that may have opened."""
        for stage in self.plan.stages:
            if self.hold or self.unsettled:
                break
            wishes.open_gates(self, stage, "before")
            if not self.may_have_passed(stage, now):
                break
            wishes.open_gates(self, stage, "after")
            if wishes.shut(self, stage, "before", "after"):
                break
            self.doubt = self.doubt or (self.halted and stage.key not in self.passed)
            self.passed.add(stage.key)

    # -- what happens to a cluster ---------------------------------------------------------------

    def _return(self, cluster: str, track: Track, now: datetime) -> None:
        """A write did not land, and what is carried has become what is asked for: no write is due."""
        if track.landed or track.before is None or self.terms is None:
            return
        if cluster in self.back.given:
            return  # it is to have something else for as long as that is taken back
        found = self.carries(cluster)
        if found and found.revision == self.terms.revision == track.before.revision:
            self.tracks[cluster] = track.before
            self.forget(track.before, now)
            track.before.turn(found.health, now)

    def _part(self, places: dict[str, str], now: datetime) -> None:
        members = self.selected
        for cluster in [c for c in self.tracks if c not in members]:
            track = self.departed[cluster] = self.tracks.pop(cluster)
            self.tried = {key: at for key, at in self.tried.items() if key[0] != cluster}
            current = self.terms is not None and track.revision == self.terms.revision
            at_stake = self.is_failure(track, now) or (
                track.landed and not self.has_soaked(track, now) and not self.is_free(track, now)
            )
            current = current and not track.void and not track.maybe_void
            if current and at_stake and track.exact and not self.available(cluster):
                self.lost[cluster] = places.get(cluster, "")
        skip = self.terms.skip if self.terms else frozenset()  # a person released it
        for cluster in [c for c in self.lost if c in members or c in skip]:
            del self.lost[cluster]

    def _adopt(self, now: datetime) -> None:
        """Clusters that come with a work already: what is known of them was forgotten meanwhile."""
        for cluster in self.selected - self.tracks.keys():
            known, found = self.departed.pop(cluster, None), self.carries(cluster)
            if found is None:
                continue
            if known is None or known.revision != found.revision:
                known = Track(found.revision, LONG_AGO, now, landed=True)
            self.forget(known, now)
            known.void = known.maybe_void = False
            known.health = found.health
            self.tracks[cluster] = known
            self.sure = False

    def forget(self, track: Track, now: datetime) -> None:
        """The engine goes on from the work alone."""
        track.late = track.last = now
        track.failed = track.exact = False

    def _settle(self, track: Track, now: datetime) -> None:
        old = self.terms is not None and track.revision != self.terms.revision
        if track.void:
            return
        if old and not track.exact and track.health == "succeeded":
            # Found on an older revision, with no record of since when: not waited for again. Were
            # it in flight, a lost record would let all that carry it be overwritten at once.
            track.soaked = True
        limit = self.deadline(track.last, self.outages)
        over = limit is not None and self.seen_until(now) >= limit
        if self.is_failure(track, now) and (
            track.health == "succeeded" or over or (limit is None and track.health == "failed")
        ):
            track.failed = True
        track.ended = track.ended or self.is_free(track, now)
        if self.has_soaked(track, now):
            track.soaked, track.failed = True, False
        if track.before is not None:
            self._settle(track.before, now)

    def observe(self, cluster: str, found: Carried | None, now: datetime) -> None:
        """The engine was told what the cluster has, and how it does."""
        track = self.tracks.get(cluster)
        if track is None:
            return
        if found is not None and found.revision == track.revision:
            track.refused = False
            track.turn(found.health, now)
        elif not track.refused:
            track.turn("silent", now)

    def attempt(self, cluster: str, revision: str, now: datetime, *, again: bool = False) -> None:
        """A write of a revision goes out. Only the first one of a revision is a touch, but where a
        person asked to try ``again``.
        """
        track = self.tracks.get(cluster)
        again = again and track is not None and (track.void or track.maybe_void)
        if track is not None and track.revision == revision and not again:
            return
        if track is not None and (track.landed or again):
            self.tried.pop((cluster, revision), None)  # long ago; this is another touch
        if track is not None and self.terms is not None:
            if self.has_soaked(track, now):
                self.back.note(cluster, track.revision)
            if track.revision == self.terms.revision != revision:
                self.back.give(cluster, track.revision)
        if again and track is not None:
            track = track.before
        planned = self.planned.get((cluster, revision), now)
        first = self.tried.setdefault((cluster, revision), planned)
        self.tracks[cluster] = Track(revision, first, now, before=track, since=now, late=now)
        there = self.carries(cluster)
        if there is not None and there.revision == revision:  # no news may come of it
            self.land(cluster, revision, now)
            self.tracks[cluster].turn(there.health, now)

    def land(self, cluster: str, revision: str, now: datetime) -> None:
        track = self.tracks.get(cluster)
        if track is not None and track.revision == revision and not track.landed:
            track.landed, track.last, track.before = True, now, None

    def refuse(self, cluster: str, revision: str, now: datetime) -> None:
        track = self.tracks.get(cluster)
        if track is None or self.terms is None or revision != self.terms.revision:
            return
        if track.revision == revision and track.health != "failed":
            track.turn("failed", now)
            track.refused = True

    def restart(self, now: datetime, *, amnesia: bool) -> None:
        """The engine starts anew; with ``amnesia`` its record is gone too."""
        self.known_terms = False
        for cluster in self.unwritten:
            self.waived.pop(cluster, None)
        self.unwritten.clear()
        for cluster, track in list(self.tracks.items()):
            if track.void and (amnesia or track.fresh):
                track.void, track.maybe_void = False, True
            if amnesia or track.fresh:
                if not track.landed:
                    self._back(cluster, track)
                    continue
                track.recalled = None if amnesia else track.kept
                self.forget(track, now)
            if amnesia and self.carries(cluster) is None:
                del self.tracks[cluster]
        if amnesia:
            self.lost.clear()
            self.seen.clear()
            self.waived.clear()
            self.retried = ""
            self.back.begin_anew()
        self.sure = self.sure and not amnesia and all(t.exact for t in self.tracks.values())

    def _back(self, cluster: str, track: Track) -> None:
        if track.before is None:
            del self.tracks[cluster]
        else:
            track.before.exact = False
            self.tracks[cluster] = track.before
