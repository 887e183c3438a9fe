"""Picks objects by the label and field selectors of kubectl."""

import re
from collections.abc import Callable

from rollout.errors import Invalid
from rollout.model.kinds import Obj
from rollout.model.selectors import Requirement, Selector, is_label_key, is_label_value

_SET = re.compile(r"\A(\S+)\s+(in|notin)\s*\(([^()]*)\)\Z")
_EQUALITY = re.compile(r"\A([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)\Z")
_EXISTS = re.compile(r"\A(!?)\s*([^\s=!()]+)\Z")
_COMMA = re.compile(r",(?![^()]*\))")  # outside parentheses
FIELDS = ("metadata.name", "metadata.namespace")


def parse_labels(text: str) -> Selector:
    """Compile ``a=b,c!=d,e in (x,y),f notin (z),g,!h``. Raises: Invalid, naming the bad part."""
    parts = [part.strip() for part in _COMMA.split(text)] if text.strip() else []
    return Selector(tuple(_requirement(part) for part in parts))


def _requirement(part: str) -> Requirement:
    if found := _SET.match(part):
        values = frozenset(value.strip() for value in found[3].split(","))
        requirement = Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    elif found := _EQUALITY.match(part):
        operator = "NotIn" if found[2] == "!=" else "In"
        requirement = Requirement(found[1], operator, frozenset({found[3]}))
    elif found := _EXISTS.match(part):
        requirement = Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    else:
        raise Invalid(f"{part!r} is not a label selector: write key=value, key in (a,b) or key")
    if not is_label_key(requirement.key) or not all(map(is_label_value, requirement.values)):
        raise Invalid(f"{part!r} is not a label selector: its key or a value is not a valid label")
    return requirement


def parse_fields(text: str) -> Callable[[Obj], bool]:
    """Compile ``metadata.name=a,metadata.namespace!=b``. Raises: Invalid for any other field."""
    wanted: list[tuple[str, bool, str]] = []
    for part in (p.strip() for p in text.split(",") if p.strip()):
        found = _EQUALITY.match(part)
        if found is None or found[1] not in FIELDS:
            raise Invalid(f"{part!r} is not a field selector: the fields are {', '.join(FIELDS)}")
        wanted.append((found[1].removeprefix("metadata."), found[2] != "!=", found[3]))

    def matches(obj: Obj) -> bool:
        meta = obj["metadata"]
        return all((meta.get(field, "") == value) is equal for field, equal, value in wanted)

    return matches
