"""Does a status say what is so? Each status of the workload against the plain model."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rollout.model.kinds import Obj
from rollout.strategies.base import Phase, Step
from tests.safety.model import Rollout
from tests.safety.subject import Said
from tests.safety.told import Told

Blame = Callable[[str, str], None]


class StatusJudge:
    """Judges what is said of the one workload."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self.subject = told.subject

    def judge(self, status: Obj, view: Any, now: datetime) -> None:
        """S12, S16, S7: the tally adds up, and nothing is called complete that is not."""
        generation = (self.told.workload() or {})["metadata"]["generation"]
        workload = view.peek(self.subject.ref.key)
        total = sum(len(r.selected) for r in self.told.rollouts.values())
        self.counts["S16.zero_targets"] += not total
        for rollout in self.told.rollouts.values():
            share = workload.shares[self.subject.share_key(rollout.name)] if workload else None
            step = share.live.last if share else Step()
            skipped = step.count(Phase.SKIPPED)
            said = self.subject.said(status, rollout.name, generation, skipped)
            self._tally(rollout, said, step)
            self._complete(rollout, said, total, now)
            if said.late:
                self.blame("S6", "what it says is not about this generation")
            self.counts["S11.brake"] += said.stopped == "RemovalBrake"

    def _tally(self, rollout: Rollout, said: Said, step: Step) -> None:
        self.counts["S12.statuses"] += 1
        tally = sum(n for s in step.stages for p, n in s.phases.items() if p is not Phase.LOST)
        anew = rollout.bad and not step.stages  # nothing was ever agreed
        if tally != said.selected and not anew:
            self.blame("S12", f"{rollout.name}: states of {tally} clusters, {said} selected")
        if not rollout.hold and said.selected != len(rollout.selected):
            self.blame("S12", f"{rollout.name}: says {said}, selects {rollout.selected}")
        if not rollout.hold and said.total not in (None, rollout.total):
            self.blame("S12", f"{rollout.name}: says {said}, selects {rollout.total} in all")

    def _complete(self, rollout: Rollout, said: Said, total: int, now: datetime) -> None:
        if said.done:
            if not total:
                self.blame("S16", "complete, but nothing is selected")
            late = [
                c for c in rollout.selected if not rollout.is_done(c, now) or rollout.terms is None
            ]
            if late:
                self.blame("R1", f"complete, but {late} are not")
        # Where others own all that a placement selects, nothing waits for it.
        holds = rollout.hold and (rollout.selected or not total)
        if holds and not said.stopped:
            self.blame("S7", f"held by {rollout.hold}, but the status says {said}")
