"""Is this plan allowed, and is it enough? Each decision of the engine against the plain model."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, Plan
from rollout.strategies.base import Phase, Standing, Step, Verdict
from tests.safety import objects
from tests.safety.model import Rollout
from tests.safety.questions import pure, worse_news
from tests.safety.terms import Stage, health_of
from tests.safety.told import Told

Blame = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a work: which revision the cluster then carries."""

    cluster: str
    revision: str
    write: Create | Patch


class PlanJudge:
    """Judges plans of the one workload."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self.calm = True
        self.dice = Random(0)
        self.asking = 0.05  # how often a decision is asked for in other ways
        self.refusing = False
        self.restarted_in_flight: set[str] = set()

    def judge(self, plan: Plan, fleet: Fleet, now: datetime) -> None:
        told = self.told
        told.look(now)
        if told.workload() is None:
            return
        writes = [w for write in plan.writes if (w := self._write(write)) is not None]
        works = [write.ref for write in plan.writes if write.ref.kind is MANIFEST_WORK]
        for ref, times in Counter(works).items():
            if times > 1:
                self.blame("S9", f"one plan writes {ref} {times} times")
        by_rollout: dict[str, list[Write]] = {name: [] for name in told.rollouts}
        for write in writes:
            owner = told.owner(write.cluster)
            if owner is None:
                self.blame("S9", f"{write.cluster} is written to, but nothing selects it")
            else:
                by_rollout[owner.name].append(write)
        workload = fleet.peek(objects.WORKLOAD)
        for name, rollout in told.rollouts.items():
            share = workload.shares.get(name) if workload else None
            step = share.live.last if share else Step()
            if share is not None and self.dice.random() < self.asking:
                known = share.live.ledger.rollout
                pure(known, step, now, self.dice, self.blame)
                worse_news(known, now, self.dice, self.counts, self.blame)
            present = share.live.ledger.standings if share else {}
            standings = {
                cluster: standing
                for cluster, standing in present.items()
                if share and standing.revision == share.live.revision
            }
            self._rollout(rollout, by_rollout[name], step, standings, now)
        self._paused(plan)
        self._deletes(plan, now)
        self._labels(plan)
        for each in plan.writes:
            if isinstance(each, PatchStatus) and each.ref.kind is REPLICA_SET:
                self._status(each.status, fleet, now)

    def _write(self, write: Any) -> Write | None:
        if not isinstance(write, Create | Patch) or write.ref.kind is not MANIFEST_WORK:
            return None
        cluster = write.ref.namespace
        if isinstance(write, Create):
            return Write(cluster, objects.revision_of(write.obj["spec"]), write)
        spec = write.changes.get("spec")
        if spec is None:
            return None
        return Write(cluster, objects.revision_of(spec) or self._carried(write.ref), write)

    def _carried(self, ref: Ref) -> str:
        obj = self.told.objects.get(ref)
        return objects.revision_of(obj["spec"]) if obj else ""

    # -- one placementRef --------------------------------------------------------------------------

    def _rollout(
        self,
        rollout: Rollout,
        writes: list[Write],
        step: Step,
        standings: Mapping[str, Standing],
        now: datetime,
    ) -> None:
        terms = rollout.terms
        if terms is None:
            return
        touched = [w for w in writes if self._is_touch(rollout, w)]
        for write in touched:
            rollout.planned[write.cluster, write.revision] = now
            if write.revision != terms.revision:
                self.blame("R1", f"{write.cluster} is written {write.revision}, not asked for")
            if not (write.write.touch and write.write.touch.cause):
                self.blame("O1", f"the touch of {write.cluster} has no cause")
        clusters = [w.cluster for w in touched]
        self._verdicts(rollout, step, now)
        self._soaked(rollout, standings, now)
        self._halted(rollout, clusters, now)
        open_stages = self._stages(rollout, clusters, now)
        self._tolerance(rollout, clusters, now)
        self._reasons(rollout, step, clusters)
        self._enough(rollout, clusters, open_stages, now)

    def _is_touch(self, rollout: Rollout, write: Write) -> bool:
        track = rollout.tracks.get(write.cluster)
        if track is None:
            return True
        known = {track.revision}
        if not track.landed and track.before is not None:
            known.add(track.before.revision)
        return write.revision not in known

    def _verdicts(self, rollout: Rollout, step: Step, now: datetime) -> None:
        """S6, S13: nobody soaks or times out early."""
        for settled in step.settled:
            track = rollout.tracks.get(settled.cluster)
            if track is None:
                continue
            if settled.verdict is Verdict.SOAKED:
                self.counts["S13.soaks_ended"] += 1
                if not rollout.has_soaked(track, now):
                    work = self.told.work(settled.cluster)
                    stale = health_of(work) != "succeeded" or (
                        work is not None and objects.revision_of(work["spec"]) != track.revision
                    )
                    self.blame("S6" if stale else "S13", f"{settled.cluster} did not soak: {track}")
            else:
                self.counts["S13.deadlines_ended"] += 1
                if not rollout.is_free(track, now):
                    self.blame("S13", f"{settled.cluster} failed too early: {track}")

    def _soaked(self, rollout: Rollout, standings: Mapping[str, Standing], now: datetime) -> None:
        """S13: what counts as soaked on the present revision did soak, whoever noted it."""
        for cluster, standing in standings.items():
            track = rollout.current(cluster)
            if track is None or standing.verdict is not Verdict.SOAKED:
                continue
            if not rollout.has_soaked(track, now):
                self.blame("S13", f"{cluster} counts as soaked, but did not soak: {track}")

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
                if mine:
                    lost = "S17" if rollout.lost else "S5"
                    self.blame(lost, f"{mine} in {stage.key!r} before earlier stages have passed")
            else:
                found.append(stage)
            self._limit(rollout, stage, mine, now)
            is_open = is_open and rollout.may_have_passed(stage, now)
        return found

    def _limit(self, rollout: Rollout, stage: Stage, mine: list[str], now: datetime) -> None:
        if stage.limit is None:
            return
        flying = [c for c in stage.members if rollout.in_flight(c, now)]
        new = [c for c in mine if c not in flying and not self._may_fly(rollout, c)]
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

    def _may_fly(self, rollout: Rollout, cluster: str) -> bool:
        """Whether the engine, having forgotten a verdict, rightly counts the cluster as in flight
        on its old revision: then writing the new one takes no slot."""
        track = rollout.tracks.get(cluster)
        return track is not None and not track.exact

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

    def _reasons(self, rollout: Rollout, step: Step, touched: list[str]) -> None:
        """O1: whoever waits has one reason."""
        if rollout.hold or len(step.stages) != len(rollout.plan.stages):
            return
        for stage, report in zip(rollout.plan.stages, step.stages, strict=True):
            waiting = [c for c in stage.members if rollout.current(c) is None and c not in touched]
            self.counts["O1.waiting"] += bool(waiting)
            if waiting and not report.blocked:
                self.blame("O1", f"{waiting} wait in {stage.key!r} and nobody says why")

    def _enough(
        self, rollout: Rollout, touched: list[str], stages: list[Stage], now: datetime
    ) -> None:
        """L2: free slots are filled at once. Only where nothing is uncertain."""
        terms = rollout.terms
        if rollout.hold or self.told.paused or terms is None or terms.strict or not rollout.sure:
            return
        exact = all(t.exact and t.landed and not t.refused for t in rollout.tracks.values())
        if not exact or not self.calm or rollout.breach(now):
            return
        for stage in stages:
            fresh = [c for c in stage.members if rollout.current(c) is None]
            flying = [c for c in stage.members if rollout.in_flight(c, now)]
            old = [c for c in fresh if c in flying]
            free = None if stage.limit is None else max(0, stage.limit - len(flying))
            zero = stage.limit == 0
            new = [c for c in fresh if c not in old]
            wanted = 0 if zero else len(old) + (len(new) if free is None else min(free, len(new)))
            mine = [c for c in touched if c in stage.members]
            self.counts["L2.slots_judged"] += 1
            if len(mine) < wanted:
                self.blame("L2", f"{wanted} could be touched in {stage.key!r}, only {mine} are")

    # -- the workload ------------------------------------------------------------------------------

    def _paused(self, plan: Plan) -> None:
        if not self.told.paused:
            return
        self.counts["S8.paused"] += 1
        for write in plan.writes:
            if write.ref.kind is MANIFEST_WORK:
                self.blame("S8", f"{write.ref} is written to while paused")

    def _deletes(self, plan: Plan, now: datetime) -> None:
        """S11: on a consistent and quiet read alone, and never for a placement that is missing."""
        rollouts = self.told.rollouts.values()
        torn = [r.name for r in rollouts if r.hold in ("TornDecisions", "NotDecided")]
        quiet = [r.name for r in rollouts if r.quiet_until is not None]
        here = {d.ref.namespace for d in plan.writes if isinstance(d, Delete)}
        if torn:
            self.counts["S11.torn"] += 1
        for cluster in here:
            if len(self.told.works(cluster)) > 1 and self.told.owner(cluster):
                continue  # twins
            for write in plan.writes:
                if not isinstance(write, Delete) or write.ref.namespace != cluster:
                    continue
                if write.ref.kind is not MANIFEST_WORK:
                    continue
                if torn or quiet:
                    self.blame("S11", f"{write.ref} is removed; torn {torn}, not quiet {quiet}")
                if self.told.owner(cluster) is not None:
                    self.blame("S11", f"{write.ref} is removed, though it is selected")
                home = self._label(write.ref)
                rollout = self.told.rollouts.get(home)
                if rollout is not None and rollout.hold == "PlacementNotFound":
                    self.blame("S11", f"{write.ref} is removed, but {home} does not exist")

    def _label(self, ref: Ref) -> str:
        obj = self.told.objects.get(ref)
        labels = (obj["metadata"].get("labels") or {}) if obj else {}
        return str(labels.get(names.WORK_PLACEMENT_LABEL, ""))

    def _labels(self, plan: Plan) -> None:
        """S9: a work is relabelled only when its cluster has another owner."""
        for write in plan.writes:
            if not isinstance(write, Patch) or write.ref.kind is not MANIFEST_WORK:
                continue
            labels = (write.changes.get("metadata") or {}).get("labels") or {}
            new, old = labels.get(names.WORK_PLACEMENT_LABEL), self._label(write.ref)
            if new and new != old:
                self.counts["S9.owner_changes"] += 1
                owner = self.told.owner(write.ref.namespace)
                if owner is None or owner.name != new:
                    self.blame("S9", f"{write.ref} is given to {new}, its owner is {owner}")

    def _status(self, status: Obj, fleet: Fleet, now: datetime) -> None:
        """S12, S16, S7: the tally adds up, and nothing is called complete that is not."""
        said = {c["type"]: c for c in status["conditions"]}
        shares = status["placementSummary"]
        workload = fleet.peek(objects.WORKLOAD)
        for rollout, share in zip(self.told.rollouts.values(), shares, strict=True):
            desired = share["summary"]["desiredTotal"]
            live = workload.shares[rollout.name].live if workload else None
            phases: Counter[Phase] = Counter()
            for stage in live.last.stages if live else ():
                phases.update(stage.phases)
            tally = sum(n for phase, n in phases.items() if phase is not Phase.LOST)
            self.counts["S12.statuses"] += 1
            anew = rollout.bad and not (live and live.last.stages)  # nothing was ever agreed
            if tally != desired and not anew:
                self.blame("S12", f"{rollout.name}: states of {tally} clusters, {desired} selected")
            if not rollout.hold and desired != len(rollout.selected):
                self.blame("S12", f"{rollout.name}: says {desired}, selects {rollout.selected}")
        self._complete(said, now)

    def _complete(self, said: dict[str, Obj], now: datetime) -> None:
        rollouts = list(self.told.rollouts.values())
        total = sum(len(r.selected) for r in rollouts)
        self.counts["S16.zero_targets"] += not total
        self.counts["S11.brake"] += said["Progressing"]["reason"] == "RemovalBrake"
        is_done = (
            said["Ready"]["status"] == "True" or said["PlacementRolledOut"]["status"] == "True"
        )
        generation = (self.told.workload() or {})["metadata"]["generation"]
        if any(c["observedGeneration"] != generation for c in said.values()):
            self.blame("S6", "a condition is not about this generation")
        if is_done:
            if not total:
                self.blame("S16", "complete, but nothing is selected")
            late = [
                c for r in rollouts for c in r.selected if not r.is_done(c, now) or r.terms is None
            ]
            if late:
                self.blame("R1", f"complete, but {late} are not")
        # Where others own all that a placement selects, nothing waits for it.
        holds = {r.hold for r in rollouts if r.hold and (r.selected or not total)}
        if holds and (is_done or said["Progressing"]["status"] != "False"):
            self.blame("S7", f"held by {holds}, but the status says {said['Progressing']}")
