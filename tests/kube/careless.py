"""`rollout` that takes the time before it led for time in which somebody looked: ``python -m tests.kube.careless SECONDS WORDS...``.

A kept fault, for the test of soaks over kills. SECONDS: as for `wrong_clock`.
"""

import sys
from datetime import datetime

from rollout.cli.main import main
from rollout.fleet.fleet import Fleet
from tests.kube.wrong_clock import put_ahead


def began(self: Fleet, last_sign: datetime | None, now: datetime) -> None:
    """In place of `Fleet.began`: nothing is noted of the gap."""
    self.presence.restart(now)


if __name__ == "__main__":
    put_ahead(float(sys.argv.pop(1)))
    setattr(Fleet, "began", began)  # noqa: B010  mypy lets nobody assign a method
    main()
