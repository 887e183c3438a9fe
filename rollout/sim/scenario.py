"""The AgentScenario: how simulated agents behave.

Field names on the wire are camelCase. Every time span is a duration as Go writes it ("90s",
"1h30m"); an instant is RFC 3339, or a duration counted from the start of the simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from rollout.api.words import refusal
from rollout.model.amounts import DURATION_ACCEPTED, parse_duration
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Kind, Obj, find
from rollout.sim.paths import steps_of

KIND: Final = "AgentScenario"
API_VERSION: Final = "rollout-engine.io/v1alpha1"


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    found = parse_duration(value)
    if found is None:
        raise refusal(DURATION_ACCEPTED)
    return found


def _signed(value: object) -> timedelta:
    if isinstance(value, str) and value.startswith("-"):
        return -_duration(value[1:])
    return _duration(value)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant, or a time after the start of the simulation."""

    after: timedelta = timedelta(0)
    at: datetime | None = None

    def on(self, start: datetime) -> datetime:
        return self.at if self.at is not None else start + self.after


def _moment(value: object) -> Moment:
    if isinstance(value, Moment):
        return value
    if (at := parse_instant(value)) is not None:
        return Moment(at=at)
    after = parse_duration(value)
    if after is None:
        raise refusal('a time after the start such as "90s" or "1h30m", or an RFC 3339 instant')
    return Moment(after)


def _status_word(value: object) -> object:
    """YAML reads a bare False as a boolean; people mean the condition's status."""
    return "False" if value is False else value


def _kind(value: object) -> Kind:
    found = find(value) if isinstance(value, str) else None
    if found is None:
        raise refusal(f"a kind: one of {', '.join(KINDS)}")
    return found


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Signed = Annotated[timedelta, BeforeValidator(_signed)]
Instant = Annotated[Moment, BeforeValidator(_moment)]
KindName = Annotated[Kind, BeforeValidator(_kind)]
NonEmptyText = Annotated[str, Field(min_length=1, strict=True)]
Labels = Mapping[NonEmptyText, Annotated[str, Field(strict=True)]]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, arbitrary_types_allowed=True
    )


class Delay(_Model):
    """A time span: fixed ("5s"), uniform {min, max}, or normal {mean, sigma}, cut at min and max."""

    min: Duration = timedelta(0)
    max: Duration | None = None
    mean: Duration | None = None
    sigma: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def _fixed(cls, value: object) -> object:
        if isinstance(value, Delay | dict):
            return value
        if parse_duration(value) is None:
            raise refusal(f"{DURATION_ACCEPTED}, {{min, max}}, or {{mean, sigma}}")
        return {"min": value, "max": value}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.mean is None) != (self.sigma is None):
            raise refusal("mean and sigma together")
        if self.mean is None and self.max is None:
            raise refusal("min and max, or mean and sigma")
        if self.max is not None and self.max < self.min:
            raise refusal("a max that is not below min")
        return self


def fixed(span: timedelta) -> Delay:
    """Always the same span."""
    return Delay.model_construct(min=span, max=span)


class AgentOutcome(Enum):
    """What becomes of a revision on a cluster."""

    SUCCESS = "success"
    FAIL = "fail"  # applied, then Degraded; Applied False where no rule can say Degraded
    FAIL_APPLY = "failApply"
    HANG = "hang"  # applied, never ready
    SILENT = "silent"  # never acknowledged


class Alternative(_Model):
    """Another outcome, for a share of the clusters."""

    probability: Annotated[float, Field(ge=0, le=1, strict=True)]
    outcome: AgentOutcome = AgentOutcome.FAIL
    recover_after: Delay | None = None


class Flapping(_Model):
    """Once ready: ``count`` times unwell, each after ``period`` of health and for ``period``."""

    period: Duration
    count: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.period < timedelta(milliseconds=1):
            raise refusal("a period of at least 1ms")
        return self


class OfflineWindow(_Model):
    """A time without contact to the hub, from (included) to (excluded; without it, for ever)."""

    from_: Annotated[Instant, Field(alias="from")]
    to: Instant | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        first, last = self.from_, self.to
        if last is None or (first.at is None) != (last.at is None):
            return self  # for ever, or known only once the simulation has a start
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        if last.on(epoch) <= first.on(epoch):
            raise refusal("a to that is later than from")
        return self


class Flaws(_Model):
    """What OCM's agents get wrong, on request.

    ``staleEvaluation``: after a change of the work, rules are evaluated on the old object first
    and stamped with the new generation. ``missedProgress``: no evaluation falls between apply and
    readiness of an update, so that Progressing never flips and keeps its old transition time.
    """

    stale_evaluation: bool = False
    missed_progress: bool = False
    evaluation_interval: Duration = timedelta(seconds=10)


class Behaviour(_Model):
    """One agent's ways. ``readyAfter`` counts from apply, ``recoverAfter`` from the failure."""

    apply_after: Delay = fixed(timedelta(seconds=2))
    ready_after: Delay = fixed(timedelta(seconds=10))
    delete_after: Delay = fixed(timedelta(seconds=1))
    outcome: AgentOutcome = AgentOutcome.SUCCESS
    alternative: Alternative | None = None
    recover_after: Delay | None = None
    flapping: Flapping | None = None
    offline: tuple[OfflineWindow, ...] = ()
    availability: Annotated[Literal["False", "Unknown"] | None, BeforeValidator(_status_word)] = (
        None
    )
    clock_skew: Signed = timedelta(0)
    flaws: Flaws = Flaws()

    def over(self, defaults: "Behaviour") -> "Behaviour":
        """What is not said here is as in ``defaults``."""
        said = {field: getattr(self, field) for field in self.model_fields_set}
        return defaults.model_copy(update=said) if said else defaults


