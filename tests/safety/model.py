"""Where does each cluster stand, by a plain reading of what the engine was told?

What is uncertain of a cluster is judged by whichever favours the engine (see `tests.safety.tracks`).
Source: docs/semantics.md rows 5-12, 17, 18, 20.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime

from tests.safety import wishes
from tests.safety.readings import Readings
from tests.safety.subject import Carried
from tests.safety.terms import Terms, stages_of
from tests.safety.tracks import LONG_AGO, Track


@dataclass(slots=True)
class Rollout(Readings):
    """One placement, and what happens to it."""

    # -- what happens --------------------------------------------------------------------------

    def agree(self, terms: Terms, now: datetime, taken: Set[str]) -> None:
        """Take in what is asked for now. The groups have been read before, and so have those of the other
        placements: ``taken`` are the clusters of all.
        """
        soak = max(terms.soak, self.waits.settle) if terms.verified else terms.soak
        terms = replace(terms, soak=soak)
        self.bad = terms.bad
        if terms.bad:
            self.hold = self.hold or terms.bad
            if self.terms is None:
                return
            terms = self.terms
        places: dict[str, str] = {}  # a new process has not agreed on stages yet
        if self.known_terms:
            places = {c: s.key for s in self.plan.stages for c in s.members}
            for track in self.tracks.values():
                self._settle(track, now)  # what has ended on the terms so far stays so (row 11)
        self._time_anew(now)
        self.known_terms = self.known_terms or not self.bad
        terms = terms if self.bad else self._waived(terms)
        if self.terms is None or terms.revision != self.terms.revision:
            self.passed.clear()
            self.seen.clear()
            self.lost.clear()
            self.maybe_lost.clear()
            self.sure = all(t.exact for t in self.tracks.values())
            self.opened.clear()
            self.unproven.clear()
            self.shown.clear()
            self.back.begin_anew()
            self.back.completed = False
        self.terms = terms
        groups = self.groups or {}
        had = {g for (_, g), members in groups.items() if members and g in terms.mandatory}
        self.seen |= had
        self.plan = stages_of(terms, groups, self.named, frozenset(self.seen))
        self.hold = self.hold or self.plan.hold or wishes.misplaced(self)
        for cluster, track in list(self.tracks.items()):
            self._return(cluster, track, now)
        if self.groups is not None:
            self._part(places, now)
            self._adopt(now)
        self.lent = self.lost.keys() & taken
        for track in self.tracks.values():
            self._settle(track, now)
        wishes.retry(self, now)
        wishes.note_reason(self, now)
        self._pass(now)

    def _time_anew(self, now: datetime) -> None:
        """Only now does it count since when these do what they do (see `Readings`)."""
        if not self.known_terms and not self.bad:
            for cluster in self.unagreed & self.tracks.keys():
                track = self.tracks[cluster]
                self.forget(track, now)
                if cluster in self.unrecorded and track.health == "succeeded":
                    track.first = now  # when it succeeded nobody knows: that is no time-out
            self.unagreed.clear()
            self.unrecorded.clear()
        if self.groups is not None:
            for cluster in self.untimed & self.tracks.keys():
                if self.tracks[cluster].since < now:
                    self.forget(self.tracks[cluster], now)
            self.untimed.clear()

    def _waived(self, terms: Terms) -> Terms:
        """S20: who is skipped is skipped for the revision that was asked for when that was first seen."""
        self.unwritten = (self.unwritten & terms.skip) | (terms.skip - self.waivers.keys())
        self.waivers = {c: self.waivers.get(c, terms.revision) for c in terms.skip}
        skip = frozenset(c for c, revision in self.waivers.items() if revision == terms.revision)
        return replace(terms, skip=skip)

    def _pass(self, now: datetime) -> None:
        """Note the stages that may have passed, and the gates that may have opened."""
        for stage in self.plan.stages:
            if self.hold or self.back.is_on or self.back.barred:
                break
            wishes.open_gates(self, stage, "before")
            if not self.may_have_passed(stage, now):
                break
            wishes.open_gates(self, stage, "after")
            if wishes.shut(self, stage, "before", "after"):
                break
            is_halted = self.halted or bool(wishes.stop(self)) or self.back.has_reason
            tracks = [t for c in stage.members if (t := self.tracks.get(c)) is not None]
            is_sure = all(t.exact and not self.is_maybe_soaked(t, now) for t in tracks)
            if (is_halted or not is_sure) and stage.key not in self.passed:
                self.unproven.add(stage.key)
            self.passed.add(stage.key)

    def taken_back(self, to: str) -> None:
        """The record says that a rollback has begun: whoever retries begins with the first stage, and asks at
        each gate.
        """
        if not self.back.is_on:
            self.passed.clear()
            self.opened.clear()
            self.shown.clear()
            self.unproven.clear()
        self.back.is_on, self.back.to, self.back.completed = True, to, False

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
            track.before.turn(found.health, now, found.stamp)

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
            is_away = not self.available(cluster)
            surely_soaked = track.soaked and not self.is_maybe_soaked(track, now)
            at_stake = at_stake and not self.has_soaked_by_record(track, now)
            if current and is_away and at_stake and track.exact:
                self.lost[cluster] = places.get(cluster, "")
            elif current and is_away and not surely_soaked:
                self.maybe_lost.add(cluster)
            self.back.part(cluster, surely=not is_away or (track.exact and surely_soaked))
        skip = self.terms.skip if self.terms else frozenset()  # a person released it
        self.maybe_lost |= self.lost.keys() & skip  # for as long as they are skipped
        self.maybe_lost -= members
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
            known.health, known.stamp = found.health, found.stamp
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
        # A process that began while what is asked for could not be honoured knows no deadline.
        if (
            self.known_terms
            and self.is_failure(track, now)
            and (
                track.health == "succeeded" or over or (limit is None and track.health == "failed")
            )
        ):
            track.failed = True
        track.ended = track.ended or self.is_free(track, now)
        if self.has_soaked(track, now):
            is_unsure = self.may_still_soak(track, now)
            if not track.soaked:
                track.maybe_soaked = is_unsure
            elif track.health == "succeeded" and not is_unsure:
                track.maybe_soaked = False
            track.soaked, track.failed = True, False
        if track.before is not None:
            self._settle(track.before, now)

    def observe(
        self, cluster: str, found: Carried | None, now: datetime, *, missed: bool = False
    ) -> None:
        """The engine was told what the cluster has, and how it does. ``missed``: other news may be missing."""
        track = self.tracks.get(cluster)
        if track is None:
            return
        track.unseen = track.unseen or missed
        if found is not None and self._is_brought_by_others(cluster, track, found):
            self.back.leave(cluster, track.revision, self.came_to(track, now))
            track = Track(found.revision, now, now, landed=True, since=now, late=now)
            self.tracks[cluster] = track
        if found is not None and found.revision == track.revision:
            track.refused = False
            track.turn(found.health, now, found.stamp)
        elif not track.refused:
            track.turn("silent", now)
        if self.groups is None and track.since == now:
            self.untimed.add(cluster)

    def _is_brought_by_others(self, cluster: str, track: Track, found: Carried) -> bool:
        """Whether somebody put there what is asked for: whoever wrote it, the cluster carries it from now on.
        Where that is taken back it is drift.
        """
        if cluster in self.back.given or not track.landed:
            return False
        return found.revision == self.terms_revision != track.revision

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
            self.back.leave(cluster, track.revision, self.came_to(track, now))
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
            self.tracks[cluster].turn(there.health, now, there.stamp)

    def land(self, cluster: str, revision: str, now: datetime) -> None:
        track = self.tracks.get(cluster)
        if track is not None and track.revision == revision and not track.landed:
            track.landed, track.last, track.before = True, now, None

    def refuse(self, cluster: str, revision: str, now: datetime) -> None:
        track = self.tracks.get(cluster)
        if track is None or self.terms is None:
            return
        if revision != self.terms.revision and cluster not in self.back.given:
            return
        there = self.carries(cluster)
        if there is not None and there.revision == revision:
            return  # it has what it is to have (row 19)
        if track.revision == revision and track.health != "failed":
            track.turn("failed", now)
            track.refused = True

    def restart(self, now: datetime, recorded: Mapping[str, bool] | None) -> None:
        """The engine starts anew, from a record that has lines of these clusters, and says whether each is
        lost (None: without any).
        """
        is_gone = recorded is None
        self._forget_losses(recorded or {})
        unread = (
            c for c, t in self.tracks.items() if is_gone or t.fresh or c not in (recorded or ())
        )
        self.back.restart(unread)
        self.forgotten = not recorded
        self.known_terms = False
        self.unagreed.clear()
        self.unrecorded.clear()
        self.untimed.clear()
        for cluster in self.unwritten:
            self.waivers.pop(cluster, None)
        self.unwritten.clear()
        if not any(t.landed and t.revision == self.terms_revision for t in self.tracks.values()):
            self.shown.clear()  # it may have died before it wrote down which gates are open
        for cluster, track in list(self.tracks.items()):
            track.lose_sight()
            amnesia = recorded is None or cluster not in recorded
            if track.void and (amnesia or track.fresh):
                track.void, track.maybe_void = False, True
            if amnesia or track.fresh:
                if not track.landed:
                    self._back(cluster, track)
                    if amnesia and track.before is not None:
                        self.forget(track.before, now)
                    continue
                track.recalled = None if amnesia else track.kept
                self.forget(track, now)
                self.unagreed.add(cluster)
                if amnesia:
                    self.unrecorded.add(cluster)
            if amnesia and self.carries(cluster) is None:
                del self.tracks[cluster]
        if is_gone:
            self.passed.clear()
            self.seen.clear()
            self.shown.clear()
            self.waivers.clear()
            self.retried = ""
            self.back.begin_anew()
            self.back.completed = False
        self.sure = self.sure and not is_gone and all(t.exact for t in self.tracks.values())

    def _forget_losses(self, recorded: Mapping[str, bool]) -> None:
        """It may have died before it wrote down who is lost: the next process finds that out itself."""
        for cluster in [c for c in self.lost if not recorded.get(c)]:
            del self.lost[cluster]
            if cluster in recorded and cluster in self.departed:
                self.tracks[cluster] = self.departed.pop(cluster)

    def _back(self, cluster: str, track: Track) -> None:
        if track.before is None:
            del self.tracks[cluster]
        else:
            track.before.exact = False
            self.tracks[cluster] = track.before
