"""Turns pydantic's errors into problems: the field, its value, and what is accepted."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from rollout.model.problems import Problem
from rollout.model.wording import nearest

REQUIRED = "this field is required"
NO_SUCH_FIELD = "there is no such field"
SAID = "said"
"""The attribute in which the validator of a field has the words for what it accepts."""

Location = tuple[int | str, ...]

_NUMBER = re.compile(r"a whole number(?!.*percentage)")
_MAPS = frozenset(
    {"matchLabels", "labels", "annotations", "capacity", "allocatable", "nodeSelector", "data"}
)
_WORDS = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_unicode": "a string of whole characters",
    "string_too_short": "a string that is not empty",
}


def refusal(words: str, *, cuts: bool = True) -> PydanticCustomError:
    """The error that a validator raises to say what is accepted.

    Args:
        cuts: whether a stored object cannot be read with the value (`rollout.api.reading`).
    """
    return PydanticCustomError("accepted", "{words}", {"words": words, "cuts": cuts})


def problems_of(
    error: ValidationError, at: str = "", model: type[BaseModel] | None = None
) -> list[Problem]:
    """Every bad field, in the order of the model's fields and each once.

    Args:
        at: where in the object the part stands that was validated.
        model: its model: says what a missing field accepts, and which fields there are.
    """
    found: dict[str, Problem] = {}
    for each in error.errors(include_url=False):
        location = each["loc"]
        if each["type"] == "extra_forbidden":
            words = instead(str(location[-1]), sorted(_fields(model, location[:-1])))
            problem = Problem(path_of(location, at), each["input"], f"{NO_SUCH_FIELD}; {words}")
        elif each["type"] == "missing":
            field = _fields(model, location[:-1]).get(str(location[-1]))
            problem = Problem(path_of(location, at), None, _said(field))
        else:
            problem = _problem(each, at)
        found[problem.path] = problem
    return list(found.values())


def _fields(model: type[BaseModel] | None, location: Location) -> dict[str, FieldInfo]:
    """The fields of the model at a place, by their names on the wire."""
    for part in location:
        if isinstance(part, str) and model is not None:
            field = _by_name(model).get(part)
            model = model_in(field) if field is not None else None
    return _by_name(model) if model is not None else {}


def _by_name(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _said(field: FieldInfo | None) -> str:
    """What a field that is missing accepts, where its validator says so."""
    marks = reversed(field.metadata) if field is not None else ()
    said = (getattr(getattr(mark, "func", None), SAID, None) for mark in marks)
    return next((words for words in said if words is not None), REQUIRED)


def instead(name: str, known: Sequence[str]) -> str:
    """What to write instead of a name that nobody knows."""
    meant = nearest(name, known)
    return f"did you mean {meant}?" if meant else f"accepted here: {', '.join(known)}"


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside a field, ``X | None``, ``tuple[X, ...]``, or what a mark says is inside."""
    if isinstance(annotation, FieldInfo):
        inner = (*annotation.metadata, annotation.annotation)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    else:
        inner = (getattr(annotation, "what", None), *get_args(annotation))
    found = (model_in(each) for each in inner if each is not None)
    return next((each for each in found if each is not None), None)


def _problem(error: ErrorDetails, at: str) -> Problem:
    location = error["loc"]
    path = path_of(location, at)
    value = error["input"]
    words = _words(error, value)
    if isinstance(value, str) and value.isdecimal() and _NUMBER.match(words):
        words = f"{words}, without quotes"
    return Problem(path, value, words)


def _words(error: ErrorDetails, value: object) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _WORDS:
        return _WORDS[kind]
    match kind:
        case "accepted":
            return str(context["words"])
        case "string_type":
            quoted = isinstance(value, int | float)
            return "a string: put it in quotes" if quoted else "a string"
        case "literal_error" | "enum":
            choices = [c for c in re.findall(r"'([^']*)'", str(context["expected"])) if c]
            return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
        case "greater_than":
            return f"a number above {context['gt']:g}"
        case "greater_than_equal" | "less_than_equal":
            bound = context.get("ge", context.get("le"))
            return f"at {'least' if kind.startswith('g') else 'most'} {bound}"
        case "too_short" | "too_long":
            least = kind == "too_short"
            count = context["min_length" if least else "max_length"]
            entries = "entry" if count == 1 else "entries"
            return f"at {'least' if least else 'most'} {count} {entries}"
        case "string_too_long":
            return f"at most {context['max_length']} characters"
        case "string_pattern_mismatch":
            return f"text of the form {context['pattern']}"
        case _:
            message = error["msg"].removeprefix("Value error, ")
            return message[:1].lower() + message[1:]


def path_of(location: Iterable[int | str], at: str = "") -> str:
    """A location as people write it: ``spec.tolerations[0].key``, ``metadata.labels[a/b]``."""
    path, inside_map = at, False
    for part in location:
        if part == "[key]":
            continue
        if isinstance(part, int) or inside_map:
            path += f"[{part}]"
            inside_map = False
        else:
            path += f".{part}" if path else part
            inside_map = part in _MAPS
    return path
