"""A kind of workload that the package does not know: Bulletins, brought to clusters as Notices.

All that the engine asks of a kind stands here: what is known of one workload, who keeps them all, and who
plans them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout.api.fields import listed, mapping, strings, text
from rollout.api.strategy import read_strategy
from rollout.fleet.tracker import WorkloadTracker
from rollout.model import names
from rollout.model.conditions import Condition, merge
from rollout.model.content import content_hash
from rollout.model.events import Change, Event
from rollout.model.intents import NO_INTENTS, Intents, read_intents
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.problems import Problem
from rollout.model.replicaset import PlacementRef
from rollout.model.waits import Reason, Wait
from rollout.model.workload import Carried
from rollout.model.writes import Create, Delete, Patch, PatchStatus, Touch
from rollout.planning.passes import Pass, followed
from rollout.planning.plan import NOTHING, Plan, Write
from rollout.planning.removals import brake, counted
from rollout.rollouts.facts import Decided
from rollout.rollouts.line import cause_of
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import PlacementShare, Surroundings
from rollout.rollouts.terms import Terms
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Closed, Health

BULLETIN = Kind("Bulletin", "bulletins", "example.com", "v1")
NOTICE = Kind("Notice", "notices", "example.com", "v1")
HEALTH = {"Posted": Health.SUCCEEDED, "Torn": Health.FAILED}
"""What is said in the status of a Notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulletin:
    """A Bulletin, parsed. Implements what a pass asks of a workload of any kind."""

    uid: str
    generation: int
    version: int
    text: str
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
    """What a Bulletin asks for. Never raises: its hub stores it unseen, so fields may be of any type."""
    meta, spec = obj["metadata"], mapping(obj.get("spec"))
    refs = []
    for number, each in enumerate(map(mapping, listed(spec.get("placementRefs")))):
        written = each.get("rolloutStrategy")
        rollout, bad = read_strategy(written, f"spec.placementRefs[{number}].rolloutStrategy")
        refs.append(PlacementRef(text(each.get("name")), rollout, bad, mapping(written)))
    return Bulletin(
        uid=meta["uid"],
        generation=meta["generation"],
        version=int(meta["resourceVersion"]),
        text=text(spec.get("text")),
        revision=content_hash({"text": text(spec.get("text"))}),
        refs=tuple(refs),
        intents=read_intents(meta.get("annotations") or {}, keeps_templates=False),
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
        if notice is None:
            return None
        return Carried(f"{cluster}/{self.ref.name}", content_hash(mapping(notice.get("spec"))), ())

    def leaving(self, cluster: str) -> str:
        return ""

    def body(self, cluster: str) -> Obj | None:
        return dict(mapping(self.notices[cluster].get("spec"))) if cluster in self.notices else None

    def wanted(self, cluster: str) -> Obj | None:
        return {"text": self.bulletin.text} if self.bulletin else None

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
        status = mapping(notice.get("status"))
        is_new = status.get("observedGeneration") == notice["metadata"]["generation"]
        health = (
            HEALTH.get(str(status.get("phase")), Health.PROGRESSING) if is_new else Health.SILENT
        )
        return Observation(content=content_hash(mapping(notice.get("spec"))), health=health)

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
            owner = strings(event.obj["metadata"].get("annotations")).get(names.OWNER)
            if owner is None:
                return ()  # nobody's
            workload = self._known(owner)
            workload.put(event.ref.namespace, obj, now)
            self._forget_gone(workload)
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
            if workload.ref.namespace == namespace and name in workload.placements:
                workload.stale = True
                yield workload.ref

    def refresh(self, key: str, now: datetime) -> None:
        if key in self._workloads:
            self._workloads[key].sync(self._fleet, now)
            self._workloads[key].advance(now)

    def is_done(self, workload: Ref) -> bool:
        known = self._workloads.get(workload.key)
        return known is None or all(share.live.last.complete for share in known.shares.values())


# -- who plans them ------------------------------------------------------------------------------


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
        spec = {"text": self.asked.text}
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
        workload, view, intents = self.workload, self.view, self.asked.intents
        going = sorted(workload.strays - intents.held - closed.removal.waits.keys())
        if not going or not all(share.is_settled for share in workload.shares.values()):
            return []
        braking = brake(
            workload, going, intents, view.is_detached, policy=view.policy, now=self.now
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
