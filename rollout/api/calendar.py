"""What does a Calendar or a ClusterCalendar say? Wire objects to values."""

from rollout.api.fields import mapping, text
from rollout.api.shapes.calendar import CalendarObject
from rollout.api.validation import validate
from rollout.calendars.calendar import Calendar
from rollout.model.kinds import Obj


def decode_calendar(obj: Obj) -> Calendar:
    """A calendar. One of which any field is bad has ``problems``, and no windows."""
    problems = validate(obj)
    if not problems:
        return CalendarObject.model_validate(obj).to_model()
    meta = mapping(obj.get("metadata"))
    return Calendar(
        name=text(meta.get("name")),
        namespace=text(meta.get("namespace")),
        problems=tuple(problems),
    )
