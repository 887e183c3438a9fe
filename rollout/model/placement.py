"""A Placement: what it asks of the scheduler, and what was decided."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from rollout.errors import ConfigError
from rollout.model.amounts import Amount
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.selectors import Selector


@dataclass(frozen=True, slots=True)
class Predicate:
    """One requiredClusterSelector: label AND claim AND every CEL expression."""

    labels: Selector
    claims: Selector
    cel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toleration:
    """Tolerates taints that match. ``seconds`` counts from the taint's timeAdded; None is for ever."""

    key: str = ""
    operator: str = "Equal"
    _: KW_ONLY
    value: str = ""
    effect: str = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Names one score: a built-in prioritizer, or a value of an AddOnPlacementScore."""

    type: str = "BuiltIn"
    builtin: str = ""
    resource: str = ""
    score: str = ""

    @property
    def label(self) -> str:
        return self.builtin if self.type == "BuiltIn" else f"AddOn/{self.resource}/{self.score}"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """Bounds how unevenly clusters are taken over the values of a label or claim."""

    topology_key: str
    key_type: str = "Label"  # Label | Claim
    max_skew: int = 1
    hard: bool = False  # DoNotSchedule


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A decision group that the spec names, with what its members must match."""

    name: str
    labels: Selector
    claims: Selector


@dataclass(frozen=True, slots=True)
class Placement:
    """A Placement, parsed. What could not be parsed is in ``problems``; ``raw`` is the object."""

    namespace: str
    name: str
    _: KW_ONLY
    uid: str = ""
    generation: int = 0
    version: int = 0
    deleting: bool = False
    cluster_sets: tuple[str, ...] = ()
    number: int | None = None
    predicates: tuple[Predicate, ...] = ()
    mode: str = "Additive"
    weights: tuple[tuple[Coordinate, int], ...] = ()  # configurations, in the order written
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    group_size: Amount | None = None  # clustersPerDecisionGroup; None: all in one group
    groups: tuple[NamedGroup, ...] = ()
    sort_by: str = "ClusterName"
    score_rate_limit_seconds: int = 60
    annotations: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    status_groups: tuple[tuple[int, str, int, tuple[str, ...]], ...] | None = None
    """status.decisionGroups as (index, name, clusterCount, decision names); None where absent."""
    raw: Obj = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Decision:
    """One PlacementDecision object: a page of the clusters of one decision group.

    ``group_index`` is None where its label is missing or no number. ``scores``: one for each cluster,
    0 where none is said; None where the entries say more than that, or say it differently than we
    write it. ``raw`` has the object's labels and owners alone: a large hub has no room for more.
    """

    namespace: str
    name: str
    _: KW_ONLY
    placement: str
    group_index: int | None
    group_name: str
    clusters: tuple[str, ...]
    version: int = 0
    uid: str = ""
    raw: Obj = field(default_factory=dict, compare=False, repr=False)
    scores: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """A decision group: its place in the order, its name ("" for the rest), its clusters by name.

    Raises: ConfigError where the clusters are no tuple; a name alone would be taken letter by letter.
    """

    index: int
    name: str
    clusters: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.clusters, tuple):
            raise ConfigError(
                f'Group.clusters: {self.clusters!r} is not valid: a tuple of names, as ("eu-1",)'
            )


def owned(placement: Placement, labelled: Sequence[Decision]) -> tuple[Decision, ...]:
    """Without those that another controller owns: a label alone makes nothing ours."""
    return tuple(d for d in labelled if not is_foreign(placement, d))


def is_foreign(placement: Placement, decision: Decision) -> bool:
    """Whether something other than this Placement (of any uid) controls the object."""
    owners = decision.raw.get("metadata", {}).get("ownerReferences") or ()
    return any(
        owner.get("controller")
        and (owner.get("kind"), owner.get("name")) != ("Placement", placement.name)
        for owner in owners
    )
