"""`rollout version`."""

import platform

import click

from rollout import __version__
from rollout.cli.options import shared_without_hub
from rollout.cli.text import say


@click.command()
@shared_without_hub
def version() -> None:
    """Print the version."""
    say(f"rollout {__version__} (Python {platform.python_version()})")
