"""The model of the objects of each kind, for validation, defaults and CRDs."""

from collections.abc import Iterable

from rollout.api.addon import AddOnObject
from rollout.api.addon_template import DeploymentConfigObject, TemplateObject
from rollout.api.analysis import AnalysisObject
from rollout.api.analysis_run import AnalysisRunObject
from rollout.api.calendar import CalendarObject
from rollout.api.cluster import BindingObject, ClusterObject, ClusterSetObject
from rollout.api.cluster_addon import ClusterAddOnObject
from rollout.api.decisions import DecisionObject, ScoreObject
from rollout.api.notification import NotificationObject
from rollout.api.own import ApprovalObject, FreezeObject, RecordObject, RevisionObject
from rollout.api.placement import PlacementObject
from rollout.api.reading import built, parts_of
from rollout.api.replicaset import ReplicaSetObject
from rollout.api.values import ClusterValuesObject
from rollout.api.wire import WireObject
from rollout.api.work import WorkObject
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CLUSTER_VALUES,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    Kind,
)

MODELS: dict[str, type[WireObject]] = {
    MANAGED_CLUSTER.name: ClusterObject,
    CLUSTER_SET.name: ClusterSetObject,
    CLUSTER_SET_BINDING.name: BindingObject,
    PLACEMENT.name: PlacementObject,
    PLACEMENT_DECISION.name: DecisionObject,
    SCORE.name: ScoreObject,
    MANIFEST_WORK.name: WorkObject,
    REPLICA_SET.name: ReplicaSetObject,
    CLUSTER_MANAGEMENT_ADDON.name: AddOnObject,
    MANAGED_CLUSTER_ADDON.name: ClusterAddOnObject,
    ADDON_DEPLOYMENT_CONFIG.name: DeploymentConfigObject,
    ADDON_TEMPLATE.name: TemplateObject,
    APPROVAL.name: ApprovalObject,
    FREEZE.name: FreezeObject,
    CALENDAR.name: CalendarObject,
    CLUSTER_CALENDAR.name: CalendarObject,
    ROLLOUT_ANALYSIS.name: AnalysisObject,
    ROLLOUT_ANALYSIS_RUN.name: AnalysisRunObject,
    ROLLOUT_NOTIFICATION.name: NotificationObject,
    CLUSTER_VALUES.name: ClusterValuesObject,
    ROLLOUT_RECORD.name: RecordObject,
    ROLLOUT_REVISION.name: RevisionObject,
}
"""The model of the objects of each kind, by its name."""


def prepare(kinds: Iterable[Kind]) -> None:
    """Build what reads the specs of these kinds, which the first object of each would otherwise wait for: 5 to
    20 ms of CPU for a kind. Who has to answer soon does it before the first object comes.
    """
    for model in (MODELS[kind.name] for kind in kinds if kind.name in MODELS):
        spec = parts_of(model).get("spec")
        if spec is not None and spec.shape is not None:
            built(spec.shape)
