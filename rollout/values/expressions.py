"""Evaluates a value's CEL expression for one cluster, over ``cluster``, ``workload`` and
``current``.

The same evaluator as in placements, with the same bounds (`rollout.placement.cel.bounds`): an evaluation
costs microseconds, and is bounded in steps and in memory.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rollout.errors import ConfigError
from rollout.model.names import REGISTRY_CLAIM, REGISTRY_LABEL
from rollout.model.wording import shortened
from rollout.placement.cel import bounds
from rollout.placement.cel.bounds import Evaluation, Run
from rollout.placement.cel.evaluator import build, price_of
from rollout.placement.cel.expressions import DECLARED, failure_text, too_long
from rollout.placement.cel.parsing import Environment
from rollout.placement.cel.standard import STANDARD, Function, table
from rollout.placement.cel.text import MATCHES
from rollout.placement.cel.values import CelError, Optional, key_of, type_name
from rollout.values.reads import Read, reads_of

_MISSING = "no such key"


def moved(host: str, image: str) -> str:
    """The image from another registry: repository, tag and digest stay.

    What stands before the first slash is a registry where it has a dot or a colon, or is ``localhost``, as
    all clients of registries read it; an image without one gets it. ``host`` may have a path of its own.

    Raises: CelError where one of them is empty or has blanks.
    """
    host = host.rstrip("/")
    for what, text in (("registry", host), ("image", image)):
        if not text or len(text.split()) != 1 or text.split()[0] != text:
            raise CelError(f"{text!r} is not a valid {what}")
    first, slash, rest = image.partition("/")
    has_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return f"{host}/{rest if has_registry else image}"


def moved_for(cluster: Mapping[str, Any], image: str) -> str:
    """The image from the registry of a cluster, by its label or else its claim.

    Raises: CelError where it has neither; as `moved`.
    """
    host = cluster.get("labels", {}).get(REGISTRY_LABEL)
    host = host or cluster.get("claims", {}).get(REGISTRY_CLAIM)
    if not host:
        raise CelError(f"{_MISSING}: label {REGISTRY_LABEL}, or claim {REGISTRY_CLAIM}")
    return moved(str(host), image)


_MAP = "map(string, dyn)"
IMAGES = (
    Function("registry", ("string", "string"), "string", moved, member=False),
    Function("registry", (_MAP, "string"), "string", moved_for, member=False),
)
_VARIABLES = (("cluster", _MAP), ("workload", _MAP), ("current", "dyn"))
_DECLARED = (*DECLARED, *IMAGES)
_TABLE = table((*STANDARD, MATCHES, *_DECLARED))


@dataclass(frozen=True, slots=True)
class ValueProgram:
    """A compiled expression, or why it cannot be compiled.

    ``price``: steps that each evaluation takes; ``reads``: see `reads_of`.
    """

    problem: str | None
    run: Run | None = None
    price: int = 1
    reads: tuple[Read, ...] | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """That an expression gives no value. ``is_missing``: for something that the cluster lacks."""

    why: str
    is_missing: bool = False


_NOTHING = Failed("it is optional.none()", is_missing=True)


@lru_cache(maxsize=512)
def value_program(text: str) -> ValueProgram:
    """Compile the expression, once."""
    if (problem := too_long(text)) is not None:
        return ValueProgram(problem)
    try:
        root, _ = Environment.of(_DECLARED, _VARIABLES).parse(text)
        return ValueProgram(None, build(root, _TABLE), price_of(root), reads_of(root))
    except ConfigError as error:
        return ValueProgram(str(error))
    except RecursionError:
        return ValueProgram("it is nested too deeply")


def evaluate(found: ValueProgram, variables: Mapping[str, Any]) -> tuple[Any | Failed, int]:
    """The value as JSON, or why it has no value; and the steps that it took."""
    if found.run is None:
        return Failed(found.problem or "it has not been compiled"), 1
    evaluation = Evaluation(dict(variables), lambda *_: [], found.price)
    try:
        given = found.run(evaluation)
        is_none = isinstance(given, Optional) and not given.present
        value: Any | Failed = _NOTHING if is_none else as_json(given)
    except Exception as error:  # noqa: BLE001  (one odd value may not stop the engine)
        why = shortened(failure_text(error), bounds.LONGEST_FAILURE)
        value = Failed(why, lacks_key(why))
    return value, bounds.BUDGET - evaluation.left


def lacks_key(why: str) -> bool:
    """Whether an expression, of any kind, failed for something that the cluster lacks."""
    return why.startswith(_MISSING)


def as_json(value: Any) -> Any:
    """What CEL, or a literal, gives as JSON; a whole number has no fraction, as a server would keep it.

    Raises: CelError for what is none.
    """
    match value:
        case bool() | str() | None:
            return value
        case int():
            return int(value)  # an unsigned number too
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() and abs(value) < _EXACT else value
        case list():
            return [as_json(item) for item in value]
        case dict():
            keys = {key_of(key): item for key, item in value.items()}
            if all(isinstance(key, str) for key in keys):
                return {key: as_json(item) for key, item in keys.items()}
        case Optional() if value.present:
            return as_json(value.content)
    raise CelError(
        f"it gives a {type_name(value)}, and a field takes text, numbers, bools, lists or maps"
    )


_EXACT = 2.0**53
"""Below this, a number with a fraction tells whole numbers apart."""
