"""Does a run that goes wrong end as one that does not? Promises about two runs: R1, L4."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

from tests.safety.setting import Act, Setting, draw_any
from tests.safety.world import History
from tests.support.faults import Rates

Blame = Callable[[str, str], None]
Make = Callable[..., History]
"""As `History`: a setting, and perhaps ``die_after``."""


def crash_everywhere(
    kind: str,
    seed: int,
    counts: Counter[str],
    blame: Blame,
    most: int = 12,
    make: Make = History,
) -> None:
    """R1: the engine dies after its k-th write, for many k; the end is as if it had not."""
    setting = _plain(kind, seed)
    whole = make(setting).run()
    for violation in whole.violations:
        blame(violation.promise, str(violation))
    if whole.violations or whole.door is None:
        return
    total, wanted, written = whole.door.writes, whole.carried(), whole.judge.written
    dice = Random(f"crashes:{seed}")
    for k in sorted(dice.sample(range(total), min(most, total))):
        run = make(setting, die_after=k)
        run.run()
        counts["R1.crash_after_write_k"] += 1
        for violation in run.violations:
            blame(violation.promise, f"dying after write {k} of {total}: {violation}")
        if run.violations:
            return
        if run.carried() != wanted:
            blame("R1", f"dying after write {k}, clusters end with {run.carried()}")
        for (cluster, revision), times in run.judge.written.items():
            if times > max(
                written[cluster, revision], 1
            ):  # who is early enough is a matter of time
                blame("R1", f"dying after write {k}, {cluster} was given {revision} {times} times")


def _plain(kind: str, seed: int) -> Setting:
    """A setting whose end does not hang on instants: agents do well, nobody interferes."""
    setting = draw_any(seed, kind)
    quick = {"minSuccessTime": "30s", "progressDeadline": "None"}
    strategies = {
        ref: {
            "type": strategy["type"],
            (kind := strategy["type"])[:1].lower() + kind[1:]: {
                **{
                    key: value
                    for key, value in strategy[kind[:1].lower() + kind[1:]].items()
                    if key not in ("maxFailures", "mandatoryDecisionGroups", "maxConcurrency")
                },
                **quick,
                **({"maxConcurrency": "30%"} if kind == "Progressive" else {}),
            },
        }
        for ref, strategy in setting.strategies.items()
    }
    scenario = setting.scenario.model_copy(
        update={"spec": setting.scenario.spec.model_copy(update={"rules": ()})}
    )
    return replace(
        setting,
        clusters=setting.clusters[:12],
        strategies=strategies,
        scenario=scenario,
        script=(Act(timedelta(seconds=100), "new_revision"),),
        faults=Rates(),
        latency=timedelta(0),
        strict=False,
        looks_every=None,
        notes={},
        rings={**setting.rings, setting.clusters[:12][-1]: "early"},
    )


def lossy_watch(kind: str, seed: int, counts: Counter[str], blame: Blame) -> None:
    """L4: lost and repeated events delay; the outcome is the same."""
    setting = _plain(kind, seed)
    whole = History(setting).run()
    lossy = replace(setting, faults=Rates(repeat=15, rewind=10, hold=3, cut=2))
    run = History(lossy).run()
    counts["L4.lossy_runs"] += 1
    for violation in whole.violations:
        blame(violation.promise, str(violation))
    for violation in run.violations:
        blame("L4", f"with lost and repeated events: {violation}")
    if not run.violations and run.carried() != whole.carried():
        blame("L4", f"with lost and repeated events, clusters end with {run.carried()}")
