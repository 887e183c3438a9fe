"""Simulates now and then how a rollout will go on from here, for the curve of its page."""

import threading
from datetime import datetime, timedelta
from typing import Any

from starlette.responses import JSONResponse, Response

from rollout.analysis.outcomes import outlook
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.foreseeing import WhatIfQuery
from rollout.dashboard.observer import Observer
from rollout.dashboard.what_if import WhatIfRun, WhatIfs
from rollout.errors import Unavailable
from rollout.model.kinds import Ref
from rollout.strategies.base import Phase

RUNS = 20
SECONDS = 20
GOOD_FOR = timedelta(seconds=60)
MOST_AT_ONCE = 1
MOST_KEPT = 64


class Outlooks:
    """The outlooks of the last while. One is worked out at a time, for all who look at that rollout."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._what_ifs = WhatIfs(observer, seconds=SECONDS, most=MOST_AT_ONCE)
        self._kept: dict[Ref, tuple[datetime, int, WhatIfRun | None]] = {}
        self._lock = threading.Lock()

    def answer(self, asked: PageRequest) -> Response:
        """What is known by now, as JSON."""
        before, run = self._run(asked)
        points = outlook(run.soaks) if run is not None else ()
        found: dict[str, Any] = {
            "ended": run is not None and run.ended,
            "p50": [[p.p50.timestamp(), p.clusters + before] for p in points if p.p50 is not None],
            "p90": [[p.p90.timestamp(), p.clusters + before] for p in points if p.p90 is not None],
        }
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

    def close(self) -> None:
        """Give up what is being worked out."""
        self._what_ifs.close()

    def _run(self, asked: PageRequest) -> tuple[int, WhatIfRun | None]:
        """The newest one of a rollout, and how many clusters had soaked before it.

        None while another rollout's is worked out.
        """
        ref, now = asked.workload(), self._observer.wall.now()
        phases = asked.view.by_ref[ref].account.phases
        with self._lock:
            at, before, run = self._kept.get(ref, (now, 0, None))
            if run is not None and (not run.ended or now < at + GOOD_FOR):
                return before, run
            query = WhatIfQuery(ref=ref, runs=RUNS, curves=True)
            try:
                begun = self._what_ifs.start(query, str(ref), lambda _: "")
            except Unavailable:
                return before, run
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            before = phases.get(Phase.SOAKED, 0)
            self._kept[ref] = (now, before, begun)
            return before, begun
