"""What scheduling plugins read and what they answer: the seams of the scheduler.

A filter judges one cluster, a prioritizer scores the feasible ones. Both are pure: everything they
may read is in the `Cycle`. A plugin may offer a second, vectorised method (`IndexedFilter`,
`IndexedPrioritizer`) that works on whole columns; it must answer exactly what the plain one answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rollout.model.cluster import Cluster, Score
from rollout.model.placement import Placement
from rollout.placement.index import Pool

if TYPE_CHECKING:
    from rollout.placement.cel.screening import Screening

FOREVER = datetime.max.replace(tzinfo=UTC)
MIN_SCORE = -100
MAX_SCORE = 100


class EvaluationCode(Enum):
    """How an evaluation ended. Source: OCM placement spec 2.5."""

    SUCCESS = "Success"
    WARNING = "Warning"
    ERROR = "Error"
    MISCONFIGURED = "Misconfigured"


@dataclass(frozen=True, slots=True)
class EvaluationStatus:
    """The end of an evaluation, with the plugin that caused it ("" for the framework)."""

    code: EvaluationCode = EvaluationCode.SUCCESS
    plugin: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def failed(self) -> bool:
        """No selection was made."""
        return self.code in (EvaluationCode.ERROR, EvaluationCode.MISCONFIGURED)


SUCCESS = EvaluationStatus()


def no_scores(_name: str) -> Mapping[str, Score]:
    """Where there are no scores at all."""
    return {}


@dataclass(frozen=True, slots=True)
class Cycle:
    """One evaluation of one placement: everything that a plugin may read.

    Args:
        previous: clusters in this placement's decisions now.
        counts: decisions naming a cluster, over all *other* placements of the hub.
        scores: by the name of an AddOnPlacementScore, the scores of each cluster that has it.
        screening: what is known of the placement's CEL expressions already. It saves work and says
            how much may be done at once; it never alters an answer.
    """

    placement: Placement
    now: datetime
    _: KW_ONLY
    previous: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)
    scores: Callable[[str], Mapping[str, Score]] = no_scores
    screening: "Screening | None" = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a filter refused a cluster; ``until``: when that ends without an event, if it does."""

    plugin: str
    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """A vectorised filter's answer: the admitted clusters as bits of the pool's index.

    ``recheck_at``: the earliest instant after ``now`` at which the answer changes by itself.
    ``remarks``: what a person should know although nothing failed.
    """

    bits: int
    recheck_at: datetime | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """A vectorised prioritizer's answer: one score per cluster of the pool, in the pool's order.

    None: the cluster has no score (it counts as 0). ``expired``: scores that were too old to use.
    """

    scores: Sequence[int | None]
    recheck_at: datetime | None = None
    expired: tuple[str, ...] = ()


class Filter(Protocol):
    """Refuses clusters, one at a time."""

    @property
    def name(self) -> str: ...

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        """None where the cluster may be selected."""
        ...


@runtime_checkable
class IndexedFilter(Protocol):
    """A filter that can also judge a whole pool at once."""

    @property
    def name(self) -> str: ...

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission: ...


class Prioritizer(Protocol):
    """Scores feasible clusters, each from `MIN_SCORE` to `MAX_SCORE`."""

    @property
    def name(self) -> str: ...

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        """By cluster name. A cluster that is left out counts as 0."""
        ...


@runtime_checkable
class IndexedPrioritizer(Protocol):
    """A prioritizer that can also score a whole pool at once."""

    @property
    def name(self) -> str: ...

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn: ...


@dataclass(frozen=True, slots=True)
class FilterStage:
    """What is left after a filter. ``name`` lists the filters so far, joined by commas."""

    name: str
    left: Pool


@dataclass(frozen=True, slots=True)
class Ranking:
    """One prioritizer's scores, aligned with the names of the feasible pool."""

    name: str
    weight: int
    scores: Sequence[int | None]

    def by_cluster(self, names: Sequence[str]) -> dict[str, int]:
        return {n: s for n, s in zip(names, self.scores, strict=True) if s is not None}


@dataclass(frozen=True, slots=True)
class PlacementSelection:
    """The scheduler's answer.

    Args:
        chosen: selected clusters, best first (total descending, then name).
        names: all feasible clusters by name; ``totals`` is aligned with it.
        unmet: how many more clusters were asked for than there are.
        recheck_at: the earliest instant after which the answer can differ without an event.
    """

    status: EvaluationStatus
    _: KW_ONLY
    chosen: tuple[str, ...] = ()
    unmet: int = 0
    names: tuple[str, ...] = ()
    totals: Sequence[int] = ()
    stages: tuple[FilterStage, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    recheck_at: datetime | None = None
    remarks: tuple[str, ...] = ()

    def total_by_cluster(self) -> dict[str, int]:
        return dict(zip(self.names, self.totals, strict=True))


def just_after(at: datetime) -> datetime | None:
    """The first instant after ``at``; None at the end of time."""
    return None if at >= FOREVER else at + timedelta.resolution


def later(at: datetime, by: timedelta) -> datetime:
    """``at + by``; the end of time where there is no such instant."""
    try:
        return at + by
    except OverflowError:
        return FOREVER
