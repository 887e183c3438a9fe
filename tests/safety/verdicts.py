"""Has a cluster really soaked, or finally failed, when the engine says so? Promises S6 and S13."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Settled, Step, Verdict
from tests.safety.model import Rollout
from tests.safety.ocm_agents import Truth
from tests.safety.told import Told
from tests.safety.tracks import Track


class VerdictsJudge:
    """Judges the verdicts of steps. ``truth``: what really happened on the clusters, where that is known."""

    def __init__(self, told: Told, counts: Counter[str], blame: Callable[[str, str], None]) -> None:
        self._told, self._counts, self._blame = told, counts, blame
        self.truth: Truth | None = None

    def judge(self, rollout: Rollout, step: Step, live: LiveRollout | None, now: datetime) -> None:
        """S6, S13: nobody soaks or times out early."""
        self._soaked(rollout, live, now)
        for settled in step.settled:
            track = rollout.tracks.get(settled.cluster)
            if track is None:
                self._untouched(settled)
                continue
            if self.truth is not None:
                self._is_true(self.truth, rollout, track, settled, now)
            if settled.verdict is Verdict.SOAKED:
                self._counts["S13.soaks_ended"] += 1
                if not rollout.has_soaked(track, now):
                    found = self._told.carries(settled.cluster)
                    stale = found is None or found[:2] != (track.revision, "succeeded")
                    self._blame(
                        "S6" if stale else "S13", f"{settled.cluster} did not soak: {track}"
                    )
            else:
                self._counts["S13.deadlines_ended"] += 1
                if not rollout.is_free(track, now):
                    self._blame("S13", f"{settled.cluster} failed too early: {track}")

    def _untouched(self, settled: Settled) -> None:
        """S13: only what it lacks makes a cluster fail to which nothing has been brought."""
        if settled.verdict is Verdict.SOAKED or not self._told.lacks(settled.cluster):
            self._blame("S13", f"{settled.cluster} has a verdict, and was never touched")

    def _is_true(
        self, truth: Truth, rollout: Rollout, track: Track, settled: Settled, now: datetime
    ) -> None:
        """S6: what agents say of a revision that they have seen nothing of yet decides nothing."""
        self._counts["S6.truths"] += 1
        cluster, revision = settled.cluster, track.revision
        if settled.verdict is Verdict.SOAKED and not truth.was_well(cluster, revision):
            self._blame(
                "S6", f"{cluster} counts as soaked, but was never well on {revision}: {track}"
            )
        limit = rollout.deadline(track.first, ())
        is_due = (limit is not None and now >= limit) or track.refused or track.health == "silent"
        if (
            settled.verdict is Verdict.FAILED
            and not is_due
            and not truth.was_ill(cluster, revision)
        ):
            self._blame(
                "S6", f"{cluster} counts as failed, but was never ill on {revision}: {track}"
            )

    def _soaked(self, rollout: Rollout, live: LiveRollout | None, now: datetime) -> None:
        """S13: what counts as soaked on the present revision did soak, whoever noted it."""
        for cluster, standing in live.ledger.standings.items() if live else ():
            if live is None or standing.revision != live.revision:
                continue
            track = rollout.current(cluster)
            if track is None or standing.verdict is not Verdict.SOAKED:
                continue
            if not rollout.has_soaked(track, now):
                self._blame("S13", f"{cluster} counts as soaked, but did not soak: {track}")
