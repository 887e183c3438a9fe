"""The common part of one look at a workload of any kind: when to look again, and what is held off."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rollout.model import names
from rollout.model.approvals import Freeze
from rollout.model.conditions import Condition
from rollout.model.instants import rfc3339_micro
from rollout.model.intents import LONGEST_OVERRIDE, Intents
from rollout.model.kinds import Obj, Ref
from rollout.model.waits import Reason, Wait
from rollout.model.workload import WorkloadSpec
from rollout.planning.analyses import AnalysedWorkload, KnownAnalyses, analysis_writes
from rollout.planning.notifications import ToldWorkload, WorkloadSurroundings, notification_writes
from rollout.planning.plan import Note, Write
from rollout.rollouts.facts import Decided
from rollout.rollouts.holds import workload_hold, workload_problems
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.rejections import RefusedWrite
from rollout.strategies.base import Closed

OVERRIDDEN = "Overridden"
"""The reason of a condition: a person lets the workload past all calendars."""


def followed(shut: Closed, before: Iterable[Obj], generation: int) -> list[Condition]:
    """Whether the calendars are followed that concern a workload. It is said where they are not, and from
    then on. ``before``: its conditions as they stand.
    """
    if not shut.said and not any(c.get("type") == names.CALENDARS_FOLLOWED for c in before):
        return []
    if not shut.said:
        status, reason, text = "True", "AsExpected", "All calendars are followed"
    else:
        status, text = "False", shut.said
        reason = OVERRIDDEN if shut.overridden else Reason.MISCONFIGURED
    kind = names.CALENDARS_FOLLOWED
    return [Condition(kind, status, reason, text, observed_generation=generation)]


class Pass:
    """One look at one workload, at the instant ``now``. ``rechecks``: when time alone changes it."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.rechecks: list[datetime] = []
        self.notes: list[Note] = []
        self.is_unwritten = False  # the record is refused, and not to be tried yet
        self.is_retry = False  # the record was refused, and is tried again now

    def recheck(self, at: datetime | None) -> None:
        """Look again then; what is past needs no look."""
        if at is not None and at > self.now:
            self.rechecks.append(at)

    def held(
        self,
        asked: WorkloadSpec,
        freeze: Freeze | None,
        unwritten: RefusedWrite | None,
        *,
        as_ocm: bool = False,
    ) -> Wait | None:
        """Why nothing of the workload may be touched. ``unwritten``: see `workload_hold`. ``as_ocm``: see
        `workload_problems`.
        """
        self.is_unwritten = unwritten is not None and unwritten.retry_at > self.now
        self.is_retry = unwritten is not None and not self.is_unwritten
        self.recheck(unwritten.retry_at if unwritten is not None else None)
        problems = workload_problems(asked, as_ocm=as_ocm)
        hold = workload_hold(problems, asked.intents, freeze, unwritten, now=self.now)
        self.recheck(hold.until if hold is not None else None)
        return hold

    def closed(self, found: Closed, intents: Intents) -> Closed:
        """The clusters that are shut now: those ``found``, unless a person overrides all calendars."""
        until = intents.overridden_until(self.now)
        if until is None:
            if (later := intents.override_until) is not None and later > self.now:
                self.recheck(later - LONGEST_OVERRIDE)
            return found
        self.recheck(until)
        return Closed(amiss=found.amiss, overridden=intents.past_calendars(self.now))

    def analyses(
        self, ref: Ref, asked: WorkloadSpec, decided: Mapping[str, Decided], known: KnownAnalyses
    ) -> list[Write]:
        """Runs of analyses that begin, are not waited for any more, or go."""
        intents = asked.intents
        is_measured = intents.analysis or intents.cluster_analysis or intents.gates
        if not is_measured and not known.runs(ref):
            return []
        mine = AnalysedWorkload(ref, asked.uid, intents)
        writes, notes = analysis_writes(mine, decided.values(), known, self.now)
        self.notes += notes
        return writes

    def told(
        self,
        ref: Ref,
        asked: WorkloadSpec,
        decided: Mapping[str, Decided],
        around: WorkloadSurroundings,
    ) -> list[Write]:
        """Notifications that are made, or go."""
        if not asked.intents.notify and not around.notifications.of(ref):
            return []
        mine = ToldWorkload(
            ref=ref,
            uid=asked.uid,
            home=around.measured.home(ref),
            channels=asked.intents.notify,
            is_finished=around.is_done(ref),
        )
        runs, at = around.measured.runs(ref).values(), rfc3339_micro(self.now)
        return notification_writes(mine, decided.values(), runs, around.notifications, at=at)

    def is_refused(self, live: LiveRollout, cluster: str) -> bool:
        """Whether the server has refused a write there lately; it is tried again later (row 19)."""
        rejection = live.rejection(cluster)
        if rejection is None or rejection.retry_at <= self.now:
            return False
        self.recheck(rejection.retry_at)
        return True
