"""Which kinds is a fleet told about, and which of them belong to placing?"""

from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CLUSTER_VALUES,
    FREEZE,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    Kind,
)

WATCHED: tuple[Kind, ...] = (
    MANAGED_CLUSTER,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    SCORE,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    APPROVAL,
    FREEZE,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_VALUES,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    MANIFEST_WORK,
    REPLICA_SET,
)
"""Every kind that a fleet is told about, in the order in which they are best listed."""
