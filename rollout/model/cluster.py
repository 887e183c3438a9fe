"""A managed cluster as the scheduler and the planners see it, and the sets it can be in."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.selectors import Selector


@dataclass(frozen=True, slots=True)
class Taint:
    """Keeps placements away that do not tolerate it. ``added`` is None where no time was given."""

    key: str
    value: str = ""
    effect: str = "NoSelect"  # NoSelect | PreferNoSelect | NoSelectIfNew
    added: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """The parts of a ManagedCluster that decide anything.

    ``allocatable`` and ``capacity`` are quantities as written ("3500m", "32Gi"). ``raw`` is the
    whole object, for CEL.
    """

    name: str
    _: KW_ONLY
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    available: bool | None = None  # ManagedClusterConditionAvailable; None is Unknown or absent
    deleting: bool = False
    uid: str = ""
    version: int = 0
    raw: Obj = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSet:
    """A ManagedClusterSet. ``selector`` None: members carry the exclusive label; else they match it."""

    name: str
    selector: Selector | None = None
    uid: str = ""
    generation: int = 0
    deleting: bool = False
    problems: tuple[Problem, ...] = ()
    version: int = 0
    raw: Obj = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSetBinding:
    """Lets placements of one namespace see one set. Valid when a ManagedClusterSet of the same name exists."""

    namespace: str
    name: str
    cluster_set: str
    version: int = field(default=0, compare=False)
    raw: Obj = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Score:
    """An AddOnPlacementScore: values by name, valid until an instant (None: for ever)."""

    cluster: str
    name: str
    values: Mapping[str, int] = field(default_factory=dict)
    valid_until: datetime | None = None
