"""A ManifestWorkReplicaSet: a template, the placements it goes to, and how it is rolled out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from rollout.model.amounts import Amount
from rollout.model.intents import NO_INTENTS, Intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem

NO_FAILURES = Amount(0)


@dataclass(frozen=True, slots=True)
class GroupRef:
    """One entry of mandatoryDecisionGroups. A name wins over an index; ``{}`` means index 0."""

    name: str = ""
    index: int = 0

    def __str__(self) -> str:
        return self.name or f"#{self.index}"


@dataclass(frozen=True, slots=True)
class RolloutSpec:
    """A rolloutStrategy, parsed. ``deadline`` None waits for ever. ``concurrency`` None is unset."""

    type: str = "All"  # All | Progressive | ProgressivePerGroup, or a plugin's name
    min_success_time: timedelta = timedelta(0)
    deadline: timedelta | None = None
    max_failures: Amount = NO_FAILURES
    concurrency: Amount | None = None
    mandatory: tuple[GroupRef, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementRef:
    """One of a workload's placements (same namespace) with its strategy.

    ``rollout`` is None where the strategy could not be parsed: ``problems`` says why, and that
    reference is held. ``raw`` is the rolloutStrategy as written, for profile ``ocm``.
    """

    name: str
    rollout: RolloutSpec | None
    problems: tuple[Problem, ...] = ()
    raw: Obj = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Template:
    """A manifestWorkTemplate. ``spec`` is never altered; ``content`` is the hash of its normal form.

    ``rules`` are the condition types that its condition rules can set.
    """

    spec: Obj = field(compare=False, repr=False)
    content: str
    rules: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """A ManifestWorkReplicaSet, parsed. ``raw`` is the object (status conditions, labels).

    ``intents`` are what its annotations ask for.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    version: int
    template: Template
    refs: tuple[PlacementRef, ...]
    cascade: str = "Background"  # Background | Foreground
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    raw: Obj = field(default_factory=dict, compare=False, repr=False)
    intents: Intents = NO_INTENTS

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"
