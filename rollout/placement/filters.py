"""The filters of the scheduler: predicates of a placement, and taints of clusters.

Predicates are ORed; each is its label selector AND its claim selector AND all its CEL expressions; no
predicate at all matches everything. A cluster passes the taints when every one with effect NoSelect or
NoSelectIfNew is tolerated; the latter does not count against clusters that are already decided.
Differences: claims compare as plain strings, a person is told of an expression that fails, and a
tolerated taint has an end only where no other toleration goes on after it.
Source: OCM placement spec 2.6, 2.7.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from operator import or_

from rollout.model.cluster import Cluster, Taint
from rollout.model.instants import earliest
from rollout.model.placement import Placement, Predicate, Toleration
from rollout.model.selectors import Selector
from rollout.placement.cel.expressions import Judge
from rollout.placement.cel.screening import ScreenedPredicate, Screening
from rollout.placement.framework import FOREVER, Admission, Cycle, Rejection
from rollout.placement.index import Pool

LONG_AGO = datetime.min.replace(tzinfo=UTC)

PREFER = "PreferNoSelect"
IF_NEW = "NoSelectIfNew"


@dataclass(frozen=True, slots=True)
class Predicates:
    """Refuses clusters that no predicate matches."""

    name: str = "Predicate"

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        predicates = cycle.placement.predicates
        reasons = [_refusal(predicate, cycle, cluster) for predicate in predicates]
        if not predicates or "" in reasons:
            return None
        shown = reasons[0] if len(reasons) == 1 else f"{reasons[0]}; nor do the others match"
        return Rejection(self.name, shown)

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission:
        predicates = cycle.placement.predicates
        if not predicates:
            return Admission(pool.bits)
        parts = parts_of(((p.labels, p.claims, p.cel) for p in predicates), pool)
        if not any(texts for _, texts in parts):
            return Admission(union(bits for bits, _ in parts))
        screening = cycle.screening or Screening()
        matched, changes_at = screening.matching(pool, parts, cycle.scores, cycle.now)
        return Admission(matched, changes_at, screening.remarks(pool, cycle.scores))


def parts_of(
    predicates: Iterable[tuple[Selector, Selector, tuple[str, ...]]], pool: Pool
) -> list[ScreenedPredicate]:
    """What is left to the expressions of each predicate: selectors of labels and claims, and texts."""
    index = pool.source
    return [
        (index.claims.matching(claims, index.labels.matching(labels, pool.bits)), texts)
        for labels, claims, texts in predicates
    ]


def union(several: Iterable[int]) -> int:
    """The bits that are set in any of them."""
    return reduce(or_, several, 0)


def _refusal(predicate: Predicate, cycle: Cycle, cluster: Cluster) -> str:
    """Why the predicate does not match the cluster; "" where it does."""
    for requirement in predicate.labels.requirements:
        if not requirement.matches(cluster.labels):
            return f"label {_found(requirement.key, cluster.labels)}"
    for requirement in predicate.claims.requirements:
        if not requirement.matches(cluster.claims):
            return f"claim {_found(requirement.key, cluster.claims)}"
    for text in predicate.cel:
        verdict, _ = Judge(cycle.scores, cycle.now).verdict(text, cluster)
        if verdict is not True:
            return (
                f"CEL expression {text!r} is false" if verdict is False else f"{text!r}: {verdict}"
            )
    return ""


def _found(key: str, have: object) -> str:
    value = have.get(key) if isinstance(have, dict) else None
    return f"{key} is absent" if value is None else f"{key} is {value!r}"


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


def tolerations_of(placement: Placement) -> Tolerations:
    """What the placement tolerates."""
    return _by_key(placement.tolerations)


@lru_cache(maxsize=2048)
def _by_key(tolerations: tuple[Toleration, ...]) -> Tolerations:
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


def tolerance(taints: Iterable[Taint], tolerations: Tolerations, now: datetime) -> Tolerance:
    """Whether all taints are tolerated, and when that ends; else the first that is not."""
    ends: list[datetime] = []
    for taint in taints:
        end = tolerations.tolerated_until(taint)
        if end is None or end <= now:
            return Tolerance(taint)
        if end != FOREVER:
            ends.append(end)
    return Tolerance(None, min(ends, default=None))


def _excluding(taints: Iterable[Taint], decided: bool) -> Iterator[Taint]:
    """The taints that keep the cluster out unless they are tolerated."""
    return (t for t in taints if t.effect != PREFER and not (t.effect == IF_NEW and decided))


@dataclass(frozen=True, slots=True)
class TaintToleration:
    """Refuses clusters with a taint that the placement does not tolerate."""

    name: str = "TaintToleration"

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        taints = _excluding(cluster.taints, cluster.name in cycle.previous)
        found = tolerance(taints, tolerations_of(cycle.placement), cycle.now)
        if found.refused_by is None:
            return None
        return Rejection(self.name, f"the taint {described(found.refused_by)} is not tolerated")

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission:
        """Judges every distinct list of taints once or twice. Cost: O(distinct lists)."""
        index, tolerations = pool.source, tolerations_of(cycle.placement)
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
                if not some:
                    continue
                found = tolerance(_excluding(taints, already), tolerations, cycle.now)
                if found.refused_by is not None:
                    refused |= some
                else:
                    ends.append(found.until)
        return Admission(pool.bits & ~refused, earliest(*ends))


def described(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
