"""Suite ``rollout_walk``: whole rollouts, evaluation after evaluation, in profile ``ocm``.

The walk's rules are those of the vectors: what is to be applied is applied at once, outcomes follow
after their own times, and time jumps to the next thing that can happen.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rollout.model.placement import Group
from rollout.strategies.ocm import Answer, ClusterRolloutStatus, Status, decide
from tests.conformance.rollout import instant, read_groups, seconds_until
from tests.conformance.suite import Json, Vector, unlike

MOST_STEPS = 500


@dataclass
class Walk:
    """The simulated fleet: what is known of each cluster, and what will happen to it."""

    given: Json
    start: datetime
    now: datetime
    groups: list[Group]
    events: list[tuple[datetime, list[Group]]]
    known: dict[str, ClusterRolloutStatus] = field(default_factory=dict)
    pending: dict[str, list[tuple[datetime, Status]]] = field(default_factory=dict)
    steps: list[Json] = field(default_factory=list)

    @classmethod
    def of(cls, given: Json) -> "Walk":
        start = instant(given["start"])
        events = [
            (start + timedelta(seconds=e["atSeconds"]), read_groups(e["decisionGroups"]))
            for e in given["events"] or ()
        ]
        return cls(given, start, start, read_groups(given["decisionGroups"]), events)

    def run(self) -> str:
        """The verdict; the steps are in ``steps``."""
        for _ in range(MOST_STEPS):
            self._catch_up()
            records = [self.known[name] for name in sorted(self.known)]
            answer = decide(self.given["rolloutStrategy"], self.groups, records, self.now)
            self.steps.append(self._step(answer))
            if answer.error is not None:
                return "error"
            if self._carry_out(answer):
                continue
            upcoming = self._next(answer)
            if upcoming is None:
                return self._verdict(answer)
            self.now = upcoming
        return "limit"

    def _catch_up(self) -> None:
        while self.events and self.events[0][0] <= self.now:
            self.groups = self.events.pop(0)[1]
        for name, changes in self.pending.items():
            while changes and changes[0][0] <= self.now:
                at, status = changes.pop(0)
                self.known[name] = ClusterRolloutStatus(name, status, since=at)

    def _step(self, answer: Answer) -> Json:
        step = {
            "nowSeconds": (self.now - self.start).total_seconds(),
            "toApply": list(answer.to_apply),
            "held": [r.cluster for r in answer.in_flight],
            "timeOut": [r.cluster for r in answer.timed_out],
            "removed": [r.cluster for r in answer.removed],
            "breach": answer.breach,
            "recheckAfter": seconds_until(answer, self.now),
        }
        return step if answer.error is None else {**step, "error": answer.error}

    def _carry_out(self, answer: Answer) -> bool:
        """Apply and forget as the answer says; whether there was anything to do."""
        for name in answer.to_apply:
            self.known[name] = ClusterRolloutStatus(name, Status.PROGRESSING, since=self.now)
            self.pending[name] = [
                (self.now + timedelta(seconds=o["afterSeconds"]), Status(o["status"]))
                for o in self.given["outcomes"].get(name) or ()
            ]
        for record in answer.removed:
            self.known.pop(record.cluster)
            self.pending.pop(record.cluster, None)
        return bool(answer.to_apply or answer.removed)

    def _next(self, answer: Answer) -> datetime | None:
        instants = [changes[0][0] for changes in self.pending.values() if changes]
        instants += [at for at, _ in self.events]
        if answer.recheck_at is not None:
            instants.append(answer.recheck_at)
        return min((at for at in instants if at > self.now), default=None)

    def _verdict(self, answer: Answer) -> str:
        done = all(r.status is Status.SUCCEEDED for r in self.known.values())
        return "finished" if done and not answer.rollout else "stalled"


class RolloutWalkSuite:
    name = "rollout_walk"
    exceptions = ()

    def run(self, given: Json) -> Json:
        walk = Walk.of(given)
        verdict = walk.run()
        return {"steps": walk.steps, "verdict": verdict}

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
