"""Does a status say what is so? Each status of the workload against the plain model."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from rollout.fleet.fleet import Fleet
from rollout.model.kinds import Obj
from rollout.strategies.base import Phase, Step
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.subject import Said, Standing
from tests.safety.told import Told

Blame = Callable[[str, str], None]
Touched = Mapping[str, tuple[Iterable[str], Iterable[str]]]


class StatusJudge:
    """Judges what is said of the one workload."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self.subject = told.subject
        self._done: list[Rollout] = []  # of which the last status says that they are

    def judge(self, status: Obj, fleet: Fleet, touched: Touched, now: datetime) -> None:
        """S12, S16, S7: the tally adds up, and nothing is called complete that is not.

        ``touched``: for each placement the clusters that get its revision in this pass, and those
        that get another one.
        """
        generation = (self.told.workload() or {})["metadata"]["generation"]
        workload = fleet.rollout(self.subject.ref)
        total = sum(len(r.selected) for r in self.told.rollouts.values())
        self.counts["S16.zero_targets"] += not total
        self._done.clear()
        for rollout in self.told.rollouts.values():
            share = workload.shares[self.subject.share_key(rollout.name)] if workload else None
            step = share.live.last if share else Step()
            skipped = step.count(Phase.SKIPPED)
            said = self.subject.said(status, rollout.name, generation, skipped)
            self._tally(rollout, said, step)
            self._counts(rollout, said, *touched.get(rollout.name, ((), ())))
            self._complete(rollout, said, total, now)
            if said.late:
                self.blame("S6", "what it says is not about this generation")
            self.counts["S11.brake"] += said.stopped == "RemovalBrake"

    def landed(self) -> None:
        """The status of the last plan is on the hub: what it calls complete is so for good."""
        for rollout in self._done:
            back = rollout.back
            back.completed, back.has_reason = True, back.has_reason and bool(back.barred)
        self._done.clear()

    def _tally(self, rollout: Rollout, said: Said, step: Step) -> None:
        self.counts["S12.statuses"] += 1
        tally = sum(n for s in step.stages for p, n in s.phases.items() if p is not Phase.LOST)
        if tally != said.selected and rollout.bad and not step.stages:
            allow(self.counts, "nothing_agreed")
        elif tally != said.selected:
            self.blame(
                "S12", f"{rollout.name}: states of {tally} clusters, {said.selected} selected"
            )
        if said.selected != len(rollout.selected):
            self.blame("S12", f"{rollout.name}: says {said}, selects {rollout.selected}")
        if rollout.hold and said.total is not None:
            allow(self.counts, "held_total")
        elif said.total not in (None, rollout.total):
            self.blame("S12", f"{rollout.name}: says {said}, selects {rollout.total} in all")

    def _counts(
        self, rollout: Rollout, said: Said, given: Iterable[str], taken: Iterable[str]
    ) -> None:
        """S12: each count is what a reader of the objects counts."""
        workload = self.told.workload()
        if workload is None or not said.counts:
            return
        held = {c: self.told.carriers(c) for c in rollout.selected}
        carriers = {c: objs[0] for c, objs in held.items() if objs}
        standing = Standing(carriers, frozenset(given), frozenset(taken))
        wanted = self.subject.counted(workload, standing, self.told.objects.get)
        self.counts["S12.counted"] += bool(wanted)
        wrong = {k: (said.counts.get(k), n) for k, n in wanted.items() if said.counts.get(k) != n}
        if wrong:
            self.blame("S12", f"{rollout.name}: says, and there are: {wrong}")

    def _complete(self, rollout: Rollout, said: Said, total: int, now: datetime) -> None:
        if said.done:
            if rollout.selected and not rollout.hold:
                self._done.append(rollout)
            if not total:
                self.blame("S16", "complete, but nothing is selected")
            late = [
                c for c in rollout.selected if not rollout.is_done(c, now) or rollout.terms is None
            ]
            if late:
                self.blame("R1", f"complete, but {late} are not")
            failed = rollout.failures(None, now)
            self.counts["S12.complete_with_failures"] += bool(failed)
            if failed and said.flawless:
                self.blame("S12", f"complete without failures, but {failed} have failed")
        # Where others own all that a placement selects, nothing waits for it.
        holds = rollout.hold and (rollout.selected or not total)
        if holds and not said.stopped:
            self.blame("S7", f"held by {rollout.hold}, but the status says {said}")
