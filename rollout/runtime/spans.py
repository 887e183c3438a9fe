"""Makes spans from decisions afterwards: how long a rollout, its stages and their clusters took.

Nothing here knows of a tracing library. Ids follow from what a span is about and when that began, so that a
process that goes on with a rollout goes on with its trace, and a revision that comes back has spans of its own.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from rollout.model.kinds import Ref
from rollout.rollouts.facts import Made, RetreatMade, StepMade
from rollout.strategies.base import Rollout, Staging, Step, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSpan:
    """Something that took from ``began`` to ``ended``. ``parent`` is 0 for a rollout; ``fault`` is "" where
    all went well.
    """

    trace: int
    id: int
    parent: int
    name: str
    began: datetime
    ended: datetime
    fault: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _OpenRollout:
    """A rollout that has not ended. ``began``: None where nothing was touched yet.

    ``uid``: of its workload, which may be gone when this ends.
    """

    uid: str
    revision: str
    began: datetime | None
    _: KW_ONLY
    fault: str = ""
    staging: Staging | None = None
    stages: Mapping[str, str] = field(default_factory=dict)  # cluster -> stage
    stages_began: dict[str, datetime] = field(default_factory=dict)

    def stage_began(self, key: str, rollout: Rollout) -> datetime | None:
        """The first touch in a stage; None where none of it was touched. Looked up once."""
        if key not in self.stages_began:
            members = (
                name
                for stage in rollout.staging.stages
                if stage.key == key
                for group in stage.groups
                for name in group.clusters
            )
            began = _first_touch(rollout, members, since=self.began)
            if began is None:
                return None
            self.stages_began[key] = began
        return self.stages_began[key]

    def stage_of(self, cluster: str, staging: Staging) -> str:
        if staging is not self.staging:
            self.staging = staging
            self.stages = {
                name: stage.key
                for stage in staging.stages
                for group in stage.groups
                for name in group.clusters
            }
        return self.stages.get(cluster, "")


@dataclass(slots=True)
class _Share:
    """One placement of a workload. ``done``: the revision that ended last; "" where none did."""

    open: _OpenRollout | None = None
    done: str = ""


class SpanRecorder:
    """Implements `rollout.rollouts.witness.Witness`; hands each span on when it has ended.

    Args:
        uid_of: the uid of a workload.
        export: takes a span; it returns at once, and raises nothing.
    """

    def __init__(
        self, uid_of: Callable[[Ref], str], export: Callable[[FinishedSpan], None]
    ) -> None:
        self._uid_of, self._export = uid_of, export
        self._shares: dict[Ref, dict[str, _Share]] = {}  # workload -> placement -> what is known

    def made(self, workload: Ref, placement: str, made: Made, now: datetime) -> None:
        """Spans of all that this decision ends. Cost: what is settled, and a stage when it passes."""
        if isinstance(made, StepMade):
            for span in self._of_step(workload, placement, made.rollout, made.step, now=now):
                self._export(span)
        elif isinstance(made, RetreatMade) and made.retreat.is_done:
            known = self._share(workload, placement).open
            if known is not None:
                known.fault = "it was taken back"
                self._end(workload, placement, known, now)

    def gone(self, workload: Ref, now: datetime) -> None:
        """End what is open of a workload, and forget the workload."""
        for placement, share in self._shares.get(workload, {}).items():
            if share.open is not None:
                share.open.fault = share.open.fault or "the workload was deleted"
                self._end(workload, placement, share.open, now)
        self._shares.pop(workload, None)

    def _share(self, workload: Ref, placement: str) -> _Share:
        return self._shares.setdefault(workload, {}).setdefault(placement, _Share())

    def _of_step(
        self, workload: Ref, placement: str, rollout: Rollout, step: Step, now: datetime
    ) -> Iterator[FinishedSpan]:
        known = self._known(workload, placement, rollout, step, now=now)
        if known is None:
            return
        if step.halt is not None:
            known.fault = step.halt.message
        about = self._about(workload, placement, known)
        for each in step.settled:
            standing = rollout.standings.get(each.cluster)
            if standing is None or each.verdict is Verdict.RETRY:
                continue
            at = known.stage_of(each.cluster, rollout.staging)
            failed = each.reason or "it failed" if each.verdict is Verdict.FAILED else ""
            place = (at, _told(known.stage_began(at, rollout)))
            yield about.cluster(each.cluster, place, standing.touched, now, fault=failed)
        for stage in rollout.staging.stages:
            if stage.key in step.passed:
                began = known.stage_began(stage.key, rollout)
                if began is not None:
                    yield about.stage(stage.key, stage.title, began, now)
        if step.complete:
            known.fault = ""
            self._end(workload, placement, known, now)

    def _known(
        self, workload: Ref, placement: str, rollout: Rollout, step: Step, now: datetime
    ) -> _OpenRollout | None:
        """The rollout that this step belongs to; None where it had ended before."""
        share = self._share(workload, placement)
        known = share.open
        if known is not None and known.revision != rollout.revision:
            known.fault = known.fault or f"revision {rollout.revision} came instead"
            self._end(workload, placement, known, now)
            known = None
        if known is None:
            if not rollout.revision or share.done == rollout.revision:
                return None
            if step.complete and not step.settled:  # it ended before this process looked at it
                return None
            is_new = bool(share.done)  # what came before it was seen to end
            began = None if is_new else _began(rollout)
            uid = self._uid_of(workload)
            known = share.open = _OpenRollout(uid=uid, revision=rollout.revision, began=began)
        if known.began is None and step.touch:
            known.began = now
        return known

    def _end(self, workload: Ref, placement: str, known: _OpenRollout, now: datetime) -> None:
        share = self._share(workload, placement)
        share.open, share.done = None, known.revision
        if known.began is not None:
            about = self._about(workload, placement, known)
            self._export(about.whole(known.began, now, known.fault))

    def _about(self, workload: Ref, placement: str, known: _OpenRollout) -> "_About":
        return _About(
            uid=known.uid,
            workload=workload,
            placement=placement,
            revision=known.revision,
            began=_told(known.began),
        )


def _began(rollout: Rollout) -> datetime | None:
    """The first touch with the revision that came after all touches with other ones; None where none did.

    Clusters that kept it while another one came and went were touched with it before.
    """
    others = [s.touched for s in rollout.standings.values() if s.of_revision != rollout.revision]
    return _first_touch(rollout, rollout.standings, since=max(others, default=None))


def _first_touch(
    rollout: Rollout, clusters: Iterable[str], *, since: datetime | None
) -> datetime | None:
    """When the first of them was touched with the revision, from then on; None where none was."""
    found = (rollout.standings.get(name) for name in clusters)
    mine = (s.touched for s in found if s is not None and s.of_revision == rollout.revision)
    return min((at for at in mine if since is None or at >= since), default=None)


def _told(at: datetime | None) -> str:
    return at.isoformat() if at is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """Whose spans they are. ``began``: when the rollout did, as it stands in ids."""

    uid: str
    workload: Ref
    placement: str
    revision: str
    began: str

    def whole(self, began: datetime, ended: datetime, fault: str) -> FinishedSpan:
        name = f"rollout {self.workload.key} {self.placement}"
        return self._span(name, (), None, began, ended=ended, fault=fault, told={})

    def stage(self, key: str, title: str, began: datetime, ended: datetime) -> FinishedSpan:
        told = {"rollout.stage": key}
        me = (key, _told(began))
        return self._span(f"stage {title}", me, (), began, ended=ended, fault="", told=told)

    def cluster(
        self, name: str, stage: tuple[str, str], began: datetime, ended: datetime, fault: str
    ) -> FinishedSpan:
        """``stage``: its key, and when it began, as it stands in ids."""
        told = {"rollout.stage": stage[0], "rollout.cluster": name}
        me = (*stage, name, _told(began))
        return self._span(f"cluster {name}", me, stage, began, ended=ended, fault=fault, told=told)

    def _span(
        self,
        name: str,
        me: tuple[str, ...],
        parent: tuple[str, ...] | None,
        began: datetime,
        *,
        ended: datetime,
        fault: str,
        told: Mapping[str, str],
    ) -> FinishedSpan:
        return FinishedSpan(
            trace=_number(16, self.uid, self.revision),
            id=self._id(me),
            parent=0 if parent is None else self._id(parent),
            name=name,
            began=began,
            ended=ended,
            fault=fault,
            attributes={
                "rollout.kind": self.workload.kind.name,
                "rollout.workload": self.workload.key,
                "rollout.placement": self.placement,
                "rollout.revision": self.revision,
                **told,
            },
        )

    def _id(self, parts: tuple[str, ...]) -> int:
        return _number(8, self.uid, self.revision, self.placement, self.began, *parts)


def _number(size: int, *parts: str) -> int:
    """So many bytes that follow from the parts, never 0."""
    digest = hashlib.sha256("\n".join(parts).encode()).digest()
    return int.from_bytes(digest[:size], "big") or 1
