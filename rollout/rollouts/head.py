"""What is remembered of a rollout as a whole."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta

from rollout.model.instants import rfc3339_micro
from rollout.strategies.base import Standing

REMOVALS_KEPT = 100
"""Instants of removals that are remembered one by one."""


@dataclass(frozen=True, slots=True)
class Basis:
    """A hash of what a person asks for that membership follows from; ``since`` when it last changed.

    ``of`` "": never seen; with a slash, `generations`, which records of older versions have. ``since``
    None: no change was ever seen.
    """

    of: str = ""
    since: datetime | None = None


def generations(workload: int, placements: int) -> str:
    """What stood in records for a hash: the generation of the workload, and the sum of its placements'."""
    return f"{workload}/{placements}"


@dataclass(frozen=True, slots=True)
class Leaving:
    """A cluster is removed: when that was counted, and whether its ManagedCluster was deleted."""

    at: datetime
    detached: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """A rollback that has begun: it bars ``revision`` until the template changes or a person retries. What a
    person undid or aborted is barred again when the template comes back, while the annotation is there.

    ``cause`` is why, in one word; ``to`` the revision that clusters get ("": what soaked there last).
    """

    revision: str
    cause: str
    began: datetime
    to: str = ""

    def gave(self, standing: Standing) -> bool:
        """Whether what the cluster is on was given to it by this rollback."""
        return standing.of_revision != self.revision and standing.touched >= self.began


