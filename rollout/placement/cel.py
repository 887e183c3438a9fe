"""Is this CEL expression true of a cluster?

Expressions are parsed and type-checked by a CEL library (`cel_checker`) and evaluated by our own
functions, so that an evaluation costs microseconds, is bounded in steps, and is the same everywhere.
Source: OCM placement spec 2.6.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster, Score
from rollout.model.wording import shortened
from rollout.placement import cel_tree
from rollout.placement.cel_eval import build
from rollout.placement.cel_frame import BUDGET, Frame, Run
from rollout.placement.cel_functions import STANDARD, Function, table
from rollout.placement.cel_kube import KUBERNETES
from rollout.placement.cel_lists import LISTS
from rollout.placement.cel_regex import REGEX, REGEX_KUBERNETES
from rollout.placement.cel_text import TEXT
from rollout.placement.cel_values import CelError, no_overload, type_name
from rollout.placement.framework import just_after

Scores = Callable[[str], Mapping[str, Score]]

LONGEST = 16_384
"""Characters of an expression: more than this is refused before it is parsed."""

LONGEST_FAILURE = 300
"""Characters of what is told of an evaluation that failed."""

MOST_DOUBLING = 8
"""The checker writes the operand of each of these macros twice: forty of them are 2**40 nodes."""

_DOUBLING = re.compile(r"\bopt(?:Flat)?Map\b")

CLUSTER = "map(string, dyn)"


_SCORES = Function("scores", (CLUSTER, "string"), f"list({CLUSTER})", lambda *_: [])

TABLE = table((*STANDARD, *TEXT, *LISTS, *REGEX, *REGEX_KUBERNETES, *KUBERNETES))
_DECLARED = (*TEXT, *LISTS, *KUBERNETES, *REGEX_KUBERNETES, _SCORES)
"""What the library does not know of itself."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression, or why it cannot be compiled.

    ``boolean`` is False where the expression can never be a bool. ``score_names`` are the
    AddOnPlacementScores it reads; ``*`` where a name is computed.
    """

    problem: str | None
    run: Run | None = None
    boolean: bool = True
    score_names: frozenset[str] = frozenset()

    @property
    def reads_scores(self) -> bool:
        return bool(self.score_names)


@lru_cache(maxsize=2048)
def program(text: str) -> Program:
    """Compile the expression, once."""
    if len(text) > LONGEST:
        return Program(f"an expression has at most {LONGEST} characters")
    if len(_DOUBLING.findall(text)) > MOST_DOUBLING:
        return Program(f"an expression has at most {MOST_DOUBLING} of optMap and optFlatMap")
    from rollout.placement.cel_checker import Checker  # noqa: PLC0415  (10 MB that few hubs need)

    checked = Checker.of(_DECLARED, CLUSTER).check(text)
    if checked.problem is not None:
        return Program(checked.problem)
    try:
        root = cel_tree.read(checked.tree)
        names = frozenset(_score_names(root))
        run = build(root, TABLE)
    except ConfigError as error:
        return Program(str(error))
    except RecursionError:
        return Program("it is nested too deeply")
    return Program(None, run, checked.boolean, names)


def _score_names(node: cel_tree.Node) -> set[str]:
    found: set[str] = set()
    if isinstance(node, cel_tree.Call) and node.function == "scores":
        name = node.args[1]
        found.add(name.value if isinstance(name, cel_tree.Const) else "*")
    for child in cel_tree.children(node):
        found |= _score_names(child)
    return found


class _ScoresAt:
    """``<cluster>.scores(<name>)`` at one instant; remembers when its answer may change."""

    __slots__ = ("changes", "now", "scores")

    def __init__(self, scores: Scores, now: datetime | None) -> None:
        self.scores = scores
        self.now = now
        self.changes: set[datetime] = set()

    def __call__(self, cluster: Any, name: Any) -> list[Any]:
        if type(name) is not str or type(cluster) is not dict:
            raise no_overload("scores", cluster, name)
        who = (cluster.get("metadata") or {}).get("name")
        found = self.scores(name).get(who) if isinstance(who, str) else None
        if found is None:
            raise CelError(f"no AddOnPlacementScore {name} of cluster {who}")
        if self.now is not None and found.valid_until is not None:
            if self.now > found.valid_until:
                raise CelError(f"AddOnPlacementScore {name} of cluster {who} expired")
            change = just_after(found.valid_until)
            self.changes |= set() if change is None else {change}
        return [{"name": key, "value": value} for key, value in found.values.items()]


class Judge:
    """Evaluates expressions for one pass over many clusters.

    ``now`` None: scores are used whether or not they expired, as OCM does. ``changes``: instants
    after which a verdict may be another one.
    """

    def __init__(self, scores: Scores, now: datetime | None) -> None:
        self._scores = _ScoresAt(scores, now)

    @property
    def changes(self) -> set[datetime]:
        return self._scores.changes

    def verdict(self, text: str, cluster: Cluster) -> tuple[bool | str, int]:
        """Whether the expression is true, or in words why it is neither; and the steps taken."""
        found = program(text)
        if found.run is None:
            return found.problem or "it has not been compiled", 0
        frame = Frame({"managedCluster": seen(cluster)}, self._scores)
        try:
            value = found.run(frame)
        except Exception as error:  # noqa: BLE001  (one odd value may not stop a placement)
            value = shortened(_failure(error), LONGEST_FAILURE)
        else:
            if value.__class__ is not bool:
                value = f"it is a {type_name(value)}, not a bool"
        return value, BUDGET - frame.left


def _failure(error: Exception) -> str:
    """Why an evaluation has no value. A fault of a function is told with its kind."""
    match error:
        case CelError():
            return str(error)
        case RecursionError():
            return "it is nested too deeply"
        case MemoryError():
            return "it takes more memory than there is"
    return f"{type(error).__name__}: {error}"


def seen(cluster: Cluster) -> dict[str, Any]:
    """The cluster as expressions see it: without apiVersion and kind."""
    return {key: cluster.raw[key] for key in ("metadata", "spec", "status") if key in cluster.raw}
