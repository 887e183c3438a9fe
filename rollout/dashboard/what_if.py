"""Who asked what would happen, and what is known of the answer by now? One process for each question.

No question holds up a page, another question for long, or the hub: a process has bounds on memory and
time, runs with low priority, and few run at once.
"""

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from rollout.analysis.excerpt import excerpt
from rollout.analysis.forecast import Forecast
from rollout.analysis.outcomes import Distribution, Outcome, distribution
from rollout.dashboard.foreseeing import (
    HubExcerpt,
    QuestionNamed,
    QuestionRefused,
    Reply,
    RunEnded,
    RunSoaks,
    VariantPlanned,
    WhatIfQuery,
    foresee,
)
from rollout.dashboard.observer import Observer
from rollout.dashboard.view import HubReading
from rollout.errors import RolloutError, Unavailable
from rollout.hub.base import StateKey, profile_of
from rollout.model.kinds import Obj, Ref

log = logging.getLogger(__name__)

SECONDS = 60
MEGABYTES = 512
MOST_RUNS = 500
MOST_AT_ONCE = 2
MOST_KEPT = 16
_CHUNK = 200  # objects that are sent at once: meanwhile pages are answered

MayAsk = Callable[[QuestionNamed], str]
"""Why somebody may not ask about this; "" where they may."""


class WhatIfRun:
    """One question, and its answer as far as it is known. Written by one thread, read by any.

    ``fault`` is why there is no answer, or no more of it; ``ended``: nothing more will come.
    ``named`` are the workloads that it is about.
    """

    def __init__(self, query: WhatIfQuery, owner: str) -> None:
        self.query, self.owner = query, owner
        self.name = secrets.token_urlsafe(12)
        self.named: tuple[Ref, ...] = ()
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
            case QuestionRefused():
                self.fault = reply.message


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
        self._observer = observer
        self._seconds, self._megabytes, self._most = seconds, megabytes, most
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
        ours, its = get_context("spawn").Pipe()
        process = get_context("spawn").Process(
            target=foresee, args=(its, run.query, self._megabytes, self._seconds), daemon=True
        )
        try:
            process.start()
            its.close()
            self._follow(run, ours, may)
        except (EOFError, OSError):
            run.fault = run.fault or (
                f"this takes more than the {self._megabytes} MB and {self._seconds} s that one "
                "question may take"
            )
        except RolloutError as fault:
            run.fault = str(fault)
        except Exception:
            log.exception("a question could not be answered")
            run.fault = "it could not be worked out; the log of the dashboard says more"
        finally:
            run.ended = True
            ours.close()
            process.kill()
            process.join()

    def _follow(self, run: WhatIfRun, process: Connection, may: MayAsk) -> None:
        """Take in what the process tells, until it is done or its time is over."""
        clock = self._observer.wall
        end = clock.now() + timedelta(seconds=self._seconds)
        while not run.stop.is_set():
            if clock.now() >= end:
                run.fault = f"this takes more than the {self._seconds} s that one question may take"
                return
            if not process.poll(0.2):
                continue
            reply = process.recv()
            if isinstance(reply, QuestionNamed):
                run.fault = may(reply)
                if run.fault:
                    return
                run.named = reply.workloads
                self._send(process, reply.workloads)
                continue
            run.take(reply)
            if reply is None or isinstance(reply, QuestionRefused):
                return
        run.fault = "another question was asked since"

    def _send(self, process: Connection, workloads: Collection[Ref]) -> None:
        def read(reading: HubReading) -> tuple[list[tuple[Ref, Obj]], HubExcerpt]:
            kept: Any = reading.hub.get_state(StateKey.SCENARIO)
            beside = HubExcerpt(
                now=reading.snapshot.now, profile=profile_of(reading.objects), scenario=kept
            )
            return list(excerpt(reading.objects, workloads).items()), beside

        objects, beside = self._observer.ask(read)
        for i in range(0, len(objects), _CHUNK):
            process.send(objects[i : i + _CHUNK])
        process.send(beside)
