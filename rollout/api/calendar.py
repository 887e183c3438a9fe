"""How a calendar is written, and what it says. Calendar and ClusterCalendar have one model."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from rollout.api.fields import mapping, text
from rollout.api.placement import RequiredClusterSelectorShape
from rollout.api.wire import (
    Conditions,
    DnsLabel,
    InstantText,
    LabelKey,
    LabelSelector,
    Shape,
    WireObject,
    accepted,
    list_map,
    passing,
)
from rollout.api.words import problems_of, refusal
from rollout.calendars.calendar import (
    DEFAULT_BLOCKS,
    DEFAULT_ZONE,
    Block,
    Calendar,
    WorkloadFilter,
    ZoneSource,
)
from rollout.calendars.schedules import SCHEDULE_ACCEPTED, parse_schedule
from rollout.calendars.windows import (
    DURATION_ACCEPTED,
    MOMENT_ACCEPTED,
    CalendarWindow,
    Dated,
    Recurring,
    WindowAction,
    parse_moment,
    parse_window_duration,
)
from rollout.calendars.zones import find_zone
from rollout.model.kinds import Obj
from rollout.model.selectors import EVERYTHING

ZONE_ACCEPTED = 'the name of an IANA time zone such as "Europe/Berlin"'
ZoneText = Annotated[
    str, Field(max_length=64), passing(find_zone, ZONE_ACCEPTED), accepted(ZONE_ACCEPTED)
]
ScheduleText = Annotated[
    str,
    Field(max_length=256),
    passing(parse_schedule, SCHEDULE_ACCEPTED),
    accepted(SCHEDULE_ACCEPTED),
]
MomentText = Annotated[
    str, Field(max_length=32), passing(parse_moment, MOMENT_ACCEPTED), accepted(MOMENT_ACCEPTED)
]
WindowDuration = Annotated[
    str,
    Field(max_length=64),
    passing(parse_window_duration, DURATION_ACCEPTED),
    accepted(DURATION_ACCEPTED),
]
ENDS_ACCEPTED = "either schedule and duration, or from and until"
LATER_ACCEPTED = "an until that is later than from"


class WindowShape(Shape, use_attribute_docstrings=True):
    """A window: it opens at each start of a schedule, or once."""

    name: DnsLabel
    action: Literal["Allow", "Deny"]
    """Where any Allow concerns a cluster, it is closed outside all of them. A Deny always wins."""
    schedule: ScheduleText | None = None
    """Starts, as five fields of cron, in local time."""
    duration: WindowDuration | None = None
    """How long it stays open after each start, in elapsed time."""
    from_: Annotated[MomentText | None, Field(alias="from")] = None
    """Local time, or an instant where it carries an offset."""
    until: MomentText | None = None
    reason: Annotated[str, Field(max_length=1024)] | None = None

    @model_validator(mode="after")
    def _has_one_kind_of_ends(self) -> Self:
        recurs = self.schedule is not None, self.duration is not None
        dated = self.from_ is not None, self.until is not None
        if (recurs, dated) not in (((True, True), (False, False)), ((False, False), (True, True))):
            raise refusal(ENDS_ACCEPTED)
        if self.from_ and self.until:
            start, end = parse_moment(self.from_), parse_moment(self.until)
            same_kind = start and end and (start.tzinfo is None) == (end.tzinfo is None)
            if start and end and same_kind and start >= end:
                raise refusal(LATER_ACCEPTED)
        return self

    def to_model(self) -> CalendarWindow:
        """The window. Raises: ValueError where the ends are missing, which validation rules out."""
        when: Recurring | Dated
        if self.schedule is not None and self.duration is not None:
            schedule = parse_schedule(self.schedule)
            duration = parse_window_duration(self.duration)
            if schedule is None or duration is None:
                raise ValueError(ENDS_ACCEPTED)
            when = Recurring(schedule, duration)
        else:
            start, end = parse_moment(self.from_ or ""), parse_moment(self.until or "")
            if start is None or end is None:
                raise ValueError(ENDS_ACCEPTED)
            when = Dated(start, end)
        return CalendarWindow(self.name, WindowAction(self.action), when, self.reason or "")


class CalendarWorkloadsShape(Shape, use_attribute_docstrings=True):
    """Which workloads are concerned: those of which all of this is true."""

    kinds: list[Literal["ManifestWorkReplicaSet", "ClusterManagementAddOn"]] | None = None
    namespace_selector: LabelSelector | None = None
    """Matches the labels of namespaces. What has no namespace is left out."""
    selector: LabelSelector | None = None
    """Matches the labels of workloads."""

    def to_model(self) -> WorkloadFilter:
        return WorkloadFilter(
            frozenset(self.kinds or ()), self.namespace_selector, self.selector or EVERYTHING
        )


class ZoneSourceShape(Shape):
    """Where each cluster's time zone stands. In a label a dot stands for the slash: Europe.Berlin."""

    label: LabelKey | None = None
    claim: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.label is None) == (self.claim is None):
            raise refusal("either a label or a claim")
        return self


