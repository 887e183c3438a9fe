"""Reads an AgentScenario from a file, or names every field that is wrong with it.

Documents of other kinds are left alone, since a directory of examples holds several kinds.
"""

from pathlib import Path

from pydantic import ValidationError

from rollout.api.load import Document, load_text, text_of
from rollout.api.words import problems_of
from rollout.errors import ConfigError
from rollout.model.problems import Problem
from rollout.sim.scenario import API_VERSION, KIND, Scenario

_MOST = 20
"""So many bad fields are named."""


def is_scenario(document: object) -> bool:
    """Whether a document says that it is an AgentScenario."""
    return isinstance(document, dict) and document.get("kind") == KIND


def load_scenario(path: Path) -> Scenario:
    """The one AgentScenario of a file. Raises: ConfigError that names the file and every bad field."""
    try:
        text = text_of(path)
    except (OSError, UnicodeDecodeError, ConfigError) as fault:
        raise ConfigError(f"cannot read the scenario {path}: {fault}") from fault
    return parse_scenario(text, str(path))


def parse_scenario(text: str, name: str = "scenario") -> Scenario:
    """The one AgentScenario of a YAML (or JSON) text; ``name`` is what errors call it.

    Raises: ConfigError that names the line, or every bad field.
    """
    documents, errors = load_text(text, name)
    if errors:
        raise ConfigError("; ".join(map(str, errors)))
    found = [document for document in documents if is_scenario(document.obj)]
    if len(found) != 1:
        raise ConfigError(
            f"{name}: expected one document of kind {KIND} ({API_VERSION}), found {len(found)}"
        )
    return scenario_in(found[0])


def scenario_in(document: Document) -> Scenario:
    """The scenario of a document of a file. Raises: ConfigError that names the line of every bad field."""
    scenario, problems = read_scenario(document.obj)
    if scenario is None:
        said = [f"{document.source_of(problem.path)}: {problem}" for problem in problems[:_MOST]]
        raise ConfigError("; ".join(said))
    return scenario


def read_scenario(document: object) -> tuple[Scenario | None, tuple[Problem, ...]]:
    """A scenario from an object as JSON has it, or else every field that cannot be honoured."""
    try:
        return Scenario.model_validate(document), ()
    except ValidationError as fault:
        return None, tuple(problems_of(fault, model=Scenario))
