"""The list of commands; each is loaded only when it is called.

Exit codes: 0 done, 1 the command failed, 2 usage error; docs/cli.md has those of single commands.
"""

import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from rollout.cli.options import Stop, complain, shared
from rollout.cli.patience import at_work, printing
from rollout.cli.text import fit_output, put
from rollout.errors import RolloutError
from rollout.model.effects import EFFECTS
from rollout.model.wording import nearest

INTERRUPTED = 130  # as a shell reports a process that SIGINT ended

_COMMANDS = {  # where it is, and what it does; what one does first comes first
    "demo": ("rollout.cli.commands.running:demo", "Run the example with 310 clusters, at once."),
    "run": (
        "rollout.cli.commands.running:run",
        "Apply files and run their rollouts on this machine.",
    ),
    "validate": ("rollout.cli.commands.foreseeing:validate", "Check files, without a hub."),
    "diff": (
        "rollout.cli.commands.foreseeing:diff",
        "Show what applying files would change in what is stored, field by field.",
    ),
    "plan": (
        "rollout.cli.commands.foreseeing:plan",
        "Show what would happen if files were applied now.",
    ),
    "simulate": (
        "rollout.cli.commands.foreseeing:simulate_command",
        "Roll files out in virtual time, once or a thousand times.",
    ),
    "apply": ("rollout.cli.apply:apply", "Create or update objects from files."),
    "get": ("rollout.cli.commands.looking:get", "Show objects, or one workload as a tree."),
    "status": ("rollout.cli.commands.looking:status", "Show the status of a workload (mwrs, cma)."),
    "list": (
        "rollout.cli.commands.looking:list_command",
        "Show every workload (mwrs, cma) and how its rollout stands.",
    ),
    "explain": (
        "rollout.cli.commands.looking:explain",
        "Explain why something is in its present state and what would change it.",
    ),
    "describe": (
        "rollout.cli.commands.looking:describe",
        "Show all there is to know of a workload (mwrs, cma).",
    ),
    "render": (
        "rollout.cli.render:render",
        "Print the manifests that a cluster is to carry, with its own values put in.",
    ),
    "history": (
        "rollout.cli.commands.looking:history_command",
        "Show the revisions of a workload (mwrs, cma), newest first.",
    ),
    "dashboard": (
        "rollout.cli.dashboard:dashboard",
        "Show rollouts in a browser, and act on them.",
    ),
    "events": (
        "rollout.cli.commands.looking:events_command",
        "Show what happened, oldest first: to one workload, or to all of them.",
    ),
    "pause": ("rollout.cli.operating:pause_command", EFFECTS["pause"]),
    "resume": ("rollout.cli.operating:resume_command", EFFECTS["resume"]),
    "abort": ("rollout.cli.operating:abort_command", EFFECTS["abort"]),
    "retry": ("rollout.cli.operating:retry_command", EFFECTS["retry"]),
    "undo": ("rollout.cli.operating:undo_command", EFFECTS["undo"]),
    "approve": ("rollout.cli.operating:approve_command", EFFECTS["approve"]),
    "reject": ("rollout.cli.operating:reject_command", EFFECTS["reject"]),
    "skip": ("rollout.cli.operating:skip_command", EFFECTS["skip"]),
    "hold": ("rollout.cli.operating:hold_command", EFFECTS["hold"]),
    "release": ("rollout.cli.operating:release_command", EFFECTS["release"]),
    "freeze": ("rollout.cli.operating:freeze_command", EFFECTS["freeze"]),
    "unfreeze": ("rollout.cli.operating:unfreeze_command", EFFECTS["unfreeze"]),
    "override": ("rollout.cli.operating:override_command", EFFECTS["override"]),
    "calendar": (
        "rollout.cli.commands.calendars:calendar_command",
        "Show when calendars let clusters be touched.",
    ),
    "notify": (
        "rollout.cli.commands.notifying:notify_command",
        "Try the channels on which people are told of rollouts.",
    ),
    "replay": (
        "rollout.cli.replay:replay_command",
        "Make the decisions of a log again, and compare.",
    ),
    "delete": ("rollout.cli.delete:delete", "Delete objects, by name or by file."),
    "controller": (
        "rollout.cli.controller:controller",
        "Run the engine on a Kubernetes hub until it is told to stop.",
    ),
    "agents": (
        "rollout.cli.commands.running:agents_command",
        "Simulate the agents of clusters that have none.",
    ),
    "doctor": (
        "rollout.cli.commands.checking:doctor",
        "Check whether a controller can work on a hub.",
    ),
    "migrate": (
        "rollout.cli.migrate:migrate",
        "Take over what the first edition kept in ConfigMaps and ControllerRevisions.",
    ),
    "crds": (
        "rollout.cli.shipped:crds",
        "Print the CustomResourceDefinitions that a controller needs, as YAML.",
    ),
    "manifests": (
        "rollout.cli.shipped:manifests",
        "Write the kustomizations of the controller into FOLDER, a new one.",
    ),
    "completion": ("rollout.cli.completion:completion", "Print the completion script of a shell."),
    "version": ("rollout.cli.version:version", "Print the version."),
}


