"""The kinds of objects, and references to single ones."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

from msgspec import Struct

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
    _: KW_ONLY
    namespaced: bool = True
    short: tuple[str, ...] = ()
    has_status: bool = True  # the status is a subresource of its own

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def typed(self) -> str:
        """The word that people type for it."""
        return self.short[0] if self.short else self.plural

    @property
    def has_generation(self) -> bool:
        """Whether the server counts changes: of all custom resources, of few kinds of its own."""
        return self.has_status or ("." in self.group and not self.group.endswith(".k8s.io"))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by its fields, so that another process gets the one value that there is for it."""
        rest = {"namespaced": self.namespaced, "short": self.short, "has_status": self.has_status}
        return _the_kind, (self.name, self.plural, self.group, self.version, rest)


DEFAULT_NAMESPACE = "default"
"""The namespace of an object that names none."""
_CLUSTER = "cluster.open-cluster-management.io"
_WORK = "work.open-cluster-management.io"
_ADDON = "addon.open-cluster-management.io"

MANAGED_CLUSTER = Kind(
    "ManagedCluster", "managedclusters", _CLUSTER, "v1", namespaced=False, short=("mcl", "mcls")
)
CLUSTER_SET = Kind(
    "ManagedClusterSet",
    "managedclustersets",
    _CLUSTER,
    "v1beta2",
    namespaced=False,
    short=("mclset", "mclsets"),
)
CLUSTER_SET_BINDING = Kind(
    "ManagedClusterSetBinding",
    "managedclustersetbindings",
    _CLUSTER,
    "v1beta2",
    short=("mclsetbinding", "mclsetbindings"),
)
PLACEMENT = Kind("Placement", "placements", _CLUSTER, "v1beta1")
PLACEMENT_DECISION = Kind("PlacementDecision", "placementdecisions", _CLUSTER, "v1beta1")
SCORE = Kind("AddOnPlacementScore", "addonplacementscores", _CLUSTER, "v1alpha1")
MANIFEST_WORK = Kind("ManifestWork", "manifestworks", _WORK, "v1")
REPLICA_SET = Kind(
    "ManifestWorkReplicaSet", "manifestworkreplicasets", _WORK, "v1alpha1", short=("mwrs",)
)
CONFIG_MAP = Kind("ConfigMap", "configmaps", "", "v1", short=("cm",), has_status=False)
CONTROLLER_REVISION = Kind(
    "ControllerRevision", "controllerrevisions", "apps", "v1", has_status=False
)
LEASE = Kind("Lease", "leases", "coordination.k8s.io", "v1", has_status=False)
CLUSTER_MANAGEMENT_ADDON = Kind(
    "ClusterManagementAddOn",
    "clustermanagementaddons",
    _ADDON,
    "v1alpha1",
    namespaced=False,
    short=("cma", "cmas"),
)
MANAGED_CLUSTER_ADDON = Kind(
    "ManagedClusterAddOn", "managedclusteraddons", _ADDON, "v1alpha1", short=("mca", "mcas")
)
ADDON_DEPLOYMENT_CONFIG = Kind(
    "AddOnDeploymentConfig",
    "addondeploymentconfigs",
    _ADDON,
    "v1alpha1",
    short=("adc",),
    has_status=False,
)
ADDON_TEMPLATE = Kind(
    "AddOnTemplate", "addontemplates", _ADDON, "v1alpha1", namespaced=False, has_status=False
)

_OURS = "rollout-engine.io"
APPROVAL = Kind("Approval", "approvals", _OURS, "v1alpha1", short=("rap",), has_status=False)
FREEZE = Kind(
    "Freeze", "freezes", _OURS, "v1alpha1", namespaced=False, short=("rfz",), has_status=False
)
CALENDAR = Kind("Calendar", "calendars", _OURS, "v1alpha1", short=("rcal",))
CLUSTER_CALENDAR = Kind(
    "ClusterCalendar", "clustercalendars", _OURS, "v1alpha1", namespaced=False, short=("rccal",)
)
ROLLOUT_ANALYSIS = Kind("RolloutAnalysis", "rolloutanalyses", _OURS, "v1alpha1", short=("ra",))
ROLLOUT_ANALYSIS_RUN = Kind(
    "RolloutAnalysisRun", "rolloutanalysisruns", _OURS, "v1alpha1", short=("rar",)
)
ROLLOUT_NOTIFICATION = Kind(
    "RolloutNotification", "rolloutnotifications", _OURS, "v1alpha1", short=("rnot",)
)
CLUSTER_VALUES = Kind(
    "ClusterValues", "clustervalues", _OURS, "v1alpha1", short=("rval",), has_status=False
)
ROLLOUT_RECORD = Kind(
    "RolloutRecord", "rolloutrecords", _OURS, "v1alpha1", short=("rrec",), has_status=False
)
ROLLOUT_REVISION = Kind(
    "RolloutRevision", "rolloutrevisions", _OURS, "v1alpha1", short=("rrev",), has_status=False
)

