"""The history of a run: which clusters were touched, in which order, and whether each touch was
allowed.

A `RunHistory` is told of each decision that is carried out, and judges it by the counts that it takes itself
from the standings, so that a test can assert that a policy, a plugin or a strategy kept its word.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rollout.model.kinds import Ref
from rollout.rollouts.facts import Made, RetreatMade, StepMade
from rollout.strategies.base import Phase, Rollout, Stage, Step
from rollout.strategies.judge import judge


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedCluster:
    """A revision is written to a cluster. ``workload`` is its key, as ``shop/web``."""

    at: datetime
    workload: str
    placement: str
    stage: str
    cluster: str
    revision: str


class RunHistory:
    """Implements `rollout.rollouts.witness.Witness`: what was decided in one run.

    ``touches`` in their order; ``breaches`` are sentences, one for each promise that a touch broke.
    Decisions of profile ``ocm`` are OCM's: of these the touches are kept, and nothing is judged.
    """

    def __init__(self) -> None:
        self.touches: list[TouchedCluster] = []
        self.breaches: list[str] = []

    def touched(self, workload: str = "") -> tuple[str, ...]:
        """The clusters that were touched, each once, in the order of their first touch.

        Args:
            workload: NAME or NAMESPACE/NAME; all of them where it is "".
        """
        found = (
            touch.cluster
            for touch in self.touches
            if workload in ("", touch.workload, touch.workload.rpartition("/")[2])
        )
        return tuple(dict.fromkeys(found))

    def made(self, workload: Ref, placement: str, made: Made, now: datetime) -> None:
        """See `Witness`."""
        if isinstance(made, RetreatMade) or not made.step.touch:
            return
        rollout = made.rollout if isinstance(made, StepMade) else None
        stages = _stage_of_each(rollout) if rollout is not None else {}
        self.touches += [
            TouchedCluster(
                at=now,
                workload=workload.key,
                placement=placement,
                stage=stages[cluster].title if cluster in stages else "",
                cluster=cluster,
                revision=rollout.revision if rollout is not None else "",
            )
            for cluster in made.step.touch
        ]
        if rollout is not None:
            where = f"{now:%Y-%m-%d %H:%M:%S} {workload.key}: "
            self.breaches += [where + each for each in _breaches(rollout, made.step, stages, now)]

    def gone(self, workload: Ref, now: datetime) -> None:
        """What was decided stays: it is the history of the whole run."""


def _stage_of_each(rollout: Rollout) -> dict[str, Stage]:
    return {
        cluster: stage
        for stage in rollout.staging.stages
        for group in stage.groups
        for cluster in group.clusters
    }


def _breaches(
    rollout: Rollout, step: Step, stages: dict[str, Stage], now: datetime
) -> Iterator[str]:
    """What the touches of a step break: S1, S3, S5 and S8 of the safety contract, counted anew."""
    counts = _counts(rollout, stages, now)
    passed = rollout.passed | set(step.passed)
    touched = Counter(stages[cluster].key for cluster in step.touch if cluster in stages)
    for cluster in step.touch:
        if cluster in rollout.held or cluster in rollout.skipped:
            yield f"{cluster} is touched, though a person keeps it out"
    allowed = rollout.staging.budget
    members = sum(report.members for report in step.stages)
    if allowed is not None and sum(map(_failures, counts.values())) > allowed.of(members):
        yield f"clusters are touched after too many failures: {allowed} are allowed"
    open_before = ""
    for report in step.stages:
        if touched[report.key]:
            if open_before:
                yield f"{report.title} is touched before {open_before} has passed"
            flying = touched[report.key] + _flying(counts[report.key])
            if flying > report.limit:
                yield f"{report.title} has {flying} in flight, {report.limit} are allowed"
            if report.budget is not None and _failures(counts[report.key]) > report.budget:
                yield f"{report.title} is touched after too many failures: {report.budget} are allowed"
        if report.key not in passed:
            open_before = open_before or report.title


def _flying(phases: Counter[Phase]) -> int:
    return sum(n for phase, n in phases.items() if phase.holds_slot)


def _failures(phases: Counter[Phase]) -> int:
    return sum(n for phase, n in phases.items() if phase.is_failure)


def _counts(
    rollout: Rollout, stages: dict[str, Stage], now: datetime
) -> defaultdict[str, Counter[Phase]]:
    """The touched clusters of each stage by phase, before the touches of this step."""
    found: defaultdict[str, Counter[Phase]] = defaultdict(Counter)
    for cluster, standing in rollout.standings.items():
        stage = stages.get(cluster)
        if stage is not None and cluster not in rollout.skipped:
            phase = judge(standing, rollout.revision, rollout.timing, now).phase
            found[stage.key][phase] += 1
    for key in rollout.lost.values():
        found[key][Phase.LOST] += 1
    return found