class Clusters(_Model):
    """Clusters by name (globs allowed) and by labels; both must hold where both are given."""

    names: tuple[NonEmptyText, ...] = ()
    match_labels: Labels = {}


class Manifests(_Model):
    """Matches a template in which at least one manifest meets everything that is said here."""

    kind: NonEmptyText | None = None
    name: NonEmptyText | None = None
    image: NonEmptyText | None = None
    match_labels: Labels = {}
    path: NonEmptyText | None = None
    equals: Any = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise refusal("at least one of kind, name, image, matchLabels, path with equals")
        if (self.path is None) != ("equals" not in self.model_fields_set):
            raise refusal("path and equals together")
        if self.path is not None and steps_of(self.path) is None:
            raise refusal("a path such as spec.template.spec.containers[0].image or data['a.b']")
        return self


_OF_THE_CLUSTER = ("offline", "availability", "clock_skew")


class ScenarioRule(_Model):
    """A behaviour for some clusters, and where said only for some revisions of a workload."""

    clusters: Clusters = Clusters()
    revision: NonEmptyText | None = None
    manifests: Manifests | None = None
    behaviour: Behaviour = Behaviour()

    @property
    def is_conditional(self) -> bool:
        """Whether it depends on what is rolled out."""
        return self.revision is not None or self.manifests is not None

    @model_validator(mode="after")
    def _keeps_apart(self) -> Self:
        if self.is_conditional and self.behaviour.model_fields_set & {*_OF_THE_CLUSTER}:
            raise refusal(
                "offline, availability and clockSkew only in rules without revision and manifests: "
                "they concern the whole cluster"
            )
        return self


class RelabelClusters(Clusters):
    """Sets labels; null removes one."""

    labels: Mapping[NonEmptyText, Annotated[str, Field(strict=True)] | None]


class ObjectTarget(_Model):
    """One object of the hub."""

    kind: KindName
    name: NonEmptyText
    namespace: str = ""

    @model_validator(mode="after")
    def _placed(self) -> Self:
        if self.kind.namespaced != bool(self.namespace):
            what = "with a namespace" if self.kind.namespaced else "without a namespace"
            raise refusal(f"a {self.kind.name} {what}")
        return self


class PatchObject(ObjectTarget):
    """A JSON merge patch of everything but the status."""

    patch: Obj


class FleetEvent(_Model):
    """Something done to the hub's objects at an instant. Exactly one of the actions is given."""

    at: Instant
    delete_clusters: Clusters | None = None
    relabel_clusters: RelabelClusters | None = None
    patch: PatchObject | None = None
    delete: ObjectTarget | None = None
    create: Obj | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        given = (
            self.delete_clusters,
            self.relabel_clusters,
            self.patch,
            self.delete,
            self.create,
        )
        if sum(action is not None for action in given) != 1:
            raise refusal("exactly one of deleteClusters, relabelClusters, patch, delete, create")
        if self.create is not None:
            _check_object(self.create)
        if self.delete_clusters is not None and not self.delete_clusters.model_fields_set:
            raise refusal("names or matchLabels in deleteClusters")
        return self


def _check_object(obj: Obj) -> None:
    meta, kind = obj.get("metadata"), obj.get("kind")
    known = find(kind) if isinstance(kind, str) else None
    if known is None:
        raise refusal(f"an object to create whose kind is one of {', '.join(KINDS)}")
    name = meta.get("name") if isinstance(meta, dict) else None
    namespace = meta.get("namespace", "") if isinstance(meta, dict) else ""
    if not (isinstance(name, str) and name and isinstance(namespace, str)):
        raise refusal("an object to create with metadata.name")
    if known.namespaced and not namespace:
        raise refusal("an object to create with metadata.namespace")


class MeasuredValue(_Model):
    """What a metric of an analysis gives, for some time: a value, or why it cannot be measured."""

    metric: NonEmptyText
    template: NonEmptyText | None = None
    clusters: Clusters | None = None
    """Only of analyses of these clusters."""
    revision: NonEmptyText | None = None
    from_: Annotated[Instant, Field(alias="from")] = Moment()
    to: Instant | None = None
    value: Any = None
    error: NonEmptyText | None = None

    @model_validator(mode="after")
    def _gives_one_thing(self) -> Self:
        if (self.error is None) == ("value" not in self.model_fields_set):
            raise refusal("either a value or an error")
        return self

    def is_whole(self, template: str, metric: str) -> bool:
        """Whether it is given at all times, for every cluster and revision."""
        is_bounded = self.from_ != Moment() or self.to is not None
        is_special = self.clusters is not None or self.revision is not None
        is_about = self.metric == metric and self.template in (None, template)
        return is_about and not is_bounded and not is_special


class Spec(_Model):
    """What a scenario says. The first rule that matches a cluster (and revision) wins; of what is
    measured the last.
    """

    seed: Annotated[int, Field(strict=True)] = 0
    finalizers: bool = True
    resource_status: bool = False
    defaults: Behaviour = Behaviour()
    rules: tuple[ScenarioRule, ...] = ()
    fleet_events: tuple[FleetEvent, ...] = ()
    measurements: tuple[MeasuredValue, ...] = ()


class Scenario(_Model):
    """An AgentScenario. Without a word in it every agent is healthy: applied in 2 s, ready in 12."""

    api_version: Literal["rollout-engine.io/v1alpha1"] = API_VERSION
    kind: Literal["AgentScenario"] = KIND
    metadata: Obj = Field(default_factory=dict)
    spec: Spec = Spec()
