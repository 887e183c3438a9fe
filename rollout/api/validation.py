"""Which fields of this object are bad? All of them at once, in words for the person who wrote it.

Two readers look at every object: the pydantic model, for its shape, and the decoder, for what the
engine will make of it. A field that both refuse is named once.
"""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rollout.api.decoding import DECODED, decode
from rollout.api.fields import listed, mapping
from rollout.api.shapes import SHAPES, Shape
from rollout.model.addon import AddOn
from rollout.model.kinds import KINDS, Kind, Obj
from rollout.model.problems import Problem
from rollout.model.replicaset import ReplicaSet
from rollout.model.selectors import KEY_ACCEPTED, VALUE_ACCEPTED, is_label_key, is_label_value
from rollout.model.spelling import nearest

REQUIRED = "this field is required"

_MAPS = frozenset({"matchLabels", "labels", "annotations", "capacity", "allocatable"})
_SIMPLE_WORDS = {
    "missing": REQUIRED,
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "int_type": "a whole number",
}


def validate(obj: object) -> list[Problem]:
    """Every bad field, in the order of the paths.

    Unknown fields are allowed; `unknown_fields` finds them in what people hand in.

    An object of a known kind without a model here (ConfigMap, Lease) is not looked into.
    """
    if not isinstance(obj, dict):
        return [Problem("(document)", obj, "an object with apiVersion, kind, metadata and spec")]
    kind, problems = kind_of(obj)
    if kind is None or kind.name not in SHAPES:
        return problems
    found = {p.path: p for p in _shape_problems(SHAPES[kind.name], obj)}
    found.update((p.path, p) for p in _decoded_problems(kind, obj))
    problems += found.values()
    problems += _metadata_problems(mapping(obj.get("metadata")), found)
    problems += _work_problems(kind, obj)
    return sorted(map(_unquoted, problems), key=_place)


def kind_of(obj: Obj) -> tuple[Kind | None, list[Problem]]:
    """The kind of an object by its kind and apiVersion, or why it is none that we know."""
    name, version = obj.get("kind"), obj.get("apiVersion")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        return None, [Problem("kind", name, _kind_accepted(name))]
    if version != kind.api_version:
        return None, [Problem("apiVersion", version, f"{kind.api_version} for {kind.name}")]
    return kind, []


def _kind_accepted(name: object) -> str:
    meant = nearest(name, KINDS) if isinstance(name, str) else ""
    if meant:
        return f"did you mean {meant}?"
    return f"one of {', '.join(SHAPES)}"


def _shape_problems(shape: type[Shape], obj: Obj) -> Iterable[Problem]:
    try:
        shape.model_validate(obj)
    except ValidationError as error:
        return [_problem(item) for item in error.errors(include_url=False)]
    return []


def _decoded_problems(kind: Kind, obj: Obj) -> Iterable[Problem]:
    if kind.name not in DECODED:
        return []
    value = decode(kind, obj)
    problems = list(getattr(value, "problems", ()))
    if isinstance(value, ReplicaSet):
        problems += [p for ref in value.refs for p in ref.problems]
    if isinstance(value, AddOn):
        problems += [p for placement in value.placements or () for p in placement.problems]
    return problems


def _problem(error: ErrorDetails) -> Problem:
    value = None if error["type"] == "missing" else error["input"]
    return Problem(path_of(error["loc"]), value, _words(error, value))


def _unquoted(problem: Problem) -> Problem:
    """Say that quotes are what is wrong with a number, where they are."""
    value, words = problem.value, problem.accepted
    if isinstance(value, str) and value.isdecimal() and words.startswith("a whole number"):
        return Problem(problem.path, value, f"{words}, without quotes")
    return problem


