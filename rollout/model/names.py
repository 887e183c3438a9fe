"""The names on the wire: labels, annotations, finalizers, condition types and reasons.

The names of Open Cluster Management are facts of its API; those under ``rollout-engine.io`` are ours.
"""

GROUP = "open-cluster-management.io"
PREFIX = "rollout-engine.io/"  # what all names of ours begin with

# Labels that OCM's controllers and agents read.
CLUSTER_SET_LABEL = "cluster.open-cluster-management.io/clusterset"
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
GROUP_INDEX_LABEL = "cluster.open-cluster-management.io/decision-group-index"
GROUP_NAME_LABEL = "cluster.open-cluster-management.io/decision-group-name"
SCHEDULING_DISABLED = "cluster.open-cluster-management.io/experimental-scheduling-disable"
WORK_OWNER_LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
WORK_PLACEMENT_LABEL = "work.open-cluster-management.io/placementname"
WORK_CONTROLLER_HASH = "work.open-cluster-management.io/controller-hash"  # of works: their revision

REPLICASET_FINALIZER = "work.open-cluster-management.io/manifest-work-cleanup"

ADDON_NAME_LABEL = "open-cluster-management.io/addon-name"
ADDON_NAMESPACE_LABEL = "open-cluster-management.io/addon-namespace"
ADDON_PREFIX = "addon.open-cluster-management.io"  # annotations mirrored from clusters begin so
ADDON_LIFECYCLE = "addon.open-cluster-management.io/lifecycle"
ADDON_HOSTING_CLUSTER = "addon.open-cluster-management.io/hosting-cluster-name"
IMAGE_REGISTRIES = "open-cluster-management.io/image-registries"  # on ManagedClusters: JSON
CONFIG_SPEC_HASH = "open-cluster-management.io/config-spec-hash"  # on add-on works: JSON map

TAINT_UNAVAILABLE = "cluster.open-cluster-management.io/unavailable"
TAINT_UNREACHABLE = "cluster.open-cluster-management.io/unreachable"

# Ours, on ManifestWorks that we write.
REVISION = "rollout-engine.io/revision"  # what the work carries: the hash of its template
STARTED_AT = "rollout-engine.io/started-at"  # when the cluster was first touched with it
ATTEMPT = "rollout-engine.io/attempt"
"""A label on works. Its value changes with each attempt, because agents apply a work again only when
its spec or a label changes."""
OWNER = "rollout-engine.io/owner"  # NAMESPACE/NAME of the workload. An annotation, since it may be too long for the value of a label.

# Ours, on ManifestWorks that carry the Job of an analysis.
ANALYSIS_RUN = (
    "rollout-engine.io/analysis-run"  # the run: its uid as a label, its key as annotation
)

