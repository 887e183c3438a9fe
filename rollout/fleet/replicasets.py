"""Which ManifestWorkReplicaSets are there, and which works belong to which of them?"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from rollout.api import decode
from rollout.fleet.live import LiveRollout
from rollout.fleet.workloads import Workload
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.work import Work
from rollout.planning.documents import work_name
from rollout.planning.plan import PatchStatus, Write


class ReplicaSets:
    """All workloads of ManifestWorkReplicaSets. Fed by the fleet, event by event."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._works: dict[str, Work] = {}  # ns/name -> work
        self._workloads: dict[str, Workload] = {}
        self._followers: dict[str, set[str]] = {}  # placement key -> workloads that refer to it
        self._writers: dict[str, str] = {}  # name that we give works -> workload
        self._unproven: dict[str, set[str]] = {}  # name -> works whose own word does not fit it

    def __iter__(self) -> Iterator[Workload]:
        return iter(self._workloads.values())

    def get(self, key: str) -> Workload | None:
        return self._workloads.get(key)

    def keys(self) -> list[str]:
        """Keys of those that exist."""
        return sorted(k for k, w in self._workloads.items() if w.replicaset is not None)

    def live(self, key: str, placement: str) -> LiveRollout | None:
        workload = self._workloads.get(key)
        share = workload.shares.get(placement) if workload else None
        return share.live if share else None

    def is_done(self, key: str) -> bool:
        """Whether a workload says, of its present generation, that it is rolled out."""
        workload = self._workloads.get(key)
        replicaset = workload.replicaset if workload else None
        if replicaset is None or replicaset.deleting:
            return replicaset is None
        for condition in (replicaset.raw.get("status") or {}).get("conditions") or []:
            if condition.get("type") == names.READY:
                is_current = condition.get("observedGeneration") == replicaset.generation
                return is_current and bool(condition.get("status") == "True")
        return False

    def told(self, write: Write, now: datetime) -> None:
        """The status of a workload is being written, or was."""
        if isinstance(write, PatchStatus) and write.ref.kind is REPLICA_SET:
            workload = self._workloads.get(write.ref.key)
            if workload is not None:
                workload.told_at = now

    def follow(self, placement: str) -> set[Ref]:
        """The workloads that refer to a placement; their terms may have changed."""
        found: set[Ref] = set()
        for key in self._followers.get(placement, ()):
            workload = self._workloads[key]
            workload.stale = True
            found.add(workload.ref)
        return found

    def take_work(self, event: Event, now: datetime) -> Iterable[Ref]:
        before = self._works.get(event.ref.key)
        work: Work | None = None
        if event.change is not Change.DELETED:
            decoded = decode(MANIFEST_WORK, event.obj, before)
            assert isinstance(decoded, Work)
            work = self._owned(decoded, before)
        found: set[Ref] = set()
        if before is not None and before.owner and (work is None or before.owner != work.owner):
            workload = self._workload(before.owner)
            workload.drop_work(before.cluster, before.name, now)
            self._forget_gone(workload)
            found.add(workload.ref)
        if work is None:
            self._works.pop(event.ref.key, None)
            self._forget_unproven(event.ref.name, event.ref.key)
            return found
        self._works[event.ref.key] = work
        if work.owner:
            workload = self._workload(work.owner)
            workload.put_work(work, now)
            found.add(workload.ref)
        return found

    def _owned(self, work: Work, before: Work | None) -> Work:
        """With its owner. The name decides, since it follows from the owner: an agent can change all
        else of the works of its cluster. Then what this process knew of it; then its own word (works
        that OCM made have names of their own).
        """
        if work.owner and work.name == work_name(work.owner):
            self._forget_unproven(work.name, work.key)
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

    def _forget_unproven(self, name: str, key: str) -> None:
        keys = self._unproven.get(name)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._unproven[name]

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

    def _workload(self, key: str) -> Workload:
        workload = self._workloads.get(key)
        if workload is None:
            workload = self._workloads[key] = Workload(Ref(REPLICA_SET, key), self._profile)
        return workload

    def _forget_gone(self, workload: Workload) -> None:
        """Nothing is kept of one that is gone, and of which no work is left."""
        if workload.replicaset is None and not workload.clusters:
            self._workloads.pop(workload.ref.key, None)

    def take_replicaset(self, event: Event, now: datetime) -> Iterable[Ref]:
        workload = self._workload(event.ref.key)
        before = workload.replicaset
        for ref in before.refs if before else ():
            placement = f"{event.ref.namespace}/{ref.name}"
            followers = self._followers.get(placement, set())
            followers.discard(event.ref.key)
            if not followers:
                self._followers.pop(placement, None)
        if event.change is Change.DELETED:
            if before is not None:
                self._writers.pop(work_name(before.key), None)
            workload.replicaset = None
            workload.shares.clear()
            workload.members.clear()
            self._forget_gone(workload)
            return {event.ref}
        replicaset = decode(REPLICA_SET, event.obj, before)
        assert isinstance(replicaset, ReplicaSet)
        for ref in replicaset.refs:
            self._followers.setdefault(f"{event.ref.namespace}/{ref.name}", set()).add(
                event.ref.key
            )
        workload.replicaset = replicaset
        if before is None:
            self._claim(replicaset, now)
        if before is not None and before.uid != replicaset.uid:  # its end was never heard of
            workload.shares.clear()
            workload.members.clear()
        if before is None or _asks(before) != _asks(replicaset):
            workload.stale = True
        return {event.ref}


def _asks(replicaset: ReplicaSet) -> tuple[object, ...]:
    """The parts of a workload that its terms depend on."""
    return (
        replicaset.uid,
        replicaset.generation,
        replicaset.template.content,
        replicaset.refs,
        replicaset.labels,
        replicaset.annotations,
    )
