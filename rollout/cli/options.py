"""The options that all commands share, and where output goes.

The shared options may stand before the command or after it; the last one wins.
"""

import getpass
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from rollout.cli.text import say
from rollout.errors import RolloutError
from rollout.model.amounts import DURATION_ACCEPTED, parse_duration
from rollout.model.instants import parse_instant

F = TypeVar("F", bound=Callable[..., Any])

STATE_VARIABLE = "ROLLOUT_STATE"


class Stop(RolloutError):
    """Ends a command with an exit code, after the messages given: one line each, on stderr."""

    def __init__(self, code: int, *messages: str) -> None:
        super().__init__(*messages)
        self.code = code


@dataclass(slots=True, kw_only=True)
class Options:
    """The shared options, filled in as the command line is read."""

    state: str = ""
    kubeconfig: str = ""
    context: str = ""
    no_color: bool = False
    verbose: int = 0
    current: bool = False
    """Where nothing is named, the current context of the kubeconfig is meant (`kubectl rollouts`)."""

    @property
    def on_server(self) -> bool:
        """Whether an API server is meant, not a state file."""
        return bool(self.kubeconfig or self.context) or (self.current and not self.state)

    @property
    def color(self) -> bool:
        return not (self.no_color or os.environ.get("NO_COLOR"))

    @property
    def live(self) -> bool:
        """Whether stdout is a terminal that a picture can be redrawn on, and no log runs through it."""
        able = os.environ.get("TERM", "") not in ("", "dumb")
        return able and not self.verbose and sys.stdout.isatty()


def user() -> str:
    """Who asks, as this machine knows them: ``uid 1000`` where they have no name there."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        return f"uid {os.getuid()}"


def options() -> Options:
    """The shared options of the command that is running."""
    return click.get_current_context().ensure_object(Options)


def was_typed(name: str) -> bool:
    """Whether a shared option stands on the command line itself (not: in the environment)."""
    here: click.Context | None = click.get_current_context()
    while here is not None:
        if here.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return True
        here = here.parent
    return False


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value:
        setattr(ctx.ensure_object(Options), str(param.name), value)


def _keep_verbosity(ctx: click.Context, param: click.Parameter, value: int) -> None:
    _keep(ctx, param, value)
    with ctx.scope(cleanup=False):
        start_logging()


def _of_the_hub(*, hidden: bool) -> tuple[Callable[[F], F], ...]:
    return (
        click.option(
            "--kubeconfig",
            metavar="FILE",
            expose_value=False,
            callback=_keep,
            hidden=hidden,
            help="Work on the API server that this kubeconfig names.",
        ),
        click.option(
            "--context",
            metavar="NAME",
            expose_value=False,
            callback=_keep,
            hidden=hidden,
            help="Work on the API server of this context of the kubeconfig.",
        ),
        click.option(
            "--state",
            metavar="FILE",
            envvar=STATE_VARIABLE,
            show_envvar=True,
            expose_value=False,
            callback=_keep,
            hidden=hidden,
            help="The state file (SQLite) to work on.",
        ),
    )


_OF_ALL = (
    click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="No colours (also: NO_COLOR=1).",
    ),
    click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_keep_verbosity,
        help="Log what is done; -vv in detail.",
    ),
)


def shared(command: F) -> F:
    """Give a command the options that all commands have, in the order in which --help shows them."""
    return decorated(command, *_of_the_hub(hidden=False), *_OF_ALL)


def shared_without_hub(command: F) -> F:
    """The same for a command that works on no hub: it takes the options of one, and does not offer them."""
    return decorated(command, *_of_the_hub(hidden=True), *_OF_ALL)


def decorated(command: F, *decorators: Callable[[F], F]) -> F:
    """The command with these arguments and options; --help shows them in this order."""
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def start_logging() -> None:
    """Log to stderr as loudly as ``-v`` says; without it errors alone.

    Warnings of the engine are left out then: they are notes, which `run` shows in its own way.
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    level = {0: logging.ERROR, 1: logging.INFO}.get(options().verbose, logging.DEBUG)
    logging.getLogger().setLevel(level)


def complain(message: str) -> None:
    """One line on stderr that says what is wrong and what to do."""
    say(f"error: {' '.join(message.split())}", err=True)


namespace_option = click.option(
    "-n",
    "--namespace",
    metavar="NS",
    default="",
    help="The namespace; default where none is given.",
)
agents_option = click.option(
    "--agents",
    metavar="SCENARIO.yaml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How the simulated agents behave; default: the scenario among the files, else all"
    " are healthy.",
)
seed_option = click.option(
    "--seed", type=int, help="Seed of the random numbers, instead of the scenario's."
)


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    """The value of an option that takes a span of time, such as 90s or 1h30m."""
    if value is None:
        return None
    found = parse_duration(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not {DURATION_ACCEPTED}", ctx, param)
    return found


def files_option(*, required: bool = True) -> Callable[[F], F]:
    """``-f PATH``, as every command that reads files has it."""
    return click.option(
        "-f",
        "--filename",
        "paths",
        metavar="PATH",
        multiple=True,
        required=required,
        help="A YAML or JSON file, a directory of them, or - for stdin. May be given several times.",
    )


output_option: Callable[[F], F] = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How to print the answer.  [default: text]",
)


def instant_in(text: str, now: datetime, option: str) -> datetime | None:
    """An instant, or a span from now. Raises: UsageError."""
    if not text:
        return None
    span, instant = parse_duration(text), parse_instant(text)
    if span is not None:
        return now + span
    if instant is None:
        raise click.UsageError(
            f'{option} {text!r} is neither an instant such as "2026-11-21T08:00:00Z" nor '
            f"{DURATION_ACCEPTED}"
        )
    return instant
