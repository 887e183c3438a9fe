"""What a workload of any kind asks for, and what a cluster has of it."""

from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from rollout.model.conditions import Condition
from rollout.model.intents import Intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem


class WorkloadSpec(Protocol):
    """What a workload of any kind asks for."""

    @property
    def uid(self) -> str: ...

    @property
    def generation(self) -> int: ...

    @property
    def problems(self) -> tuple[Problem, ...]: ...

    @property
    def intents(self) -> Intents: ...

    @property
    def placement_names(self) -> tuple[str, ...]:
        """The placements that it names, in their order."""
        ...

    @property
    def raw(self) -> Obj: ...


@dataclass(frozen=True, slots=True)
class Carried:
    """What a cluster has of a workload: an object, and the revision that it amounts to.

    ``revision`` is "" where the object says nothing yet. Conditions count where they are about
    ``generation``; None: all do. ``faults`` say which manifests are not well, and why.
    """

    name: str
    revision: str
    conditions: tuple[Condition, ...]
    _: KW_ONLY
    generation: int | None = None
    faults: tuple[str, ...] = ()
