"""Is this plan allowed, and is it enough? Each decision of the engine against the plain model."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rollout.fleet.fleet import Fleet
from rollout.model.writes import Create, Delete, Patch, PatchStatus
from rollout.planning.plan import Plan
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Step
from tests.safety import wishes
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.operating import OperationsJudge
from tests.safety.owners import OwnersJudge
from tests.safety.proving import unproven, waived
from tests.safety.slots import SlotsJudge
from tests.safety.statuses import StatusJudge
from tests.safety.terms import Stage
from tests.safety.told import Told
from tests.safety.verdicts import VerdictsJudge

Blame = Callable[[str, str], None]

_BLOCKS = ("Restore", "Rollback")
"""What calendars keep back only where they say so: that is no touch."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a carrier: which revision the cluster then has."""

    cluster: str
    revision: str
    write: Create | Patch | PatchStatus


class PlanJudge:
    """Judges plans of the one workload."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self.subject = told.subject
        self.statuses = StatusJudge(told, counts, blame)
        self._owners = OwnersJudge(told, counts, blame)
        self.creating: dict[str, str] = {}  # cluster -> revision that its new carrier is made for
        self.restarted_in_flight: set[str] = set()
        self.retrying: dict[str, str] = {}  # clusters that this plan lets try again, and what
        self._touched: dict[str, tuple[list[str], list[str]]] = {}  # see `StatusJudge.judge`
        self.verdicts = VerdictsJudge(told, counts, blame)
        self.operations = OperationsJudge(told, counts, blame)
        self._slots = SlotsJudge(told, counts, blame)

    def judge(self, plan: Plan, fleet: Fleet, now: datetime) -> None:
        told = self.told
        told.look(now)
        if told.workload() is None:
            return
        self.counts["S9.owner_changes"] = told.moves
        self.creating, self.retrying, self._touched = {}, {}, {}
        writes = [w for write in plan.writes if (w := self._write(write)) is not None]
        carriers = [w.ref for w in plan.writes if w.ref.kind is self.subject.carrier]
        for ref, times in Counter(carriers).items():
            if times > 1:
                self.blame("S9", f"one plan writes {ref} {times} times")
        by_rollout: dict[str, list[Write]] = {name: [] for name in told.rollouts}
        for write in writes:
            owner = told.owner(write.cluster)
            if owner is None:
                self._for_nobody(write)
            else:
                by_rollout[owner.name].append(write)
                self._owned(write, self.subject.share_key(owner.name))
        self._paused(plan, writes)
        self._closed(plan, writes, now)
        self._owners.judge(plan)
        if told.is_ocm:
            self.counts["S9.plans_as_ocm"] += 1
            allow(self.counts, "as_ocm")
            return
        workload = fleet.rollout(self.subject.ref)
        for name, rollout in told.rollouts.items():
            share = workload.shares.get(self.subject.share_key(name)) if workload else None
            live = share.live if share else None
            self._rollout(rollout, by_rollout[name], live, now)
        for each in plan.writes:
            if isinstance(each, PatchStatus) and each.ref == self.subject.ref:
                self.statuses.judge(each.status, fleet, self._touched, now)
            elif isinstance(each, PatchStatus) and each.ref.kind is self.subject.carrier:
                self._success(each)

    def _write(self, write: Any) -> Write | None:
        if write.ref.kind is not self.subject.carrier:
            return None
        match write:
            case Create(_, changes) | Patch(_, changes):
                pass
            case PatchStatus(_, status):
                changes = {"status": status}
            case _:
                return None
        cluster, find = write.ref.namespace, self.told.objects.get
        revision = self.subject.brought(find(write.ref), changes, find)
        if not revision and isinstance(write, Create) and write.touch and write.touch.first:
            # What it brings comes with a further write; the slot is taken now.
            owner = self.told.owner(cluster)
            revision = owner.terms.revision if owner and owner.terms else "?"
            self.creating[cluster] = revision
        if not revision and write.touch and write.touch.cause == "Retry":
            # Another attempt at what is there: nothing but the touch is new.
            known = find(write.ref)
            carried = self.subject.carried(known, find) if known else None
            revision = carried.revision if carried else ""
        return Write(cluster, revision, write) if revision else None

    def _owned(self, write: Write, owner: str) -> None:
        """S9: only the rollout that owns a cluster brings anything to it."""
        touch = write.write.touch
        if touch is not None and touch.placement != owner:
            self.blame("S9", f"{write.cluster} of {owner} is written to for {touch.placement}")

    def _for_nobody(self, write: Write) -> None:
        """S9: what nobody selects is left alone, unless a person made it."""
        carrier, workload = self.told.objects.get(write.write.ref), self.told.workload()
        if carrier is None or workload is None:
            self.blame("S9", f"{write.cluster} is written to, but nothing selects it")
            return
        allowed = self.subject.for_nobody(workload, carrier, self.told.objects.get)
        self.counts["S9.for_nobody"] += 1
        if write.revision != allowed:
            self.blame("S9", f"{write.cluster} gets {write.revision}, but nothing selects it")

    def _success(self, write: PatchStatus) -> None:
        """S6: success is only told of what agents said of this revision and generation."""
        before = self.told.objects.get(write.ref)
        if before is None:
            return
        find = self.told.objects.get
        self.counts["S6.successes"] += 1
        wrong = self.subject.false_success(before, {"status": write.status}, find)
        if wrong:
            self.blame("S6", f"{write.ref} is said to have succeeded, but {wrong}")

    # -- one placementRef --------------------------------------------------------------------------

    def _rollout(
        self,
        rollout: Rollout,
        writes: list[Write],
        live: LiveRollout | None,
        now: datetime,
    ) -> None:
        terms = rollout.terms
        if terms is None:
            return
        step = live.last if live else Step()
        touched = [w for w in writes if self._is_touch(rollout, w)]
        back = [w for w in touched if self._is_rollback(rollout, w)]
        first = [w for w in writes if w.write.touch and w.write.touch.first]
        self._touched[rollout.name] = (
            [w.cluster for w in first if w.revision == terms.revision],
            [w.cluster for w in first if w.revision != terms.revision],
        )
        for write in touched:
            rollout.planned[write.cluster, write.revision] = now
            if write.revision != terms.revision and write not in back:
                self.blame("R1", f"{write.cluster} is written {write.revision}, not asked for")
            if not (write.write.touch and write.write.touch.cause):
                self.blame("O1", f"the touch of {write.cluster} has no cause")
        clusters = [w.cluster for w in touched if w not in back]
        given_back = [(w.cluster, w.revision) for w in back]
        self.operations.judge(rollout, clusters, given_back, now)
        self.verdicts.judge(rollout, step, live, now)
        self._halted(rollout, clusters, now)
        anew = [w.cluster for w in touched if not self._is_repeated(rollout, w)]
        unproven(rollout, anew, clusters, (self.counts, self.blame))
        open_stages = self._stages(rollout, clusters, now)
        self._tolerance(rollout, clusters, now)
        wishes.came_through(rollout, clusters)
        if live is None:
            allow(self.counts, "unread")  # a new process has not read the workload yet
        else:
            waived(rollout, step, (self.counts, self.blame))
            self._slots.judge(rollout, clusters, open_stages, now)

    def _is_touch(self, rollout: Rollout, write: Write) -> bool:
        track = rollout.tracks.get(write.cluster)
        if track is None:
            return True
        first = write.write.touch is not None and write.write.touch.first
        if first and (track.void or track.maybe_void) and track.revision == write.revision:
            self.retrying[write.cluster] = write.revision
            self.counts["S1.tried_again"] += 1
            return True
        if self._is_rollback(rollout, write):
            return True
        known = {track.revision}
        if not track.landed and track.before is not None:
            known.add(track.before.revision)
        return write.revision not in known

    @staticmethod
    def _is_rollback(rollout: Rollout, write: Write) -> bool:
        """Whether the write takes the revision back; `OperationsJudge` judges whether it may.

        It may be repeated after a restart, which is no first attempt. What has landed once, and is gone,
        is restored.
        """
        touch, track = write.write.touch, rollout.tracks.get(write.cluster)
        if touch is None or write.revision == rollout.terms_revision:
            return False
        has_it = track is not None and track.landed and track.revision == write.revision
        return touch.first or (write.cluster in rollout.back.given and not has_it)

    @staticmethod
    def _is_repeated(rollout: Rollout, write: Write) -> bool:
        """Whether the write is the one that was on its way to the cluster, once more."""
        touch, track = write.write.touch, rollout.tracks.get(write.cluster)
        is_first = touch is None or touch.first
        return not is_first and track is not None and track.revision == write.revision

    def _halted(self, rollout: Rollout, touched: list[str], now: datetime) -> None:
        """S3, S7, S17: a breach or an unknown thing holds everything."""
        if rollout.hold:
            self.counts[f"S7.{rollout.hold}"] += 1
            if touched:
                about = "S11" if rollout.hold == "TornDecisions" else "S7"
                self.blame(about, f"{touched} are touched in spite of {rollout.hold}")
        if rollout.lost:
            self.counts["S17.lost"] += 1
        if not rollout.breach(now):
            return
        waiting = [c for s in rollout.plan.stages for c in s.members if rollout.current(c) is None]
        self.counts["S3.breach_while_waiting"] += bool(waiting)
        if touched:
            lost = dict(rollout.lost)
            rollout.lost.clear()
            promise = "S3" if rollout.breach(now) else "S17"
            rollout.lost.update(lost)
            self.blame(promise, f"{touched} are touched, {rollout.failures(None, now)} have failed")

    def _stages(self, rollout: Rollout, touched: list[str], now: datetime) -> list[Stage]:
        """S1, S2, S5. Returns the stages that are surely open."""
        found: list[Stage] = []
        is_open = True
        for stage in rollout.plan.stages:
            mine = [c for c in touched if c in stage.members]
            if not is_open:
                self.counts["S5.later_stage_waits"] += 1
                self.counts["S5.named_twice"] += rollout.named_again > 0
                if mine:
                    lost = "S17" if rollout.lost else "S5"
                    self.blame(lost, f"{mine} in {stage.key!r} before earlier stages have passed")
            else:
                found.append(stage)
            self._limit(rollout, stage, mine, now)
            is_open = is_open and rollout.may_have_passed(stage, now)
            is_open = is_open and not wishes.shut(rollout, stage, "before", "after")
        return found

    def _limit(self, rollout: Rollout, stage: Stage, mine: list[str], now: datetime) -> None:
        if stage.limit is None:
            return
        flying = [c for c in stage.members if rollout.in_flight(c, now)]
        new = [c for c in mine if c not in flying and not self._may_fly(rollout, c, now)]
        spared = [c for c in mine if c not in flying and self._may_fly(rollout, c, now)]
        allow(self.counts, "slot_unknown", len(spared))
        waiting = [c for c in stage.members if rollout.current(c) is None]
        if isinstance(rollout.terms and rollout.terms.limit, str) and stage.limit == 0 and waiting:
            self.counts["S2.explicit_zero"] += 1
            if mine:
                self.blame("S2", f"maxConcurrency is zero, and {mine} are touched")
        self.counts["S1.at_the_limit"] += len(flying) >= stage.limit and bool(waiting)
        old = [c for c in flying if rollout.current(c) is None]
        self.counts["S1.supersede_in_flight"] += bool(old)
        self.counts["S1.restart_in_flight"] += bool(self.restarted_in_flight.intersection(flying))
        if new and len(flying) + len(new) > stage.limit:
            self.blame("S1", f"{new} are touched, {flying} in flight, limit {stage.limit}")

    def _may_fly(self, rollout: Rollout, cluster: str, now: datetime) -> bool:
        """Whether the engine, having forgotten a verdict, or going by every outage that it was told of,
        rightly counts the cluster as in flight on its old revision: then writing the new one takes no slot.
        So it is where the old one was refused, until that is a failure for good (rows 5, 18, 19).
        """
        track = rollout.tracks.get(cluster)
        if track is None:
            return False
        if not track.exact:
            return True
        is_refused = track.refused and not rollout.is_free(track, now)
        is_old = rollout.current(cluster) is None
        return is_old and (is_refused or rollout.may_still_soak(track, now))

    def _tolerance(self, rollout: Rollout, touched: list[str], now: datetime) -> None:
        """S4: touches that could all fail stay within budget + 1."""
        plan, terms = rollout.plan, rollout.terms
        if terms is None or not terms.strict:
            return
        scopes = [(s, s.budget) for s in plan.stages if s.budget is not None]
        if plan.budget is not None:
            scopes.append((None, plan.budget))  # type: ignore[arg-type]
        for stage, budget in scopes:
            assert budget is not None
            members = stage.members if stage else [c for s in plan.stages for c in s.members]
            mine = [c for c in touched if c in members]
            unproven = {
                c
                for c in members
                if (t := rollout.current(c)) is not None
                and rollout.in_flight(c, now)
                and not rollout.is_failure(t, now)
            }
            failed = rollout.failures(stage, now)
            at_stake = failed + len(unproven.union(mine))
            self.counts["S4.at_the_bound"] += at_stake >= budget + 1
            if mine and at_stake > budget + 1:
                self.blame("S4", f"{at_stake} could fail after touching {mine}, budget {budget}")

    def _closed(self, plan: Plan, writes: list[Write], now: datetime) -> None:
        """S21: nothing is touched in a closed window, and nothing is removed from there."""
        told, counts = self.told, self.counts
        closed, kept = told.closed(now), told.closed(now, "Removal")
        for rollout in told.rollouts.values():
            waiting = [c for c in closed & rollout.selected if rollout.current(c) is None]
            counts["S21.closed_waiting"] += bool(waiting)
            counts["S21.unread"] += bool(waiting) and not told.windows.are_all_read
        if told.is_past_calendars(now):
            counts["S21.overridden"] += bool(told.closed_at_all(now))
        counts["S21.removals_shut"] += any(told.carriers(c) and not told.owner(c) for c in kept)
        for write in writes:
            touch = write.write.touch
            if touch is None or touch.cause == "Own":
                continue
            block = touch.cause if touch.cause in _BLOCKS else "Touch"
            counts[f"S21.{block}"] += 1
            if write.cluster in (closed if block == "Touch" else told.closed(now, block)):
                self.blame("S21", f"{write.cluster} gets {write.revision} while it is closed")
        for each in plan.writes:
            if isinstance(each, Delete) and each.ref.kind is self.subject.carrier:
                counts["S21.removals"] += bool(kept)
                if each.ref.namespace in kept:
                    self.blame("S21", f"{each.ref} is removed while its cluster is closed")

    # -- the workload ------------------------------------------------------------------------------

    def _paused(self, plan: Plan, writes: list[Write]) -> None:
        if not self.told.paused and not self.told.frozen:
            return
        self.counts["S8.frozen" if self.told.frozen else "S8.paused"] += 1
        for write in writes:
            self.blame("S8", f"{write.cluster} gets {write.revision} while paused")
        for each in plan.writes:
            is_report = isinstance(each, PatchStatus)
            if each.ref.kind is self.subject.carrier and not is_report:
                self.blame("S8", f"{each.ref} is written to while paused")
