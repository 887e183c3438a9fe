"""An add-on: its configurations, where it is installed, and how each cluster stands.

``Resource`` is a (group, resource) pair as the API names kinds of configuration objects; for one of
them an add-on may have several configurations, and their order counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rollout.model.conditions import Condition
from rollout.model.intents import NO_INTENTS, Intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.replicaset import RolloutSpec


class Resource(NamedTuple):
    """A kind of configuration objects, as the API names it."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class ConfigRef(NamedTuple):
    """One configuration object. ``namespace`` is "" for objects of the whole hub."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.resource}/{self.namespace}/{self.name}"


class Config(NamedTuple):
    """One revision of a configuration object; ``spec_hash`` "" where it is not known."""

    ref: ConfigRef
    spec_hash: str

    def __str__(self) -> str:
        return f"{self.ref}@{self.spec_hash[:12] or '?'}"


Configs = tuple[Config, ...]
"""What an add-on is configured with: sorted by resource, in the order that counts within one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlacement:
    """One placement of an install strategy. ``rollout`` None: the strategy could not be parsed."""

    namespace: str
    name: str
    configs: tuple[ConfigRef, ...]
    rollout: RolloutSpec | None
    problems: tuple[Problem, ...] = ()
    raw: Obj = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOn:
    """A ClusterManagementAddOn, parsed.

    ``placements`` is None for install strategy Manual. ``is_managed`` is False where the lifecycle
    annotation hands the add-on to somebody else.
    """

    name: str
    uid: str
    generation: int
    version: int
    supported: tuple[Resource, ...]
    defaults: tuple[ConfigRef, ...]
    placements: tuple[InstallPlacement, ...] | None
    is_managed: bool = True
    deleting: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    raw: Obj = field(default_factory=dict, compare=False, repr=False)
    intents: Intents = NO_INTENTS

    @property
    def placement_names(self) -> tuple[str, ...]:
        return tuple(placement.name for placement in self.placements or ())


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of a ManagedClusterAddOn's configReferences.

    ``desired`` None: the entry names no configuration. ``generation`` is that of the object.
    """

    resource: Resource
    desired: Config | None
    applied: Config | None
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddOn:
    """A ManagedClusterAddOn, parsed: one cluster's share of an add-on.

    ``supported`` is None where the status does not say. ``owner_uids`` are the uids in its
    ownerReferences.
    """

    cluster: str
    name: str
    uid: str
    generation: int
    version: int
    configs: tuple[ConfigRef, ...] = ()
    supported: tuple[Resource, ...] = ()
    references: tuple[Reference, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    deleting: bool = False
    owner_uids: frozenset[str] = frozenset()
    annotations: Mapping[str, str] = field(default_factory=dict)
    raw: Obj = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.name}"

    @property
    def desired(self) -> Configs:
        """What its agent is told to apply, as written."""
        return tuple(r.desired for r in self.references if r.desired is not None)


def by_resource(refs: Iterable[ConfigRef]) -> dict[Resource, list[ConfigRef]]:
    """References by resource, in their order, none twice."""
    found: dict[Resource, list[ConfigRef]] = {}
    for ref in refs:
        listed = found.setdefault(ref.resource, [])
        if ref not in listed:
            listed.append(ref)
    return found


def effective(*layers: Iterable[ConfigRef]) -> tuple[ConfigRef, ...]:
    """The configurations that count: a later layer replaces an earlier one, resource by resource.

    Source: OCM add-on spec 2.4 (defaults, then the placement's, then the ManagedClusterAddOn's own).
    """
    merged: dict[Resource, list[ConfigRef]] = {}
    for layer in layers:
        merged.update(by_resource(layer))
    return tuple(ref for resource in sorted(merged) for ref in merged[resource])
