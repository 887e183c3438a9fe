"""Counts what works say, for the summary of a workload."""

from dataclasses import dataclass
from functools import cache

from rollout.model import names
from rollout.model.work import Work


@dataclass(slots=True, kw_only=True)
class Counts:
    """Clusters whose work carries the revision, and of these, whose conditions are True.

    ``unstamped`` have a condition that does not count, since it does not say of which generation it is;
    ``outdated`` one that is of another generation.
    """

    updated: int = 0
    applied: int = 0
    available: int = 0
    progressing: int = 0
    degraded: int = 0
    unstamped: int = 0
    outdated: int = 0

    def shift(self, marks: tuple[bool, ...], by: int) -> None:
        self.updated += by * marks[0]
        self.applied += by * marks[1]
        self.available += by * marks[2]
        self.progressing += by * marks[3]
        self.degraded += by * marks[4]
        self.unstamped += by * marks[5]
        self.outdated += by * marks[6]


NO_MARKS = (False,) * 7
_COUNTED = (names.APPLIED, names.AVAILABLE, names.PROGRESSING, names.DEGRADED)


def marks_of(work: Work, *, as_ocm: bool) -> tuple[bool, ...]:
    """What a work that carries the revision adds. ``as_ocm``: conditions of any generation count."""
    marks, unstamped, outdated = [True], False, False
    for kind in _COUNTED:
        condition = work.conditions.get(kind)
        if condition is None:
            marks.append(False)
            continue
        is_current = as_ocm or condition.observed_generation == work.generation
        marks.append(is_current and condition.is_true)
        if not is_current:
            unstamped = unstamped or condition.observed_generation is None
            outdated = outdated or condition.observed_generation is not None
    return _shared((*marks, unstamped, outdated))


@cache
def _shared(marks: tuple[bool, ...]) -> tuple[bool, ...]:
    """The same object for equal marks: one is kept of each cluster."""
    return marks


def rules_of(spec: object) -> frozenset[str]:
    configs = spec.get("manifestConfigs") if isinstance(spec, dict) else None
    return frozenset(
        rule["condition"]
        for config in (configs if isinstance(configs, list) else [])
        if isinstance(config, dict)
        for rule in (config.get("conditionRules") or [])
        if isinstance(rule, dict) and isinstance(rule.get("condition"), str)
    )