_PATIENT = frozenset(
    [
        "demo",
        "run",
        "validate",
        "diff",
        "plan",
        "simulate",
        "apply",
        "get",
        "status",
        "list",
        "explain",
        "describe",
        "render",
        "history",
        "events",
        "calendar",
        "replay",
        "delete",
    ]
)
"""What prints nothing for a while, or before it knows all of it."""


_ELSEWHERE = {
    "rollback": "undo",
    "promote": "approve",
    "stop": "abort",
    "cancel": "abort",
    "restart": "retry",
    "show": "get",
    "logs": "events",
    "cordon": "hold",
    "uncordon": "release",
}
"""What other tools call a command."""


class Commands(click.Group):
    """The group of all commands: loads them on demand, and says errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; a word that is nearly a command is answered with that."""
        meant = _ELSEWHERE.get(args[0]) or nearest(args[0], _COMMANDS)
        if args[0] not in _COMMANDS and meant and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command {args[0]!r}: did you mean {meant}?", ctx)
        if args[0] in _PATIENT and not ctx.resilient_parsing:
            at_work(args[0])
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command line. Commands return their exit code, None for 0."""
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except Stop as stop:
            for message in stop.args:
                complain(message)
            code = stop.code
        except RolloutError as fault:
            complain(str(fault))
            code = 1
        except OSError as fault:
            complain(f"{fault.filename or 'a file'}: {(fault.strerror or str(fault)).lower()}")
            code = 1
        except click.exceptions.NoArgsIsHelpError as fault:
            put(fault.format_message())
            code = 2
        except click.UsageError as fault:
            where = fault.ctx.command_path if fault.ctx else "rollout"
            complain(f"{_lowered(fault.format_message())} (see {where} --help)")
            code = 2
        except click.ClickException as fault:
            complain(_lowered(fault.format_message()))
            code = 1
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        finally:
            printing()
        sys.exit(code or 0)


def _lowered(message: str) -> str:
    """The message without its capital and its full stop, and with our words for a number, as ours are."""
    told = re.sub(r"is not a valid integer( range)?", "is not a whole number", message)
    return (told[:1].lower() + told[1:]).rstrip(".")


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@shared
def cli() -> None:
    """Bring one change to a fleet of Kubernetes clusters.

    Objects are kept in a state file (--state FILE, or ROLLOUT_STATE) or on an API server
    (--kubeconfig FILE, --context NAME).
    """


def _open_closed() -> None:
    """Give a process that was started without a stream (``>&-``) one that leads nowhere.

    Else the next file that is opened, the state file perhaps, would get the number of the stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  (open to the end)
            setattr(sys, name, stream)


def prepare() -> None:
    """What a process does before it reads its command line.

    It does not live long, and keeps nearly all that it makes: garbage is seldom looked for.
    """
    gc.set_threshold(50_000, 20, 100)
    _open_closed()
    fit_output()


def main() -> NoReturn:
    """The console script."""
    prepare()
    try:
        cli.main(prog_name="rollout")
    finally:
        gc.freeze()  # else Python looks through all that a command has read once more, to end
