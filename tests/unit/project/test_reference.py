"""docs/reference is what the code says, and has an entry for everything; links of all pages lead somewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rollout.cli.main import _COMMANDS, cli
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.kinds import KINDS
from rollout.model.waits import Reason
from rollout.planning.notes import told_as
from rollout.settings import Settings
from tests.support import reference
from tests.support import reference_words as words
from tests.support.syntax import modules

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    p
    for p in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)


METRIC = r"(rollout|scheduling)_[a-z_]+"
NO_METRICS = {"rollout_of"}
"""The public function of this name."""
NAME = r"[a-z0-9.-]*(open-cluster-management|rollout-engine|kubernetes|x-k8s)\.io/[a-zA-Z0-9._-]+"
NO_NAMES = {"kubernetes.io/metadata.name", "rollout-engine.io/v1alpha1"}
"""A label that every namespace has, and the version of our API."""
WORDS = r"[A-Z][a-z]+([A-Z][A-Za-z]*)+"
DECIDING = ("account/", "calendars/", "fleet/", "model/", "planning/", "rollouts/", "strategies/")
NO_REASONS = {
    *(
        "AnalysisTemplate",
        "ClusterAnalysisTemplate",
        "ClusterProfile",
        "ClusterRoleBinding",
        "CronJob",
    ),
    *("CustomResourceDefinition", "DaemonSet", "ReplicaSet", "RoleBinding", "StatefulSet"),
    *("DesiredNumberScheduled", "JobComplete", "NumberReady", "PodPhase", "ReadyReplicas"),
    *("DoesNotExist", "NeverMeasured", "NotIn", "ResourceAllocatable", "TimeOut", "ToApply"),
    "ReportedWord",
    *("ManagedClusterSetCreated", "ManagedClusterSetSpecRollbacked"),
}
"""CamelCase words of these packages that are no reasons: kinds and feedback values of Kubernetes, operators,
words within OCM's rules, a type, and the ends of reasons that begin with the name of a set."""


@pytest.mark.parametrize("name", reference.pages())
def test_a_page_of_the_reference_is_what_the_code_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    assert (reference.FOLDER / name).read_text() == reference.pages()[name].rstrip() + "\n"


def test_every_condition_type_has_its_entry_and_no_other() -> None:
    assert set(reference.CONDITIONS) == reference.condition_types()


def test_every_annotation_of_ours_says_what_it_is() -> None:
    assert [name for name, said in reference.written_names().items() if not said] == []


def test_every_command_setting_and_reason_has_its_entry() -> None:
    found = reference.pages()

    assert [name for name in _COMMANDS if f"## rollout {name}\n" not in found["cli.md"]] == []
    assert [
        n for n in Settings.model_fields if f"`ROLLOUT_{n.upper()}`" not in found["settings.md"]
    ] == []
    reasons = (*Reason, *ClusterReason)
    assert [each for each in reasons if f"| `{each}` |" not in found["names.md"]] == []


def options(command: click.Command, name: str) -> Iterator[tuple[str, click.Option]]:
    """Every flag of a command and of those below it, with the command's whole name."""
    yield from ((name, each) for each in command.params if isinstance(each, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from options(found, f"{name} {inner}".strip())


def test_every_flag_says_what_it_does() -> None:
    silent = [f"{name} {each.opts[-1]}" for name, each in options(cli, "") if not each.help]
    of_a_hub = ("--kubeconfig", "--context", "--state")  # also where a command works on none
    hidden = [
        f"{name} {each.opts[-1]}"
        for name, each in options(cli, "")
        if each.hidden and each.opts[-1] not in of_a_hub
    ]

    assert (silent, hidden) == ([], [])


def test_every_setting_and_every_metric_says_what_it_is() -> None:
    settings = [name for name, field in Settings.model_fields.items() if not field.description]
    metrics = [name for name, metric in reference.metrics().items() if not metric.documentation]

    assert (settings, metrics) == ([], [])


def literals() -> Iterator[tuple[str, str]]:
    """Each text that stands in the code, docstrings left out, and where."""
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, f"{module.path}:{node.lineno}"


def test_every_metric_that_the_code_names_has_its_entry() -> None:
    named = {text for text, _ in literals() if re.fullmatch(METRIC, text)}
    told = {name.removesuffix("_total") for name in reference.metrics()}

    assert named - told - NO_METRICS == set()
    assert len(named & told) > 15


def test_every_annotation_and_label_that_the_code_names_has_its_entry() -> None:
    told = {*reference.written_names(), *words.OTHER_NAMES}
    found = {text: place for text, place in literals() if re.fullmatch(NAME, text)}

    assert {each: found[each] for each in found.keys() - told - NO_NAMES} == {}
    assert words.OTHER_NAMES.keys() - found.keys() == set()


def test_every_reason_that_the_code_names_has_its_entry() -> None:
    pages = "\n".join(reference.pages().values())
    told = {*re.findall(r"`(\w+)`", pages), *KINDS}
    found = {
        text: place
        for text, place in literals()
        if re.fullmatch(WORDS, text) and place.startswith(DECIDING)
    }

    assert {each: found[each] for each in found.keys() - told - NO_REASONS} == {}
    assert found.keys() >= NO_REASONS, "what is named nowhere needs no exception"


def told_by_planners() -> Iterator[str]:
    """The Events that planners name where they tell them, and those of each Reason of a rollout."""
    for module in modules():
        if not module.path.startswith("planning/"):
            continue
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(func=ast.Name("Note"), args=[_, ast.Constant(value=str(event)), *_]):
                    yield event
    for reason in Reason:
        yield told_as(reason, "", had_begun=False)[0]
        yield told_as(reason, Reason.PAUSED, had_begun=True)[0]


def test_every_event_that_a_planner_tells_stands_among_the_events() -> None:
    told = set(told_by_planners())

    assert told - words.EVENTS.keys() == set()
    assert told >= {"RolloutResumed", "GateFailed", "StagePassed", "PlacementMisconfigured"}


def test_every_variable_that_the_code_reads_has_its_entry() -> None:
    page = reference.pages()["settings.md"]
    read = {
        text for text, _ in literals() if re.fullmatch(r"(ROLLOUT|POD)_[A-Z_]+|NO_COLOR|TERM", text)
    }
    given = {str(each.envvar) for _, each in options(cli, "") if each.envvar}

    assert [each for each in sorted(read | given) if f"`{each}`" not in page] == []
    assert words.VARIABLES.keys() <= read


def test_every_field_of_a_scenario_has_its_entry() -> None:
    fields = {
        name for model in reference.scenario_models() for name in reference.scenario_fields(model)
    }

    assert fields == words.SCENARIO.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_that_is_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)

    away = [link for link in links if not re.match(r"https?:|mailto:", link)]
    assert [link for link in away if not (page.parent / link).exists()] == []
