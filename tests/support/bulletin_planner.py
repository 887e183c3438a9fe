"""Plans Bulletins, a kind of workload that the package does not know (`tests.support.bulletins`)."""

from collections.abc import Mapping
from datetime import datetime

from rollout.model import names
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import Ref
from rollout.model.waits import Reason, Wait
from rollout.model.writes import Create, Delete, Patch, PatchStatus, Touch
from rollout.planning.passes import Pass, followed
from rollout.planning.plan import NOTHING, Plan, Write
from rollout.planning.removals import FREE, brake, counted
from rollout.rollouts.facts import Decided
from rollout.rollouts.line import cause_of
from rollout.strategies.base import Closed
from tests.support.bulletins import BULLETIN, NOTICE, Bulletin, Bulletins, BulletinWorkload


class BulletinPlanner:
    """Plans one Bulletin and its Notices."""

    kind = BULLETIN

    def plan(self, key: str, view: Bulletins, now: datetime) -> Plan:
        workload = view.workload(key)
        if workload is None or workload.bulletin is None:
            return NOTHING
        return _BulletinPass(workload, workload.bulletin, view, now).plan()


class _BulletinPass(Pass):
    """One look at one Bulletin."""

    def __init__(
        self, workload: BulletinWorkload, asked: Bulletin, view: Bulletins, now: datetime
    ) -> None:
        super().__init__(now)
        self.workload, self.asked, self.view = workload, asked, view

    def plan(self) -> Plan:
        """The record, then what clusters are to have, then removals, then the status."""
        hold = self.held(self.asked, self.view.freeze(self.now), self.workload.unwritten)
        closed = self.closed(self.view.closed(self.workload.ref, self.now), self.asked.intents)
        decided = self.workload.decide(hold, self.now, {}, closed)
        for each in decided.values():
            self.recheck(each.step.recheck_at)
        self.recheck(self.workload.next_quiet())
        notices = self._notices(decided, closed) if hold is None else []
        removals = self._removals(closed) if hold is None else []
        view = self.view
        decided = counted(self.workload, decided, removals, view=view, now=self.now)
        ref, asked = self.workload.ref, self.asked
        waves = (
            self.told(ref, asked, decided, view),
            self._pages(decided),
            notices,
            removals,
            self.analyses(ref, asked, decided, view.measured),
            self._status(decided, hold, closed),
        )
        return Plan(
            tuple(tuple(wave) for wave in waves if wave),
            recheck_at=min(self.rechecks, default=None),
            notes=tuple(self.notes),
            facts=tuple(decided.values()),
        )

    def _pages(self, decided: Mapping[str, Decided]) -> list[Write]:
        if self.is_unwritten:
            return []
        return [
            write
            for name, share in self.workload.shares.items()
            for write in share.live.book.writes(decided[name].head, decided[name].lines)
        ]

    def _notices(self, decided: Mapping[str, Decided], closed: Closed) -> list[Write]:
        """Touches, and what is given back to clusters that carry something else than they are supposed to."""
        found: list[Write] = []
        for name, share in self.workload.shares.items():
            touched = decided[name].step.touch
            for cluster in touched:
                standing = share.live.ledger.standings.get(cluster)
                cause = cause_of(standing, self.asked.revision)
                found.append(self._notice(Touch(self.workload.ref, name, cluster, cause=cause)))
            kept = self.asked.intents.held | closed.restore.waits.keys() | set(touched)
            for cluster in sorted(share.live.astray - kept):
                if share.live.supposed(cluster) == self.asked.revision:  # no older text is kept
                    restore = Touch(self.workload.ref, name, cluster, first=False, cause="Restore")
                    found.append(self._notice(restore))
        return found

    def _notice(self, touch: Touch) -> Write:
        ref = Ref(NOTICE, f"{touch.cluster}/{self.workload.ref.name}")
        spec = {"text": self.asked.raw["spec"]["text"]}
        before = self.workload.notices.get(touch.cluster)
        if before is not None:
            return Patch(ref, {"spec": spec}, int(before["metadata"]["resourceVersion"]), touch)
        meta = {
            "name": ref.name,
            "namespace": ref.namespace,
            "annotations": {names.OWNER: self.workload.ref.key},
        }
        head = {"apiVersion": NOTICE.api_version, "kind": NOTICE.name, "metadata": meta}
        return Create(ref, {**head, "spec": spec}, touch)

    def _removals(self, closed: Closed) -> list[Write]:
        """Notices of clusters that no placement selects any more, within the removal brake."""
        workload, view = self.workload, self.view
        going = sorted(workload.strays - self.asked.intents.held - closed.removal.waits.keys())
        if not all(share.is_settled for share in workload.shares.values()):
            return []
        braking = (
            brake(
                workload,
                going,
                self.asked.intents,
                view.is_detached,
                policy=view.policy,
                now=self.now,
            )
            if going
            else FREE
        )
        return [
            Delete(
                Ref(NOTICE, f"{cluster}/{workload.ref.name}"),
                workload.notices[cluster]["metadata"]["uid"],
                unless_selected_by=tuple(s.placement_key for s in workload.shares.values()),
                cluster=cluster,
                removed_from=workload.ref,
            )
            for cluster in going
            if cluster not in braking.clusters
        ]

    def _status(
        self, decided: Mapping[str, Decided], hold: Wait | None, closed: Closed
    ) -> list[Write]:
        """Ready once all of it is rolled out. Progressing is True while it goes on by itself; else its
        reason is what it waits for, from which all views and the exit code follow.
        """
        wait = next(filter(None, (hold, *map(_stop, decided.values()))), None)
        is_done = bool(decided) and all(each.step.complete for each in decided.values())
        reason = wait.reason if wait else Reason.COMPLETE if is_done else Reason.ROLLING_OUT
        text, generation = wait.message if wait else "", self.asked.generation
        said = [
            Condition(
                kind, "True" if is_so else "False", reason, text, observed_generation=generation
            )
            for kind, is_so in (
                (names.READY, reason is Reason.COMPLETE),
                (names.PROGRESSING, reason is Reason.ROLLING_OUT),
            )
        ]
        before = (self.asked.raw.get("status") or {}).get("conditions") or []
        after = merge(before, said + followed(closed, before, generation), self.now)
        if after == before:
            return []
        return [PatchStatus(self.workload.ref, {"conditions": after}, self.asked.version)]


def _stop(decided: Decided) -> Wait | None:
    """What one placement waits for, where it does not go on by itself."""
    step = decided.step
    return decided.hold or step.halt or step.hold or step.gate
