"""Which rollout is this?"""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click

from rollout.cli.options import shared
from rollout.cli.text import say


@click.command()
@shared
def version() -> None:
    """Print the version."""
    say(f"rollout {_ours()} (Python {platform.python_version()})")


def _ours() -> str:
    try:
        return installed("rollout")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "uninstalled"
