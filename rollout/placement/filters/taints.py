"""Which taints keep a placement away, and until when are the others tolerated?

A cluster passes when every taint with effect NoSelect or NoSelectIfNew is tolerated; the latter does
not count against clusters that are already decided. Source: OCM placement spec 2.7. Difference:
a tolerated taint has an end only where no other toleration goes on after it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rollout.model.cluster import Cluster, Taint
from rollout.model.placement import Toleration
from rollout.placement.framework import FOREVER, Admission, Cycle, Rejection, earliest
from rollout.placement.index import Pool

LONG_AGO = datetime.min.replace(tzinfo=UTC)

PREFER = "PreferNoSelect"
IF_NEW = "NoSelectIfNew"


@dataclass(frozen=True, slots=True)
class Tolerations:
    """Tolerations by key, so that thousands of them cost nothing per taint."""

    by_key: dict[str, tuple[Toleration, ...]]

    def tolerated_until(self, taint: Taint) -> datetime | None:
        """The end of tolerance (`FOREVER` where there is none); None: nothing tolerates the taint.

        The end may have passed already.
        """
        last: datetime | None = None
        for key in (taint.key, "") if taint.key else ("",):
            for toleration in self.by_key.get(key, ()):
                if _matches(toleration, taint):
                    end = _end(toleration, taint)
                    last = end if last is None else max(last, end)
        return last


@lru_cache(maxsize=2048)
def compiled(tolerations: tuple[Toleration, ...]) -> Tolerations:
    by_key: dict[str, list[Toleration]] = {}
    for toleration in tolerations:
        by_key.setdefault(toleration.key, []).append(toleration)
    return Tolerations({key: tuple(found) for key, found in by_key.items()})


def _matches(toleration: Toleration, taint: Taint) -> bool:
    """Whether it is about this taint. An empty key is about every taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def _end(toleration: Toleration, taint: Taint) -> datetime:
    """When it stops: seconds count from the taint's time; a taint without one is older than all."""
    if toleration.seconds is None:
        return FOREVER
    if taint.added is None:
        return LONG_AGO
    try:
        return taint.added + timedelta(seconds=toleration.seconds)
    except OverflowError:
        return FOREVER if toleration.seconds > 0 else LONG_AGO


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How a placement stands to one cluster's taints. ``until`` None: for ever."""

    refused_by: Taint | None = None
    until: datetime | None = None


def tolerance(
    taints: Iterable[Taint], tolerations: Tolerations, decided: bool, now: datetime
) -> Tolerance:
    """Whether all taints are tolerated, and when that ends; else the first that is not."""
    ends: list[datetime] = []
    for taint in taints:
        if taint.effect == PREFER or (taint.effect == IF_NEW and decided):
            continue
        end = tolerations.tolerated_until(taint)
        if end is None or end <= now:
            return Tolerance(taint)
        if end != FOREVER:
            ends.append(end)
    return Tolerance(None, min(ends, default=None))


@dataclass(frozen=True, slots=True)
class TaintToleration:
    """Refuses clusters with a taint that the placement does not tolerate."""

    name: str = "TaintToleration"

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        found = tolerance(
            cluster.taints,
            compiled(cycle.placement.tolerations),
            cluster.name in cycle.previous,
            cycle.now,
        )
        if found.refused_by is None:
            return None
        return Rejection(self.name, f"the taint {described(found.refused_by)} is not tolerated")

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission:
        """Judges every distinct list of taints once or twice. Cost: O(distinct lists)."""
        index, tolerations = pool.source, compiled(cycle.placement.tolerations)
        decided: int | None = None
        refused, ends = 0, []
        for taints, bits in index.taints.items():
            concerned = bits & pool.bits
            if not concerned:
                continue
            if decided is None:
                decided = index.bits(cycle.previous)
            kinds: tuple[tuple[int, bool], ...] = ((concerned, False),)
            if any(taint.effect == IF_NEW for taint in taints):
                kinds = ((concerned & decided, True), (concerned & ~decided, False))
            for some, already in kinds:
                found = tolerance(taints, tolerations, already, cycle.now) if some else None
                if found is not None and found.refused_by is not None:
                    refused |= some
                elif found is not None:
                    ends.append(found.until)
        return Admission(pool.bits & ~refused, earliest(*ends))


def described(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def unwelcome(taints: Sequence[Taint], tolerations: Tolerations, now: datetime) -> Tolerance:
    """The first PreferNoSelect taint that is not tolerated now; else until when all are."""
    ends: list[datetime] = []
    for taint in taints:
        if taint.effect != PREFER:
            continue
        end = tolerations.tolerated_until(taint)
        if end is None or end <= now:
            return Tolerance(taint)
        if end != FOREVER:
            ends.append(end)
    return Tolerance(None, min(ends, default=None))
