"""`rollout` on a machine whose clock is wrong: ``python -m tests.kube.wrong_clock SECONDS WORDS...``.

SECONDS: how far it is ahead, or behind where negative. The clock runs on; spans are measured rightly.
"""

import sys
import time
from datetime import datetime, timedelta, tzinfo

import apscheduler.schedulers.base

import rollout.clock
from rollout.cli.main import main


def put_ahead(seconds: float) -> None:
    """All that reads this process's clock: ours, that of the timers below ours, and that of its log."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # no Wrong
            return datetime.now(tz) + timedelta(seconds=seconds)  # noqa: TID251  it is the clock

    for reader in (rollout.clock, apscheduler.schedulers.base):
        setattr(reader, "datetime", Wrong)  # noqa: B010  mypy knows no such attribute
    right = time.time  # noqa: TID251
    time.time = lambda: right() + seconds  # noqa: TID251


if __name__ == "__main__":
    put_ahead(float(sys.argv.pop(1)))
    main()
