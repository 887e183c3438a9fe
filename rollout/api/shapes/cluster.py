"""How are clusters, their sets, bindings and scores written? Source: OCM placement spec 1.1-1.3, 1.6."""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.shapes.base import (
    Conditions,
    ConditionShape,
    Count,
    DnsLabel,
    InstantText,
    LabelKey,
    LabelSelector,
    Name,
    QuantityText,
    Resource,
    Shape,
    accepted,
    list_map,
)

Effect = Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"]
Value = Annotated[str, Field(max_length=1024)]


class ClientConfig(Shape):
    """Where a managed cluster's API server is."""

    url: Annotated[
        str, Field(pattern="^https://"), accepted("an address that begins with https://")
    ]
    ca_bundle: Annotated[str, Field(json_schema_extra={"format": "byte"})] | None = None


class TaintShape(Shape):
    """Keeps placements away that do not tolerate it."""

    key: LabelKey
    value: Value | None = None
    effect: Effect
    time_added: Annotated[InstantText, Field(json_schema_extra={"nullable": True})] | None = None


class ManagedClusterSpec(Shape):
    """What the hub's administrators want of a cluster."""

    managed_cluster_client_configs: list[ClientConfig] | None = None
    hub_accepts_client: bool | None = None
    lease_duration_seconds: Count | None = 60
    taints: list[TaintShape] | None = None


class ClaimShape(Shape):
    """A fact that a cluster tells of itself."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    value: Annotated[str, Field(min_length=1, max_length=1024)]


class ClusterVersion(Shape):
    """Versions of a managed cluster."""

    kubernetes: str | None = None


class ManagedNamespaceStatus(Shape):
    """A namespace that sets manage on this cluster."""

    cluster_set: str
    name: DnsLabel
    conditions: Conditions | None = None


class ManagedClusterStatus(Shape):
    """What the cluster's agent reports."""

    conditions: Conditions | None = None
    capacity: dict[str, QuantityText] | None = None
    allocatable: dict[str, QuantityText] | None = None
    version: ClusterVersion | None = None
    cluster_claims: list[ClaimShape] | None = None
    managed_namespaces: (
        Annotated[
            list[ManagedNamespaceStatus], Field(json_schema_extra=list_map("clusterSet", "name"))
        ]
        | None
    ) = None


class ManagedCluster(Resource):
    """A cluster of the fleet."""

    spec: ManagedClusterSpec | None = None
    status: ManagedClusterStatus | None = None


class ClusterSelector(Shape):
    """Which clusters are members of a set."""

    selector_type: Literal["ExclusiveClusterSetLabel", "LabelSelector"] | None = (
        "ExclusiveClusterSetLabel"
    )
    label_selector: LabelSelector | None = None


class ManagedNamespace(Shape):
    """A namespace that a set manages on its clusters."""

    name: DnsLabel


class ManagedClusterSetSpec(Shape):
    """What a set is made of."""

    cluster_selector: ClusterSelector | None = Field(
        None, json_schema_extra={"default": {"selectorType": "ExclusiveClusterSetLabel"}}
    )
    managed_namespaces: (
        Annotated[list[ManagedNamespace], Field(json_schema_extra=list_map("name"))] | None
    ) = None


class AtomicConditions(Shape):
    """A status that is a plain list of conditions."""

    conditions: list[ConditionShape] | None = None


class ManagedClusterSet(Resource):
    """A set of clusters that namespaces can be bound to."""

    spec: ManagedClusterSetSpec | None = Field(
        None,
        json_schema_extra={
            "default": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
        },
    )
    status: AtomicConditions | None = None


class ManagedClusterSetBindingSpec(Shape):
    """Which set is bound."""

    cluster_set: Name


class ManagedClusterSetBinding(Resource):
    """Lets the placements of one namespace see the clusters of one set."""

    spec: ManagedClusterSetBindingSpec
    status: AtomicConditions | None = None


class ScoreItem(Shape):
    """One score by name."""

    name: Name
    value: Annotated[int, Field(ge=-100, le=100), accepted("a whole number from -100 to 100")]


class ScoreStatus(Shape):
    """The scores of one cluster, and until when they hold."""

    conditions: Conditions | None = None
    scores: Annotated[list[ScoreItem], Field(json_schema_extra=list_map("name"))] | None = None
    valid_until: InstantText | None = None


class AddOnPlacementScore(Resource):
    """Scores that an add-on gives a cluster; the namespace is the cluster's name."""

    status: ScoreStatus | None = None
