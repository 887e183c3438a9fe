"""What can each cluster go back to? The revisions that soaked there, newest first."""

from collections.abc import Mapping
from datetime import datetime

from rollout.strategies.base import Rollout, Standing, Timing, Verdict
from rollout.strategies.judge import concluded

SOAKED_KEPT = 5
"""Revisions remembered for a cluster. The templates themselves are kept as RolloutRevisions."""


class Soaked:
    """Revisions that soaked on clusters before the one that each is on."""

    def __init__(self) -> None:
        self._by_cluster: dict[str, tuple[str, ...]] = {}

    def of(self, cluster: str) -> tuple[str, ...]:
        return self._by_cluster.get(cluster, ())

    def restore(self, cluster: str, revisions: tuple[str, ...]) -> None:
        """Take over what a record says."""
        if revisions:
            self._by_cluster[cluster] = revisions[:SOAKED_KEPT]

    def forget(self, cluster: str) -> None:
        self._by_cluster.pop(cluster, None)

    def note(
        self, before: Standing | None, timing: Timing, now: datetime, undone: str = ""
    ) -> None:
        """The cluster leaves a revision for another one. ``undone``: one not to go back to.

        What soaked there once is still good where it was given back, and nothing has come of it yet.
        """
        if before is None:
            return
        kept = [each for each in self.of(before.cluster) if each != undone]
        verdict = concluded(before, timing, now).verdict
        if verdict in (Verdict.SOAKED, Verdict.FAILED):
            kept = [each for each in kept if each != before.revision]
        if verdict is Verdict.SOAKED and before.revision != undone:
            kept.insert(0, before.revision)
        if kept:
            self._by_cluster[before.cluster] = tuple(kept[:SOAKED_KEPT])
        else:
            self.forget(before.cluster)

    def newest(self) -> set[str]:
        """What some cluster would get back: templates that must be kept."""
        return {revisions[0] for revisions in self._by_cluster.values()}

    def targets(self, rollout: Rollout, to: str, kept: Mapping[str, str]) -> dict[str, str]:
        """What each cluster that was touched for the present revision gets back, where that is still kept.

        Args:
            to: restricts that to what was made for one revision; "" takes the last that soaked there.
            kept: the contents that can be given back, each with the revision that it was made for.
        """
        found: dict[str, str] = {}
        for cluster, standing in rollout.standings.items():
            if not rollout.is_on_it(standing):
                continue
            for each in self.of(cluster):
                of = kept.get(each, rollout.revision)  # what is kept no more cannot be given back
                if of != rollout.revision and each != standing.revision and to in ("", of, each):
                    found[cluster] = each
                    break
        return found
