"""The rights of a controller and their reasons: one table for RBAC manifests, documentation and
`rollout doctor`.
"""

from dataclasses import KW_ONLY, dataclass

from rollout.settings import Settings

CLUSTER, WORK = "cluster.open-cluster-management.io", "work.open-cluster-management.io"
ADDON, OURS = "addon.open-cluster-management.io", "rollout-engine.io"
MULTICLUSTER = "multicluster.x-k8s.io"
FOLLOW = ("list", "watch")
READ = ("get", *FOLLOW)
"""Of what is written as well: an object is read where the answer to a write was lost."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Verbs on a resource (``kind/subresource`` for a subresource), and why. ``here``: only in the
    namespace of the lease.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    _: KW_ONLY
    here: bool = False


ALWAYS = (
    Permission(CLUSTER, "managedclusters", FOLLOW, "what can be selected"),
    Permission(CLUSTER, "managedclustersets", FOLLOW, "what can be selected"),
    Permission(CLUSTER, "managedclustersetbindings", FOLLOW, "what a namespace may select"),
    Permission(CLUSTER, "addonplacementscores", FOLLOW, "scores"),
    Permission(CLUSTER, "placements", FOLLOW, "what is to be selected"),
    Permission(CLUSTER, "placementdecisions", FOLLOW, "what is selected"),
    Permission(WORK, "manifestworkreplicasets", (*READ, "patch"), "workloads; their finalizer"),
    Permission(WORK, "manifestworkreplicasets/status", ("patch",), "how rollouts stand"),
    Permission(
        WORK, "manifestworks", (*READ, "create", "patch", "delete"), "what clusters are to run"
    ),
    Permission(
        OURS, "rolloutrecords", (*READ, "create", "patch", "delete"), "what rollouts must remember"
    ),
    Permission(
        OURS,
        "rolloutrevisions",
        (*READ, "create", "delete"),
        "earlier templates, beside each workload",
    ),
    Permission(OURS, "approvals", FOLLOW, "who approved or rejected what"),
    Permission(OURS, "freezes", FOLLOW, "whether the hub is frozen"),
    Permission(OURS, "calendars", READ, "when clusters may be touched"),
    Permission(OURS, "calendars/status", ("patch",), "how calendars stand"),
    Permission(OURS, "clustercalendars", READ, "when clusters may be touched"),
    Permission(OURS, "clustercalendars/status", ("patch",), "how calendars stand"),
    Permission(OURS, "clustervalues", FOLLOW, "what differs from cluster to cluster"),
    Permission(OURS, "rolloutanalyses", READ, "what analyses measure"),
    Permission(OURS, "rolloutanalyses/status", ("patch",), "whether analyses can be read"),
    Permission(
        OURS, "rolloutanalysisruns", (*READ, "create", "delete"), "what was measured of whom"
    ),
    Permission(OURS, "rolloutanalysisruns/status", ("patch",), "what was measured"),
    Permission(
        OURS, "rolloutnotifications", (*READ, "create", "delete"), "what people are told of whom"
    ),
    Permission(OURS, "rolloutnotifications/status", ("patch",), "what people have been told"),
    Permission("argoproj.io", "analysistemplates", FOLLOW, "what analyses measure"),
    Permission("argoproj.io", "clusteranalysistemplates", FOLLOW, "what analyses measure"),
    Permission("events.k8s.io", "events", ("get", "create", "patch"), "events"),
    Permission("authentication.k8s.io", "tokenreviews", ("create",), "who asks the debug endpoint"),
    Permission(
        "authorization.k8s.io",
        "subjectaccessreviews",
        ("create",),
        "what who asks the debug endpoint may see",
    ),
    Permission("coordination.k8s.io", "leases", ("get", "create", "patch"), "who leads", here=True),
)
PLACING = (
    Permission(
        CLUSTER,
        "placementdecisions",
        ("get", "create", "patch", "delete"),
        "decisions of Placements",
    ),
    Permission(CLUSTER, "placementdecisions/status", ("patch",), "the clusters of decisions"),
    Permission(CLUSTER, "placements", ("get",), "whether a status was written"),
    Permission(CLUSTER, "placements/status", ("patch",), "how Placements stand"),
    Permission(
        CLUSTER,
        "placements/finalizers",
        ("update",),
        "decisions are owned by their Placement, and hold up its deletion",
    ),
)
SETS = (
    Permission(
        CLUSTER, "managedclustersets", ("get", "create", "patch"), "the sets default and global"
    ),
    Permission(CLUSTER, "managedclustersets/status", ("patch",), "whether sets are empty"),
    Permission(CLUSTER, "managedclustersetbindings", ("get",), "whether a status was written"),
    Permission(CLUSTER, "managedclustersetbindings/status", ("patch",), "whether sets are bound"),
)
ADDONS = (
    Permission(ADDON, "clustermanagementaddons", READ, "which add-ons go where"),
    Permission(ADDON, "clustermanagementaddons/status", ("patch",), "how their rollouts stand"),
    Permission(
        ADDON,
        "clustermanagementaddons/finalizers",
        ("update",),
        "what is installed is owned by its add-on, and holds up its deletion",
    ),
    Permission(
        ADDON,
        "managedclusteraddons",
        (*READ, "create", "patch", "delete"),
        "installing; owners and mirrored annotations",
    ),
    Permission(
        ADDON,
        "managedclusteraddons/status",
        ("patch",),
        "which configurations a cluster gets, and how those that are made of templates stand",
    ),
    Permission(
        ADDON,
        "managedclusteraddons/finalizers",
        ("update",),
        "works of templates are owned by their add-on, and hold up its deletion",
    ),
    Permission(ADDON, "addondeploymentconfigs", FOLLOW, "configurations of add-ons"),
    Permission(ADDON, "addontemplates", FOLLOW, "what add-ons are made of"),
)
HEALTH = (
    Permission("coordination.k8s.io", "leases", FOLLOW, "which clusters are silent"),
    Permission(CLUSTER, "managedclusters", ("get", "patch"), "taints of silent clusters"),
    Permission(CLUSTER, "managedclusters/status", ("patch",), "conditions of silent clusters"),
)

WRITE = (*READ, "create", "patch", "delete")
PUBLISHING = (
    Permission(
        MULTICLUSTER, "placementdecisions", WRITE, "decisions in the form of SIG Multicluster"
    ),
)
PROFILING = (
    Permission(MULTICLUSTER, "clusterprofiles", WRITE, "clusters in the form of SIG Multicluster"),
    Permission(MULTICLUSTER, "clusterprofiles/status", ("patch",), "what agents say of clusters"),
)
"""Of the component multicluster."""

DASHBOARD = (
    *(
        Permission(CLUSTER, resource, FOLLOW, "what is selected, and why")
        for resource in (
            "managedclusters",
            "managedclustersets",
            "managedclustersetbindings",
            "placements",
            "placementdecisions",
            "addonplacementscores",
        )
    ),
    Permission(WORK, "manifestworkreplicasets", FOLLOW, "workloads"),
    Permission(WORK, "manifestworks", FOLLOW, "what clusters run"),
    *(
        Permission(ADDON, resource, FOLLOW, "add-ons and what configures them")
        for resource in (
            "clustermanagementaddons",
            "managedclusteraddons",
            "addondeploymentconfigs",
            "addontemplates",
        )
    ),
    Permission(OURS, "rolloutrecords", FOLLOW, "what rollouts remember"),
    Permission(OURS, "rolloutrevisions", FOLLOW, "earlier templates"),
    Permission(OURS, "approvals", FOLLOW, "who approved or rejected what"),
    Permission(OURS, "freezes", FOLLOW, "whether the hub is frozen"),
    Permission(OURS, "calendars", FOLLOW, "when clusters may be touched"),
    Permission(OURS, "clustercalendars", FOLLOW, "when clusters may be touched"),
    Permission(OURS, "clustervalues", FOLLOW, "what differs from cluster to cluster"),
    Permission(OURS, "rolloutanalyses", FOLLOW, "what is measured"),
    Permission(OURS, "rolloutanalysisruns", FOLLOW, "what was measured"),
    Permission(OURS, "rolloutnotifications", FOLLOW, "what people have been told"),
    Permission("argoproj.io", "analysistemplates", FOLLOW, "what analyses measure"),
    Permission("argoproj.io", "clusteranalysistemplates", FOLLOW, "what analyses measure"),
    Permission("coordination.k8s.io", "leases", ("list",), "whose rules the controller goes by"),
    Permission("events.k8s.io", "events", ("list",), "what happened to a rollout"),
    Permission("authentication.k8s.io", "tokenreviews", ("create",), "who looks"),
    Permission(
        "authorization.k8s.io", "subjectaccessreviews", ("create",), "what they may see and do"
    ),
)
"""Of the component dashboard, a Deployment of its own with an account of its own."""

EXECUTORS = (
    Permission(WORK, "manifestworks", ("execute-as",), "works that name an executor, on OCM hubs"),
)
"""Of the component execute-as: asked by OCM's webhook, whatever the settings say."""

SECRETS = (Permission("", "secrets", ("get",), "channels of notifications, arguments of analyses"),)
JOBS = (Permission("batch", "jobs", ("get", "create"), "analyses that are Jobs"),)
"""Of the components secrets and jobs: ClusterRoles that nobody has but where a RoleBinding gives them."""


def needed(settings: Settings) -> tuple[Permission, ...]:
    """All that these settings ask for."""
    found = list(ALWAYS)
    if settings.schedule_placements:
        found += PLACING
    if settings.keep_sets:
        found += SETS
    if settings.roll_addons:
        found += ADDONS
    if settings.watch_health:
        found += HEALTH
    if settings.publish_decisions:
        found += PUBLISHING
    if settings.publish_clusters:
        found += PROFILING
    return tuple(found)
