"""Turns the errors of pydantic into problems: the field, its value, and what is accepted there."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from rollout.model.problems import Problem
from rollout.model.spelling import nearest

REQUIRED = "this field is required"

_NUMBER = re.compile(r"a whole number(?!.*percentage)")
_MAPS = frozenset(
    {"matchLabels", "labels", "annotations", "capacity", "allocatable", "nodeSelector", "data"}
)
_WORDS = {
    "missing": REQUIRED,
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
        model: its model, where that allows no unknown fields.
    """
    found: dict[str, Problem] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "extra_forbidden":
            words = _unknown(each["loc"], model)
            problem = Problem(path_of(each["loc"], at), each["input"], words)
        else:
            problem = _problem(each, at)
        found[problem.path] = problem
    return list(found.values())


def _unknown(location: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    """What to write instead of a field that there is not."""
    for part in location[:-1]:
        if isinstance(part, str) and model is not None:
            fields = model.model_fields.items()
            model = next((model_in(f.annotation) for n, f in fields if part in (f.alias, n)), None)
    known = [f.alias or name for name, f in model.model_fields.items()] if model else []
    return f"there is no such field; {instead(str(location[-1]), sorted(known))}"


def instead(name: str, known: Sequence[str]) -> str:
    """What to write instead of a name that nobody knows."""
    meant = nearest(name, known)
    return f"did you mean {meant}?" if meant else f"accepted here: {', '.join(known)}"


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside ``X | None``, ``tuple[X, ...]`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := model_in(a)) is not None), None)


def _problem(error: ErrorDetails, at: str) -> Problem:
    location = error["loc"]
    path = path_of(location, at)
    if error["type"] == "missing":
        return Problem(path, None, REQUIRED)
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
