"""Does the engine do what people ask of it, and no more? Holds, stops, gates, retries, rollbacks.

S8: what stands still is left alone. S10: a rollback touches only whom it may. S14: a gate opens only
for an approval of this revision.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from tests.safety import wishes
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.terms import amount
from tests.safety.told import Told

Blame = Callable[[str, str], None]
_NOBODY_KNOWS_WHOM = ("TornDecisions", "PlacementNotFound", "NotDecided")
Writes = Sequence[tuple[str, str]]
"""Clusters that are touched, each with the revision that it gets."""


class OperationsJudge:
    """Judges the touches of one plan over one placement."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame

    def judge(self, rollout: Rollout, forward: list[str], back: Writes, now: datetime) -> None:
        """``forward``: clusters that get the present revision; ``back``: those that get another."""
        self._held(rollout, {*forward, *(cluster for cluster, _ in back)})
        self._stopped(rollout, forward)
        self._gates(rollout, forward)
        self._barred(rollout, forward)
        if back:
            self._went_back(rollout, back, now)

    def _held(self, rollout: Rollout, touched: set[str]) -> None:
        """S8: hands off the clusters that a person holds."""
        held = rollout.terms.asked.held if rollout.terms else frozenset()
        waiting = [c for c in held & rollout.selected if rollout.current(c) is None]
        self.counts["S8.held_waiting"] += bool(waiting)
        if held & touched:
            self.blame("S8", f"{held & touched} are touched, though held")

    def _stopped(self, rollout: Rollout, forward: list[str]) -> None:
        """S8: a revision that was aborted, refused or undone goes no further."""
        if wishes.stop(rollout):
            self.counts[f"S8.{wishes.stop(rollout)}"] += 1
            if forward:
                self.blame(
                    "S8", f"{forward} are touched, though the revision is {wishes.stop(rollout)}"
                )

    def _gates(self, rollout: Rollout, forward: list[str]) -> None:
        """S14: nobody behind a gate is touched before somebody approved this revision."""
        behind: list[str] = []  # gates that are shut on the way
        for stage in rollout.plan.stages:
            behind += wishes.shut(rollout, stage, "before")
            mine = [c for c in forward if c in stage.members]
            if behind and any(rollout.current(c) is None for c in stage.members):
                self.counts["S14.gate_shut"] += 1
                self.counts["S14.approved_another"] += rollout.said.elsewhere
                self.counts["S14.approved_too_early"] += rollout.said.late
            if behind and mine:
                self.blame("S14", f"{mine} are touched behind {behind}, which nobody approved")
            behind += wishes.shut(rollout, stage, "after")
        self.counts["S14.gate_open"] += bool(rollout.opened)

    def _barred(self, rollout: Rollout, forward: list[str]) -> None:
        """S10: what was taken back does not roll forward again by itself."""
        if rollout.terms is None or rollout.back.barred != rollout.terms.revision:
            return
        self.counts["S10.barred"] += 1
        if forward:
            self.blame("S10", f"{forward} are touched with what has been taken back")

    # -- going back --------------------------------------------------------------------------------

    def _went_back(self, rollout: Rollout, back: Writes, now: datetime) -> None:
        """S10: for a reason, whom it may, to what soaked there, and within limits of its own."""
        assert rollout.terms is not None
        self.counts["S10.went_back"] += len(back)
        if not rollout.back.has_reason and not rollout.back.barred:
            self.blame("S10", f"{back} go back, and there is no reason for it")
        first: list[str] = []
        for cluster, revision in back:
            track = rollout.tracks.get(cluster)
            if track is not None and track.revision == revision and cluster in rollout.back.given:
                if cluster in rollout.back.earlier or not track.landed or track.refused:
                    allow(self.counts, "given_again")  # the engine died before it wrote that down
                else:
                    self.blame("S10", f"{cluster} has {revision} back, and is given it once more")
                continue
            first.append(cluster)
            if track is None or track.revision != rollout.terms.revision:
                self.blame("S10", f"{cluster} goes back, but it never got the revision: {track}")
            elif revision not in (known := rollout.back.soaked.get(cluster, [])):
                self.blame("S10", f"{cluster} gets {revision}, which never soaked there: {known}")
            else:
                self._is_due(rollout, cluster, revision)
        if first and rollout.hold in _NOBODY_KNOWS_WHOM:  # what was on its way is only repeated
            self.blame("S7", f"{first} go back in spite of {rollout.hold}")
        self._newest_first(rollout, first, now)
        self._within(rollout, [cluster for cluster, _ in back], now)

    def _is_due(self, rollout: Rollout, cluster: str, revision: str) -> None:
        due, is_certain = self._target(rollout, cluster)
        if not is_certain:
            allow(self.counts, "soaked_maybe")
        elif revision != due:
            known = rollout.back.soaked.get(cluster, [])
            self.blame("S10", f"{cluster} gets {revision}, and {due!r} is due: {known}")

    def _target(self, rollout: Rollout, cluster: str) -> tuple[str, bool]:
        """What the cluster gets back: what a person named, else the last that soaked there and is kept;
        and whether that is certain.
        """
        assert rollout.terms is not None
        kept, asked = self.told.kept(), rollout.terms.asked
        named = asked.undo_to if wishes.stop(rollout) == "Undone" else ""
        to = rollout.back.to if rollout.back.is_on and not named else named
        there = {kept[to]} & {*kept.values()} if to in kept else set() if to else {*kept.values()}
        present = rollout.terms.revision
        return rollout.back.last(cluster, lambda each: each in there and each != present)

    def _newest_first(self, rollout: Rollout, going: list[str], now: datetime) -> None:
        """Row 27: who was touched last goes back first."""
        assert rollout.terms is not None
        kept = rollout.terms.asked.held | rollout.terms.skip | self.told.closed(now)
        oldest = min((rollout.tracks[c].last for c in going if c in rollout.tracks), default=None)
        for cluster, track in rollout.tracks.items():
            if track.revision != rollout.terms.revision or cluster in {*going, *kept}:
                continue
            target, is_certain = self._target(rollout, cluster)
            if not target or not is_certain:
                continue
            self.counts["S10.waits_for_its_turn"] += oldest is not None
            if oldest is not None and track.first > oldest:
                self.blame("S10", f"{going} go back before {cluster}, which was touched later")

    def _within(self, rollout: Rollout, going: list[str], now: datetime) -> None:
        """``total`` counts some who have nothing to go back to: more than the engine may count."""
        assert rollout.terms is not None
        asked, given = rollout.terms.asked, rollout.back.given
        total = len(
            given.union(
                c for c, t in rollout.tracks.items() if t.revision == rollout.terms.revision
            )
        )
        on_the_way = {c for c in given if rollout.in_flight(c, now)}
        limit = amount(asked.back_limit, total)
        new = set(going) - given
        self.counts["S10.at_the_limit"] += len(on_the_way | new) >= limit
        if new and len(on_the_way | new) > limit:
            self.blame("S10", f"{new} go back, {on_the_way} are on the way, limit {limit}")
        failed = [
            c
            for c in given - rollout.terms.skip
            if (t := rollout.tracks.get(c)) and t.exact and rollout.is_failure(t, now)
        ]
        if new and len(failed) > amount(asked.back_budget, total):
            self.blame("S10", f"{new} go back, though {failed} failed on what they were given")
