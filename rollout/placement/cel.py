"""Is this CEL expression true of a cluster?

Expressions are parsed and type-checked by a CEL library (`cel_checker`) and evaluated by our own
functions, so that an evaluation costs microseconds, is bounded in steps, and is the same everywhere.
Source: OCM placement spec 2.6.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster, Score
from rollout.model.wording import shortened
from rollout.placement import cel_tree
from rollout.placement.cel_eval import build, price_of
from rollout.placement.cel_frame import BUDGET, Frame, Run
from rollout.placement.cel_functions import STANDARD, Function, table
from rollout.placement.cel_kube import KUBERNETES
from rollout.placement.cel_lists import LISTS
from rollout.placement.cel_regex import REGEX, REGEX_KUBERNETES
from rollout.placement.cel_text import TEXT
from rollout.placement.cel_values import CelError, no_overload, type_name
from rollout.placement.framework import just_after

Scores = Callable[[str], Mapping[str, Score]]

MOST_EXPRESSIONS = 64
"""Expressions of one Placement, in all its predicates."""

LONGEST = 4_096
"""Characters of an expression: more than this is refused before it is parsed."""

LONGEST_TOGETHER = 16_384
"""Characters of all expressions of one Placement: to compile them takes some tenths of a second."""

LONGEST_FAILURE = 300
"""Characters of what is told of an evaluation that failed."""

_LONGEST_DOUBLED = 16 * LONGEST
"""The checker writes the operand of these macros twice, so that each can make a tree twice as large."""

_DOUBLING = re.compile(r"\bopt(?:Flat)?Map\b")
_SCORES_OF = re.compile(r"""\.\s*scores\s*\(\s*(?:'([^'"\\]+)'|"([^'"\\]+)")\s*\)""")

CLUSTER = "map(string, dyn)"


_SCORES = Function("scores", (CLUSTER, "string"), f"list({CLUSTER})", lambda *_: [])

TABLE = table((*STANDARD, *TEXT, *LISTS, *REGEX, *REGEX_KUBERNETES, *KUBERNETES))
_DECLARED = (*TEXT, *LISTS, *KUBERNETES, *REGEX_KUBERNETES, _SCORES)
"""What the library does not know of itself."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression, or why it cannot be compiled.

    ``boolean`` is False where the expression can never be a bool. ``price``: steps that each
    evaluation takes at least.
    """

    problem: str | None
    run: Run | None = None
    boolean: bool = True
    price: int = 1


@lru_cache(maxsize=256)
def program(text: str) -> Program:
    """Compile the expression, once."""
    if len(text) > LONGEST:
        return Program(f"an expression has at most {LONGEST} characters")
    doublings = len(_DOUBLING.findall(text))
    if len(text) << min(doublings, LONGEST) > _LONGEST_DOUBLED:
        return Program(f"{doublings} of optMap and optFlatMap are too many for its length")
    from rollout.placement.cel_checker import Checker  # noqa: PLC0415  (10 MB that few hubs need)

    checked = Checker.of(_DECLARED, CLUSTER).check(text)
    if checked.problem is not None:
        return Program(checked.problem)
    try:
        root = cel_tree.read(checked.tree)
        run = build(root, TABLE)
    except ConfigError as error:
        return Program(str(error))
    except RecursionError:
        return Program("it is nested too deeply")
    return Program(None, run, checked.boolean, price_of(root))


def score_names(text: str) -> frozenset[str]:
    """The AddOnPlacementScores that the expression may read; ``*`` where that is not plain to see.

    It is asked as soon as somebody writes a Placement, so nothing is compiled for it.
    """
    named = _SCORES_OF.findall(text)
    if len(named) < text.count("scores"):
        return frozenset("*")
    return frozenset(one or other for one, other in named)


def too_many(texts: Sequence[str]) -> str | None:
    """What is accepted of the expressions of a Placement, where these are more than that."""
    if len(texts) > MOST_EXPRESSIONS:
        return f"at most {MOST_EXPRESSIONS} CEL expressions in all predicates, not {len(texts)}"
    length = sum(map(len, texts))
    if length > LONGEST_TOGETHER:
        return f"at most {LONGEST_TOGETHER} characters in all CEL expressions, not {length}"
    return None


class _ScoresAt:
    """``<cluster>.scores(<name>)`` at one instant; remembers when its answer may change.

    ``own`` is the cluster that is judged; ``strays``: scores of another one were asked for.
    """

    __slots__ = ("changes", "now", "own", "scores", "strays")

    def __init__(self, scores: Scores, now: datetime | None) -> None:
        self.scores = scores
        self.now = now
        self.changes: set[datetime] = set()
        self.own = ""
        self.strays = False

    def __call__(self, cluster: Any, name: Any) -> list[Any]:
        if type(name) is not str or type(cluster) is not dict:
            raise no_overload("scores", cluster, name)
        who = (cluster.get("metadata") or {}).get("name")
        self.strays = self.strays or who != self.own
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
    after which a verdict may be another one. ``strays``: one rests on the scores of a cluster other
    than the one that is judged.
    """

    def __init__(self, scores: Scores, now: datetime | None) -> None:
        self._scores = _ScoresAt(scores, now)

    @property
    def changes(self) -> set[datetime]:
        return self._scores.changes

    @property
    def strays(self) -> bool:
        return self._scores.strays

    def verdict(self, text: str, cluster: Cluster) -> tuple[bool | str, int]:
        """Whether the expression is true, or in words why it is neither; and the steps taken."""
        return self.run(program(text), cluster)

    def run(self, found: Program, cluster: Cluster) -> tuple[bool | str, int]:
        """As `verdict`, of an expression that is compiled."""
        if found.run is None:
            return found.problem or "it has not been compiled", 1
        self._scores.own = cluster.name
        frame = Frame({"managedCluster": seen(cluster)}, self._scores)
        try:
            frame.spend(found.price)
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
