"""The building blocks of the wire models, and how a field of a stored object is read.

A model describes what people write, once: from it follow what `validate` refuses, the CRDs, their
defaults, and what the controller reads. It keeps fields that it does not know. Its field defaults are
the defaults that the CRD fills in; None means that nothing is filled in. Values are not converted:
"5" is no number. Wherever a field may be absent it may be null, which means the same.

An object is looked at in one of two ways. What somebody hands in is checked in full. Of what a server
holds already (context `STORED`) the controller checks only what it will act on.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from rollout.api.words import REQUIRED, SAID, refusal
from rollout.model.amounts import AMOUNT_ACCEPTED, DURATION_ACCEPTED, parse_amount, parse_duration
from rollout.model.conditions import LONGEST_MESSAGE
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.selectors import (
    KEY_ACCEPTED,
    VALUE_ACCEPTED,
    Requirement,
    Selector,
    is_label_key,
    is_label_value,
    parse_selector,
)

INT32 = 2**31 - 1
INT64 = 2**63 - 1

STORED: Final = "stored"
"""The validation context of an object that a server holds already."""
MENDED: Final = "mended"
"""The same, once its problems are known: rules between fields of what is kept are not asked again."""
_KEPT = (STORED, MENDED)


class Shape(BaseModel):
    """A part of an object as people write it: camelCase on the wire, unknown fields kept."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="allow",
        strict=True,
        defer_build=True,
    )

    counts_whole: ClassVar[bool] = False
    """Whether an object with one bad field is left out: without the field it would ask for more."""


class RuledShape(Shape):
    """A part of which some fields depend on others."""

    @classmethod
    @abstractmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        """What is wrong between the fields; paths are relative. It never raises, whatever is written."""

    @model_validator(mode="wrap")
    @classmethod
    def _keep_rules(
        cls, value: Any, handler: ModelWrapValidatorHandler["RuledShape"], info: ValidationInfo
    ) -> Any:
        """Name the bad fields and the broken rules together."""
        is_asked = isinstance(value, dict) and (cls.counts_whole or info.context != MENDED)
        broken = list(cls.broken_rules(value)) if is_asked else []
        try:
            found = handler(value)
        except ValidationError as error:
            if broken:
                raise _raised(broken, error, cuts=cls.counts_whole) from None
            raise
        if broken:
            raise _raised(broken, cuts=cls.counts_whole)
        return found


def _raised(
    problems: Iterable[Problem], beside: ValidationError | None = None, *, cuts: bool = True
) -> ValidationError:
    """The error of pydantic's own for these problems, and for those that it found itself.

    ``cuts``: whether what is bad cannot be kept in a stored object.
    """
    lines: list[InitErrorDetails] = []
    for each in beside.errors(include_url=False) if beside is not None else ():
        context = each.get("ctx", {})
        known = refusal(**context) if each["type"] == "accepted" else each["type"]
        lines.append(
            InitErrorDetails(type=known, loc=each["loc"], input=each["input"], ctx=context)
        )
    lines += [  # last, since of two errors of one field the last is told
        InitErrorDetails(
            type=refusal(problem.accepted, cuts=cuts),
            loc=(problem.path,) if problem.path else (),
            input=problem.value,
        )
        for problem in problems
    ]
    return ValidationError.from_exception_data("", lines)


@dataclass(frozen=True, slots=True)
class IfBad:
    """What stands for a stored field that cannot be read; others get their default."""

    value: Any


