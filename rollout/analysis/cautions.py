"""Warns, before a change is applied, of risks that only its effective numbers show."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rollout.account.waits import remedy
from rollout.analysis.snapshot import Snapshot
from rollout.model import names
from rollout.model.intents import RollbackMode
from rollout.model.waits import Reason, Wait
from rollout.model.wording import first_of
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Phase, StageReport, Verdict


@dataclass(frozen=True, slots=True)
class Caution:
    """One thing to know: whose it is, what is the matter, and what to do about it."""

    subject: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}; {self.remedy}"


def hold_of(
    snapshot: Snapshot, workload: Workload[PlacementShare], share: PlacementShare
) -> Wait | None:
    """Why nothing of a share is touched. What keeps a Placement from being decided is said at once:
    where it is not stored yet, nobody could look at its conditions.
    """
    hold = share.hold or share.live.last.hold
    if hold is None or hold.reason is not Reason.NOT_DECIDED:
        return hold
    name = share.live.placement
    key = name if "/" in name else f"{workload.ref.namespace}/{name}"
    found = snapshot.fleet.clusters.placement(key)
    amiss = found.conditions.get(names.PLACEMENT_MISCONFIGURED) if found is not None else None
    if amiss is None or amiss.status != "True":
        return hold
    first, _, _ = amiss.message.partition("\n")
    return Wait(hold.reason, f"placement {key} cannot be decided: {first}")


def cautions(
    snapshot: Snapshot, workload: Workload[PlacementShare], told: Collection[Caution] = ()
) -> list[Caution]:
    """The warnings of a planned workload. ``told``: what its files have been warned of already."""
    found: list[Caution] = []
    subject = f"{workload.ref.kind.name} {workload.ref.key}"
    for name, share in workload.shares.items():
        hold = hold_of(snapshot, workload, share)
        if hold is not None and not any(_is_told(each, subject, name, hold) for each in told):
            found.append(Caution(subject, f"placement {name}: {hold.message}", _until(hold)))
        found += [
            Caution(subject, f"placement {name}, {stage.title}: {text}", _remedy(share, stage))
            for stage in share.live.last.stages
            if (text := _overrun(share, stage))
        ]
        found += [
            Caution(subject, f"placement {name}: {text}", _ASKED) for text in _left_out(share)
        ]
        stranded = _stranded(workload, share)
        if stranded:
            found.append(Caution(subject, f"placement {name}: {stranded}", _NOT_KEPT))
    return found


_IN_FILES = (
    Reason.UNKNOWN_APPROVAL_GROUP,
    Reason.UNKNOWN_DECISION_GROUP,
    Reason.MANDATORY_GROUP_EMPTY,
)
"""Holds that files alone show, with the field that is to be corrected."""


def _is_told(caution: Caution, subject: str, placement: str, hold: Wait) -> bool:
    return (
        hold.reason in _IN_FILES
        and caution.subject.startswith(f"{subject} ")
        and caution.message.endswith("the rollout is held")
        and re.search(rf"lacement {re.escape(placement)}(?![-.\w])", caution.message) is not None
    )


def _until(hold: Wait) -> str:
    return f"{hold.reason} holds it until {remedy(hold.reason, hold.message)}"


_STRICT = f"set annotation {names.FAILURE_TOLERANCE}: Strict"


def _remedy(share: PlacementShare, report: StageReport) -> str:
    """What makes fewer fail at once; a stage that has no limit of its own is as large as its group."""
    stage = next(s for s in share.live.ledger.rollout.staging.stages if s.key == report.key)
    if share.strategy == "ProgressivePerGroup":
        return f"{_STRICT}, or make the decision groups smaller"
    return f"{_STRICT}, or {'lower' if stage.limit is not None else 'set'} maxConcurrency"


_ASKED = "it proves nothing to the stages that follow"


def _left_out(share: PlacementShare) -> Iterator[str]:
    """Mandatory groups that are allowed to be empty, and clusters that are skipped."""
    rollout, last = share.live.ledger.rollout, share.live.last
    stages = rollout.staging.stages
    for stage in stages if last.hold is None else ():
        if stage.mandatory and not stage.members:
            yield f"mandatory decision group {stage.title} has no cluster, and may be empty"
    members = {cluster for stage in stages for g in stage.groups for cluster in g.clusters}
    skipped = sorted(rollout.skipped & members)
    if skipped:
        named = first_of(skipped, _MOST)
        yield f"skipped for this revision, and so a member of no stage: {named}"


_MOST = 10


_NOT_KEPT = "if the release is bad, roll out a fix"


def _stranded(workload: Workload[PlacementShare], share: PlacementShare) -> str:
    """That automatic rollback would leave clusters with a bad release; "" where it would not."""
    if workload.intents.rollback is not RollbackMode.AUTOMATIC:
        return ""
    live = share.live
    members = [
        cluster
        for stage in live.ledger.rollout.staging.stages
        for group in stage.groups
        for cluster in group.clusters
        if live.judgement(cluster).phase in (Phase.WAITING, Phase.OUTDATED)
    ]
    bare = sum(not _has_soaked(live, cluster) for cluster in members)
    if not bare:
        return ""
    return (
        f"rollback is Automatic, but on {bare} of the {len(members)} clusters to be touched no earlier "
        "revision has soaked: they have nothing to go back to, and would keep a bad release"
    )


def _has_soaked(live: LiveRollout, cluster: str) -> bool:
    standing = live.ledger.standings.get(cluster)
    soaks = standing is not None and standing.verdict is Verdict.SOAKED
    return soaks or bool(live.line(cluster).soaked)


def _overrun(share: PlacementShare, report: StageReport) -> str:
    """That more clusters can fail than tolerated, since more are in flight at once; "" where not."""
    rollout = share.live.ledger.rollout
    stage = next((s for s in rollout.staging.stages if s.key == report.key), None)
    if stage is None or stage.mandatory or rollout.strict_tolerance or not report.members:
        return ""
    budget = report.budget
    if budget is None and rollout.staging.budget is not None:
        budget = rollout.staging.budget.of(rollout.staging.total)
    if budget is None or report.limit <= budget + 1:
        return ""
    return (
        f"up to {report.limit} clusters are in flight at once and {budget} may fail: a bad release "
        f"can fail on all {report.limit} before it stops"
    )
