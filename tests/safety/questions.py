"""Is one decision the same when it is asked in another way? Promises about the pure step: R5, R6."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from random import Random

from rollout.model.approvals import Side
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Checkpoint, Health, Rollout, Stage, Standing, Step, Verdict
from rollout.strategies.retreat import RetreatLimits, retreat
from rollout.strategies.step import decide

Blame = Callable[[str, str], None]
SHUT = Wait(Reason.APPROVAL_NEEDED, "somebody has to approve")


def pure(rollout: Rollout, step: Step, now: datetime, dice: Random, blame: Blame) -> None:
    """R5: the same answer again, and from input in another order; the ledger says the same."""
    again = decide(rollout, now)
    if again != decide(rollout, now):
        blame("R5", "asked twice, it decides differently")
    names = list(rollout.standings)
    dice.shuffle(names)
    shuffled = replace(rollout, standings={name: rollout.standings[name] for name in names})
    if decide(shuffled, now) != again:
        blame("R5", "the order of the input changes the decision")
    if set(step.touch) - set(again.touch):
        blame("R5", f"the ledger touches {step.touch}, the plain step {again.touch}")


def worse_news(
    rollout: Rollout, now: datetime, dice: Random, counts: Counter[str], blame: Blame
) -> None:
    """R6: bad news, a pause, a lower limit: what is touched is a subset."""
    touched = [c for c, s in rollout.standings.items() if s.revision == rollout.revision]
    members = {c for st in rollout.staging.stages for g in st.groups for c in g.clusters}
    touched = [c for c in touched if c in members]
    if touched:
        cluster = dice.choice(sorted(touched))
        good = decide(_with(rollout, cluster, now, well=True), now)
        bad = decide(_with(rollout, cluster, now, well=False), now)
        counts["R6.bad_news"] += 1
        if set(bad.touch) - set(good.touch):
            blame("R6", f"{cluster} failing adds {set(bad.touch) - set(good.touch)}")
    before = decide(rollout, now)
    if decide(replace(rollout, hold=Wait(Reason.PAUSED, "")), now).touch:
        blame("R6", "a hold adds touches")
    for stage in dice.sample(rollout.staging.stages, min(1, len(rollout.staging.stages))):
        shut = Checkpoint("shut", stage.key, Side.BEFORE, SHUT)
        gated = replace(rollout, checkpoints=(*rollout.checkpoints, shut))
        if set(decide(gated, now).touch) - set(before.touch):
            blame("R6", f"a gate at {stage.key} adds touches")
    if set(decide(replace(rollout, strict_tolerance=True), now).touch) - set(before.touch):
        blame("R6", "less tolerance adds touches")
    lower = replace(
        rollout,
        staging=replace(
            rollout.staging, stages=tuple(_lower(stage) for stage in rollout.staging.stages)
        ),
    )
    counts["R6.lower_limit"] += bool(before.touch)
    if set(decide(lower, now).touch) - set(before.touch):
        blame("R6", "a lower limit adds touches")


def _lower(stage: Stage) -> Stage:
    if stage.limit is None or stage.limit.value < 2:
        return stage
    return replace(stage, limit=replace(stage.limit, value=stage.limit.value // 2))


def _with(rollout: Rollout, cluster: str, now: datetime, *, well: bool) -> Rollout:
    """The same, had this cluster soaked, or finally failed."""
    old = rollout.standings[cluster]
    new = Standing(
        cluster,
        old.revision,
        old.touched,
        Health.SUCCEEDED if well else Health.FAILED,
        now,
        Verdict.SOAKED if well else Verdict.FAILED,
        "" if well else "Degraded",
    )
    return replace(rollout, standings={**rollout.standings, cluster: new})


def worse_way_back(
    rollout: Rollout,
    began: datetime,
    targets: Mapping[str, str],
    limits: RetreatLimits,
    now: datetime,
    dice: Random,
    counts: Counter[str],
    blame: Blame,
) -> None:
    """R6, of a rollback: a failure on the way, a lower limit or budget adds nothing."""

    def going(known: Rollout, at_most: RetreatLimits) -> set[str]:
        return {c for c, _ in retreat(known, targets, began, at_most, now).touch}

    before = going(rollout, limits)
    lower = replace(limits, limit=replace(limits.limit, value=limits.limit.value // 2))
    fewer = replace(limits, budget=replace(limits.budget, value=limits.budget.value // 2))
    if (going(rollout, lower) | going(rollout, fewer)) - before:
        blame("R6", "a lower limit of a rollback adds touches")
    given = [
        c
        for c, s in rollout.standings.items()
        if s.revision != rollout.revision and s.touched >= began
    ]
    if given:
        counts["R6.bad_news_on_the_way_back"] += 1
        cluster = dice.choice(sorted(given))
        good, bad = (_with(rollout, cluster, now, well=well) for well in (True, False))
        if going(bad, limits) - going(good, limits):
            blame("R6", f"{cluster} failing on the way back adds touches")
