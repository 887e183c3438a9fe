"""The wire form of a ManifestWork. Source: OCM ManifestWork spec 1.

Controllers write tens of thousands of works, so they are read by hand. A fleet carries few different
payloads, each of which a hub gives out as one object (`hub/kube_objects.py`): what was hashed lately is
not hashed again.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field

from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.api.manifest_faults import faults_of
from rollout.api.wire import (
    INT64,
    Conditions,
    DnsName,
    EmbeddedObject,
    Int32,
    Int64,
    Name,
    RuledShape,
    Shape,
    WireObject,
    accepted,
    list_map,
)
from rollout.api.words import REQUIRED
from rollout.model.conditions import read_conditions
from rollout.model.content import content_hash
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import OWNER, REVISION, STARTED_AT, WORK_OWNER_LABEL, WORK_PLACEMENT_LABEL
from rollout.model.problems import Problem
from rollout.model.sharing import shared_cluster, shared_map, shared_text
from rollout.model.work import Work


class WorkloadShape(Shape):
    """What is applied."""

    manifests: list[EmbeddedObject] | None = None


class OrphaningRuleShape(Shape):
    """A resource that stays when its work goes."""

    group: str | None = None
    resource: Name
    name: Name
    namespace: str | None = None


class SelectivelyOrphansShape(Shape):
    """The resources that stay."""

    orphaning_rules: list[OrphaningRuleShape] | None = None


class DeleteOptionShape(Shape):
    """What happens to the resources when the work goes."""

    propagation_policy: Literal["Foreground", "Orphan", "SelectivelyOrphan"] | None = "Foreground"
    selectively_orphans: SelectivelyOrphansShape | None = None
    ttl_seconds_after_finished: (
        Annotated[int, Field(ge=0, le=INT64), accepted("a whole number of 0 or more")] | None
    ) = None


class ResourceIdentifierShape(Shape):
    """Which manifest a configuration is about; name and namespace may hold ``*``."""

    group: str | None = None
    resource: Name
    name: Name
    namespace: str | None = None


class JsonPathShape(Shape):
    """One value to report."""

    name: Name
    path: Name
    version: str | None = None


class FeedbackRuleShape(Shape):
    """Which values of a resource the agent reports."""

    type: Literal["WellKnownStatus", "JSONPaths"]
    json_paths: Annotated[list[JsonPathShape], Field(json_schema_extra=list_map("name"))] | None = (
        None
    )


class ConditionRuleShape(RuledShape):
    """How a condition of the work follows from the state of a resource."""

    condition: Name
    type: Literal["WellKnownConditions", "CEL"]
    cel_expressions: list[str] | None = None
    message: str | None = None
    message_expression: str | None = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        expressions = written.get("celExpressions")
        if written.get("type") == "CEL" and not expressions:
            words = "at least one expression with type CEL"
            yield Problem("celExpressions", expressions, words)


class IgnoreFieldsShape(Shape):
    """Fields that server-side apply leaves to others."""

    condition: Literal["OnSpokePresent", "OnSpokeChange"] | None = "OnSpokePresent"
    json_paths: list[str] | None = None
    json_pointers: list[str] | None = None
    jq_path_expressions: list[str] | None = None


class ServerSideApplyShape(Shape):
    """How server-side apply is done."""

    force: bool | None = False
    field_manager: (
        Annotated[str, Field(pattern="^work-agent"), accepted("a name that begins with work-agent")]
        | None
    ) = "work-agent"
    ignore_fields: (
        Annotated[list[IgnoreFieldsShape], Field(json_schema_extra=list_map("condition"))] | None
    ) = None


class UpdateStrategyShape(Shape):
    """How the agent changes a resource."""

    type: Literal["Update", "CreateOnly", "ServerSideApply", "ReadOnly"] | None = "Update"
    server_side_apply: ServerSideApplyShape | None = None


class ManifestConfigShape(RuledShape):
    """What is special about some of the manifests."""

    resource_identifier: ResourceIdentifierShape
    feedback_rules: list[FeedbackRuleShape] | None = None
    feedback_scrape_type: Literal["Poll", "Watch"] | None = "Poll"
    update_strategy: UpdateStrategyShape | None = None
    condition_rules: (
        Annotated[list[ConditionRuleShape], Field(json_schema_extra=list_map("condition"))] | None
    ) = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        seen: set[str] = set()
        for i, rule in enumerate(listed(written.get("conditionRules"))):
            condition = text(mapping(rule).get("condition"))
            if condition and condition in seen:
                at = f"conditionRules[{i}].condition"
                yield Problem(at, condition, "one rule for each condition")
            seen.add(condition)


class ServiceAccountRefShape(Shape):
    """A service account on the managed cluster."""

    namespace: DnsName
    name: DnsName


class ExecutorSubjectShape(RuledShape):
    """Whose permissions are checked."""

    type: Literal["ServiceAccount"]
    service_account: ServiceAccountRefShape | None = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if not written.get("serviceAccount"):
            yield Problem("serviceAccount", None, REQUIRED)


class ExecutorShape(Shape):
    """With whose permissions the agent applies."""

    subject: ExecutorSubjectShape | None = None


class WorkSpec(Shape):
    """A ManifestWork's spec, and a ManifestWorkReplicaSet's template."""

    workload: WorkloadShape | None = None
    delete_option: DeleteOptionShape | None = None
    manifest_configs: list[ManifestConfigShape] | None = None
    executor: ExecutorShape | None = None


class ResourceMetaShape(Shape):
    """Which resource a manifest became."""

    ordinal: Int32
    group: str | None = None
    version: str | None = None
    kind: str | None = None
    resource: str | None = None
    name: str | None = None
    namespace: str | None = None


class FieldValueShape(Shape):
    """A reported value."""

    type: Literal["Integer", "String", "Boolean", "JsonRaw"]
    integer: Int64 | None = None
    string: str | None = None
    boolean: bool | None = None
    json_raw: Annotated[str, Field(max_length=1024)] | None = None


class FeedbackValueShape(Shape):
    """A reported value and its name."""

    name: str
    field_value: FieldValueShape


class StatusFeedbackShape(Shape):
    """The reported values of one manifest."""

    values: (
        Annotated[list[FeedbackValueShape], Field(json_schema_extra=list_map("name"))] | None
    ) = None


class ManifestStatusShape(Shape):
    """What became of one manifest."""

    resource_meta: ResourceMetaShape
    conditions: Conditions | None = None
    status_feedback: StatusFeedbackShape | None = None


class ResourceStatusShape(Shape):
    """What became of each manifest."""

    manifests: list[ManifestStatusShape] | None = None


class WorkStatus(Shape):
    """What the agent says."""

    conditions: Conditions | None = None
    resource_status: ResourceStatusShape | None = None


class WorkObject(WireObject):
    """Manifests for one cluster; the namespace is the cluster's name."""

    spec: WorkSpec
    status: WorkStatus | None = None