_ARGO = "argoproj.io"
ANALYSIS_TEMPLATE = Kind(
    "AnalysisTemplate", "analysistemplates", _ARGO, "v1alpha1", has_status=False
)
CLUSTER_ANALYSIS_TEMPLATE = Kind(
    "ClusterAnalysisTemplate",
    "clusteranalysistemplates",
    _ARGO,
    "v1alpha1",
    namespaced=False,
    has_status=False,
)
TEMPLATES_OF_OTHERS = frozenset({ANALYSIS_TEMPLATE, CLUSTER_ANALYSIS_TEMPLATE})
"""Templates of another tool. They are read while a workload names one; no hub has to serve them."""

_MULTICLUSTER = "multicluster.x-k8s.io"
SHARED_DECISION = Kind(
    "PlacementDecision", "placementdecisions", _MULTICLUSTER, "v1alpha1", has_status=False
)
CLUSTER_PROFILE = Kind("ClusterProfile", "clusterprofiles", _MULTICLUSTER, "v1alpha1")
"""Kinds of SIG Multicluster, written for other tools. SHARED_DECISION has the same name as OCM's kind,
so neither can be named on the command line."""

WORKLOADS = (REPLICA_SET, CLUSTER_MANAGEMENT_ADDON)
"""The kinds that are rolled out."""
VALUED = (REPLICA_SET,)
"""Those of them that ClusterValues can be for: add-ons have variables of their own."""


@dataclass(frozen=True, slots=True)
class WorkloadTraits:
    """In what workloads of a kind differ from others, for whoever asks about all of them.

    ``keeps_templates``: those of earlier revisions are kept, under numbers, to be given back.
    ``has_one_revision``: all placements ask for the same; else each has one of its own.
    """

    keeps_templates: bool = True
    has_one_revision: bool = False


_TRAITS = {
    REPLICA_SET.name: WorkloadTraits(has_one_revision=True),
    CLUSTER_MANAGEMENT_ADDON.name: WorkloadTraits(keeps_templates=False),
}


def traits_of(kind: str) -> WorkloadTraits:
    """The traits of a workload kind, by its name, also of one that is not known here."""
    return _TRAITS.get(kind, WorkloadTraits())


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
        ROLLOUT_NOTIFICATION,
        CLUSTER_VALUES,
        ROLLOUT_RECORD,
        ROLLOUT_REVISION,
        ANALYSIS_TEMPLATE,
        CLUSTER_ANALYSIS_TEMPLATE,
    )
}

_BESIDE = (SHARED_DECISION, CLUSTER_PROFILE)


def _the_kind(name: str, plural: str, group: str, version: str, rest: dict[str, Any]) -> Kind:
    """The kind of these fields: ours where there is one, else one made for it."""
    for known in (*KINDS.values(), *_BESIDE):
        if (known.name, known.group) == (name, group):
            return known
    return Kind(name, plural, group, version, **rest)


def find(word: str) -> Kind | None:
    """The kind that a person means by its name, plural, singular or short name, in any case."""
    wanted = word.lower()
    for kind in KINDS.values():
        if wanted in (kind.name.lower(), kind.plural, *kind.short):
            return kind
    return None


class Ref(Struct, frozen=True, gc=False):
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


def workloads_called(key: str, kinds: Iterable[Kind] = WORKLOADS) -> Iterator[Ref]:
    """The workloads that may be meant where only a key is written, of each kind that can have it."""
    return (Ref(kind, key) for kind in kinds if kind.namespaced == ("/" in key))


def ref_of(kind: Kind, obj: Obj) -> Ref:
    """The reference of a stored object."""
    meta = obj["metadata"]
    return Ref(kind, key_of(meta.get("namespace", "") if kind.namespaced else "", meta["name"]))


def full_name(kind: Kind, name: str) -> str:
    """``placement.cluster.open-cluster-management.io/web``: how kubectl names an object."""
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.name.lower()}{group}/{name}"


@cache
def kind_by_resource(group: str, resource: str, *, namespaced: bool) -> Kind:
    """The kind of a resource that objects refer to; one made for it where we know none.

    A kind that was made is called by its resource and has no version.
    """
    for kind in KINDS.values():
        if (kind.group, kind.plural) == (group, resource):
            return kind
    return Kind(resource, resource, group, "", namespaced=namespaced, has_status=False)
