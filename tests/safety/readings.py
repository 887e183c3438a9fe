"""How does one cluster stand, and how a stage, by what the plain model knows of them?

What is uncertain is judged by whichever reading favours the engine (see `tests.safety.tracks`).
Source: docs/semantics.md rows 5-12, 17, 18, 20.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.safety.asked import Said
from tests.safety.subject import Carried
from tests.safety.terms import LEASE, Groups, Plan, Stage, Terms, Waits
from tests.safety.tracks import Track
from tests.safety.way_back import WayBack

Span = tuple[datetime, datetime]


def _later(begin: datetime, span: timedelta, unseen: Iterable[Span]) -> datetime:
    """The instant at which so much time has passed since, without what lay in these spans."""
    at, over = begin + span, begin
    for out, back in sorted(unseen):
        if back > over and out < at:
            at += back - max(out, over)
            over = back  # of spans that overlap no time counts twice
    return at


def joined(outages: Iterable[Span]) -> list[Span]:
    """Outages, each with the lease after it; what overlaps is one, in which nothing was surely still."""
    found: list[Span] = []
    for out, back in sorted(outages):
        if found and out <= found[-1][1]:
            found[-1] = found[-1][0], max(back, found[-1][1])
        else:
            found.append((out, back))
    return found


def _soaked_at(since: datetime, soak: timedelta, unseen: Iterable[Span]) -> datetime:
    """What was heard only after an outage was seen from its beginning: the lease after it is for late news."""
    return _later(since, soak, [span for span in joined(unseen) if span[1] - LEASE > since])


@dataclass(slots=True)
class Readings:
    """One placement. ``sure``: since this revision began, nothing was uncertain.

    ``total`` counts what it selects, with what others own. ``carries``: what a cluster has.
    ``noted``: the outages that the engine cannot have forgotten. ``blind_since``: since when it may
    miss news, so that time decides nothing (row 20).
    """

    name: str
    waits: Waits
    terms: Terms | None = None
    groups: Groups | None = None
    total: int = 0
    named_again: int = 0  # clusters that a decision names after another one has
    named: frozenset[str] = frozenset()
    hold: str = ""
    bad: str = ""  # why what is asked for now cannot be honoured
    quiet_until: datetime | None = None
    unnamed: set[str] = field(default_factory=set)  # selected still, though no decision names them
    waivers: dict[str, str] = field(
        default_factory=dict
    )  # cluster -> the revision it is skipped for
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
    # What left while it was not known how it stood, or was skipped then.
    maybe_lost: set[str] = field(default_factory=set)
    sure: bool = True
    unagreed: set[str] = field(
        default_factory=set
    )  # clusters of which only their works tell, until this process agrees on terms
    unrecorded: set[str] = field(default_factory=set)  # of these, those of which no record tells
    untimed: set[str] = field(
        default_factory=set
    )  # clusters of which news came before this process knew whom the placement selects
    forgotten: bool = False  # the record is gone, and the placement has not been read since
    halted: bool = False  # paused or frozen, when the engine takes no stage for passed
    unproven: set[str] = field(default_factory=set)  # stages that were done while it was stopped
    shown: set[tuple[str, str]] = field(default_factory=set)  # gates that let somebody through
    fingerprint: str = ""
    said: Said = field(default_factory=Said)
    opened: set[tuple[str, str]] = field(default_factory=set)  # gate, key of its stage
    retried: str = ""
    back: WayBack = field(default_factory=WayBack)

    @property
    def terms_revision(self) -> str:
        return self.terms.revision if self.terms else ""

    @property
    def is_unquiet(self) -> bool:
        """Whether what others decide may be half written, so that no stage passes (row 15)."""
        return self.quiet_until is not None

    @property
    def may_be_half(self) -> bool:
        """Whether that keeps everybody waiting: an earlier stage may be to come, or somebody leaves."""
        terms = self.terms
        if not self.is_unquiet or terms is None:
            return False
        is_ordered = terms.kind == "ProgressivePerGroup" or bool(terms.mandatory)
        return bool(self.unnamed) or (is_ordered and terms.kind != "All")

    @property
    def selected(self) -> set[str]:
        return {c for members in (self.groups or {}).values() for c in members}

    # -- one cluster ---------------------------------------------------------------------------

    def seen_until(self, now: datetime) -> datetime:
        """Up to when time decides."""
        blind = self.blind_since()
        return now if blind is None else min(now, blind)

    def deadline(self, begin: datetime, outages: Iterable[Span]) -> datetime | None:
        """When success must have been reached, at the latest."""
        if self.terms is None or self.terms.deadline is None:
            return None
        return _later(begin, self.terms.deadline, outages)

    def _counts_at(self, since: datetime, outages: Iterable[Span]) -> datetime:
        """When a failure counts, if it goes on: its grace is not over while nobody hears."""
        at = over = since + self.waits.grace
        for out, back in sorted(outages):
            if out < over < back or (over < at and out <= at < back):
                at = back
        return at

    def _surely_noted(self, track: Track) -> list[Span]:
        """The outages that the engine goes by in any case."""
        return self.noted if track.exact else []

    def has_soaked(self, track: Track, now: datetime) -> bool:
        soak = self.terms.soak if self.terms and self.known_terms else None
        if soak is None or track.soaked:
            return track.soaked
        if not soak:
            return track.health == "succeeded"  # no time is needed, so none decides
        unseen = self._surely_noted(track)
        return track.health == "succeeded" and _soaked_at(
            track.since, soak, unseen
        ) <= self.seen_until(now)

    def has_soaked_by_record(self, track: Track, now: datetime) -> bool:
        """Whether it was found otherwise at this instant, and had soaked by what is written down of it. A
        process that begins judges a cluster that is not selected any more by its record alone; it may not know
        that the one before it saw nothing in its last minutes.
        """
        kept = track.kept
        if self.terms is None or kept is None or kept.health != "succeeded" or track.since != now:
            return False
        unseen = self._surely_noted(track)
        return _soaked_at(kept.since, self.terms.soak, unseen) <= self.seen_until(now)

    def may_still_soak(self, track: Track, now: datetime) -> bool:
        """Whether it has not soaked by the latest reading: the engine may go by every outage."""
        if self.terms is None or track.health != "succeeded":
            return False
        return _soaked_at(track.since, self.terms.soak, self.outages) > self.seen_until(now)

    def is_maybe_soaked(self, track: Track, now: datetime) -> bool:
        """Whether it has soaked by the plain model, and maybe not by the outages that the engine was told of."""
        return track.soaked and (track.maybe_soaked or self.may_still_soak(track, now))

    def is_sure_of(self, track: Track, now: datetime) -> bool:
        """Whether the earliest reading and the latest one agree on what has come of it."""
        if self.is_maybe_soaked(track, now):
            return False
        limit = self.deadline(track.last, self.outages)
        if limit is None or not self.is_free(track, now):
            return True
        return track.since > limit if track.health == "succeeded" else self.seen_until(now) >= limit

    def surely_soaked(self, track: Track, now: datetime) -> bool:
        """Whether it has soaked by every reading."""
        return self.has_soaked(track, now) and not self.may_still_soak(track, now)

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
        if track.health != "failed" or limit is not None:
            return False
        return now >= self._counts_at(track.since, self._surely_noted(track))

    def is_failure(self, track: Track, now: datetime) -> bool:
        """It counts against the budget, however one reads it."""
        if self.has_soaked(track, now):
            return False
        limit = self.deadline(track.last, self.outages)
        if track.failed:
            return True
        now = self.seen_until(now)
        if track.health == "succeeded":
            return limit is not None and min(track.since, now) > limit  # it may only be heard late
        if limit is not None and now >= limit:
            return True
        return track.health == "failed" and now >= self._counts_at(track.late, self.outages)

    def in_flight(self, cluster: str, now: datetime) -> bool:
        """It holds a slot, however one reads it."""
        if self.terms and cluster in self.terms.skip:
            return False
        track = self.tracks.get(cluster)
        while track is not None and not track.landed:
            if track.refused and self.is_free(track, now):
                return False  # what it is to have was refused for good
            track = track.before
        if track is None or track.void or track.maybe_void:
            return False
        return not self.has_soaked(track, now) and not self.is_free(track, now)

    def may_hold_slot(self, cluster: str, now: datetime) -> bool:
        """It holds a slot by one way to read it: the latest, with all outages that the engine was told of."""
        if self.in_flight(cluster, now):
            return True
        track = self.tracks.get(cluster)
        if track is None or not track.landed or track.void or self.terms is None:
            return False
        if cluster in self.terms.skip:
            return False
        if track.health == "succeeded":
            limit = self.deadline(track.last, self.outages)
            is_late = limit is not None and min(track.since, self.seen_until(now)) > limit
            return not is_late and self.may_still_soak(track, now)
        if track.ended and track.failed:
            return False
        limit, seen = self.deadline(track.last, self.outages), self.seen_until(now)
        if limit is not None:
            return seen < limit
        # Without a deadline it has ended only by a reading of the terms before.
        return track.health != "failed" or seen < self._counts_at(track.late, self.outages)

    def came_to(self, track: Track, now: datetime) -> str:
        """What has become of it, in the words of `WayBack.leave`."""
        soaked, failed = self.has_soaked(track, now), self.is_failure(track, now)
        if not track.exact or (soaked and (self.may_still_soak(track, now) or track.ended)):
            return (
                "?"  # what recovered after it had failed counts only while it is what is rolled out
            )
        if soaked:
            return "soaked"
        if failed != self.is_free(track, now):
            return "?"
        return "failed" if failed else ""

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
            limit = self.deadline(track.last, self.outages)
            if track.health == "succeeded":
                found.append((_soaked_at(track.since, self.terms.soak, self.outages), cluster))
                continue
            if limit is not None:
                found.append((limit, cluster))
            if track.health == "failed":
                found.append((self._counts_at(track.since, self.outages), cluster))
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
        """It counts against the budget, by one way to read it: also a success after a failure that may
        still have to soak, by all outages that the engine was told of.
        """
        if track.soaked:
            return track.ended and self.is_maybe_soaked(track, now)
        sure = self._surely_noted(track)
        counts_at = self._counts_at(track.since, sure)
        stands = track.health == "failed" and self.seen_until(now) >= counts_at
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
        return any(self._exceeds(stage, now, surely=surely) for stage in self.plan.stages)

    def _exceeds(self, stage: Stage, now: datetime, *, surely: bool = True) -> bool:
        """Whether observed failures exceed the budget of the stage, or the one over all stages."""
        total, own = self.plan.budget, stage.budget
        if total is not None and self.failures(None, now, surely=surely) > total:
            return True
        return own is not None and self.failures(stage, now, surely=surely) > own

    def may_have_passed(self, stage: Stage, now: datetime) -> bool:
        if stage.key in self.passed:
            return True
        if self.is_unquiet:
            return False
        members = [c for c in stage.members if self.terms and c not in self.terms.skip]
        if stage.mandatory:
            tracks = [self.current(c, surely=False) for c in members]
            soaked = all(t is not None and self.has_soaked(t, now) for t in tracks)
            return soaked and not self.failures(stage, now)
        return all(self.is_done(c, now) for c in members) and not self._exceeds(stage, now)
