"""Which clusters can be brought nothing, for what they lack, and how did they stand before?

Such a cluster fails without having been touched (`Observation.is_brought`). Once it can be brought
something it waits for that like others; what was known of it is not forgotten over that: a cluster
that had finally failed on an older revision would come back into flight, and its touch need no slot.
"""

from rollout.strategies.base import Standing

NOT_BROUGHT = "NotBrought"
"""The cause of a standing that no touch led to."""


class Unbrought:
    """Of one rollout. ``causes`` are those of its clusters, and are kept right."""

    def __init__(self, causes: dict[str, str]) -> None:
        self._causes = causes
        self._before: dict[str, tuple[Standing, str]] = {}

    def begin(self, cluster: str, standing: Standing | None) -> None:
        """Nothing can be brought to it. ``standing``: of just before."""
        cause = self._causes.get(cluster, "")
        if cause != NOT_BROUGHT:
            self._before.pop(cluster, None)
            if standing is not None:
                self._before[cluster] = standing, cause
        self._causes[cluster] = NOT_BROUGHT

    def end(self, cluster: str) -> Standing | None:
        """It can be brought something. Returns how it stood before, None where it was never touched
        or nobody knows any more.
        """
        standing, cause = self._before.pop(cluster, (None, ""))
        self._causes[cluster] = cause
        if standing is None:
            del self._causes[cluster]
        return standing

    def forget(self, cluster: str) -> None:
        """It is no cluster of this rollout any more."""
        self._before.pop(cluster, None)
