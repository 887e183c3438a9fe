"""What does a command load before it does anything? Whoever asks for help waits for nothing else."""

import subprocess
import sys

import pytest

from rollout.cli.main import _COMMANDS

ENGINE = {
    "rollout.account.tree",
    "rollout.analysis.simulating",
    "rollout.analysis.snapshot",
    "rollout.fleet.fleet",
    "rollout.hub.kube",
    "rollout.placement.scheduler",
    "rollout.planning.replicasets",
    "rollout.runtime.engine",
    "rollout.sim.local",
}
LIBRARIES = {"aiohttp", "apscheduler", "cel_expr_python", "kubernetes", "prometheus_client", "rich"}


def loaded(*commands: str) -> set[str]:
    """All modules that a process has loaded after printing the help of these commands."""
    script = (
        "import sys; from rollout.cli.main import cli\n"
        "for words in sys.argv[1:]:\n"
        "    try: cli([*words.split(), '--help'], prog_name='rollout')\n"
        "    except SystemExit: pass\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *commands], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Usage: rollout") == len(commands)
    return set(done.stderr.splitlines())


def test_no_help_loads_the_engine_or_a_library_that_only_work_needs() -> None:
    assert loaded(*_COMMANDS) & (ENGINE | LIBRARIES) == set()


@pytest.mark.parametrize("command", ["", "version", "completion", "crds"])
def test_what_answers_at_once_loads_neither_models_nor_yaml(command: str) -> None:
    found = loaded(command)

    assert found & {"pydantic", "yaml", "sqlite3"} == set()
    assert not {name for name in found if name.startswith(("rollout.api", "rollout.hub"))}


def test_no_help_loads_the_models_of_kinds() -> None:
    """They are a third of a second; with the settings alone a help stays below that."""
    found = loaded(*_COMMANDS)

    assert "rollout.api.decoding" not in found
    assert "pydantic" not in loaded(*(set(_COMMANDS) - {"controller", "doctor"}))
