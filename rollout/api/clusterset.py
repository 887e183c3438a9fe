"""How a ManagedClusterSet and its binding are written, and what they say.

Source: OCM placement spec 1.2 and 1.3.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from rollout.api.fields import mapping, text, version_of, whole
from rollout.api.reading import read
from rollout.api.wire import (
    BLANK,
    NOTHING,
    UNREAD,
    ConditionShape,
    DnsLabel,
    IfBad,
    LabelSelector,
    Name,
    Shape,
    WireObject,
    list_map,
    only_chosen,
)
from rollout.model.cluster import ClusterSet, ClusterSetBinding
from rollout.model.kinds import Obj
from rollout.model.selectors import Selector


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
        text(meta.get("name")),
        selector.to_model() if selector is not None else None,
        text(meta.get("uid")),
        whole(meta.get("generation")),
        meta.get("deletionTimestamp") is not None,
        problems,
        version_of(meta),
        obj,
    )


def decode_binding(obj: Obj) -> ClusterSetBinding:
    """A ManagedClusterSetBinding; one whose spec cannot be read binds no set."""
    meta = mapping(obj.get("metadata"))
    spec, _ = read(BindingSpec, obj.get("spec"), "spec")
    return ClusterSetBinding(
        text(meta.get("namespace")),
        text(meta.get("name")),
        spec.cluster_set if spec is not None else "",
        version_of(meta),
        obj,
    )
