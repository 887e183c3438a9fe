"""Does kubectl find our commands, and complete them? Run as kubectl runs them."""

import pytest

from tests.package.conftest import Command

pytestmark = pytest.mark.package


def test_the_executable_is_called_as_kubectl_calls_it(installed: Command) -> None:
    assert installed("kubectl-rollouts", "--help").stdout.startswith("Usage: kubectl rollouts ")


def test_the_current_context_is_meant_where_nothing_is_named(installed: Command) -> None:
    done = installed("kubectl-rollouts", "list")

    assert done.returncode == 1
    assert done.stderr.startswith("error: there is no kubeconfig")


def test_another_hub_can_be_named(installed: Command) -> None:
    done = installed("kubectl-rollouts", "list", "--state", "mine.db")

    assert "there is no state file mine.db" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["sta"], ["status"], id="a command"),
        pytest.param(["get", "mw"], ["mwrs"], id="a kind"),
        pytest.param(["status", "--wa"], ["--wait"], id="a flag"),
    ],
)
def test_words_are_completed(installed: Command, words: list[str], told: list[str]) -> None:
    done = installed("kubectl_complete-rollouts", *words)

    *found, directive = done.stdout.splitlines()
    assert [line.partition("\t")[0] for line in found] == told
    assert directive == ":4"
