"""A kind of workload that the package does not know: Bulletins, brought to clusters as Notices.

All that the engine asks of a kind stands here and in `tests.support.bulletin_planner`: what is known of one
workload, who keeps them all, and who plans them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout.api.fields import mapping
from rollout.api.strategy import read_strategy
from rollout.fleet.tracker import WorkloadTracker
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.events import Change, Event
from rollout.model.intents import NO_INTENTS, Intents, read_intents
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.problems import Problem
from rollout.model.replicaset import PlacementRef
from rollout.model.workload import Carried
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import PlacementShare, Surroundings
from rollout.rollouts.terms import Terms
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Health

BULLETIN = Kind("Bulletin", "bulletins", "example.com", "v1")
NOTICE = Kind("Notice", "notices", "example.com", "v1")
HEALTH = {"Posted": Health.SUCCEEDED, "Torn": Health.FAILED}
"""What is said in the status of a Notice."""


def bulletin(text: str, strategy: Obj, name: str = "web", placement: str = "p") -> Obj:
    """A Bulletin for the clusters of a placement."""
    return {
        "apiVersion": BULLETIN.api_version,
        "kind": BULLETIN.name,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "text": text,
            "placementRefs": [{"name": placement, "rolloutStrategy": strategy}],
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulletin:
    """A Bulletin, parsed. Implements what a pass asks of a workload of any kind."""

    uid: str
    generation: int
    version: int
    revision: str
    refs: tuple[PlacementRef, ...]
    intents: Intents
    raw: Obj = field(compare=False, repr=False)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for ref in self.refs for problem in ref.problems)

    @property
    def placement_names(self) -> tuple[str, ...]:
        return tuple(ref.name for ref in self.refs)


def read_bulletin(obj: Obj) -> Bulletin:
    meta, spec = obj["metadata"], obj["spec"]
    refs = []
    for number, each in enumerate(spec["placementRefs"]):
        written = each.get("rolloutStrategy")
        rollout, bad = read_strategy(written, f"spec.placementRefs[{number}].rolloutStrategy")
        refs.append(PlacementRef(each["name"], rollout, bad, mapping(written)))
    return Bulletin(
        uid=meta["uid"],
        generation=meta["generation"],
        version=int(meta["resourceVersion"]),
        revision=content_hash({"text": spec["text"]}),
        refs=tuple(refs),
        intents=read_intents(meta.get("annotations") or {}),
        raw=obj,
    )


# -- what is known of one ------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class BulletinShare(PlacementShare):
    """One placement of a Bulletin."""

    ref: PlacementRef

    @property
    def placement_key(self) -> str:
        return f"{self.live.workload.namespace}/{self.ref.name}"

    @property
    def asked(self) -> PlacementRef:
        return self.ref

    @property
    def updated(self) -> int:
        seen = self.live.observations.values()
        return sum(each.content == self.live.revision for each in seen)


class BulletinWorkload(Workload[BulletinShare]):
    """One Bulletin and its Notices."""

    def __init__(self, ref: Ref, profile: str) -> None:
        super().__init__(ref, profile)
        self.bulletin: Bulletin | None = None
        self.notices: dict[str, Obj] = {}  # by cluster

    @property
    def spec(self) -> Bulletin | None:
        return self.bulletin

    @property
    def placements(self) -> tuple[str, ...]:
        return self.bulletin.placement_names if self.bulletin else ()

    @property
    def clusters(self) -> list[str]:
        return sorted(self.notices)

    @property
    def revisions(self) -> tuple[str, ...]:
        return (self.bulletin.revision,) if self.bulletin else ()

    def revision_at(self, cluster: str) -> str:
        return self.bulletin.revision if self.bulletin else ""

    def carried(self, cluster: str) -> Carried | None:
        notice = self.notices.get(cluster)
        return (
            Carried(f"{cluster}/{self.ref.name}", content_hash(notice["spec"]), ())
            if notice
            else None
        )

    def leaving(self, cluster: str) -> str:
        return ""

    def body(self, cluster: str) -> Obj | None:
        return self.notices[cluster]["spec"] if cluster in self.notices else None

    def wanted(self, cluster: str) -> Obj | None:
        return {"text": self.raw["spec"]["text"]} if self.raw else None

    def made_of(self, revision: str) -> tuple[str, ...]:
        return ()

    def put(self, cluster: str, notice: Obj | None, now: datetime) -> None:
        """The Notice of a cluster is there, has changed, or (None) is gone."""
        if notice is None:
            self.notices.pop(cluster, None)
        else:
            self.notices[cluster] = notice
        self._place(cluster)
        if cluster in self.members:
            live = self.shares[self.members[cluster]].live
            live.observe(cluster, self._observation(cluster), now)

    def _place(self, cluster: str) -> None:
        is_stray = cluster in self.notices and cluster not in self.members
        (self.strays.add if is_stray else self.strays.discard)(cluster)

    def _observation(self, cluster: str) -> Observation | None:
        notice = self.notices.get(cluster)
        if notice is None:
            return None
        status = notice.get("status") or {}
        is_new = status.get("observedGeneration") == notice["metadata"]["generation"]
        health = (
            HEALTH.get(str(status.get("phase")), Health.PROGRESSING) if is_new else Health.SILENT
        )
        return Observation(content=content_hash(notice["spec"]), health=health)

    def _share(
        self, placement: str, live: LiveRollout, reading: Reading, around: Surroundings
    ) -> BulletinShare:
        refs = self.bulletin.refs if self.bulletin else ()
        ref = next(each for each in refs if each.name == placement)
        return BulletinShare(ref=ref, live=live, reading=reading, hold=reading.hold)

    def _observed(self, placement: str) -> dict[str, Observation]:
        groups = self.shares[placement].reading.selection.groups
        found = {c: self._observation(c) for group in groups for c in group.clusters}
        return {cluster: seen for cluster, seen in found.items() if seen is not None}

    def _terms(self, placement: str, around: Surroundings) -> Terms | None:
        share = self.shares[placement]
        revision = self.revision_at("")
        return self.terms_of(share, share.ref.rollout, revision, around, settles=True)

    def _why_not(self, placement: str, around: Surroundings) -> str:
        return "; ".join(map(str, self.shares[placement].ref.problems))

    def _dealt(self, left: Mapping[str, BulletinShare], owners: Mapping[str, str]) -> None:
        for cluster in owners.keys() | self.members.keys() | self.notices.keys():
            self._place(cluster)


# -- who keeps them all --------------------------------------------------------------------------


class Bulletins(WorkloadTracker[BulletinWorkload]):
    """All Bulletins, and what their planner reads."""

    planned = (BULLETIN,)
    kinds = (BULLETIN, NOTICE)
    wanted = frozenset(kinds)

    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        obj = None if event.change is Change.DELETED else event.obj
        if event.ref.kind is NOTICE:
            workload = self._known(event.obj["metadata"]["annotations"][names.OWNER])
            workload.put(event.ref.namespace, obj, now)
            return (workload.ref,)
        if event.ref.kind is not BULLETIN:
            return ()
        workload = self._known(event.ref.key)
        workload.bulletin = read_bulletin(obj) if obj is not None else None
        workload.stale = True
        asked = workload.bulletin
        uid, intents = (asked.uid, asked.intents) if asked is not None else ("", NO_INTENTS)
        runs = self.measured.follow(event.ref, uid, intents)
        if obj is None:
            self._end_rollouts(workload, now)
            self._forget_gone(workload)
        return (event.ref, *runs)

    def _known(self, key: str) -> BulletinWorkload:
        if key not in self._workloads:
            self._workloads[key] = BulletinWorkload(Ref(BULLETIN, key), self.policy.profile)
        return self._workloads[key]

    def follow(self, placement: str) -> Iterable[Ref]:
        namespace, _, name = placement.partition("/")
        for workload in self._workloads.values():
            bulletin = workload.bulletin
            if (
                bulletin
                and workload.ref.namespace == namespace
                and name in bulletin.placement_names
            ):
                workload.stale = True
                yield workload.ref

    def refresh(self, key: str, now: datetime) -> None:
        if key in self._workloads:
            self._workloads[key].sync(self._fleet, now)
            self._workloads[key].advance(now)

    def is_done(self, workload: Ref) -> bool:
        known = self._workloads.get(workload.key)
        return known is None or all(share.live.last.complete for share in known.shares.values())