@dataclass(frozen=True, slots=True)
class Inside:
    """Keeps a value as it is written, the same object; ``what`` describes what is inside.

    Of what is handed in the inside is checked, of what is stored the outer type alone.
    """

    what: Any
    outer: type = dict

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def check(value: Any, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
            if info.context not in _KEPT or not isinstance(value, self.outer):
                inner(value)
            return value

        return core_schema.with_info_wrap_validator_function(
            check, handler.generate_schema(self.what)
        )


@dataclass(frozen=True, slots=True)
class Selecting:
    """A selector, compiled as it is read; ``what`` describes how it is written."""

    what: type[Shape]
    plain: bool = False  # keys and values are any strings, as agents report claims

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def parse(value: Any, _: ValidatorFunctionWrapHandler) -> Any:
            if isinstance(value, Selector):
                return value
            found, problems = parse_selector(value, "", plain=self.plain)
            if problems:
                raise _raised(
                    Problem(each.path.removeprefix("."), each.value, each.accepted)
                    for each in problems
                )
            return found

        return core_schema.no_info_wrap_validator_function(
            parse, handler.generate_schema(self.what)
        )


def _absent_if_blank(value: Any, info: ValidationInfo) -> Any:
    return None if value == "" and info.context in _KEPT else value


BLANK = BeforeValidator(_absent_if_blank)
"""In what is stored "" stands for the default, as typed clients write it."""


def _passed_over(value: Any, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    return None if info.context in _KEPT else inner(value)


UNREAD = WrapValidator(_passed_over)
"""A field on which the controller does not act: of what is stored it is not looked at."""


def only_chosen(value: Any, info: ValidationInfo, members: Iterable[str]) -> Any:
    """Of what is stored, the object without the members that its type does not choose."""
    if info.context not in _KEPT or not isinstance(value, dict):
        return value
    unchosen = set(members)
    return {name: inner for name, inner in value.items() if name not in unchosen}


def accepted(words: str) -> WrapValidator:
    """Say ``words`` of a value that is refused, instead of what pydantic would."""

    def check(value: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except ValidationError:
            raise refusal(words) from None

    setattr(check, SAID, words)
    return WrapValidator(check)


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


WorkloadKindName = Literal["ManifestWorkReplicaSet", "ClusterManagementAddOn"]
"""The names of `rollout.model.kinds.WORKLOADS`."""
Name = Annotated[str, Field(min_length=1), accepted("text of at least 1 character")]
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
    passing(is_label_key, ""),
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
TaintValue = Annotated[str, Field(max_length=1024)]
"""The value of a taint or a toleration."""
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


class MetadataShape(RuledShape):
    """What every object has: only what people write is looked at."""

    name: DnsName | None = None
    generate_name: str | None = None
    namespace: DnsLabel | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if not written.get("name") and not written.get("generateName"):
            yield Problem("name", None, REQUIRED)
        labels, notes = written.get("labels"), written.get("annotations")
        for key, value in labels.items() if isinstance(labels, dict) else ():
            if not isinstance(key, str) or not is_label_key(key):
                yield Problem(f"labels[{key}]", key, KEY_ACCEPTED)
            elif isinstance(value, str) and not is_label_value(value):
                yield Problem(f"labels[{key}]", value, VALUE_ACCEPTED)
        for key in notes if isinstance(notes, dict) else ():
            if not isinstance(key, str) or not is_label_key(key.lower()):
                yield Problem(f"annotations[{key}]", key, KEY_ACCEPTED)


class WireObject(Shape):
    """What the objects of all kinds begin with."""

    api_version: str | None = None
    kind: str | None = None
    metadata: MetadataShape


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


class RequirementShape(Shape):
    """One test of one key."""

    key: str
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: list[str] | None = None


class LabelSelectorShape(Shape):
    """Matches labels: every entry must hold; empty matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[RequirementShape] | None = None


class ClaimSelectorShape(Shape):
    """Matches cluster claims: every entry must hold."""

    match_expressions: list[RequirementShape] | None = None


NOTHING = Selector((Requirement("never", "In"),))
"""Matches no labels: stands for a selector that could not be read in full.

Leaving out only the bad requirement would match more than anybody asked for.
"""
LabelSelector = Annotated[Selector, Selecting(LabelSelectorShape)]
ClaimSelector = Annotated[Selector, Selecting(ClaimSelectorShape, plain=True)]