def _words(error: ErrorDetails, value: object) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _SIMPLE_WORDS:
        return _SIMPLE_WORDS[kind]
    match kind:
        case "accepted":
            return str(context["words"])
        case "string_type":
            quoted = isinstance(value, int | float)
            return "a string: put it in quotes" if quoted else "a string"
        case "literal_error":
            choices = [c for c in re.findall(r"'([^']*)'", str(context["expected"])) if c]
            return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
        case "too_short" | "too_long":
            least = kind == "too_short"
            count = context["min_length" if least else "max_length"]
            return f"at {'least' if least else 'most'} {count} {_entries(count)}"
        case "string_too_long":
            return f"at most {context['max_length']} characters"
        case "string_too_short":
            return "a string that is not empty"
        case "string_pattern_mismatch":
            return f"text of the form {context['pattern']}"
        case _:
            return error["msg"][:1].lower() + error["msg"][1:]


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"


def path_of(location: Iterable[int | str]) -> str:
    """A location as people write it: ``spec.tolerations[0].key``, ``metadata.labels[a/b]``."""
    path, inside_map = "", False
    for part in location:
        if part == "[key]":
            continue
        if isinstance(part, int) or inside_map:
            path += f"[{part}]"
            inside_map = False
        else:
            path += f".{part}" if path else part
            inside_map = part in _MAPS
    return path


def _metadata_problems(meta: Obj, found: dict[str, Problem]) -> Iterable[Problem]:
    if not meta.get("name") and not meta.get("generateName") and "metadata" not in found:
        yield Problem("metadata.name", None, REQUIRED)
    for key, value in mapping(meta.get("labels")).items():
        path = f"metadata.labels[{key}]"
        if not isinstance(key, str) or not is_label_key(key):
            yield Problem(path, key, KEY_ACCEPTED)
        elif isinstance(value, str) and not is_label_value(value):
            yield Problem(path, value, VALUE_ACCEPTED)
    for key in mapping(meta.get("annotations")):
        if not isinstance(key, str) or not is_label_key(key.lower()):
            yield Problem(f"metadata.annotations[{key}]", key, KEY_ACCEPTED)


def _work_problems(kind: Kind, obj: Obj) -> Iterable[Problem]:
    """What the manifest configurations of a work or a template cannot mean."""
    path = template_path(kind)
    if path is None:
        return
    spec = template_of(kind, obj)
    for i, config in enumerate(listed(spec.get("manifestConfigs"))):
        at = f"{path}.manifestConfigs[{i}]"
        yield from _rule_problems(listed(mapping(config).get("conditionRules")), at)
    subject = mapping(mapping(spec.get("executor")).get("subject"))
    if subject and not subject.get("serviceAccount"):
        yield Problem(f"{path}.executor.subject.serviceAccount", None, REQUIRED)


def _rule_problems(rules: list[Any], at: str) -> Iterable[Problem]:
    seen: set[str] = set()
    for i, rule in enumerate(map(mapping, rules)):
        here = f"{at}.conditionRules[{i}]"
        if rule.get("type") == "CEL" and not rule.get("celExpressions"):
            value = rule.get("celExpressions")
            yield Problem(f"{here}.celExpressions", value, "at least one expression with type CEL")
        condition = rule.get("condition")
        if isinstance(condition, str) and condition in seen:
            yield Problem(f"{here}.condition", condition, "one rule for each condition")
        seen.add(str(condition))


def template_path(kind: Kind) -> str | None:
    """Where the manifests of this kind stand; None for kinds that carry none."""
    return {"ManifestWork": "spec", "ManifestWorkReplicaSet": "spec.manifestWorkTemplate"}.get(
        kind.name
    )


def template_of(kind: Kind, obj: Obj) -> Obj:
    """The work spec that an object of this kind carries; empty where it carries none."""
    spec = mapping(obj.get("spec"))
    if kind.name == "ManifestWork":
        return spec
    return mapping(spec.get("manifestWorkTemplate"))


def _place(problem: Problem) -> list[tuple[int, str]]:
    """Sorts paths as their fields are read: indices by number."""
    parts = re.findall(r"[0-9]+|[^0-9]+", problem.path)
    return [(len(part), part) if part.isdecimal() else (-1, part) for part in parts]
