"""A ManifestWorkReplicaSet: a template, its placements, and how it is rolled out."""

import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta

from rollout.errors import ConfigError
from rollout.model.amounts import Amount
from rollout.model.intents import NO_INTENTS, Intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem

NO_FAILURES = Amount(0)
SHORTEST_DEADLINE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class GroupRef:
    """One entry of mandatoryDecisionGroups. A name wins over an index; ``{}`` means index 0."""

    name: str = ""
    index: int = 0

    def __str__(self) -> str:
        return self.name or f"#{self.index}"


@dataclass(frozen=True, slots=True)
class RolloutSpec:
    """A rolloutStrategy, parsed. ``deadline`` None waits for ever. ``concurrency`` None is unset.

    Raises: ConfigError for an invalid value; a decoded spec never has one.
    """

    type: str = "All"  # All | Progressive | ProgressivePerGroup, or a plugin's name
    _: KW_ONLY
    min_success_time: timedelta = timedelta(0)
    deadline: timedelta | None = None
    max_failures: Amount = NO_FAILURES
    concurrency: Amount | None = None
    mandatory: tuple[GroupRef, ...] = ()

    def __post_init__(self) -> None:
        soak, deadline = self.min_success_time, self.deadline
        for field_, value, is_valid, accepted in (
            ("type", self.type, isinstance(self.type, str) and self.type, "a strategy's name"),
            ("min_success_time", soak, _lasts(soak, timedelta(0)), "a timedelta of 0 or more"),
            (
                "deadline",
                deadline,
                deadline is None or _lasts(deadline, SHORTEST_DEADLINE),
                "a timedelta of 1 second or more, or None",
            ),
            ("max_failures", self.max_failures, _counts(self.max_failures), _AMOUNT),
            (
                "concurrency",
                self.concurrency,
                self.concurrency is None or _counts(self.concurrency),
                f"{_AMOUNT}, or None",
            ),
            ("mandatory", self.mandatory, _are_groups(self.mandatory), _GROUPS),
        ):
            if not is_valid:
                raise ConfigError(f"RolloutSpec.{field_}: {value!r} is not valid: {accepted}")


_AMOUNT = "an Amount of 0 or more, of at most 100 where it is a percentage"
_GROUPS = "a tuple of GroupRef, each with a name or with an index of 0 or more"


def _lasts(value: object, least: timedelta) -> bool:
    return isinstance(value, timedelta) and value >= least


def _counts(value: object) -> bool:
    return (
        isinstance(value, Amount)
        and type(value.value) is int
        and 0 <= value.value <= (100 if value.percent else sys.maxsize)
    )


def _are_groups(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(ref, GroupRef) and ref.index >= 0 for ref in value
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSet:
    """A ManifestWorkReplicaSet, parsed. ``raw`` is the object (status conditions, labels).

    ``intents`` are what its annotations ask for, and where these say nothing, fields of its spec that
    OCM has proposed (`rollout.api.replicaset`). ``follows_ocm``: it has such fields.
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
    follows_ocm: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def placement_names(self) -> tuple[str, ...]:
        return tuple(ref.name for ref in self.refs)
