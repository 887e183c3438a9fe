"""What may people write? A pydantic model of each kind, from which the CRDs can be generated too."""

from rollout.api.shapes.addon import (
    AddOnDeploymentConfig,
    ClusterManagementAddOn,
    ManagedClusterAddOn,
)
from rollout.api.shapes.addon_template import AddOnTemplate
from rollout.api.shapes.base import Resource, Shape
from rollout.api.shapes.calendar import CalendarObject
from rollout.api.shapes.cluster import (
    AddOnPlacementScore,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
)
from rollout.api.shapes.consent import Approval, Freeze
from rollout.api.shapes.placement import Placement, PlacementDecision
from rollout.api.shapes.record import RolloutRecord, RolloutRevision
from rollout.api.shapes.replicaset import ManifestWorkReplicaSet
from rollout.api.shapes.work import ManifestWork

SHAPES: dict[str, type[Resource]] = {
    shape.__name__: shape
    for shape in (
        ManagedCluster,
        ManagedClusterSet,
        ManagedClusterSetBinding,
        Placement,
        PlacementDecision,
        AddOnPlacementScore,
        ManifestWork,
        ManifestWorkReplicaSet,
        ClusterManagementAddOn,
        ManagedClusterAddOn,
        AddOnDeploymentConfig,
        AddOnTemplate,
        Approval,
        Freeze,
        RolloutRecord,
        RolloutRevision,
    )
} | {"Calendar": CalendarObject, "ClusterCalendar": CalendarObject}
"""The model of each kind, by its name."""

__all__ = [
    "SHAPES",
    "AddOnDeploymentConfig",
    "AddOnPlacementScore",
    "AddOnTemplate",
    "Approval",
    "CalendarObject",
    "ClusterManagementAddOn",
    "Freeze",
    "ManagedCluster",
    "ManagedClusterAddOn",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "ManifestWork",
    "ManifestWorkReplicaSet",
    "Placement",
    "PlacementDecision",
    "Resource",
    "RolloutRecord",
    "RolloutRevision",
    "Shape",
]