@dataclass(frozen=True, slots=True)
class Head:
    """The part of the record that is about the rollout as a whole.

    ``began`` is when the revision became the present one (None: an older version wrote the record).
    ``completed``: it has once reached every cluster that it was for. ``opened`` are the gates that have
    opened for it, ``retried`` the last token of a retry.
    ``waived`` are clusters that a person skipped without naming a revision, each with the one that was
    current when that was first seen: it counts for no other (S20). ``barred_by`` is a placement that took
    ``revision`` back and that the workload names no more ("": none did): here it goes no further.
    ``removals`` are how many clusters were removed when, ``detached`` how many of these had lost their
    ManagedCluster. ``leaving`` are those among them that are not known to be gone.
    """

    revision: str = ""
    _: KW_ONLY
    began: datetime | None = None
    passed: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    basis: Basis = Basis()
    removals: tuple[tuple[datetime, int], ...] = ()
    detached: tuple[tuple[datetime, int], ...] = ()
    leaving: Mapping[str, Leaving] = field(default_factory=dict)
    outages: tuple[tuple[datetime, datetime], ...] = ()
    opened: frozenset[str] = frozenset()
    retried: str = ""
    rollback: Rollback | None = None
    waived: Mapping[str, str] = field(default_factory=dict)
    completed: bool = False
    barred_by: str = ""

    def waiving(self, waivers: Mapping[str, frozenset[str]]) -> "Head":
        """With what is to be remembered of these waivers while ``revision`` is the present one."""
        first = {c: self.waived.get(c, self.revision) for c, of in waivers.items() if "" in of}
        return self if first == self.waived else replace(self, waived=first)

    def skipped(self, waivers: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """The clusters that are waived for the present revision."""
        mine = self.revision
        return frozenset(
            c
            for c, of in waivers.items()
            if mine in of or ("" in of and self.waived.get(c) == mine)
        )

    def gave(self, standing: Standing) -> bool:
        """Whether a rollback that is going on gave the cluster what it is on."""
        return self.rollback is not None and self.rollback.gave(standing)

    def advanced(self, passed: Collection[str], opened: Collection[str]) -> "Head":
        """With stages that pass, and gates that open."""
        if not passed and not opened:
            return self
        return replace(self, passed=self.passed | set(passed), opened=self.opened | set(opened))

    def finished(self) -> "Head":
        """With what its revision was for reached, unless it is being taken back."""
        known = self.completed or self.rollback is not None
        return self if known else replace(self, completed=True)

    @property
    def life(self) -> str:
        """Tells this rollout of the revision from earlier ones of the same revision, because its gates and
        analyses are asked anew each time. It is "" if the record does not say when the rollout began.
        """
        return f"{rfc3339_micro(self.began)} " if self.began is not None else ""

    @property
    def attempt(self) -> str:
        """The attempt at the revision, for what is measured of it as a whole: other ones have another."""
        return f"{self.life}{self.retried}"

    def superseded(self, revision: str, at: datetime) -> "Head":
        """What a new revision begins with: no stage passed, no gate open, nothing taken back."""
        none: frozenset[str] = frozenset()
        begun = self._begun_anew()
        begun = replace(begun, revision=revision, began=at)
        return replace(begun, seen=none, rollback=None, barred_by="")

    def taken_back(self, rollback: Rollback) -> "Head":
        """With a rollback that begins. Whoever retries the revision begins with its first stage."""
        return replace(self._begun_anew(), rollback=rollback)

    def removing(self, clusters: Mapping[str, bool], at: datetime, window: timedelta) -> "Head":
        """With these clusters removed, each counted once however often its deletion is tried, and without
        removals that are longer ago than ``window``.

        Args:
            clusters: each with whether its ManagedCluster is deleted.
        """
        if not clusters:
            return self
        fresh = {c: each for c, each in self.leaving.items() if each.at + window > at}
        now = {cluster: Leaving(at, detached) for cluster, detached in clusters.items()}
        return replace(self._counting(fresh, now, window), leaving={**fresh, **now})

    def removed(self, cluster: str, at: datetime, window: timedelta, *, is_gone: bool) -> "Head":
        """With a removal that was made only now; where it is not known whether it was, it may be tried again.

        One that is not going on changes nothing: it was a twin, and the cluster counts once.
        """
        known = self.leaving.get(cluster)
        if known is None:
            return self
        now = {cluster: replace(known, at=at)}
        left = {c: each for c, each in self.leaving.items() if c != cluster}
        leaving = left if is_gone else {**left, **now}
        return replace(self._counting(self.leaving, now, window), leaving=leaving)

    def knowing(self, other: "Head") -> "Head":
        """With what another head knows of edits and removals."""
        return replace(
            self,
            basis=other.basis,
            removals=other.removals,
            detached=other.detached,
            leaving=other.leaving,
        )

    def _counting(
        self, before: Mapping[str, Leaving], now: Mapping[str, Leaving], window: timedelta
    ) -> "Head":
        """With the removals that go on ``now`` in the place of what was counted of them ``before``."""
        at = max(each.at for each in now.values())
        counted = [
            Counter({was: n for was, n in each if was + window > at})
            for each in (self.removals, self.detached)
        ]
        for cluster, each in now.items():
            known = before.get(cluster)
            if known is not None:
                _uncount(counted[0], known.at)
                _uncount(counted[1], known.at if known.detached else None)
            counted[0][each.at] += 1
            counted[1][each.at] += each.detached
        if len(counted[0]) > REMOVALS_KEPT:
            counted = [_by_minute(each) for each in counted]
        removals, detached = (
            tuple(sorted((was, n) for was, n in each.items() if n)) for each in counted
        )
        return replace(self, removals=removals, detached=detached)

    def retrying(self, token: str, *, is_stopped: bool) -> "Head":
        """With another retry, which lifts every bar, unless somebody asks to stop the revision all the same."""
        known = replace(self, retried=token)
        return known if is_stopped else replace(known, rollback=None, barred_by="")

    def _begun_anew(self) -> "Head":
        none: frozenset[str] = frozenset()
        return replace(self, passed=none, opened=none, completed=False)


def _by_minute(counted: Counter[datetime]) -> Counter[datetime]:
    """The same removals by the full minute after them: remembered rather longer than shorter (R8)."""
    merged: Counter[datetime] = Counter()
    for at, n in counted.items():
        merged[_minute_after(at)] += n
    return merged


def _uncount(counted: Counter[datetime], at: datetime | None) -> None:
    """Take out one removal, which may be remembered by the minute."""
    for was in () if at is None else (at, _minute_after(at)):
        if counted[was]:
            counted[was] -= 1
            return


def _minute_after(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0) + timedelta(minutes=1)
