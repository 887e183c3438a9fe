"""Keeps ManifestWorkReplicaSets, and which works belong to which of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from rollout.api.decoding import decode
from rollout.fleet.groups import drop
from rollout.fleet.tracker import Around, WorkloadTracker
from rollout.fleet.values import ValuesStore
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.intents import NO_INTENTS
from rollout.model.kinds import (
    CLUSTER_VALUES,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    Ref,
)
from rollout.model.replicaset import ReplicaSet
from rollout.model.work import Work, work_name
from rollout.model.writes import Delete, PatchStatus
from rollout.planning.plan import Write
from rollout.planning.revisions import Occupant, Revision
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload


class ReplicaSets(WorkloadTracker[ReplicaSetWorkload]):
    """All ManifestWorkReplicaSets, and what their planner reads."""

    planned = (REPLICA_SET,)
    kinds = (REPLICA_SET, MANIFEST_WORK)

    def __init__(self, fleet: Around) -> None:
        super().__init__(fleet)
        self._works: dict[str, Work] = {}  # ns/name -> work
        self._followers: dict[str, set[str]] = {}  # placement key -> workloads that refer to it
        self._writers: dict[str, str] = {}  # name that we give works -> workload
        self._values = ValuesStore()
        self._unproven: dict[str, set[str]] = {}  # name -> works whose own word does not fit it

    # -- what the fleet asks -------------------------------------------------------------------

    def deleted(self, write: Delete, now: datetime) -> None:
        """Mark the work as going, so that it is not deleted again before the event of its deletion."""
        work = self._works.get(write.ref.key) if write.ref.kind is MANIFEST_WORK else None
        if work is not None and work.uid == write.uid and not work.deleting:
            going = self._works[write.ref.key] = replace(work, deleting=True)
            if going.owner:
                self._workload(going.owner).put_work(going, now)
        super().deleted(write, now)

    def refresh(self, key: str, now: datetime) -> None:
        workload = self._workloads.get(key)
        if workload is not None:
            workload.values = self._values.of(key)
            workload.sync(self._fleet, now)
            workload.advance(now)

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload says, of its present generation, that it is rolled out."""
        return self._is_done(self._workloads.get(workload.key))

    @staticmethod
    def _is_done(workload: ReplicaSetWorkload | None) -> bool:
        replicaset = workload.replicaset if workload else None
        if replicaset is None or replicaset.deleting:
            return replicaset is None
        for condition in (replicaset.raw.get("status") or {}).get("conditions") or []:
            if condition.get("type") == names.READY:
                is_current = condition.get("observedGeneration") == replicaset.generation
                return is_current and bool(condition.get("status") == "True")
        return False

    def written(self, write: Write, now: datetime) -> None:
        if isinstance(write, PatchStatus):
            workload = self._workloads.get(write.ref.key)
            if workload is not None:
                workload.told_at = now

    def follow(self, placement: str) -> set[Ref]:
        found: set[Ref] = set()
        for key in self._followers.get(placement, ()):
            workload = self._workloads[key]
            workload.stale = True
            found.add(workload.ref)
        return found

    # -- what their planner reads --------------------------------------------------------------

    def revisions(self, workload: Ref) -> Mapping[str, Revision]:
        """Its kept templates, by content."""
        return self._fleet.records.revisions(workload, self._uid(workload.key))

    def edited(self, workload: Ref) -> Sequence[Revision]:
        """Kept templates that somebody changed, as they were before."""
        return self._fleet.records.edited(workload, self._uid(workload.key))

    def occupant(self, revision: Ref, workload: Ref) -> Occupant | None:
        """What has the name of a revision of this workload and is none, if anything."""
        return self._fleet.records.occupant(revision, self._uid(workload.key))

    def is_available(self, cluster: str) -> bool:
        return self._fleet.is_available(cluster)

    def _uid(self, key: str) -> str:
        workload = self._workloads.get(key)
        return workload.replicaset.uid if workload and workload.replicaset else ""

    # -- what happened -------------------------------------------------------------------------

    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        """Take in an event; the workloads that are planned anew for it."""
        if event.ref.kind is MANIFEST_WORK:
            return self._on_work(event, now)
        if event.ref.kind is CLUSTER_VALUES:
            return self._revalued(self._values.take(event))
        if event.ref.kind is MANAGED_CLUSTER:
            name = event.ref.key
            seen = self._values.take_cluster(name, self._fleet.clusters.cluster(name))
            return self._revalued(seen, name)
        return self._on_replicaset(event, now) if event.ref.kind is REPLICA_SET else ()

    def _revalued(self, workloads: Iterable[str], cluster: str = "") -> set[Ref]:
        """What a cluster ("": any) is to carry of these workloads may have become something else."""
        found: set[Ref] = set()
        for key in workloads:
            known = self._workloads.get(key)
            if known is None:
                continue
            if cluster:
                known.contents.touch(cluster)
            else:
                known.stale = True
            if known.stale or known.contents.is_stale:
                found.add(known.ref)
        return found

    def _on_work(self, event: Event, now: datetime) -> Iterable[Ref]:
        before = self._works.get(event.ref.key)
        work: Work | None = None
        if event.change is not Change.DELETED:
            decoded = decode(MANIFEST_WORK, event.obj, before)
            assert isinstance(decoded, Work)
            work = self._owned(decoded, before)
        if work is not None and before is not None and work.says_as(before):
            self._renew(work)
            return ()
        found: set[Ref] = set()
        if before is not None and before.owner and (work is None or before.owner != work.owner):
            workload = self._workload(before.owner)
            workload.drop_work(before.cluster, before.name, now)
            self._forget_gone(workload)
            found.add(workload.ref)
        if work is None:
            self._works.pop(event.ref.key, None)
            drop(self._unproven, event.ref.name, event.ref.key)
            return found
        self._works[event.ref.key] = work
        if work.owner:
            workload = self._workload(work.owner)
            workload.put_work(work, now)
            found.add(workload.ref)
        return found

    def _renew(self, work: Work) -> None:
        """It says what it said before (its agent set a finalizer, or wrote what nobody here reads): nothing
        follows but the version that the next write has to be about.
        """
        self._works[work.key] = work
        if work.owner:
            self._workload(work.owner).renew_work(work)

    def _owned(self, work: Work, before: Work | None) -> Work:
        """With its owner. The name decides, since it follows from the owner: an agent can change all
        else of the works of its cluster. Then what this process knew of it; then its own word (works
        that OCM made have names of their own).
        """
        if work.owner and work.name == work_name(work.owner):
            drop(self._unproven, work.name, work.key)
            return work
        self._unproven.setdefault(work.name, set()).add(work.key)
        owner = self._writers.get(work.name, "")
        if not owner and before is not None and before.uid == work.uid and self._is_there(before):
            owner = before.owner
        return replace(work, owner=owner or work.owner)

    def _is_there(self, work: Work) -> bool:
        """Whether the workload that owns it exists."""
        workload = self._workloads.get(work.owner)
        return workload is not None and workload.replicaset is not None

    def _claim(self, replicaset: ReplicaSet, now: datetime) -> None:
        """Works of its name that were seen before it, and say that they are another one's or nobody's."""
        name = work_name(replicaset.key)
        self._writers[name] = replicaset.key
        for key in sorted(self._unproven.get(name, ())):
            before = self._works[key]
            if before.owner:
                self._workload(before.owner).drop_work(before.cluster, before.name, now)
            work = self._works[key] = replace(before, owner=replicaset.key)
            self._workload(replicaset.key).put_work(work, now)

    def _workload(self, key: str) -> ReplicaSetWorkload:
        workload = self._workloads.get(key)
        if workload is None:
            workload = self._workloads[key] = ReplicaSetWorkload(
                Ref(REPLICA_SET, key), self.policy.profile
            )
        return workload

    def _on_replicaset(self, event: Event, now: datetime) -> Iterable[Ref]:
        workload = self._workload(event.ref.key)
        before = workload.replicaset
        if event.change is Change.DELETED:
            if before is not None:
                self._writers.pop(work_name(before.key), None)
            workload.replicaset = None
            self._refer(event.ref, before, None)
            self._fleet.records.forget_edited(event.ref)
            gone = self.measured.follow(event.ref, "", NO_INTENTS)
            self._end_rollouts(workload, now)
            self._forget_gone(workload)
            return {event.ref} | gone
        replicaset = decode(REPLICA_SET, event.obj, before)
        assert isinstance(replicaset, ReplicaSet)
        workload.replicaset = replicaset
        runs: set[Ref] = set()
        if before is None or before.uid != replicaset.uid or before.refs is not replicaset.refs:
            self._refer(event.ref, before, replicaset)
        if before is None or before.uid != replicaset.uid or before.intents != replicaset.intents:
            runs = self.measured.follow(event.ref, replicaset.uid, replicaset.intents)
        if before is None:
            self._claim(replicaset, now)
        if before is not None and before.uid != replicaset.uid:  # its end was never heard of
            self._end_rollouts(workload, now)
        if before is None or _asks(before) != _asks(replicaset):
            workload.stale = True
        elif before.annotations != replicaset.annotations:
            workload.restated = True
        return {event.ref} | runs

    def _refer(self, workload: Ref, before: ReplicaSet | None, after: ReplicaSet | None) -> None:
        """Note which placements it refers to from now on."""
        for ref in before.refs if before is not None else ():
            drop(self._followers, f"{workload.namespace}/{ref.name}", workload.key)
        for ref in after.refs if after is not None else ():
            self._followers.setdefault(f"{workload.namespace}/{ref.name}", set()).add(workload.key)


def _asks(replicaset: ReplicaSet) -> tuple[object, ...]:
    """The parts of a workload on which depends to whom what is rolled out; the rest is in its annotations."""
    return (
        replicaset.uid,
        replicaset.generation,
        replicaset.template.content,
        replicaset.refs,
        replicaset.labels,
        replicaset.intents.profile,
    )
