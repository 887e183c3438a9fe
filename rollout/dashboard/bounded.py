"""Answers a question in a process of its own, with bounds on memory, time and the size of the answer.

No question holds up a page, another question, or the hub. Processes are forked off one that has read the
code already, so that an answer does not wait for that.
"""

import logging
import pickle
import threading
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from typing import Any

from rollout.analysis.excerpt import excerpt
from rollout.dashboard.foreseeing import (
    MOST_BYTES,
    HubExcerpt,
    Query,
    QuestionNamed,
    QuestionRefused,
    Reply,
    VerbQuery,
    foresee,
)
from rollout.dashboard.observer import Observer
from rollout.dashboard.view import HubReading
from rollout.errors import RolloutError
from rollout.hub.base import StateKey, profile_of
from rollout.model.kinds import FREEZE, Obj, Ref

log = logging.getLogger(__name__)

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload([foresee.__module__])
_CHUNK = 200  # objects that are sent at once: meanwhile pages are answered
_LOOK_SECONDS = 0.2

MayAsk = Callable[[QuestionNamed], str]
"""Why somebody may not ask about this; "" where they may."""


def warm() -> None:
    """Start the process that others are forked off, so that the first question finds it there."""
    forkserver.ensure_running()


class BoundedProcesses:
    """One process for each question.

    Args:
        observer: owns the hub.
        seconds: that a question may take.
        megabytes: of data that its process may have.
    """

    def __init__(self, observer: Observer, *, seconds: int, megabytes: int) -> None:
        self._observer, self._seconds, self._megabytes = observer, seconds, megabytes

    def answer(
        self, query: Query, take: Callable[[Reply], object], may: MayAsk, stop: threading.Event
    ) -> str:
        """Answer it on the thread of whoever calls.

        Args:
            take: is told what is found as it is found.
            stop: gives it up.

        Returns: why there is no answer, or no more of it; "" where all is told.
        """
        ours, its = CONTEXT.Pipe()
        process = CONTEXT.Process(
            target=foresee, args=(its, query, self._megabytes, self._seconds), daemon=True
        )
        try:
            process.start()
            its.close()
            return self._follow(query, ours, take, may=may, stop=stop)
        except (EOFError, OSError):
            return f"this takes {self._bounds}"
        except RolloutError as fault:
            return str(fault)
        except Exception:
            log.exception("a question could not be answered")
            return "it could not be worked out; the log of the dashboard says more"
        finally:
            ours.close()
            if process.pid is not None:
                process.kill()
                process.join()

    @property
    def _bounds(self) -> str:
        return (
            f"more than the {self._megabytes} MB, the {self._seconds} s or the"
            f" {MOST_BYTES >> 20} MB of an answer that one question may take"
        )

    def _follow(
        self,
        query: Query,
        process: Connection,
        take: Callable[[Reply], object],
        *,
        may: MayAsk,
        stop: threading.Event,
    ) -> str:
        """Take in what the process tells, until it is done or its time is over."""
        clock = self._observer.wall
        end = clock.now() + timedelta(seconds=self._seconds)
        while not stop.is_set():
            if clock.now() >= end:
                return f"this takes more than the {self._seconds} s that one question may take"
            if not process.poll(_LOOK_SECONDS):
                continue
            reply: Reply = pickle.loads(process.recv_bytes(MOST_BYTES))  # noqa: S301  (our own process)
            if reply is None:
                return ""
            if isinstance(reply, QuestionRefused):
                return reply.message
            if isinstance(reply, QuestionNamed):
                refusal = may(reply)
                if refusal:
                    return refusal
                self._send(query, process, reply)
            take(reply)
        return "another question was asked since"

    def _send(self, query: Query, process: Connection, named: QuestionNamed) -> None:
        hides = isinstance(query, VerbQuery) and not query.may_see_freezes

        def read(reading: HubReading) -> tuple[list[tuple[Ref, Obj]], HubExcerpt]:
            kept: Any = reading.hub.get_state(StateKey.SCENARIO)
            beside = HubExcerpt(
                now=reading.snapshot.now, profile=profile_of(reading.objects), scenario=kept
            )
            found = excerpt(reading.objects, named.workloads, named.placements)
            return [
                (r, obj) for r, obj in found.items() if not (hides and r.kind is FREEZE)
            ], beside

        objects, beside = self._observer.ask(read)
        for i in range(0, len(objects), _CHUNK):
            process.send(objects[i : i + _CHUNK])
        process.send(beside)
