"""The wire form of ClusterValues."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from rollout.api.fields import mapping, text
from rollout.api.placement import RequiredClusterSelectorShape
from rollout.api.wire import Name, Shape, WireObject, accepted, passing
from rollout.api.words import problems_of, refusal
from rollout.model.kinds import Obj
from rollout.values.paths import PATH_ACCEPTED, ValuePath, parse_path
from rollout.values.rules import (
    EXPRESSION_ACCEPTED,
    LONGEST_VALUE_EXPRESSION,
    MOST_RULES,
    MOST_SETTINGS,
    TARGET_ACCEPTED,
    ClusterValues,
    ManifestTarget,
    ValueRule,
    ValueSetting,
)

TargetKind = Annotated[
    str,
    # Whatever does not end in List, in words of a server that knows no looking back.
    Field(min_length=1, pattern=r"^(.*[^t]|(.*[^s])?t|(.*[^i])?st|(.*[^L])?ist)$"),
    accepted(TARGET_ACCEPTED),
]
PathText = Annotated[
    str, Field(max_length=1024), passing(parse_path, PATH_ACCEPTED), accepted(PATH_ACCEPTED)
]
ExpressionText = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_VALUE_EXPRESSION),
    accepted(f"{EXPRESSION_ACCEPTED}, of at most {LONGEST_VALUE_EXPRESSION} characters"),
]
EITHER_ACCEPTED = "either value, a CEL expression, or literal"


class ManifestTargetShape(Shape):
    """Manifests of the template: those of which all that is set here is true. At least one must be."""

    kind: TargetKind
    """The kind of the manifest; not a List, of which each item should be a manifest of its own."""
    name: str | None = None
    """Its metadata.name; any where unset."""
    namespace: str | None = None
    """Its metadata.namespace; any where unset."""
    api_version: str | None = None
    """Its apiVersion; any where unset."""


class ValueSettingShape(Shape):
    """One field of a manifest, and what it is set to."""

    target: ManifestTargetShape
    """The manifests in which the field is set."""
    path: PathText
    """A JSON pointer, of which a part may choose an item of a list: containers[name=app]."""
    value: ExpressionText | None = None
    """CEL over cluster (name, labels, claims, annotations, taints), workload (name, namespace, labels)
    and current, which is what stands at the path."""
    literal: Annotated[
        Any, Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
    ] = None
    """The value itself."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.value is None) == (self.literal is None):
            raise refusal(EITHER_ACCEPTED)
        return self

    def to_model(self) -> ValueSetting:
        target = self.target
        return ValueSetting(
            target=ManifestTarget(
                target.kind, target.name or "", target.namespace or "", target.api_version or ""
            ),
            path=parse_path(self.path) or ValuePath(self.path, ()),
            expression=self.value or "",
            literal=self.literal,
        )


class ValueRuleShape(Shape):
    """Fields that are set on some clusters."""

    clusters: RequiredClusterSelectorShape | None = None
    """All where unset."""
    set_: Annotated[
        list[ValueSettingShape], Field(alias="set", min_length=1, max_length=MOST_SETTINGS)
    ]
    """The fields that are set, and to what."""


class ValuesWorkloadShape(Shape):
    """The workload that the values are for, in the same namespace."""

    kind: Literal["ManifestWorkReplicaSet"] = "ManifestWorkReplicaSet"
    """The kind of the workload: add-ons have variables of their own."""
    name: Name
    """The name of the workload."""


class ClusterValuesSpec(Shape):
    """Which fields of a workload's template differ from cluster to cluster."""

    workload: ValuesWorkloadShape
    """The workload whose template it is."""
    rules: Annotated[list[ValueRuleShape], Field(min_length=1, max_length=MOST_RULES)]
    """In their order. Where two give one field of one cluster different values, that cluster is held."""


class ClusterValuesObject(WireObject):
    """Fields of a workload's template that differ from cluster to cluster."""

    spec: ClusterValuesSpec

    def to_model(self) -> ClusterValues:
        """The values that this describes, without the rules as they were written."""
        rules = tuple(
            ValueRule(
                tuple(each.to_model() for each in rule.set_),
                None if rule.clusters is None else rule.clusters.to_model(),
            )
            for rule in self.spec.rules
        )
        return ClusterValues(
            namespace=self.metadata.namespace or "",
            name=self.metadata.name or "",
            workload=self.spec.workload.name,
            rules=rules,
        )


def decode_values(obj: Obj) -> ClusterValues:
    """Values. Where any field is bad they have ``problems`` and no rules, and are still somebody's."""
    try:
        found = ClusterValuesObject.model_validate(obj).to_model()
        return replace(found, raw=obj["spec"]["rules"])
    except ValidationError as error:
        meta = mapping(obj.get("metadata"))
        asked = mapping(mapping(obj.get("spec")).get("workload"))
        return ClusterValues(
            namespace=text(meta.get("namespace")),
            name=text(meta.get("name")),
            workload=text(asked.get("name")),
            problems=tuple(problems_of(error)),
        )
