"""Which kinds of objects are there, and how is one of them pointed at?"""

from dataclasses import dataclass
from functools import cache
from typing import Any

Obj = dict[str, Any]
"""An object as JSON has it. Never mutated once it has left the function that made it."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One resource of an API server: enough to build its URL and to name it to a person.

    There is one value for each kind, so two are equal only where they are the same. Where ``version``
    is "" it is for the server to say: of the kind no more is known than how objects refer to it.
    """

    name: str
    plural: str
    group: str
    version: str
    namespaced: bool
    short: tuple[str, ...] = ()
    has_status: bool = True  # the status is a subresource of its own

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def has_generation(self) -> bool:
        """Whether the server counts changes: of all custom resources, of few kinds of its own."""
        return self.has_status or ("." in self.group and not self.group.endswith(".k8s.io"))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by its fields, so that another process gets the one value that there is for it."""
        kept = (self.name, self.plural, self.group, self.version, self.namespaced, self.short)
        return _the_kind, (*kept, self.has_status)


_CLUSTER = "cluster.open-cluster-management.io"
_WORK = "work.open-cluster-management.io"
_ADDON = "addon.open-cluster-management.io"

MANAGED_CLUSTER = Kind("ManagedCluster", "managedclusters", _CLUSTER, "v1", False, ("mcl", "mcls"))
CLUSTER_SET = Kind(
    "ManagedClusterSet", "managedclustersets", _CLUSTER, "v1beta2", False, ("mclset", "mclsets")
)
CLUSTER_SET_BINDING = Kind(
    "ManagedClusterSetBinding",
    "managedclustersetbindings",
    _CLUSTER,
    "v1beta2",
    True,
    ("mclsetbinding", "mclsetbindings"),
)
PLACEMENT = Kind("Placement", "placements", _CLUSTER, "v1beta1", True)
PLACEMENT_DECISION = Kind("PlacementDecision", "placementdecisions", _CLUSTER, "v1beta1", True)
SCORE = Kind("AddOnPlacementScore", "addonplacementscores", _CLUSTER, "v1alpha1", True)
MANIFEST_WORK = Kind("ManifestWork", "manifestworks", _WORK, "v1", True)
REPLICA_SET = Kind(
    "ManifestWorkReplicaSet", "manifestworkreplicasets", _WORK, "v1alpha1", True, ("mwrs",)
)
CONFIG_MAP = Kind("ConfigMap", "configmaps", "", "v1", True, ("cm",), has_status=False)
CONTROLLER_REVISION = Kind(
    "ControllerRevision", "controllerrevisions", "apps", "v1", True, has_status=False
)
LEASE = Kind("Lease", "leases", "coordination.k8s.io", "v1", True, has_status=False)
CLUSTER_MANAGEMENT_ADDON = Kind(
    "ClusterManagementAddOn", "clustermanagementaddons", _ADDON, "v1alpha1", False, ("cma", "cmas")
)
MANAGED_CLUSTER_ADDON = Kind(
    "ManagedClusterAddOn", "managedclusteraddons", _ADDON, "v1alpha1", True, ("mca", "mcas")
)
ADDON_DEPLOYMENT_CONFIG = Kind(
    "AddOnDeploymentConfig",
    "addondeploymentconfigs",
    _ADDON,
    "v1alpha1",
    True,
    ("adc",),
    has_status=False,
)
ADDON_TEMPLATE = Kind(
    "AddOnTemplate", "addontemplates", _ADDON, "v1alpha1", False, has_status=False
)

_OURS = "rollout-engine.io"
APPROVAL = Kind("Approval", "approvals", _OURS, "v1alpha1", True, ("rap",), has_status=False)
FREEZE = Kind("Freeze", "freezes", _OURS, "v1alpha1", False, ("rfz",), has_status=False)
CALENDAR = Kind("Calendar", "calendars", _OURS, "v1alpha1", True, ("rcal",))
CLUSTER_CALENDAR = Kind("ClusterCalendar", "clustercalendars", _OURS, "v1alpha1", False, ("rccal",))
ROLLOUT_ANALYSIS = Kind("RolloutAnalysis", "rolloutanalyses", _OURS, "v1alpha1", True, ("ra",))
ROLLOUT_ANALYSIS_RUN = Kind(
    "RolloutAnalysisRun", "rolloutanalysisruns", _OURS, "v1alpha1", True, ("rar",)
)
CLUSTER_VALUES = Kind(
    "ClusterValues", "clustervalues", _OURS, "v1alpha1", True, ("rval",), has_status=False
)
ROLLOUT_RECORD = Kind(
    "RolloutRecord", "rolloutrecords", _OURS, "v1alpha1", True, ("rrec",), has_status=False
)
ROLLOUT_REVISION = Kind(
    "RolloutRevision", "rolloutrevisions", _OURS, "v1alpha1", True, ("rrev",), has_status=False
)

_ARGO = "argoproj.io"
ANALYSIS_TEMPLATE = Kind(
    "AnalysisTemplate", "analysistemplates", _ARGO, "v1alpha1", True, has_status=False
)
CLUSTER_ANALYSIS_TEMPLATE = Kind(
    "ClusterAnalysisTemplate",
    "clusteranalysistemplates",
    _ARGO,
    "v1alpha1",
    False,
    has_status=False,
)
"""Templates of another tool, which are read where there are any; nobody here writes them."""

WORKLOADS = (REPLICA_SET, CLUSTER_MANAGEMENT_ADDON)
"""The kinds that are rolled out."""

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        MANAGED_CLUSTER,
        CLUSTER_SET,
        CLUSTER_SET_BINDING,
        PLACEMENT,
        PLACEMENT_DECISION,
        SCORE,
        MANIFEST_WORK,
        REPLICA_SET,
        CONFIG_MAP,
        CONTROLLER_REVISION,
        LEASE,
        CLUSTER_MANAGEMENT_ADDON,
        MANAGED_CLUSTER_ADDON,
        ADDON_DEPLOYMENT_CONFIG,
        ADDON_TEMPLATE,
        APPROVAL,
        FREEZE,
        CALENDAR,
        CLUSTER_CALENDAR,
        ROLLOUT_ANALYSIS,
        ROLLOUT_ANALYSIS_RUN,
        CLUSTER_VALUES,
        ROLLOUT_RECORD,
        ROLLOUT_REVISION,
    )
}


def _the_kind(name: str, *fields: Any) -> Kind:
    """The kind of these fields: ours where there is one, else one made for it."""
    known = KINDS.get(name)
    return known if known is not None else Kind(name, *fields)


def find(word: str) -> Kind | None:
    """The kind that a person means by its name, plural, singular or short name, in any case."""
    wanted = word.lower()
    for kind in KINDS.values():
        if wanted in (kind.name.lower(), kind.plural, *kind.short):
            return kind
    return None


@dataclass(frozen=True, slots=True)
class Ref:
    """One object: its kind and its key, ``namespace/name`` or, for cluster-scoped kinds, ``name``."""

    kind: Kind
    key: str

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.kind.name} {self.key}"


def key_of(namespace: str, name: str) -> str:
    """``namespace/name``, or just the name where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name


def ref_of(kind: Kind, obj: Obj) -> Ref:
    """The reference of a stored object."""
    meta = obj["metadata"]
    return Ref(kind, key_of(meta.get("namespace", "") if kind.namespaced else "", meta["name"]))


@cache
def kind_by_resource(group: str, resource: str, *, namespaced: bool) -> Kind:
    """The kind of a resource that objects refer to; one made for it where we know none.

    A kind that was made is called by its resource and has no version.
    """
    for kind in KINDS.values():
        if (kind.group, kind.plural) == (group, resource):
            return kind
    return Kind(resource, resource, group, "", namespaced, has_status=False)
