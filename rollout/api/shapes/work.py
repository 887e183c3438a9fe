"""How is a ManifestWork written? Source: OCM ManifestWork spec 1."""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.shapes.base import (
    INT64,
    Conditions,
    DnsName,
    EmbeddedObject,
    Int32,
    Int64,
    Name,
    Resource,
    Shape,
    accepted,
    list_map,
)


class Workload(Shape):
    """What is applied."""

    manifests: list[EmbeddedObject] | None = None


class OrphaningRule(Shape):
    """A resource that stays when its work goes."""

    group: str | None = None
    resource: Name
    name: Name
    namespace: str | None = None


class SelectivelyOrphans(Shape):
    """The resources that stay."""

    orphaning_rules: list[OrphaningRule] | None = None


class DeleteOption(Shape):
    """What happens to the resources when the work goes."""

    propagation_policy: Literal["Foreground", "Orphan", "SelectivelyOrphan"] | None = "Foreground"
    selectively_orphans: SelectivelyOrphans | None = None
    ttl_seconds_after_finished: (
        Annotated[int, Field(ge=0, le=INT64), accepted("a whole number of 0 or more")] | None
    ) = None


class ResourceIdentifier(Shape):
    """Which manifest a configuration is about; name and namespace may hold ``*``."""

    group: str | None = None
    resource: Name
    name: Name
    namespace: str | None = None


class JsonPath(Shape):
    """One value to report."""

    name: Name
    path: Name
    version: str | None = None


class FeedbackRule(Shape):
    """Which values of a resource the agent reports."""

    type: Literal["WellKnownStatus", "JSONPaths"]
    json_paths: Annotated[list[JsonPath], Field(json_schema_extra=list_map("name"))] | None = None


class ConditionRule(Shape):
    """How a condition of the work follows from the state of a resource."""

    condition: Name
    type: Literal["WellKnownConditions", "CEL"]
    cel_expressions: list[str] | None = None
    message: str | None = None
    message_expression: str | None = None


class IgnoreFields(Shape):
    """Fields that server-side apply leaves to others."""

    condition: Literal["OnSpokePresent", "OnSpokeChange"] | None = "OnSpokePresent"
    json_paths: list[str] | None = None
    json_pointers: list[str] | None = None
    jq_path_expressions: list[str] | None = None


class ServerSideApply(Shape):
    """How server-side apply is done."""

    force: bool | None = False
    field_manager: (
        Annotated[str, Field(pattern="^work-agent"), accepted("a name that begins with work-agent")]
        | None
    ) = "work-agent"
    ignore_fields: (
        Annotated[list[IgnoreFields], Field(json_schema_extra=list_map("condition"))] | None
    ) = None


class UpdateStrategy(Shape):
    """How the agent changes a resource."""

    type: Literal["Update", "CreateOnly", "ServerSideApply", "ReadOnly"] | None = "Update"
    server_side_apply: ServerSideApply | None = None


class ManifestConfig(Shape):
    """What is special about some of the manifests."""

    resource_identifier: ResourceIdentifier
    feedback_rules: list[FeedbackRule] | None = None
    feedback_scrape_type: Literal["Poll", "Watch"] | None = "Poll"
    update_strategy: UpdateStrategy | None = None
    condition_rules: (
        Annotated[list[ConditionRule], Field(json_schema_extra=list_map("condition"))] | None
    ) = None


class ServiceAccountRef(Shape):
    """A service account on the managed cluster."""

    namespace: DnsName
    name: DnsName


class ExecutorSubject(Shape):
    """Whose permissions are checked."""

    type: Literal["ServiceAccount"]
    service_account: ServiceAccountRef | None = None


class Executor(Shape):
    """With whose permissions the agent applies."""

    subject: ExecutorSubject | None = None


class WorkSpec(Shape):
    """A ManifestWork's spec, and a ManifestWorkReplicaSet's template."""

    workload: Workload | None = None
    delete_option: DeleteOption | None = None
    manifest_configs: list[ManifestConfig] | None = None
    executor: Executor | None = None


class ResourceMeta(Shape):
    """Which resource a manifest became."""

    ordinal: Int32
    group: str | None = None
    version: str | None = None
    kind: str | None = None
    resource: str | None = None
    name: str | None = None
    namespace: str | None = None


class FieldValue(Shape):
    """A reported value."""

    type: Literal["Integer", "String", "Boolean", "JsonRaw"]
    integer: Int64 | None = None
    string: str | None = None
    boolean: bool | None = None
    json_raw: Annotated[str, Field(max_length=1024)] | None = None


class FeedbackValue(Shape):
    """A reported value and its name."""

    name: str
    field_value: FieldValue


class StatusFeedback(Shape):
    """The reported values of one manifest."""

    values: Annotated[list[FeedbackValue], Field(json_schema_extra=list_map("name"))] | None = None


class ManifestStatus(Shape):
    """What became of one manifest."""

    resource_meta: ResourceMeta
    conditions: Conditions | None = None
    status_feedback: StatusFeedback | None = None


class ResourceStatus(Shape):
    """What became of each manifest."""

    manifests: list[ManifestStatus] | None = None


class WorkStatus(Shape):
    """What the agent says."""

    conditions: Conditions | None = None
    resource_status: ResourceStatus | None = None


class ManifestWork(Resource):
    """Manifests for one cluster; the namespace is the cluster's name."""

    spec: WorkSpec
    status: WorkStatus | None = None
