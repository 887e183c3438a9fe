"""The wire form of Calendar and ClusterCalendar, which share one model."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from rollout.api.fields import listed, mapping, text
from rollout.api.placement import RequiredClusterSelectorShape
from rollout.api.wire import (
    Conditions,
    DnsLabel,
    InstantText,
    LabelKey,
    LabelSelector,
    RuledShape,
    Shape,
    WireObject,
    WorkloadKindName,
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
from rollout.model.problems import Problem
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


class WindowShape(RuledShape):
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

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        recurs = [name for name in ("schedule", "duration") if written.get(name) is not None]
        dated = [name for name in ("from", "until") if written.get(name) is not None]
        if sorted((len(recurs), len(dated))) != [0, 2]:
            one = (recurs if len(dated) == 2 else dated)[:1]
            yield Problem("".join(one), written.get(one[0]) if one else written, ENDS_ACCEPTED)
            return
        start, end = (parse_moment(text(written.get(name))) for name in ("from", "until"))
        same_kind = start and end and (start.tzinfo is None) == (end.tzinfo is None)
        if start and end and same_kind and start >= end:
            yield Problem("until", written["until"], LATER_ACCEPTED)

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


class CalendarWorkloadsShape(Shape):
    """Which workloads are concerned: those of which all of this is true."""

    kinds: list[WorkloadKindName] | None = None
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


class CalendarSpec(RuledShape):
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
    blocks: Annotated[
        list[Literal["Touch", "Removal", "Rollback", "Restore"]] | None,
        Field(json_schema_extra={"default": ["Touch", "Removal"]}),  # a column of tables shows it
    ] = None
    """What is kept from clusters while they are closed: Touch and Removal where unset."""
    windows: Annotated[
        list[WindowShape],
        Field(min_length=1, max_length=64, json_schema_extra=list_map("name")),
    ]

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        seen: set[str] = set()
        for i, window in enumerate(map(mapping, listed(written.get("windows")))):
            name = text(window.get("name"))
            if name in seen:
                yield Problem(f"windows[{i}].name", name, "a name that no other window has")
            seen |= {name} - {""}

    def zone_source(self) -> ZoneSource:
        source = self.time_zone_from
        if source is None:
            return ZoneSource(self.time_zone or DEFAULT_ZONE)
        return ZoneSource(self.time_zone or "", source.label or "", source.claim or "")


class ZoneOpeningShape(Shape):
    """How a calendar stands in one zone."""

    time_zone: str
    open: bool
    until: InstantText | None = None
    """The next opening or closing; absent where there is none in the next 400 days."""
    window: str | None = None
    """The window that closes; absent where it is closed outside of all that allow."""


class CalendarStatus(Shape):
    """How a calendar stands. Written by the controller, at each opening and closing."""

    conditions: Conditions | None = None
    open: str | None = None
    """In how many of its zones it is open: 2/3."""
    next_change: InstantText | None = None
    next: (
        Annotated[list[ZoneOpeningShape], Field(json_schema_extra=list_map("timeZone"))] | None
    ) = None
    last_readable: str | None = None
    """The last spec that could be read, as JSON: it decides while the present one cannot be read."""
    unreadable_since: InstantText | None = None
    """Since when the spec cannot be read: clusters stay as they were then."""


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
