"""The pages that replay a decision log: the state of a rollout at each decision."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from starlette.responses import HTMLResponse, JSONResponse, Response

from rollout.account.course import course
from rollout.account.roster import roster
from rollout.account.tree import added_up
from rollout.analysis.replays import DecisionLogIndex, LoggedDecision, ReplayedRollout
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.pictures import drawn
from rollout.dashboard.render import hub_path
from rollout.dashboard.rollouts import CLUSTERS, members
from rollout.errors import ConfigError, Gone
from rollout.model.amounts import parse_digits
from rollout.model.kinds import KINDS, Ref, key_of

T = TypeVar("T")

NEAR = 12
"""Decisions that are listed before and after the one that is shown."""


class ReplayPages:
    """The pages of one decision log.

    Args:
        path: the log; None: there is none.
    """

    def __init__(self, path: Path | None) -> None:
        self._index = DecisionLogIndex(path) if path is not None else None
        self._lock = threading.Lock()

    def listed(self, asked: PageRequest) -> Response:
        """The workloads that the log has decisions of."""
        words = self._ask(lambda index: index.workloads()) if self._index is not None else []
        refs = [ref for word in words if _may_see(asked, ref := _ref(word))]
        is_there = self._index is not None
        return _sent(asked, "replays.html", refs=refs, is_there=is_there, replay_path=replay_path)

    def show(self, asked: PageRequest) -> Response:
        """A workload as it stood at one decision. Raises: Gone, NotAllowed."""
        ref, decisions, at = self._asked(asked)
        found, wish = self._as_of(ref, decisions[at]), CLUSTERS.asked(asked.request.query_params)
        return _sent(
            asked,
            "replay.html",
            ref=ref,
            at=at,
            most=len(decisions) - 1,
            decision=decisions[at],
            near=list(enumerate(decisions))[max(at - NEAR, 0) : at + NEAR + 1],
            found=found,
            phases=added_up(stage.phases for _, stage in found.stages),
            members=sum(stage.members for _, stage in found.stages),
            clusters=members(found.lives, wish),
            base=replay_path(ref),
        )

    def pictures(self, asked: PageRequest) -> Response:
        """The map and the curves as of then. Raises: Gone, NotAllowed."""
        ref, decisions, at = self._asked(asked)
        found = self._as_of(ref, decisions[at])
        known = asked.request.query_params.get("layout", "")
        answer = drawn(roster(found.lives), course(found.lives, found.at), known)
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    def _asked(self, asked: PageRequest) -> tuple[Ref, list[LoggedDecision], int]:
        """The workload of the path, its decisions, and which of them is asked for."""
        kind, namespace, name = (
            str(asked.request.path_params[key]) for key in ("kind", "namespace", "name")
        )
        known = next((each for each in KINDS.values() if kind in each.short), None)
        if known is None or self._index is None:
            raise Gone(f"the log has no {kind} {name}")
        ref = Ref(known, key_of("" if namespace == "-" else namespace, name))
        asked.require("list", ref.kind, ref.namespace)
        decisions = self._ask(lambda index: index.decisions(str(ref)))
        if not decisions:
            raise Gone(f"the log has no decision of {ref}")
        text = asked.request.query_params.get("at", "")
        number, last = parse_digits(text, most=8), len(decisions) - 1
        return ref, decisions, last if number is None else min(number, last)

    @property
    def has_log(self) -> bool:
        """Whether there is a log at all."""
        return self._index is not None

    def decisions(self, ref: Ref) -> list[LoggedDecision]:
        """What was decided of a workload, oldest first. Raises: Gone where the log cannot be read."""
        return self._ask(lambda index: index.decisions(str(ref))) if self.has_log else []

    def _as_of(self, ref: Ref, decision: LoggedDecision) -> ReplayedRollout:
        found = self._ask(lambda index: index.as_of(str(ref), decision.number))
        if found is None:
            raise Gone(f"line {decision.number} of the log is not a decision of {ref}")
        return found

    def _ask(self, question: Callable[[DecisionLogIndex], T]) -> T:
        """Ask the log. Raises: Gone where it cannot be read, with the reason."""
        assert self._index is not None, "without a log there is nothing to ask"
        with self._lock:
            try:
                return question(self._index)
            except (ConfigError, OSError) as fault:
                raise Gone(f"the decision log cannot be read: {fault}") from fault


def replay_path(ref: Ref) -> str:
    """Where a workload is replayed."""
    return f"/replay{hub_path(ref)}"


def _sent(asked: PageRequest, template: str, **values: object) -> Response:
    """A page that depends on the log, which no view tells of."""
    text = asked.office.render(template, **asked.office.frame(asked), **values)
    return HTMLResponse(text, headers={"Cache-Control": "no-store"})


def _ref(word: str) -> Ref:
    kind, _, key = word.partition(" ")
    return Ref(KINDS[kind], key)


def _may_see(asked: PageRequest, ref: Ref) -> bool:
    return asked.may("list", ref.kind, ref.namespace)
