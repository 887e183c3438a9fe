"""Which kinds of values do the fields of our API hold? The building blocks of its models.

A model keeps fields that it does not know. Its field defaults are the defaults that the CRD fills
in; None means that nothing is filled in. Values are not converted: "5" is no number. Wherever a
field may be absent it may be null, which means the same.
"""

import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from rollout.model.amounts import AMOUNT_ACCEPTED, DURATION_ACCEPTED, parse_amount, parse_duration
from rollout.model.conditions import LONGEST_MESSAGE
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj

INT32 = 2**31 - 1
INT64 = 2**63 - 1


class Shape(BaseModel):
    """A part of an object as people write it: camelCase on the wire, unknown fields kept."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="allow",
        strict=True,
        defer_build=True,
        use_attribute_docstrings=True,
    )


def accepted(words: str) -> WrapValidator:
    """Say ``words`` of a value that is refused, instead of what pydantic would."""

    def check(value: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except ValidationError:
            raise refusal(words) from None

    return WrapValidator(check)


def refusal(words: str) -> PydanticCustomError:
    """The error whose text is ``words``."""
    return PydanticCustomError("accepted", "{words}", {"words": words})


def passing(test: Callable[[Any], object], words: str) -> AfterValidator:
    """Refuse a value for which ``test`` is false or None."""

    def check(value: Any) -> Any:
        if test(value) in (None, False):
            raise refusal(words)
        return value

    return AfterValidator(check)


def list_map(*keys: str) -> dict[str, Any]:
    """JSON schema of a list whose items are told apart by ``keys``."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


Name = Annotated[str, Field(min_length=1), accepted("a name of at least 1 character")]
Count = Annotated[int, Field(ge=0, le=INT32), accepted("a whole number of 0 or more")]
Int32 = Annotated[int, Field(ge=-INT32 - 1, le=INT32), accepted("a whole number")]
Int64 = Annotated[int, Field(ge=-INT64 - 1, le=INT64), accepted("a whole number")]

LABEL_KEY = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
LabelKey = Annotated[
    str,
    Field(max_length=316, pattern=LABEL_KEY),
    accepted("a label key: [prefix/]name, at most 316 characters"),
]
DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DnsLabel = Annotated[
    str,
    Field(min_length=1, max_length=63, pattern=DNS_LABEL),
    accepted("1 to 63 of a-z 0-9 and -, beginning and ending with a letter or digit"),
]
DNS_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
DnsName = Annotated[
    str,
    Field(min_length=1, max_length=253, pattern=DNS_NAME),
    accepted("1 to 253 of a-z 0-9 - and ., beginning and ending with a letter or digit"),
]

AMOUNT_SCHEMA: dict[str, Any] = {
    "x-kubernetes-int-or-string": True,
    "minimum": 0,
    "pattern": r"^((100|[0-9]{1,2})%|[0-9]{1,9})$",
}
AmountText = Annotated[
    int | str,
    passing(parse_amount, AMOUNT_ACCEPTED),
    accepted(AMOUNT_ACCEPTED),
    WithJsonSchema(AMOUNT_SCHEMA),
]
"""A count or a percentage, as written."""

DURATION = r"([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+"
DurationText = Annotated[
    str,
    Field(pattern=rf"^(0|{DURATION})$"),
    passing(parse_duration, DURATION_ACCEPTED),
    accepted(DURATION_ACCEPTED),
]
InstantText = Annotated[
    str,
    passing(parse_instant, ""),
    accepted('an instant such as "2026-11-21T08:00:00Z"'),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
QuantityText = Annotated[
    int | str,
    accepted('a quantity such as "500m" or "32Gi"'),
    WithJsonSchema({"x-kubernetes-int-or-string": True}),
]
RawObject = Annotated[
    dict[str, Any],
    accepted("an object"),
    WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
]
EmbeddedObject = Annotated[
    dict[str, Any],
    accepted("a Kubernetes object"),
    WithJsonSchema(
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-embedded-resource": True,
        }
    ),
]


class Metadata(Shape):
    """What every object has: only what people write is looked at."""

    name: DnsName | None = None
    generate_name: str | None = None
    namespace: DnsLabel | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class Resource(Shape):
    """What the objects of all kinds begin with."""

    api_version: str | None = None
    kind: str | None = None
    metadata: Metadata

    def to_wire(self) -> Obj:
        """The object as JSON: what was written, unknown fields included, and no defaults."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class ConditionShape(Shape):
    """One condition of a status, as metav1.Condition has it."""

    type: Annotated[str, Field(max_length=316, pattern=LABEL_KEY)]
    status: Annotated[str, Field(pattern=r"^(True|False|Unknown)$")]
    reason: Annotated[
        str,
        Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE)]
    last_transition_time: InstantText
    observed_generation: Annotated[int, Field(ge=0, le=INT64)] | None = None


Conditions = Annotated[list[ConditionShape], Field(json_schema_extra=list_map("type"))]


class Requirement(Shape):
    """One test of one key."""

    key: str
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: list[str] | None = None


class LabelSelector(Shape):
    """Matches labels: every entry must hold; empty matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None


class ClaimSelector(Shape):
    """Matches cluster claims: every entry must hold."""

    match_expressions: list[Requirement] | None = None


_UNIONS = (types.UnionType, Union)  # ``Annotated[...] | None`` is the older of the two


def shape_inside(annotation: Any) -> tuple[type[Shape] | None, bool]:
    """The shape that a field holds, and whether it holds a list of them."""
    if get_origin(annotation) in _UNIONS:
        for option in get_args(annotation):
            found = shape_inside(option)
            if found[0] is not None:
                return found
        return None, False
    if hasattr(annotation, "__metadata__"):  # Annotated
        return shape_inside(get_args(annotation)[0])
    if get_origin(annotation) is list:
        return shape_inside(get_args(annotation)[0])[0], True
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return annotation, False
    return None, False