# Ours, on a Placement or ManifestWorkReplicaSet: what a person asks for.
SEMANTICS = "rollout-engine.io/semantics"  # strict (default) | ocm
PROFILE_LABEL = "rollout-engine.io/profile"  # on the leader's Lease: the profile (strict or ocm) that the controller uses
SHARDS_LABEL = "rollout-engine.io/shards"  # on the Lease: the number of shards
HEARD_UNTIL = "rollout-engine.io/heard-until"  # on the Lease: until this instant the leader received all news from the hub
BUCKET_LABEL = "rollout-engine.io/bucket"  # on works, if there are several shards: a number (1 to 63) that follows from the workload's namespace and decides its shard
DECISION_ORDER = "rollout-engine.io/decision-order"  # ClusterName (default) | sticky
FAILURE_TOLERANCE = "rollout-engine.io/failure-tolerance"  # Soft (default) | Strict
PAUSED = "rollout-engine.io/paused"  # "true" | "false"
HEALTH_GATE = "rollout-engine.io/health-gate"  # Available, on a ClusterManagementAddOn
SKIP = "rollout-engine.io/skip"  # comma-separated cluster names
RELEASE_REMOVALS = (
    "rollout-engine.io/release-removals"  # RFC 3339: removals are released until then
)
OVERRIDE_CALENDARS = "rollout-engine.io/override-calendars"  # an instant (RFC 3339), at most 24 h ahead; until then no calendar closes a cluster to this workload
LAST_APPLIED = "rollout-engine.io/last-applied"  # what `rollout apply` was given, on any object
HOLD = "rollout-engine.io/hold"  # comma-separated cluster names, left alone until they are released
ABORT = "rollout-engine.io/abort"  # the revision whose rollout stops
RETRY = "rollout-engine.io/retry"  # any text; a new text retries failed clusters
UNDO = "rollout-engine.io/undo"  # the revision that is taken back from its clusters
UNDO_TO = "rollout-engine.io/undo-to"  # the revision that they get; default: what soaked last
ALLOW_EMPTY_GROUPS = (
    "rollout-engine.io/allow-empty-groups"  # mandatory decision groups that may have no cluster
)
GATES = "rollout-engine.io/gates"  # before:GROUP, after:GROUP: an Approval opens it; =KIND/ARGUMENT: another gate
ANALYSIS = "rollout-engine.io/analysis"  # a template: measured while a revision is rolled out
CLUSTER_ANALYSIS = "rollout-engine.io/cluster-analysis"  # a template: measured for each cluster before it has soaked
ANALYSIS_ARGS = "rollout-engine.io/analysis-args"  # NAME=VALUE, ...: what templates ask for
NOTIFY = "rollout-engine.io/notify"  # CHANNEL=trigger,trigger; ...: who is told of what
ROLLBACK = "rollout-engine.io/rollback"  # None | Manual (default) | Automatic
ROLLBACK_CONCURRENCY = "rollout-engine.io/rollback-max-concurrency"  # a count or share, 25%
ROLLBACK_FAILURES = "rollout-engine.io/rollback-max-failures"  # a count or share, 25%
HISTORY_LIMIT = "rollout-engine.io/revision-history-limit"  # how many revisions are kept, 10
CHANGE_CAUSE = "kubernetes.io/change-cause"  # why a release is made: kept with its revision
ASKED = "rollout-engine.io/asked"  # JSON: who asked for which of these, when and why

# Ours, on ManagedClusterAddOns that an install strategy made: only these are ever removed.
INSTALLED_BY = "rollout-engine.io/installed-by"  # the uid of the ClusterManagementAddOn

SKIP_PRE_DELETE = "rollout-engine.io/skip-pre-delete"  # "true": the add-on is removed without running its pre-delete hooks

# Ours, on a ManagedCluster: what ClusterValues read of it.
REGISTRY_LABEL = "rollout-engine.io/registry"  # the registry that `registry(cluster, image)` takes
REGISTRY_CLAIM = "registry.rollout-engine.io"  # the same as a claim, where there is no such label

# Ours, on the objects that remember.
RECORD_LABEL = "rollout-engine.io/record"  # on record pages: the id of the record
RECORD_PLACEMENT = "rollout-engine.io/placement"  # on record pages: the placementRef
REVISION_LABEL = "rollout-engine.io/revision-of"  # on RolloutRevisions: name hash of the workload

# Condition types.
PLACEMENT_SATISFIED = "PlacementSatisfied"
PLACEMENT_MISCONFIGURED = "PlacementMisconfigured"
PLACEMENT_VERIFIED = "PlacementVerified"
PLACEMENT_ROLLED_OUT = "PlacementRolledOut"
MANIFESTWORK_APPLIED = "ManifestworkApplied"  # the lower-case w is OCM's
READY = "Ready"
PROGRESSING = "Progressing"
APPLIED = "Applied"
AVAILABLE = "Available"
DEGRADED = "Degraded"
DELETING = "Deleting"
COMPLETE = "Complete"
CLUSTER_AVAILABLE = "ManagedClusterConditionAvailable"
CLUSTER_JOINED = "ManagedClusterJoined"
CLUSTER_ACCEPTED = "HubAcceptedManagedCluster"
CLUSTER_SET_EMPTY = "ClusterSetEmpty"
MISCONFIGURED = "Misconfigured"  # ours, on sets, calendars and analyses
UNKNOWN_TIME_ZONE = "UnknownTimeZone"
BOUND = "Bound"
CONFIGURED = "Configured"
REGISTRATION_APPLIED = "RegistrationApplied"
MANIFEST_APPLIED = "ManifestApplied"
HOSTING_MANIFEST_APPLIED = "HostingManifestApplied"
RENDERED = "Rendered"  # ours, on ManagedClusterAddOns that are made of a template
ROLLOUT_HALTED = "RolloutHalted"  # ours, on install progressions
CALENDARS_FOLLOWED = "CalendarsFollowed"  # ours, where calendars are not followed, or were not once
