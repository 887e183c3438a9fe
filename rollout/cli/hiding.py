"""Hides the data of Secrets in what is printed, unless a person asks for it."""

from collections.abc import Callable
from functools import lru_cache
from secrets import token_bytes
from typing import Any

import click

from rollout.model.secrets import KEY_BYTES, Masks

Veil = Callable[[Any], Any]
"""An object as it may be printed."""

show_secrets_option = click.option(
    "--show-secrets", is_flag=True, help="Show the data of Secrets, which is masked otherwise."
)


@lru_cache(maxsize=1)
def masks() -> Masks:
    """Those of this process: one value keeps one mask for as long as it runs, and no longer."""
    return Masks(token_bytes(KEY_BYTES))


def veil(*, show_secrets: bool) -> Veil:
    """What every object is put through before it is printed."""
    return _as_it_is if show_secrets else masks().over


def _as_it_is(value: Any) -> Any:
    return value