class CalendarSpec(Shape, use_attribute_docstrings=True):
    """When clusters may be touched."""

    workloads: CalendarWorkloadsShape | None = None
    """All where unset."""
    clusters: RequiredClusterSelectorShape | None = None
    """All where unset."""
    time_zone: ZoneText | None = None
    """UTC where neither this nor timeZoneFrom is set."""
    time_zone_from: ZoneSourceShape | None = None
    """The zone of each cluster; timeZone is for those that have none. A cluster of which no zone is
    known is closed."""
    blocks: list[Literal["Touch", "Removal", "Rollback", "Restore"]] | None = None
    """What is kept from clusters while they are closed: Touch and Removal where unset."""
    windows: Annotated[
        list[WindowShape],
        Field(min_length=1, max_length=64, json_schema_extra=list_map("name")),
    ]

    @model_validator(mode="after")
    def _has_each_name_once(self) -> Self:
        if len({window.name for window in self.windows}) < len(self.windows):
            raise refusal("windows of different names")
        return self

    def zone_source(self) -> ZoneSource:
        source = self.time_zone_from
        if source is None:
            return ZoneSource(self.time_zone or DEFAULT_ZONE)
        return ZoneSource(self.time_zone or "", source.label or "", source.claim or "")


class ZoneOpeningShape(Shape, use_attribute_docstrings=True):
    """How a calendar stands in one zone."""

    time_zone: str
    open: bool
    until: InstantText | None = None
    """The next opening or closing; absent where there is none in the next 400 days."""
    window: str | None = None
    """The window that closes; absent where it is closed outside of all that allow."""


class CalendarStatus(Shape, use_attribute_docstrings=True):
    """How a calendar stands. Written by the controller, at each opening and closing."""

    conditions: Conditions | None = None
    open: str | None = None
    """In how many of its zones it is open: 2/3."""
    next_change: InstantText | None = None
    next: (
        Annotated[list[ZoneOpeningShape], Field(json_schema_extra=list_map("timeZone"))] | None
    ) = None


class CalendarObject(WireObject):
    """When clusters may be touched, for the workloads of its namespace or of the whole hub."""

    spec: CalendarSpec
    status: CalendarStatus | None = None

    def to_model(self) -> Calendar:
        """The calendar that this describes."""
        spec = self.spec
        return Calendar(
            name=self.metadata.name or "",
            namespace=self.metadata.namespace or "",
            windows=tuple(window.to_model() for window in spec.windows),
            zones=spec.zone_source(),
            clusters=None if spec.clusters is None else spec.clusters.to_model(),
            workloads=WorkloadFilter() if spec.workloads is None else spec.workloads.to_model(),
            blocks=frozenset(map(Block, spec.blocks)) if spec.blocks else DEFAULT_BLOCKS,
        )


def decode_calendar(obj: Obj) -> Calendar:
    """A calendar. One of which any field is bad has ``problems``, and no windows."""
    try:
        return CalendarObject.model_validate(obj).to_model()
    except ValidationError as error:
        meta = mapping(obj.get("metadata"))
        return Calendar(
            name=text(meta.get("name")),
            namespace=text(meta.get("namespace")),
            problems=tuple(problems_of(error)),
        )
