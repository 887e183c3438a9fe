"""What does one work add to the counts of its workload, and what does its template promise to report?"""

from collections.abc import Callable
from dataclasses import dataclass

from rollout.model import names
from rollout.model.work import Work


@dataclass(slots=True)
class Counts:
    """Clusters whose work carries the revision, and of these, whose conditions are True."""

    updated: int = 0
    applied: int = 0
    available: int = 0
    progressing: int = 0
    degraded: int = 0

    def shift(self, marks: tuple[bool, ...], by: int) -> None:
        self.updated += by * marks[0]
        self.applied += by * marks[1]
        self.available += by * marks[2]
        self.progressing += by * marks[3]
        self.degraded += by * marks[4]


NO_MARKS = (False,) * 5


def marks_of(work: Work) -> tuple[bool, ...]:
    current: Callable[[str], bool] = lambda kind: (  # noqa: E731  (bound to this one work)
        (c := work.conditions.get(kind)) is not None
        and c.is_true
        and c.observed_generation == work.generation
    )
    return (
        True,
        current(names.APPLIED),
        current(names.AVAILABLE),
        current(names.PROGRESSING),
        current(names.DEGRADED),
    )


def rules_of(spec: object) -> frozenset[str]:
    configs = spec.get("manifestConfigs") if isinstance(spec, dict) else None
    return frozenset(
        rule["condition"]
        for config in (configs if isinstance(configs, list) else [])
        if isinstance(config, dict)
        for rule in (config.get("conditionRules") or [])
        if isinstance(rule, dict) and isinstance(rule.get("condition"), str)
    )
