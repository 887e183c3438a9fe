"""Says whether what was measured is good or bad: conditions of metrics, in CEL over ``result``.

A measurement without a usable value has no verdict, and so has a condition that makes such a value on its way:
a number that is not finite (``asFloat("NaN")``, ``0.0 / 0.0``), or a loop over nothing (``all`` of an empty list
is true). A condition can speak of such values (`isNaN(result)`, `size(result) == 0`); then it decides.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rollout.errors import ConfigError
from rollout.model.analyses import AnalysisPhase
from rollout.model.wording import shortened
from rollout.placement.cel import bounds
from rollout.placement.cel.bounds import Evaluation, Run
from rollout.placement.cel.evaluator import build, price_of
from rollout.placement.cel.expressions import DECLARED, failure_text, too_long
from rollout.placement.cel.parsing import Call, Environment, Node, children
from rollout.placement.cel.standard import ANY, STANDARD, Function, table
from rollout.placement.cel.text import MATCHES
from rollout.placement.cel.values import CelError, type_name


def _parts(value: Any) -> Iterator[Any]:
    """The value and all values in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += each.values()


def has_nan(value: Any) -> bool:
    """Whether a number in it is NaN."""
    return any(isinstance(each, float) and math.isnan(each) for each in _parts(value))


def has_infinity(value: Any) -> bool:
    """Whether a number in it is infinite."""
    return any(isinstance(each, float) and math.isinf(each) for each in _parts(value))


def _length(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise CelError(f"len takes a string, a list or an object, not a {type_name(value)}")
    return len(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise CelError(f"a {type_name(value)} is not a number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise CelError(f"{shortened(str(value), 40)!r} is not a number") from None


def _integer(value: Any) -> int:
    number = _number(value)
    if not math.isfinite(number) or abs(number) >= 2**63:
        raise CelError(f"{number} is not a whole number")
    return int(number)


_FUNCTIONS = (
    Function("isNaN", (ANY,), "bool", has_nan, member=False),
    Function("isInf", (ANY,), "bool", has_infinity, member=False),
    Function("isNil", (ANY,), "bool", lambda value: value is None, member=False),
    Function("len", (ANY,), "int", _length, member=False),
    Function("asFloat", (ANY,), ANY, _number, member=False),
    Function("asInt", (ANY,), ANY, _integer, member=False),
    Function(
        "default",
        (ANY, ANY),
        ANY,
        lambda value, other: other if value is None or value == [] else value,
        member=False,
    ),
)
_DECLARED = (*DECLARED, *_FUNCTIONS)
_TABLE = table((*STANDARD, MATCHES, *_DECLARED))
_OF_EMPTY = frozenset({"size", "len", "isNil", "default"})


class NoVerdictError(CelError):
    """A value came up that says nothing. As with any error of CEL, ``||`` and ``&&`` may do without it."""


class _Assessment(Evaluation):
    """An evaluation in which no value that says nothing goes unnoticed, unless a condition speaks of such."""

    __slots__ = ("_calls",)

    def __init__(self, result: Any, calls: frozenset[str], price: int) -> None:
        super().__init__({"result": result}, _no_scores, price)
        self._calls = calls

    def paid(self, value: Any) -> Any:
        if value.__class__ is float and not math.isfinite(value):
            if math.isnan(value) and "isNaN" not in self._calls:
                raise NoVerdictError("a value in it is not a number")
            if math.isinf(value) and "isInf" not in self._calls:
                raise NoVerdictError("a value in it is infinite")
        return super().paid(value)

    def looped(self, items: Any) -> Any:
        if items in ([], {}) and not self._calls & _OF_EMPTY:
            raise NoVerdictError("a list in it is empty")
        return items


@dataclass(frozen=True, slots=True)
class MetricCondition:
    """A compiled condition, or (``problem``) why it cannot be compiled. ``calls``: its functions."""

    problem: str = ""
    run: Run | None = None
    price: int = 1
    calls: frozenset[str] = frozenset()

    def holds(self, result: Any, calls: frozenset[str] = frozenset()) -> bool | str:
        """Whether it is true of the result, or in words why it is neither.

        Args:
            calls: the functions of all conditions of the metric.

        Raises: NoVerdictError where that hangs on a value that says nothing.
        """
        if self.run is None:
            return self.problem
        evaluation = _Assessment(result, calls | self.calls, self.price)
        try:
            value = self.run(evaluation)
        except NoVerdictError:
            raise
        except Exception as error:  # noqa: BLE001  (one odd value may not stop an analysis)
            return shortened(failure_text(error), bounds.LONGEST_FAILURE)
        return value if isinstance(value, bool) else f"it is a {type_name(value)}, not a bool"


def _no_scores(*_: Any) -> list[Any]:
    return []


@lru_cache(maxsize=256)
def condition(text: str) -> MetricCondition:
    """Compile a condition, once."""
    if (problem := too_long(text)) is not None:
        return MetricCondition(problem)
    try:
        root, boolean = Environment.of(_DECLARED, (("result", "dyn"),)).parse(text)
        if not boolean:
            return MetricCondition("it can never be true or false")
        run, price = build(root, _TABLE), price_of(root)
        return MetricCondition(run=run, price=price, calls=frozenset(_calls(root)))
    except ConfigError as error:
        first = str(error).partition("\n")[0].removeprefix("ERROR: <input>:")
        return MetricCondition(shortened(first, bounds.LONGEST_FAILURE))
    except RecursionError:
        return MetricCondition("it is nested too deeply")


def _calls(root: Node) -> Iterator[str]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call):
            yield node.function
        waiting += children(node)


def assess(success: str, failure: str, result: Any) -> tuple[AnalysisPhase, str]:
    """What a measured value means, and why where that is not plain.

    A condition that cannot be evaluated is an error; where both are given and neither is true, or the
    value says nothing, it is inconclusive.
    """
    given = [condition(text) for text in (failure, success) if text]
    if not given:
        return AnalysisPhase.ERROR, "there is no condition"
    calls = frozenset[str]().union(*(each.calls for each in given))
    if silent := _says_nothing(result, calls):
        return AnalysisPhase.INCONCLUSIVE, silent
    try:
        return _judged(success, failure, result, calls)
    except NoVerdictError as error:
        return AnalysisPhase.INCONCLUSIVE, str(error)


def _judged(
    success: str, failure: str, result: Any, calls: frozenset[str]
) -> tuple[AnalysisPhase, str]:
    """Raises: NoVerdictError."""
    failed = condition(failure).holds(result, calls) if failure else False
    if isinstance(failed, str):
        return AnalysisPhase.ERROR, f"failureCondition: {failed}"
    if failed:
        return AnalysisPhase.FAILED, ""
    succeeded = condition(success).holds(result, calls) if success else True
    if isinstance(succeeded, str):
        return AnalysisPhase.ERROR, f"successCondition: {succeeded}"
    if succeeded:
        return AnalysisPhase.SUCCESSFUL, ""
    if failure:
        return AnalysisPhase.INCONCLUSIVE, "neither condition is true"
    return AnalysisPhase.FAILED, ""


def _says_nothing(result: Any, calls: frozenset[str]) -> str:
    """Why the value has no verdict, where no condition speaks of such values."""
    if (result is None or result in ("", [], {})) and not calls & _OF_EMPTY:
        return "the result is empty"
    if "isNaN" not in calls and has_nan(result):
        return "the result is not a number"
    if "isInf" not in calls and has_infinity(result):
        return "the result is infinite"
    return ""
