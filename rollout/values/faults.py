"""Finds faults of rules that do not depend on template or clusters: in expressions and numbers."""

from collections.abc import Iterator, Sequence

from rollout.placement.cel.bounds import LONGEST_TOGETHER
from rollout.placement.cel.expressions import program, reads_scores
from rollout.values.expressions import value_program
from rollout.values.rules import (
    MOST_EXPRESSIONS,
    MOST_FIELDS,
    ClusterValues,
    ValueRule,
    ValueSetting,
)

_FAULTY = "it is not valid CEL (what it says is hidden, since it is for a Secret)"


def uncompiled(setting: ValueSetting, *, is_secret: bool = False) -> str | None:
    """Why the expression of a setting cannot be compiled; None where it can, or there is none.

    Args:
        is_secret: quote nothing of it, besides where its target says so.
    """
    problem = value_program(setting.expression).problem if setting.expression else None
    if problem is not None and (is_secret or setting.target.kind == "Secret"):
        return _FAULTY
    return problem


def unselectable(rule: ValueRule) -> Iterator[tuple[str, str]]:
    """Why expressions cannot say which clusters a rule concerns, each by its path in the rule."""
    for k, text in enumerate(rule.selecting):
        found = program(text)
        problem = found.problem
        if reads_scores(text):
            problem = "scores are for Placements: a rule goes by what the cluster is"
        elif problem is None and not found.boolean:
            problem = "it can never be true or false"
        if problem is not None:
            yield f"clusters.celSelector.celExpressions[{k}]", problem


def too_many(several: Sequence[ClusterValues]) -> list[str]:
    """What is wrong with the number of all expressions and settings together."""
    rules = [rule for values in several for rule in values.rules]
    settings = [setting for rule in rules for setting in rule.settings]
    expressions = {setting.expression for setting in settings} - {""}
    expressions |= {text for rule in rules for text in rule.selecting}
    found: list[str] = []
    for what, count, most in (
        ("expressions", len(expressions), MOST_EXPRESSIONS),
        ("characters in all expressions", sum(map(len, expressions)), LONGEST_TOGETHER),
        ("fields to set", len(settings), MOST_FIELDS),
    ):
        if count > most:
            found.append(
                f"ClusterValues of this workload have {count} {what} together: at most {most} are accepted"
            )
    return found
