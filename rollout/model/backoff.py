"""How long to wait before something that failed is tried again."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double, from ``first`` to ``longest``.

    ``jitter``: the share of a wait that chance may take off, from 0 to 1, so that those who failed
    together do not come back together.
    """

    first: timedelta
    longest: timedelta
    jitter: float = 0.0

    def wait(self, failures: int, chance: float = 0.0) -> timedelta:
        """How long to wait after so many failures in a row.

        Args:
            failures: 1 or more.
            chance: drawn by the caller, from 0 to 1.
        """
        doubled = self.first * (1 << min(failures - 1, 20))
        return min(doubled, self.longest) * (1 - self.jitter * chance)
