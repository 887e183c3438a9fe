"""Runs the commands as ``kubectl rollouts ...``, completion included.

kubectl runs an executable of that name, and ``kubectl_complete-rollouts`` for completion. As with kubectl itself,
the current context of the kubeconfig is meant where nothing else is named; ROLLOUT_STATE does not count.
"""

import os
import sys
from typing import NoReturn

from click.shell_completion import ShellComplete

from rollout.cli.main import cli, prepare
from rollout.cli.options import STATE_VARIABLE, Options
from rollout.cli.text import put

PROGRAM = "kubectl rollouts"
NO_FILES = ":4"
"""The last line of an answer, in the words of kubectl's completion: names of files are none of these."""


def main() -> NoReturn:
    """The executable ``kubectl-rollouts``."""
    prepare()
    os.environ.pop(STATE_VARIABLE, None)
    cli.main(prog_name=PROGRAM, obj=Options(current=True))


def complete() -> None:
    """The executable ``kubectl_complete-rollouts``: the words typed so far, the last of them begun."""
    prepare()
    os.environ.pop(STATE_VARIABLE, None)
    *words, begun = sys.argv[1:] or [""]
    completing = ShellComplete(cli, {"obj": Options(current=True)}, PROGRAM, "")
    for item in completing.get_completions(words, begun):
        put(f"{item.value}\t{item.help}" if item.help else item.value)
    put(NO_FILES)
