"""The wire form of managed clusters, their sets and the bindings of sets.

Agents write thousands of ManagedClusters, so they are read by hand: what cannot be read is as if it were
not there. Source: OCM placement spec 1.1 to 1.3.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.api.reading import read
from rollout.api.wire import (
    BLANK,
    NOTHING,
    UNREAD,
    Conditions,
    ConditionShape,
    Count,
    DnsLabel,
    IfBad,
    InstantText,
    LabelKey,
    LabelSelector,
    Name,
    QuantityText,
    Shape,
    TaintValue,
    WireObject,
    accepted,
    list_map,
    only_chosen,
)
from rollout.model.cluster import Cluster, ClusterSet, ClusterSetBinding, Taint
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import CLUSTER_AVAILABLE
from rollout.model.selectors import Selector


class ClientConfigShape(Shape):
    """Where a managed cluster's API server is."""

    url: Annotated[
        str, Field(pattern="^https://"), accepted("an address that begins with https://")
    ]
    ca_bundle: Annotated[str, Field(json_schema_extra={"format": "byte"})] | None = None


class TaintShape(Shape):
    """Keeps placements away that do not tolerate it."""

    key: LabelKey
    value: TaintValue | None = None
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"]
    time_added: Annotated[InstantText, Field(json_schema_extra={"nullable": True})] | None = None


class ManagedClusterSpec(Shape):
    """What the hub's administrators want of a cluster."""

    managed_cluster_client_configs: list[ClientConfigShape] | None = None
    hub_accepts_client: bool | None = None
    lease_duration_seconds: Count | None = 60
    taints: list[TaintShape] | None = None


class ClaimShape(Shape):
    """A fact that a cluster tells of itself."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    value: Annotated[str, Field(min_length=1, max_length=1024)]


class ClusterVersionShape(Shape):
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
    version: ClusterVersionShape | None = None
    cluster_claims: list[ClaimShape] | None = None
    managed_namespaces: (
        Annotated[
            list[ManagedNamespaceStatus], Field(json_schema_extra=list_map("clusterSet", "name"))
        ]
        | None
    ) = None


class ClusterObject(WireObject):
    """A cluster of the fleet."""

    spec: ManagedClusterSpec | None = None
    status: ManagedClusterStatus | None = None


def decode_cluster(obj: Obj) -> Cluster:
    """A ManagedCluster. Claims named twice: the last wins; taints without a key are left out."""
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    return Cluster(
        name=text(meta.get("name")),
        labels=strings(meta.get("labels")),
        claims=_claims(status.get("clusterClaims")),
        taints=_taints(mapping(obj.get("spec")).get("taints")),
        allocatable=_quantities(status.get("allocatable")),
        capacity=_quantities(status.get("capacity")),
        available=_available(status.get("conditions")),
        deleting=meta.get("deletionTimestamp") is not None,
        uid=text(meta.get("uid")),
        version=version_of(meta),
        raw=obj,
    )


def _claims(raw: object) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for item in listed(raw):
        if isinstance(item, dict):
            name, value = item.get("name"), item.get("value")
            if isinstance(name, str) and isinstance(value, str):
                found[name] = value
    return found


def _taints(raw: object) -> tuple[Taint, ...]:
    if not isinstance(raw, list):
        return ()
    return tuple(
        Taint(
            item["key"],
            text(item.get("value")),
            text(item.get("effect")),
            parse_instant(item.get("timeAdded")),
        )
        for item in raw
        if isinstance(item, dict) and isinstance(item.get("key"), str)
    )


def _quantities(raw: object) -> Mapping[str, str]:
    """Quantities as text; a bare number (the schema allows both) is written out."""
    if not isinstance(raw, dict):
        return {}
    for value in raw.values():
        if value.__class__ is not str:
            return {k: str(v) for k, v in raw.items() if _is_quantity(v)}
    return raw


def _is_quantity(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _available(raw: object) -> bool | None:
    for item in listed(raw):
        if isinstance(item, dict) and item.get("type") == CLUSTER_AVAILABLE:
            status = item.get("status")
            return True if status == "True" else False if status == "False" else None
    return None


# -- sets and bindings: people write them ---------------------------------------------------------


class ClusterSelectorShape(Shape):
    """Which clusters are members of a set."""

    counts_whole = True

    selector_type: Annotated[Literal["ExclusiveClusterSetLabel", "LabelSelector"] | None, BLANK] = (
        "ExclusiveClusterSetLabel"
    )
    label_selector: Annotated[LabelSelector | None, IfBad(NOTHING)] = None

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, value: Any, info: ValidationInfo) -> Any:
        kind = value.get("selectorType") if isinstance(value, dict) else None
        unchosen = () if kind == "LabelSelector" else ("labelSelector",)
        return only_chosen(value, info, unchosen)

    def to_model(self) -> Selector | None:
        """What members match; None where they carry the exclusive label.

        Without a selector, or with a bad one, a set that goes by labels is empty.
        """
        return (self.label_selector or NOTHING) if self.selector_type == "LabelSelector" else None


class ManagedNamespaceShape(Shape):
    """A namespace that a set manages on its clusters."""

    name: DnsLabel


class ClusterSetSpec(Shape):
    """What a set is made of."""

    cluster_selector: Annotated[
        ClusterSelectorShape | None, IfBad({"selectorType": "LabelSelector"})
    ] = Field(None, json_schema_extra={"default": {"selectorType": "ExclusiveClusterSetLabel"}})
    managed_namespaces: (
        Annotated[list[ManagedNamespaceShape], UNREAD, Field(json_schema_extra=list_map("name"))]
        | None
    ) = None


class ClusterSetStatus(Shape):
    """A status that is a plain list of conditions."""

    conditions: list[ConditionShape] | None = None


class ClusterSetObject(WireObject):
    """A set of clusters that namespaces can be bound to."""

    spec: ClusterSetSpec | None = Field(
        None,
        json_schema_extra={
            "default": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
        },
    )
    status: ClusterSetStatus | None = None


class BindingSpec(Shape):
    """Which set is bound."""

    cluster_set: Name


class BindingObject(WireObject):
    """Lets the placements of one namespace see the clusters of one set."""

    spec: BindingSpec
    status: ClusterSetStatus | None = None


def decode_cluster_set(obj: Obj) -> ClusterSet:
    """A ManagedClusterSet. A LabelSelector set without a selector, or with a bad one, is empty."""
    meta = mapping(obj.get("metadata"))
    spec, problems = read(ClusterSetSpec, obj.get("spec"), "spec")
    selector = spec.cluster_selector if spec is not None else None
    return ClusterSet(
        name=text(meta.get("name")),
        selector=selector.to_model() if selector is not None else None,
        uid=text(meta.get("uid")),
        generation=whole(meta.get("generation")),
        deleting=meta.get("deletionTimestamp") is not None,
        problems=problems,
        version=version_of(meta),
        raw=obj,
    )


def decode_binding(obj: Obj) -> ClusterSetBinding:
    """A ManagedClusterSetBinding; one whose spec cannot be read binds no set."""
    meta = mapping(obj.get("metadata"))
    spec, _ = read(BindingSpec, obj.get("spec"), "spec")
    return ClusterSetBinding(
        namespace=text(meta.get("namespace")),
        name=text(meta.get("name")),
        cluster_set=spec.cluster_set if spec is not None else "",
        version=version_of(meta),
        raw=obj,
    )
