"""Are free slots filled at once, and by those whose turn it is? Promises L2 and R5."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from tests.safety import wishes
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.terms import Stage
from tests.safety.told import Told

Blame = Callable[[str, str], None]


class SlotsJudge:
    """Judges whom one plan touches in one placement, where nothing keeps it from touching anybody."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self._given = 0  # clusters that are touched in this plan, as far as it is judged

    def judge(
        self, rollout: Rollout, touched: list[str], stages: list[Stage], now: datetime
    ) -> None:
        """``stages``: those that are surely open."""
        if rollout.hold or self.told.paused or self.told.frozen or rollout.breach(now):
            return
        if wishes.stop(rollout) or rollout.terms is None:
            return
        if not self._is_known(rollout, now):
            return
        earlier: set[str] = set()
        self._given = 0
        for stage in stages:
            if earlier & rollout.unproven:
                allow(self.counts, "unproven")
                return
            earlier.add(stage.key)
            if not wishes.surely_reached(rollout, stage):
                allow(self.counts, "gates")
                return
            self._stage(rollout, stage, [c for c in touched if c in stage.members], now)
            if any(self._is_unsure(rollout, cluster, now) for cluster in stage.members):
                allow(self.counts, "soaks_by_outages")  # the stage may not have passed
                return

    @staticmethod
    def _is_unsure(rollout: Rollout, cluster: str, now: datetime) -> bool:
        """Whether it has soaked, or finally failed, by the plain model, and maybe not by what the engine knows:
        of outages, and of when its first write that landed went out.
        """
        track = rollout.current(cluster)
        return track is not None and not rollout.is_sure_of(track, now)

    def _is_known(self, rollout: Rollout, now: datetime) -> bool:
        """Whether it can be told who is to be touched."""
        if rollout.is_unquiet:
            return not allow(self.counts, "unquiet")
        if any(other.back.has_reason or other.back.barred for other in self.told.rollouts.values()):
            # What another placement may take back goes no further here (row 27).
            return not allow(self.counts, "going_back")
        if not all(t.exact and t.landed and not t.refused for t in rollout.tracks.values()):
            return not allow(self.counts, "inexact")
        if rollout.breach(now, surely=False):
            return not allow(self.counts, "maybe_breach")
        if rollout.maybe_lost:
            return not allow(self.counts, "maybe_lost")
        return True

    def _stage(self, rollout: Rollout, stage: Stage, mine: list[str], now: datetime) -> None:
        assert rollout.terms is not None
        kept = rollout.terms.asked.held | self.told.closed(now)
        fresh = [c for c in stage.members if c not in kept and rollout.current(c) is None]
        flying = [c for c in stage.members if rollout.in_flight(c, now)]
        maybe = [
            c
            for c in stage.members
            if c not in flying
            and (rollout.may_hold_slot(c, now) or rollout.is_maybe(c) or self.told.lacks(c))
        ]
        old = [c for c in fresh if c in flying]
        new = [c for c in fresh if c not in old and c not in maybe]
        taken = len(flying) + len(maybe)
        free = len(new) if stage.limit is None else max(0, stage.limit - taken)
        wanted = 0 if stage.limit == 0 else len(old) + min(free, len(new))
        if rollout.terms.strict:
            wanted = min(wanted, self._room(rollout, stage, now))
        self._given += len(mine)
        self.counts["L2.slots_judged"] += 1
        if len(mine) < wanted:
            self.blame("L2", f"{wanted} could be touched in {stage.key!r}, only {mine} are")
        if maybe:
            allow(self.counts, "slot_maybe")
        else:
            self._in_line(mine, old, new)

    def _room(self, rollout: Rollout, stage: Stage, now: datetime) -> int:
        """How many more may be touched, if all that could fail did (failure-tolerance: Strict)."""
        rooms = [len(stage.members)]
        everybody = [c for each in rollout.plan.stages for c in each.members]
        for budget, members, scope, given in (
            (rollout.plan.budget, everybody, None, self._given),
            (stage.budget, list(stage.members), stage, 0),
        ):
            if budget is not None:
                failed = rollout.failures(scope, now, surely=False)
                unproven = sum(
                    (t := rollout.current(c)) is not None
                    and (not t.soaked or rollout.is_maybe_soaked(t, now))
                    and not rollout.may_be_failure(t, now)
                    for c in members
                )
                rooms.append(max(0, budget + 1 - failed - unproven - given))
        return min(rooms)

    def _in_line(self, touched: list[str], old: list[str], new: list[str]) -> None:
        """R5: whose turn it is follows from what is known: all that are in flight with something older, and
        the first of those that wait.
        """
        first = [*old, *new][: len(touched)]
        self.counts["R5.turns"] += 0 < len(touched) < len(old) + len(new)
        if set(first) != set(touched):
            self.blame("R5", f"{touched} are touched, and it is the turn of {first}")
