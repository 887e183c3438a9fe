"""Plans the ManifestWorks, the record and the status of a ManifestWorkReplicaSet.

The planner asks each placementRef's rollout for a step and turns the answers into waves of writes:
the record, then works, then removals, then the status. Source: semantics rows 12-27; OCM's
ManifestWorkReplicaSet spec 4 and 7.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import structs

from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Wait
from rollout.model.work import Work, names_another_owner, oldest
from rollout.model.writes import Create, Delete, Patch, PatchStatus, PatchWork, Touch
from rollout.planning.documents import (
    attempt_label,
    difference,
    new_work,
    revision_label,
    work_annotations,
)
from rollout.planning.history import history, outdated, to_keep, way_cleared
from rollout.planning.notes import (
    cleared_notes,
    disowned_works,
    failing,
    fault_on,
    repair_notes,
    retreat_notes,
    rollout_notes,
    taken_back_for,
    verdict_on,
)
from rollout.planning.passes import Pass
from rollout.planning.plan import NOTHING, UNFINISHED, Note, Plan, Write
from rollout.planning.removals import Removals, cleanup, counted, removals
from rollout.planning.revisions import kept_contents, spec_kept
from rollout.planning.standing import ShareReport
from rollout.planning.status import RARELY, is_nearly_done, status_of
from rollout.planning.views import ReplicaSetView
from rollout.rollouts.facts import Decided
from rollout.rollouts.line import cause_of
from rollout.rollouts.replicaset_workload import ReplicaSetShare, ReplicaSetWorkload
from rollout.strategies.base import NOTHING_CLOSED, Shut, Step, both_shut


@dataclass(frozen=True, slots=True)
class ReplicaSetPlanner:
    """Plans one ManifestWorkReplicaSet in profile strict."""

    kind = REPLICA_SET

    def plan(self, key: str, view: ReplicaSetView, now: datetime) -> Plan:
        """The writes that are due now; nothing where everything is as it should be."""
        workload = view.workload(key)
        if workload is None or workload.replicaset is None:
            return NOTHING
        if workload.replicaset.deleting and view.freeze(now) is None:
            found = Pass(now).closed(view.closed(workload.ref, now), workload.replicaset.intents)
            shut = found.removal
            return cleanup(workload, workload.replicaset, view.is_available, now, shut=shut)
        if workload.is_unrendered:
            return UNFINISHED
        # While the hub is frozen nothing is removed, not even what is being deleted (S8).
        return _ReplicaSetPass(workload, workload.replicaset, view, now).plan()


class _ReplicaSetPass(Pass):
    """One look at one workload."""

    def __init__(
        self,
        workload: ReplicaSetWorkload,
        replicaset: ReplicaSet,
        view: ReplicaSetView,
        now: datetime,
    ) -> None:
        super().__init__(now)
        self.workload, self.replicaset, self.view = workload, replicaset, view
        self.revisions = view.revisions(workload.ref)
        self.status_due_at: datetime | None = None
        self.is_ending = False
        self.edited = view.edited(workload.ref)
        self.decided: dict[str, Decided] = {}
        self.shut = NOTHING_CLOSED

    def plan(self) -> Plan:
        workload, replicaset, now = self.workload, self.replicaset, self.now
        freeze, as_ocm = self.view.freeze(now), workload.is_ocm
        hold = self.held(replicaset, freeze, workload.unwritten, as_ocm=as_ocm)
        self._decide(hold)
        steps = {name: each.step for name, each in self.decided.items()}
        works = self._works(steps) if hold is None else []
        gone = self._removals(hold)
        self.decided = counted(workload, self.decided, gone.writes, view=self.view, now=now)
        keep = [] if self.is_unwritten else to_keep(workload, self.revisions, self.decided)
        status = self._due(self._status(hold, gone))
        finalizer = self._finalizer()
        if finalizer and status is not None:
            status = structs.replace(status, version=None)  # the finalizer's write changes it
        retreats = (each.retreat for each in self.decided.values())
        for found in (*steps.values(), *retreats, gone):
            self.recheck(found.recheck_at if found is not None else None)
        self.recheck(workload.next_quiet())
        waves = (
            finalizer
            + self._in_the_way(keep)
            + self.told(workload.ref, replicaset, self.decided, self.view),
            self._written(keep) + (self._outdated() if self.is_retry else []),
            works,
            self._twins(steps) + gone.writes + self._forgotten() if hold is None else [],
            self.analyses(workload.ref, replicaset, self.decided, self.view.measured)
            + ([] if self.is_retry else self._outdated()),
            [status] if status else [],
        )
        return Plan(
            tuple(tuple(wave) for wave in waves if wave),
            recheck_at=min(self.rechecks, default=None),
            notes=self._notes(steps, status),
            braked=gone.hold,
            pressing=self.is_ending or _waits_for_others(steps.values()),
            status_due_at=self.status_due_at,
            facts=tuple(self.decided.values()),
        )

    def _decide(self, hold: Wait | None) -> None:
        """What is to be done in each placement."""
        shut = self.view.closed(self.workload.ref, self.now)
        self.shut = self.closed(shut, self.replicaset.intents)
        settling = self.workload.contents.settling(self._settled_at, self.now)
        if settling.waits:
            self.shut = replace(self.shut, touch=both_shut(self.shut.touch, settling))
        kept = kept_contents(self.revisions)
        self.decided = self.workload.decide(hold, self.now, kept, self.shut)

    def _settled_at(self, changed_at: datetime) -> datetime:
        """Until when a content that changed at this instant has to stand before it is brought anywhere."""
        span, lease = self.view.policy.values_settle, self.view.policy.lease
        return self.view.outages.stands_since(changed_at, span, lease, self.now) + span

    def _status(self, hold: Wait | None, gone: Removals) -> PatchStatus | None:
        reports = [
            ShareReport(share, self.decided[name], len(self.decided[name].step.touch))
            for name, share in self.workload.shares.items()
        ]
        return status_of(
            self.replicaset,
            reports,
            hold,
            gone.hold,
            now=self.now,
            as_ocm=self.workload.is_ocm,
            fault=self._fault_on(failing(self.workload, self.decided)),
            shut=self.shut,
            going=self.workload.going(),
            kept=gone.kept,
            revision=self.workload.revision,
        )

    def _notes(self, steps: Mapping[str, Step], status: PatchStatus | None) -> tuple[Note, ...]:
        ref, shares = self.workload.ref, self.workload.shares.values()
        told = rollout_notes(
            ref,
            self.replicaset,
            steps,
            status,
            is_retry=self.is_retry,
            fault_on=self._fault_on,
            failed=lambda: taken_back_for(self.decided),
        )
        back = retreat_notes(ref, self.decided)
        return (*told, *back, *repair_notes(ref, [s.live.book.edited for s in shares]), *self.notes)

    def _fault_on(self, clusters: Iterable[str]) -> str:
        named = tuple(clusters)
        return (fault_on(self.workload, named) or verdict_on(self.decided, named)) if named else ""

    def _works(self, steps: Mapping[str, Step]) -> list[Write]:
        """The works that are written now."""
        works: list[Write] = []
        for name, share in self.workload.shares.items():
            works += self._touches(share, name, steps[name])
            back = self._taken_back(share, name)
            works += back
            gone_back = frozenset(write.touch.cluster for write in back if write.touch)
            works += self._restored(share, name, gone_back.union(steps[name].touch))
        written = {write.ref for write in works}
        works += [write for write in self._relabelled() if write.ref not in written]
        if works:
            self.notes += disowned_works(self.workload, works)
        return works

    def _due(self, status: PatchStatus | None) -> PatchStatus | None:
        """What is to be said now; what would be said too often, or too soon, is held back."""
        untold_until = self.workload.untold_until()
        if status is not None and untold_until is not None and untold_until > self.now:
            self.status_due_at = untold_until
            return None
        told_at = self.workload.told_at
        if status is None or told_at is None:
            return status
        span = self.view.policy.tell_every
        self.is_ending = is_nearly_done(self.replicaset, status)
        due_at = told_at + (RARELY * span if self.is_ending else span)
        if due_at <= self.now:
            return status
        self.status_due_at = due_at
        return None

    def _written(self, keep: Iterable[str]) -> list[Write]:
        """What must be written down before anything is touched; of revisions, those of ``keep``."""
        if self.is_unwritten:
            return []
        workload, kept = self.workload, self.revisions
        found = history(workload, self.replicaset, kept, wanted=keep, edited=self.edited)
        for name, share in self.workload.shares.items():
            decided = self.decided[name]
            found += share.live.book.writes(decided.head, decided.lines)
        return found

    def _outdated(self) -> list[Write]:
        """Revisions that are kept no more: last, but with a record that was refused (a full quota)."""
        if self.is_unwritten:
            return []
        return outdated(self.workload, self.replicaset, self.revisions, edited=self.edited)

    def _finalizer(self) -> list[Write]:
        if self.replicaset.deleting or names.REPLICASET_FINALIZER in self.replicaset.finalizers:
            return []
        finalizers = [*self.replicaset.finalizers, names.REPLICASET_FINALIZER]
        changes = {"metadata": {"finalizers": finalizers}}
        return [Patch(self.workload.ref, changes, self.replicaset.version)]

    def _in_the_way(self, keep: Collection[str]) -> list[Write]:
        """Deletes what has the name of a page or revision to be written but is not this workload's."""
        if self.is_unwritten:
            return []
        ref, books = self.workload.ref, [s.live.book for s in self.workload.shares.values()]
        pages = [write for book in books for write in book.leftovers()]
        self.notes += cleared_notes(ref, pages, [book.edited for book in books])
        cleared, told = way_cleared(ref, keep, self.edited, self.view.occupant)
        self.notes += told
        return [*pages, *cleared]

    def _touches(self, share: ReplicaSetShare, placement: str, step: Step) -> list[Write]:
        found: list[Write] = []
        for cluster in step.touch:
            if self.workload.is_ocm and self.workload.is_going(cluster):
                continue  # OCM's library chooses it until it is gone
            content = share.live.wanted(cluster)
            spec = self._spec(content)
            if spec is None:
                continue  # it is agreed on what the cluster is to carry only in a moment
            cause = cause_of(share.live.ledger.standings.get(cluster), content)
            touch = Touch(self.workload.ref, placement, cluster, first=True, cause=cause)
            found.append(self._write(share, touch, spec, content))
        return found

    def _taken_back(self, share: ReplicaSetShare, placement: str) -> list[Create | Patch]:
        """Clusters that get back what soaked there before (row 27)."""
        found: list[Create | Patch] = []
        ref, retreat = self.workload.ref, self.decided[placement].retreat
        for cluster, content in retreat.touch if retreat else ():
            spec = self._spec(content)
            if spec is not None:
                cause = "Rollback"
                touch = Touch(ref, placement, cluster, first=True, cause=cause, revision=content)
                found.append(self._write(share, touch, spec, content))
        return found

    def _restored(
        self, share: ReplicaSetShare, placement: str, touched: frozenset[str]
    ) -> list[Write]:
        """Works that do not carry what their cluster is supposed to have (row 24). What is touched
        in this pass is to have something else from now on.
        """
        if self.workload.is_ocm:
            return []  # nothing is restored where OCM decides
        found: list[Write] = []
        shut = self.shut.restore
        for cluster in sorted(share.live.astray - touched - self.workload.held):
            if self.workload.members.get(cluster) != placement:
                continue  # another placement owns it while this one's decisions cannot be read
            if cluster in shut.waits:
                self.recheck(shut.until)
                continue
            standing = share.live.ledger.standings[cluster]
            if self.is_refused(share.live, cluster) or self.workload.is_going(cluster):
                continue
            spec = self._spec(standing.revision)
            if spec is None:
                continue  # a template that nobody kept
            touch = Touch(self.workload.ref, placement, cluster, first=False, cause="Restore")
            began = standing.touched
            found.append(self._write(share, touch, spec, standing.revision, started_at=began))
        return found

    def _spec(self, content: str) -> Obj | None:
        return self.workload.spec_of(content) or spec_kept(content, self.revisions)

    def _write(
        self,
        share: ReplicaSetShare,
        touch: Touch,
        spec: Obj,
        content: str,
        *,
        started_at: datetime | None = None,
    ) -> Create | Patch:
        """``started_at``: when it was begun to bring the content there; None: now."""
        started_at = started_at or self.now
        replicaset, cluster = self.replicaset, touch.cluster
        work = self._standing_work(cluster)
        labels = {**share.labels, **revision_label(replicaset, content)}
        if work is None:
            ref, obj = new_work(
                replicaset, labels, cluster, spec, revision=content, started_at=started_at
            )
            return Create(ref, obj, touch)
        # The annotation is anybody's: an agent must notice a retry whatever was made of it.
        is_known = work.revision == content or touch.cause == "Retry"
        is_again = work.content == content and is_known
        changes: Obj = {
            "metadata": {
                "labels": {**labels, **(attempt_label(started_at) if is_again else {})},
                "annotations": work_annotations(replicaset, content, started_at),
            },
            "spec": difference(work.spec, spec),
        }
        ref = Ref(MANIFEST_WORK, work.key)
        return PatchWork(ref, changes, work.version, touch, known=work)

    def _standing_work(self, cluster: str) -> Work | None:
        """The work that counts there, else the oldest of those being deleted: a second work beside
        one that is still going would be a twin (S9). What it lacks is restored when it is gone.
        """
        return self.workload.work(cluster) or oldest([*self.workload.works(cluster).values()])

    def _not_held(self, clusters: set[str], shut: Shut) -> set[str]:
        """Without those that a person holds, and those that are shut."""
        found = clusters - self.workload.held - shut.waits.keys()
        if len(found) < len(clusters):
            self.recheck(shut.until)
        return found

    def _relabelled(self) -> list[Write]:
        """Works whose labels changed, or whose cluster is owned by another placementRef now."""
        found: list[Write] = []
        for cluster in sorted(self._not_held(self.workload.mislabelled, self.shut.touch)):
            work, owner = self.workload.work(cluster), self.workload.members.get(cluster)
            if work is None or owner is None:
                continue
            share = self.workload.shares[owner]
            if cluster in share.live.astray or self.is_refused(share.live, cluster):
                continue  # the former are restored with their labels
            changes: Obj = {"metadata": {"labels": share.labels}}
            if names_another_owner(work, self.replicaset.key):
                changes["metadata"]["annotations"] = {names.OWNER: self.replicaset.key}
            touch = Touch(self.workload.ref, owner, cluster, first=False, cause="Relabel")
            found.append(Patch(Ref(MANIFEST_WORK, work.key), changes, work.version, touch))
        return found

    def _twins(self, steps: Mapping[str, Step]) -> list[Write]:
        """Works beside the one that counts, once that one carries what it should (S9)."""
        touched = {cluster for step in steps.values() for cluster in step.touch}
        found: list[Write] = []
        twins = self.workload.twins
        for cluster in sorted(self._not_held(twins, self.shut.removal)) if twins else ():
            work, owner = self.workload.work(cluster), self.workload.members.get(cluster)
            if work is None or owner is None:
                continue
            if cluster in touched or cluster in self.workload.shares[owner].live.astray:
                continue
            found += [
                Delete(Ref(MANIFEST_WORK, twin.key), twin.uid)
                for name, twin in sorted(self.workload.works(cluster).items())
                if name != work.name and not twin.deleting
            ]
        return found

    def _forgotten(self) -> list[Write]:
        """Records of placementRefs that are gone, once no work of theirs is left."""
        pages = self.view.abandoned(self.workload.ref) if not self.workload.strays else []
        return [Delete(ref, uid) for ref, uid in pages]

    def _removals(self, hold: Wait | None) -> Removals:
        if hold is not None:
            return Removals([], None, None)
        return removals(self.workload, self.replicaset, self.view, self.now, shut=self.shut.removal)


def _waits_for_others(steps: Iterable[Step]) -> bool:
    """Whether clusters wait for nothing but other clusters."""
    stages = (stage for step in steps for stage in step.stages)
    return any(each.blocked is not None and each.blocked.resolves_itself for each in stages)
