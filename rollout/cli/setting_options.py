"""Gives each setting of the controller its flag and its environment variable."""

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import click

from rollout.cli.options import F
from rollout.settings import Settings

PREFIX = "ROLLOUT_"


def _option(name: str, field: Any) -> Callable[[Any], Any]:
    """The flag and the environment variable of one setting. What it may be is checked afterwards."""
    flag = "--" + name.replace("_", "-")
    words = f"{field.description}"
    default = field.default
    shown = f"  [default: {default}]" if default not in ("", True, False) else ""
    more: dict[str, Any] = {"envvar": PREFIX + name.upper(), "show_envvar": True, "default": None}
    if field.annotation is bool:
        on = "  [default: on]" if default else "  [default: off]"
        return click.option(f"{flag}/--no-{flag[2:]}", name, help=words + on, **more)
    if get_origin(field.annotation) is not None and isinstance(default, str):
        kind: Any = click.Choice([str(choice) for choice in get_args(field.annotation)])
    else:
        kind = field.annotation
    return click.option(flag, name, type=kind, help=words + shown, **more)


def with_settings(*names: str) -> Callable[[F], F]:
    """Give a command an option for each of these settings; for every one where none is named."""

    def decorate(command: F) -> F:
        for name, field in reversed(Settings.model_fields.items()):
            if not names or name in names:
                command = _option(name, field)(command)
        return command

    return decorate


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were typed, or stand in the environment."""
    return {name: value for name, value in values.items() if value is not None}
