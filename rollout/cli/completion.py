"""Prints the script by which a shell completes the commands."""

import click
from click.shell_completion import get_completion_class

from rollout.cli.options import Stop, shared_without_hub
from rollout.cli.text import put

HELP = """Print the completion script of a shell.

\b
bash   eval "$(rollout completion bash)"      in ~/.bashrc
zsh    eval "$(rollout completion zsh)"       in ~/.zshrc, after compinit
fish   rollout completion fish > ~/.config/fish/completions/rollout.fish
"""


@click.command(help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_without_hub
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what the shell is to read."""
    found = get_completion_class(shell)
    if found is None:
        raise Stop(1, f"there is no completion for {shell} in this version of click")
    put(found(ctx.find_root().command, {}, "rollout", "_ROLLOUT_COMPLETE").source())
