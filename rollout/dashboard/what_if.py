"""Keeps the What-if questions of people, and the answers as far as they are ready.

Few are answered at once, each in a process of its own (`rollout.dashboard.bounded`), with low priority.
"""

import secrets
import threading
from collections import OrderedDict
from datetime import datetime

from rollout.analysis.forecast import Forecast
from rollout.analysis.outcomes import Distribution, Outcome, distribution
from rollout.dashboard.bounded import BoundedProcesses, MayAsk
from rollout.dashboard.foreseeing import (
    Reply,
    RunEnded,
    RunSoaks,
    VariantPlanned,
    WhatIfQuery,
)
from rollout.dashboard.observer import Observer
from rollout.errors import Unavailable

SECONDS = 60
MEGABYTES = 320
MOST_RUNS = 500
MOST_AT_ONCE = 2
MOST_KEPT = 16


class WhatIfRun:
    """One question, and its answer as far as it is known. Written by one thread, read by any.

    ``fault`` is why there is no answer, or no more of it; ``ended``: nothing more will come.
    """

    def __init__(self, query: WhatIfQuery, owner: str) -> None:
        self.query, self.owner = query, owner
        self.name = secrets.token_urlsafe(12)
        self.plans: dict[int, Forecast] = {}
        self.outcomes: dict[int, list[Outcome]] = {}
        self.soaks: list[tuple[datetime, ...]] = []
        self.whole_because = ""
        self.assumed: tuple[str, ...] = ()
        self.fault = ""
        self.ended = False
        self.stop = threading.Event()

    @property
    def done(self) -> int:
        """Runs that have ended, of all variants."""
        return sum(map(len, self.outcomes.values())) + len(self.soaks)

    @property
    def total(self) -> int:
        return self.query.runs * len(self.query.texts)

    def distributions(self) -> list[Distribution]:
        """Of each variant that has begun."""
        return [
            distribution(tuple(found), self.whole_because, self.assumed)
            for _, found in sorted(self.outcomes.items())
        ]

    def take(self, reply: Reply) -> None:
        """Take in what the process tells."""
        match reply:
            case VariantPlanned():
                self.plans[reply.variant] = reply.forecast
            case RunEnded():
                self.outcomes.setdefault(reply.variant, []).append(reply.outcome)
                self.whole_because, self.assumed = reply.whole_because, reply.assumed
            case RunSoaks():
                self.soaks.append(reply.at)


class WhatIfs:
    """The questions of the last while, by name.

    Args:
        observer: owns the hub.
        seconds: that one question may take.
        megabytes: of data that its process may have.
        most: processes at once.
    """

    def __init__(
        self,
        observer: Observer,
        *,
        seconds: int = SECONDS,
        megabytes: int = MEGABYTES,
        most: int = MOST_AT_ONCE,
    ) -> None:
        self._processes = BoundedProcesses(observer, seconds=seconds, megabytes=megabytes)
        self._most = most
        self._runs: OrderedDict[str, WhatIfRun] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, query: WhatIfQuery, owner: str, may: MayAsk) -> WhatIfRun:
        """Begin to answer; an earlier question of the same person is given up.

        Raises: Unavailable where others' questions take all processes that there may be.
        """
        with self._lock:
            for run in self._runs.values():
                if run.owner == owner and not run.ended:
                    run.stop.set()
            others = sum(not (run.ended or run.stop.is_set()) for run in self._runs.values())
            if others >= self._most:
                raise Unavailable(
                    f"{others} questions are being answered, and no more are at once: try again"
                )
            run = WhatIfRun(query, owner)
            self._runs[run.name] = run
            while len(self._runs) > MOST_KEPT:
                self._runs.popitem(last=False)[1].stop.set()
        threading.Thread(target=self._answer, args=(run, may), name="what-if", daemon=True).start()
        return run

    def find(self, name: str, owner: str) -> WhatIfRun | None:
        """Somebody's own question; None where there is none of that name, or it is kept no more."""
        run = self._runs.get(name)
        return run if run is not None and run.owner == owner else None

    def close(self) -> None:
        """Give up all questions."""
        for run in tuple(self._runs.values()):
            run.stop.set()

    # -- on a thread of the question -------------------------------------------------------------

    def _answer(self, run: WhatIfRun, may: MayAsk) -> None:
        run.fault = self._processes.answer(run.query, run.take, may, run.stop)
        run.ended = True
