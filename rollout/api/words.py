"""Turns the errors of pydantic into problems: the field, its value, and what is accepted there."""

import re
from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rollout.model.problems import Problem

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
    "float_type": "a number",
    "string_too_short": "a string that is not empty",
}


def problems_of(error: ValidationError, at: str = "") -> list[Problem]:
    """Every bad field, in the order of the model's fields and each once.

    Args:
        at: where in the object the part stands that was validated.
    """
    found: dict[str, Problem] = {}
    for each in error.errors(include_url=False):
        problem = _problem(each, at)
        found[problem.path] = problem
    return list(found.values())


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