_KEPT = 64  # payloads whose hash is remembered; each entry keeps its payload alive

UNREADABLE = "unreadable"
"""The content of a spec that cannot be hashed: it equals no template's."""


def decode_work(obj: Obj, previous: Work | None = None) -> Work:
    """A ManifestWork from its JSON object.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. What never changes is reused where the uid is
            equal, and its content where the generation is, too: that changes with the spec.
    """
    meta, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    known = previous if previous is not None and uid == previous.uid != "" else None
    is_same_spec = known is not None and generation == known.generation != 0
    labels: Mapping[str, str]
    if known is not None and known.labels == meta.get("labels"):
        labels = known.labels
    else:
        labels = shared_map(strings(meta.get("labels")))
    annotations = strings(meta.get("annotations"))
    started, said = annotations.get(STARTED_AT), annotations.get(OWNER)
    status = mapping(obj.get("status"))
    conditions = read_conditions(status.get("conditions"))
    return Work(
        cluster=known.cluster if known else shared_cluster(text(meta.get("namespace"))),
        name=known.name if known else shared_text(text(meta.get("name"))),
        owner=shared_text(owner_of(labels, annotations)),
        placement=labels.get(WORK_PLACEMENT_LABEL, ""),
        content=known.content if known and is_same_spec else _HASHES.of(spec),
        revision=shared_text(annotations.get(REVISION, "")),
        started_at=parse_instant(started) if started else None,
        generation=generation,
        version=version_of(meta),
        uid=uid,
        created=known.created if known else shared_text(text(meta.get("creationTimestamp"))),
        deleting=meta.get("deletionTimestamp") is not None,
        conditions=conditions,
        labels=labels,
        said_owner=None if said is None else shared_text(said),
        faults=faults_of(conditions, status, spec, generation),
        spec=spec,
    )


def owner_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The ``namespace/name`` of the workload that a work belongs to, "" where it names none.

    Our annotation wins: the label may hold a hash. A namespace has no dots, so the label is split
    at its first.
    """
    named = annotations.get(OWNER)
    if named:
        namespace, slash, name = named.partition("/")
        if namespace and slash and name and "/" not in name:
            return named
    namespace, dot, name = labels.get(WORK_OWNER_LABEL, "").partition(".")
    return f"{namespace}/{name}" if namespace and dot and name else ""


class _Hashes:
    """Content of the payloads seen lately. Bounded: forgotten all at once when full."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, str]] = {}  # id(spec) -> (the spec, content)

    def of(self, spec: Obj) -> str:
        """Objects are never altered, so the same object has the same content."""
        known = self._known.get(id(spec))
        if known is not None:
            return known[1]
        content = hashed(spec)
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[id(spec)] = (spec, content)
        return content


_HASHES = _Hashes()


def hashed(spec: Obj) -> str:
    """`content_hash`, or `UNREADABLE` for what is no JSON or is nested beyond reason."""
    try:
        return content_hash(spec)
    except (TypeError, ValueError, RecursionError):
        return UNREADABLE
