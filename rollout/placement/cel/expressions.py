"""Compiles CEL expressions and asks them about clusters.

A CEL library parses and type-checks the text (`parsing`); our own functions evaluate the tree
(`evaluator`), so that an evaluation costs microseconds and is bounded in steps and in memory.
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
from rollout.placement.cel import bounds
from rollout.placement.cel.addresses import ADDRESSES
from rollout.placement.cel.bounds import Evaluation, Exhausted, Run
from rollout.placement.cel.evaluator import build, price_of
from rollout.placement.cel.kubernetes import KUBERNETES
from rollout.placement.cel.parsing import Environment
from rollout.placement.cel.standard import STANDARD, Function, table
from rollout.placement.cel.text import MATCHES, TEXT
from rollout.placement.cel.values import CelError, no_overload, type_name
from rollout.placement.framework import just_after

Scores = Callable[[str], Mapping[str, Score]]
"""By the name of an AddOnPlacementScore, the scores of each cluster that has it."""

_DOUBLING = re.compile(r"\bopt(?:Flat)?Map\b")
_SCORES_OF = re.compile(r"""\.\s*scores\s*\(\s*(?:'([^'"\\]+)'|"([^'"\\]+)")\s*\)""")
_CALLS_SCORES = re.compile(r"\bscores\s*\(")

_SEEN = ("metadata", "spec", "status")
"""What expressions see of a cluster: all but apiVersion and kind."""

_CLUSTER = "map(string, dyn)"
_VARIABLES = (("managedCluster", _CLUSTER),)
_SCORES = Function("scores", (_CLUSTER, "string"), f"list({_CLUSTER})", lambda *_: [])
"""Only declared: what it does follows from the `Judge`, see `evaluator`."""

DECLARED = (*TEXT, *KUBERNETES, *ADDRESSES)
TABLE = table((*STANDARD, MATCHES, *DECLARED))
"""What expressions may call."""


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


def too_long(text: str) -> str | None:
    """Why a text is not even given to the compiler: it would take too long, or too much memory."""
    if len(text) > bounds.LONGEST_EXPRESSION:
        return f"an expression has at most {bounds.LONGEST_EXPRESSION} characters"
    doublings = len(_DOUBLING.findall(text))
    if len(text) << min(doublings, bounds.LONGEST_EXPRESSION) > bounds.LONGEST_DOUBLED:
        return f"it has optMap and optFlatMap {doublings} times, too often for its length"
    return None


@lru_cache(maxsize=256)
def program(text: str) -> Program:
    """Compile the expression, once."""
    if (problem := too_long(text)) is not None:
        return Program(problem)
    try:
        root, boolean = Environment.of((*DECLARED, _SCORES), _VARIABLES).parse(text)
        return Program(None, build(root, TABLE), boolean, price_of(root))
    except ConfigError as error:
        return Program(str(error))
    except RecursionError:
        return Program("it is nested too deeply")


def score_names(text: str) -> frozenset[str]:
    """The AddOnPlacementScores that the expression may read; ``*`` where that is not plain to see.

    It is asked as soon as somebody writes a Placement, so nothing is compiled for it.
    """
    named = _SCORES_OF.findall(text)
    if len(named) < text.count("scores"):
        return frozenset("*")
    return frozenset(one or other for one, other in named)


def reads_scores(text: str) -> bool:
    """Whether the expression calls ``scores``. It is asked before anything is compiled, too."""
    return _CALLS_SCORES.search(text) is not None


def too_many(texts: Sequence[str]) -> str | None:
    """What is accepted of the expressions of a Placement, where these are more than that."""
    if len(texts) > bounds.MOST_EXPRESSIONS:
        return (
            f"at most {bounds.MOST_EXPRESSIONS} CEL expressions in all predicates, not {len(texts)}"
        )
    length = sum(map(len, texts))
    if length > bounds.LONGEST_TOGETHER:
        return f"at most {bounds.LONGEST_TOGETHER} characters in all CEL expressions, not {length}"
    return None


class Judge:
    """Asks expressions about clusters, for one pass over many of them.

    Args:
        now: None where scores are used whether or not they expired, as OCM does.

    Attributes:
        changes: instants after which a verdict may be another one, since a score expires.
        read_others: a verdict rests on the scores of a cluster other than the one it is about.
    """

    __slots__ = ("_cluster", "_now", "_scores", "_seen", "changes", "read_others")

    def __init__(self, scores: Scores, now: datetime | None) -> None:
        self._scores = scores
        self._now = now
        self._cluster: Cluster | None = None  # the one that was asked about last
        self._seen: dict[str, Any] = {}
        self.changes: set[datetime] = set()
        self.read_others = False

    def verdict(self, text: str, cluster: Cluster) -> tuple[bool | str, int]:
        """Whether the expression is true, or in words why it is neither; and the steps taken."""
        return self.run(program(text), cluster)

    def run(self, found: Program, cluster: Cluster) -> tuple[bool | str, int]:
        """As `verdict`, of an expression that is compiled."""
        if found.run is None:
            return found.problem or "it has not been compiled", 1
        if cluster is not self._cluster:
            seen, raw = {}, cluster.raw
            for key in _SEEN:
                if key in raw:
                    seen[key] = raw[key]
            self._cluster, self._seen = cluster, {"managedCluster": seen}
        evaluation = Evaluation(self._seen, self._scores_of, found.price)
        try:
            value = found.run(evaluation)
        except Exception as error:  # noqa: BLE001  (one odd value may not stop a placement)
            value = shortened(failure_text(error), bounds.LONGEST_FAILURE)
        else:
            if value.__class__ is not bool:
                value = f"it is a {type_name(value)}, not a bool"
        return value, bounds.BUDGET - evaluation.left

    def _scores_of(self, cluster: Any, name: Any) -> list[Any]:
        """``<cluster>.scores(<name>)``."""
        if type(name) is not str or type(cluster) is not dict:
            raise no_overload("scores", cluster, name)
        who = (cluster.get("metadata") or {}).get("name")
        self.read_others = self.read_others or self._cluster is None or who != self._cluster.name
        found = self._scores(name).get(who) if isinstance(who, str) else None
        if found is None:
            raise CelError(f"no AddOnPlacementScore {name} of cluster {who}")
        if self._now is not None and found.valid_until is not None:
            if self._now > found.valid_until:
                raise CelError(f"AddOnPlacementScore {name} of cluster {who} expired")
            change = just_after(found.valid_until)
            self.changes |= set() if change is None else {change}
        return [{"name": key, "value": value} for key, value in found.values.items()]


def failure_text(error: Exception) -> str:
    """Why an evaluation has no value. A fault of a function is told with its kind."""
    match error:
        case CelError() | Exhausted():
            return str(error)
        case RecursionError():
            return "it is nested too deeply"
        case MemoryError():
            return "it takes more memory than there is"
    return f"{type(error).__name__}: {error}"
