"""What does this scenario file say, and what is wrong with it? All of it at once.

A document that is not an AgentScenario is none of ours: a directory of examples holds other kinds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rollout.api.load import load_text
from rollout.errors import ConfigError
from rollout.model.problems import Problem, joined
from rollout.sim.scenario import API_VERSION, KIND, Scenario

_ACCEPTED = {
    "missing": "a value: it is required",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
    "string_too_short": "a text that is not empty",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "tuple_type": "a list",
}


def is_scenario(document: object) -> bool:
    """Whether a document says that it is an AgentScenario."""
    return isinstance(document, dict) and document.get("kind") == KIND


def load_scenario(path: Path) -> Scenario:
    """The one AgentScenario of a file. Raises: ConfigError that names the file and every bad field."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
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
    scenario, problems = read_scenario(found[0].obj)
    if scenario is None:
        raise ConfigError(f"{found[0].source}: {joined(problems, most=20)}")
    return scenario


def read_scenario(document: object) -> tuple[Scenario | None, tuple[Problem, ...]]:
    """A scenario from an object as JSON has it, or else every field that cannot be honoured."""
    try:
        return Scenario.model_validate(document), ()
    except ValidationError as fault:
        return None, tuple(_problem(e) for e in fault.errors(include_url=False))


def _problem(error: ErrorDetails) -> Problem:
    kind, where = error["type"], error["loc"]
    context = error.get("ctx", {})
    match kind:
        case "accepted":
            accepted = str(context["accepted"])
        case "extra_forbidden":
            known = ", ".join(sorted(_fields(where[:-1])))
            return Problem(_path(where[:-1]), where[-1], f"a field among {known}")
        case "literal_error" | "enum":
            accepted = f"one of {str(context['expected']).replace(chr(39), '')}"
        case "greater_than_equal" | "less_than_equal":
            bound = context.get("ge", context.get("le"))
            accepted = f"at {'least' if kind.startswith('g') else 'most'} {bound}"
        case _:
            accepted = _ACCEPTED.get(kind, error["msg"])
    value = None if kind == "missing" else error["input"]
    return Problem(_path(where), value, accepted)


def _path(where: tuple[int | str, ...]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _fields(where: tuple[int | str, ...]) -> Iterator[str]:
    """The field names that are accepted at a place of the document."""
    model: type[BaseModel] | None = Scenario
    for part in where:
        if isinstance(part, str) and model is not None:
            annotation = next(
                (f.annotation for f in model.model_fields.values() if f.alias == part), None
            )
            model = _model_in(annotation)
    for field in model.model_fields.values() if model is not None else ():
        yield str(field.alias)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside ``X | None``, ``tuple[X, ...]`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a)) is not None), None)
