"""What does a command load before it does anything? Whoever asks for help waits for nothing else."""

import os
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

    assert {"rollout.api.decoding", "rollout.api.models"} & found == set()
    assert "pydantic" not in loaded(*(set(_COMMANDS) - {"controller", "doctor"}))


def cpu(*words: str) -> float:
    """Seconds of CPU of a process, whatever else the machine does meanwhile."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def bare() -> float:
    """What an interpreter takes that does nothing: about 10 ms on a quiet machine."""
    return min(cpu("-c", "pass") for _ in range(7))


NESTED = ("calendar list", "calendar show", "override calendar", "agents simulate", "notify test")
VERSION_TAKES, HELP_TAKES = 12, 35


@pytest.mark.parametrize(
    ("words", "most"),
    [("version", VERSION_TAKES), ("--help", HELP_TAKES)]
    + [(f"{command} --help", HELP_TAKES) for command in (*_COMMANDS, *NESTED)],
)
def test_version_and_help_take_a_few_times_what_a_bare_interpreter_takes(
    bare: float, words: str, most: int
) -> None:
    ran = ("-m", "rollout", *words.split())
    taken = cpu(*ran)
    for _ in range(4):
        if taken > most * bare:
            taken = min(taken, cpu(*ran))

    assert taken <= most * bare, f"{taken / bare:.0f} times as much"
