"""The columns of each kind's table: the printer columns of the API, as kubectl shows them.

One table, for what the command line prints and for what the CRDs declare. A kind that declares no
column is shown by name and age. Source: OCM placement spec 1, OCM ManifestWorkReplicaSet spec 2; for
the kinds of Kubernetes itself, what an API server prints for them.
"""

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_VALUES,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    FREEZE,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
)


class Type(Enum):
    """The type of a column, in the words of a CRD."""

    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``path`` is a JSONPath; ``counted`` shows how many entries it finds.

    ``wide`` columns are shown by our own tables with ``-o wide`` alone. The CRDs of this project declare
    them all, those of OCM the others.
    """

    name: str
    path: str
    type: Type = Type.STRING
    _: KW_ONLY
    wide: bool = False
    counted: bool = False

    def value(self, obj: Obj) -> Any:
        """The first thing found at the path, several strings joined by commas, or None."""
        found = list(_walk(obj, _steps(self.path)))
        if self.counted:
            return len(found[0]) if found and isinstance(found[0], dict | list) else 0
        if len(found) > 1:
            return ",".join(str(item) for item in found)
        return found[0] if found else None


AGE = Column("Age", ".metadata.creationTimestamp", Type.DATE)


def _condition(kind: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


def _progression(kind: str) -> str:
    return f'.conditions[?(@.type=="{kind}")]'


def _ours(name: str, path: str, kind: Type = Type.STRING) -> Column:
    return Column(name, path, kind, wide=True)


_OF_RUNS = (
    Column("Phase", ".status.phase"),
    Column("Workload", ".spec.workload.name"),
    Column("Template", ".spec.template"),
    Column("Cluster", ".spec.cluster"),
    Column("Revision", ".spec.revision"),
    AGE,
)
_OF_CALENDARS = (
    Column("Open", ".status.open"),
    Column("Next Change", ".status.nextChange"),
    Column("Blocks", ".spec.blocks[*]"),
    AGE,
)
_COLUMNS: dict[str, tuple[Column, ...]] = {
    MANAGED_CLUSTER.name: (
        Column("Hub Accepted", ".spec.hubAcceptsClient", Type.BOOLEAN),
        Column("Managed Cluster URLs", ".spec.managedClusterClientConfigs[*].url"),
        Column("Joined", _condition("ManagedClusterJoined", "status")),
        Column("Available", _condition("ManagedClusterConditionAvailable", "status")),
        AGE,
        _ours("Set", ".metadata.labels['cluster.open-cluster-management.io/clusterset']"),
    ),
    CLUSTER_SET.name: (Column("Empty", _condition("ClusterSetEmpty", "status")), AGE),
    PLACEMENT.name: (
        Column("Succeeded", _condition("PlacementSatisfied", "status")),
        Column("Reason", _condition("PlacementSatisfied", "reason")),
        Column("SelectedClusters", ".status.numberOfSelectedClusters", Type.INTEGER),
    ),
    REPLICA_SET.name: (
        Column("Placement", _condition("PlacementVerified", "reason")),
        Column("Found", _condition("PlacementVerified", "status")),
        Column("ManifestWorks", _condition("ManifestworkApplied", "reason")),
        Column("Applied", _condition("ManifestworkApplied", "status")),
        _ours("Desired", ".status.summary.desiredTotal", Type.INTEGER),
        _ours("Updated", ".status.summary.updated", Type.INTEGER),
        _ours("Available", ".status.summary.available", Type.INTEGER),
        _ours("Degraded", ".status.summary.degraded", Type.INTEGER),
        _ours("Progressing", _condition("Progressing", "reason")),
        _ours("Ready", _condition("Ready", "status")),
        Column("Age", AGE.path, Type.DATE, wide=True),
    ),
    CONFIG_MAP.name: (Column("Data", ".data", Type.INTEGER, counted=True), AGE),
    CONTROLLER_REVISION.name: (
        Column("Controller", ".metadata.ownerReferences[*].name"),
        Column("Revision", ".revision", Type.INTEGER),
        AGE,
    ),
    ROLLOUT_RECORD.name: (
        Column("Workload", ".metadata.ownerReferences[*].name"),
        AGE,
    ),
    ROLLOUT_REVISION.name: (
        Column("Workload", ".metadata.ownerReferences[*].name"),
        Column("Revision", ".revision", Type.INTEGER),
        AGE,
    ),
    CLUSTER_MANAGEMENT_ADDON.name: (
        Column("Display Name", ".spec.addOnMeta.displayName"),
        _ours("Progress", f".status.installProgressions[*]{_progression('Progressing')}.message"),
        _ours("Halted", f".status.installProgressions[*]{_progression('RolloutHalted')}.reason"),
        Column("Age", AGE.path, Type.DATE, wide=True),
    ),
    MANAGED_CLUSTER_ADDON.name: (
        Column("Available", _condition("Available", "status")),
        Column("Degraded", _condition("Degraded", "status")),
        Column("Progressing", _condition("Progressing", "status")),
        _ours("Configured", _condition("Configured", "status")),
        _ours("Reason", _condition("Progressing", "reason")),
        Column("Age", AGE.path, Type.DATE, wide=True),
    ),
    APPROVAL.name: (
        Column("Workload", ".spec.workload.name"),
        Column("Revision", ".spec.revision"),
        Column("Gate", ".spec.gate"),
        Column("Decision", ".spec.decision"),
        Column("Actor", ".spec.actor"),
        Column("Expires", ".spec.expires"),
        AGE,
    ),
    ROLLOUT_ANALYSIS_RUN.name: _OF_RUNS,
    ROLLOUT_NOTIFICATION.name: (
        Column("Phase", ".status.phase"),
        Column("Workload", ".spec.workload.name"),
        Column("Trigger", ".spec.trigger"),
        Column("Channel", ".spec.channel"),
        Column("Tries", ".status.tries", Type.INTEGER),
        Column("Message", ".status.message", wide=True),
        AGE,
    ),
    CALENDAR.name: _OF_CALENDARS,
    CLUSTER_CALENDAR.name: _OF_CALENDARS,
    CLUSTER_VALUES.name: (Column("Workload", ".spec.workload.name"), AGE),
    FREEZE.name: (
        Column("Reason", ".spec.reason"),
        Column("Actor", ".spec.actor"),
        Column("Until", ".spec.until"),
        AGE,
    ),
    LEASE.name: (Column("Holder", ".spec.holderIdentity"), AGE),
}


def columns_of(kind: Kind, *, wide: bool = False) -> tuple[Column, ...]:
    """The columns after the name, in order."""
    columns = _COLUMNS.get(kind.name, (AGE,))
    return tuple(column for column in columns if wide or not column.wide)


def declared_columns(kind: Kind) -> tuple[Column, ...]:
    """What the kind's CRD declares as additionalPrinterColumns, so that kubectl shows how a rollout stands.

    None where a kind is shown by name and age alone.
    """
    return _COLUMNS.get(kind.name, ())


@dataclass(frozen=True, slots=True)
class _PathStep:
    """One step of a path: into a field, an entry, every entry, or the entries that match."""

    field: str = ""
    every: bool = False
    equals: str | None = None  # with ``field``: entries whose field has this value
    index: int | None = None  # one entry, from the end where it is negative


_PART = re.compile(
    r'\.(?P<field>(?:\w|-|\\.)+)|\[(?P<every>\*)\]|\[(?P<mark>["\'])(?P<quoted>.+?)(?P=mark)\]'
    r"|\[(?P<index>-?[0-9]{1,6})\]"
    r'|\[\?\(@\.(?P<key>\w+)\s*==\s*(?P<sign>["\'])(?P<value>.*?)(?P=sign)\)\]'
)


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[_PathStep, ...]:
    """Compile the part of JSONPath that the API's columns use. Raises: ValueError for any other."""
    steps: list[_PathStep] = []
    at = 0
    while at < len(path):
        part = _PART.match(path, at)
        if part is None:
            raise ValueError(f"column path {path!r} cannot be read at {path[at:]!r}")
        if part["every"]:
            steps.append(_PathStep(every=True))
        elif part["index"]:
            steps.append(_PathStep(index=int(part["index"])))
        elif part["key"]:
            steps.append(_PathStep(part["key"], equals=part["value"]))
        else:
            field = part["field"].replace("\\", "") if part["field"] else part["quoted"]
            steps.append(_PathStep(field))
        at = part.end()
    return tuple(steps)


def _walk(value: Any, steps: tuple[_PathStep, ...]) -> Iterator[Any]:
    """Everything that the path leads to; nothing where the object has another shape."""
    if not steps:
        if value is not None:
            yield value
        return
    step, rest = steps[0], steps[1:]
    if step.index is not None:
        if isinstance(value, list) and -len(value) <= step.index < len(value):
            yield from _walk(value[step.index], rest)
        return
    if step.every or step.equals is not None:
        for item in value if isinstance(value, list) else ():
            if step.every or (isinstance(item, dict) and item.get(step.field) == step.equals):
                yield from _walk(item, rest)
    elif isinstance(value, dict) and step.field in value:
        yield from _walk(value[step.field], rest)
