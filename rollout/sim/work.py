"""What does an agent remember of one work, while it is about it?"""

from datetime import datetime

from rollout.model.kinds import Obj, Ref
from rollout.model.names import APPLIED
from rollout.sim.memory import SavedWork
from rollout.sim.reports import Report, said_of
from rollout.sim.roster import Member
from rollout.sim.template import Template
from rollout.sim.timeline import Step


class WorkInHand:
    """A ManifestWork in the eyes of its agent.

    ``generation`` is the one the agent is about; ``steps`` are what it has still to say of it.
    """

    __slots__ = (
        "attempt",
        "generation",
        "labels",
        "leaving",
        "member",
        "obj",
        "ref",
        "steps",
        "template",
        "uid",
        "version",
    )

    def __init__(self, ref: Ref, uid: str, attempt: int, member: Member) -> None:
        self.ref, self.uid, self.attempt, self.member = ref, uid, attempt, member
        self.obj: Obj = {}
        self.version = self.generation = 0
        self.leaving = False
        self.labels: Obj | None = None  # as they were when it began, or last wrote
        self.template: Template | None = None
        self.steps: tuple[Step, ...] = ()

    def is_news(self) -> bool:
        """Whether the work is at another generation than its agent, or has begun to go.

        A changed label has the agent apply the same once more, which changes something where that was
        refused before and nothing was tried since. Annotations do not wake it.
        """
        meta = self.obj["metadata"]
        if "deletionTimestamp" in meta:
            return not self.leaving
        if meta["generation"] != self.generation:
            return True
        is_relabelled = self.labels is not None and self.labels != (meta.get("labels") or {})
        return is_relabelled and not self.steps and self._is_refused()

    def _is_refused(self) -> bool:
        return any(
            c.get("type") == APPLIED and c.get("status") == "False" for c in said_of(self.obj)
        )

    def saved(self, key: str, due: datetime | None) -> SavedWork:
        """As it is kept; ``due`` is when its agent acts next."""
        return SavedWork(
            key,
            self.uid,
            self.generation,
            self.attempt,
            self.leaving,
            self.member.joined,
            self.steps,
            due,
        )


def recalled(ref: Ref, entry: SavedWork, member: Member) -> WorkInHand:
    """A work as it was kept. Its object is not known yet."""
    work = WorkInHand(ref, entry.uid, entry.attempt, member)
    work.generation, work.leaving = entry.generation, entry.leaving
    work.steps = tuple(Step(at, Report(report)) for at, report in entry.steps)
    member.joined = entry.joined
    return work
