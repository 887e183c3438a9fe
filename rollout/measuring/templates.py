"""Puts the values of arguments into what a template measures."""

import re
from collections.abc import Mapping
from typing import Any

ARGUMENT = re.compile(r"\{\{\s*args\.([A-Za-z0-9_.-]+)\s*\}\}")


def arguments_in(value: Any) -> frozenset[str]:
    """The arguments that the strings in a value name."""
    if isinstance(value, str):
        return frozenset(ARGUMENT.findall(value))
    if isinstance(value, dict):
        return frozenset().union(*map(arguments_in, value.values()))
    if isinstance(value, list):
        return frozenset().union(*map(arguments_in, value))
    return frozenset()


def with_arguments(value: Any, arguments: Mapping[str, str]) -> Any:
    """The value with these arguments put into its strings; others stay as they are."""
    if isinstance(value, str):
        return ARGUMENT.sub(lambda match: arguments.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: with_arguments(inner, arguments) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_arguments(inner, arguments) for inner in value]
    return value
