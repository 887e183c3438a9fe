"""Selectors on labels and claims, compiled once.

Source: metav1.LabelSelector; OCM's placement spec 2.6. Label selectors obey the rules of label keys
and values; claim selectors compare plain strings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rollout.model.problems import Problem

_NAME = re.compile(r"\A([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z", re.ASCII)
_DNS = re.compile(r"\A[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def is_label_value(text: str) -> bool:
    """At most 63 characters, empty or beginning and ending with a letter or digit."""
    return text == "" or (len(text) <= 63 and _NAME.match(text) is not None)


def is_label_key(text: str) -> bool:
    """``[prefix/]name``: the prefix a DNS subdomain of at most 253, the name at most 63 characters."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _DNS.match(prefix)):
        return False
    return len(name) <= 63 and _NAME.match(name) is not None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One test of one key."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; no requirement matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(r.matches(labels) for r in self.requirements)


EVERYTHING = Selector()


def parse_selector(
    raw: object, path: str, *, plain: bool = False
) -> tuple[Selector, tuple[Problem, ...]]:
    """Compile a selector object; every bad field becomes a problem and is left out.

    Args:
        raw: ``{matchLabels, matchExpressions}`` or None (matches everything).
        path: where it stands, for the problems.
        plain: a claim selector: keys and values are any strings, as the agents report them.
    """
    if raw is None:
        return EVERYTHING, ()
    if not isinstance(raw, dict):
        return EVERYTHING, (Problem(path, raw, "an object with matchLabels and matchExpressions"),)
    found: list[Requirement] = []
    problems: list[Problem] = []
    _take_labels(found, problems, raw.get("matchLabels"), f"{path}.matchLabels", plain=plain)
    expressions = raw.get("matchExpressions")
    if expressions is None:
        expressions = []
    if not isinstance(expressions, list):
        problems.append(Problem(f"{path}.matchExpressions", expressions, "a list"))
        expressions = []
    for i, item in enumerate(expressions):
        at = f"{path}.matchExpressions[{i}]"
        if not isinstance(item, dict):
            problems.append(Problem(at, item, "an object with key, operator and values"))
            continue
        _take(found, problems, at, item, plain=plain)
    return Selector(tuple(found)), tuple(problems)


STRING_ACCEPTED = "a string: write a number or true in quotes"
KEY_ACCEPTED = "a label key: [prefix/]name, the name at most 63 of A-Z a-z 0-9 - _ ."
VALUE_ACCEPTED = (
    "a label value: at most 63 of A-Z a-z 0-9 - _ ., beginning and ending with a letter or digit"
)


def _take_labels(
    found: list[Requirement], problems: list[Problem], labels: object, at: str, plain: bool
) -> None:
    """Append a requirement for each entry of matchLabels, or what is wrong with it."""
    if labels is not None and not isinstance(labels, dict):
        problems.append(Problem(at, labels, "a map of strings"))
    entries = labels.items() if isinstance(labels, dict) else ()
    for key, value in sorted(entries, key=lambda entry: str(entry[0])):
        here = f"{at}[{key}]"
        if not isinstance(key, str) or not (plain or is_label_key(key)):
            problems.append(Problem(here, key, KEY_ACCEPTED))
        elif not isinstance(value, str):
            problems.append(Problem(here, value, STRING_ACCEPTED))
        elif not (plain or is_label_value(value)):
            problems.append(Problem(here, value, VALUE_ACCEPTED))
        else:
            found.append(Requirement(key, "In", frozenset((value,))))


def _take(
    found: list[Requirement],
    problems: list[Problem],
    at: str,
    item: dict[str, object],
    plain: bool,
) -> None:
    """Append the requirement to ``found``, or what is wrong with it to ``problems``."""
    before = len(problems)
    key, operator, values = item.get("key"), item.get("operator"), item.get("values")
    if not isinstance(key, str) or not key or not (plain or is_label_key(key)):
        accepted = "the name of a claim" if plain else KEY_ACCEPTED
        problems.append(Problem(f"{at}.key", key, accepted))
    if operator not in OPERATORS:
        problems.append(Problem(f"{at}.operator", operator, f"one of {', '.join(OPERATORS)}"))
    listed = values if isinstance(values, list) else [] if values is None else None
    if listed is None:
        problems.append(Problem(f"{at}.values", values, "a list of strings"))
        return
    if operator in ("In", "NotIn") and not listed:
        problems.append(Problem(f"{at}.values", values, f"at least one value with {operator}"))
    if operator in ("Exists", "DoesNotExist") and listed:
        problems.append(Problem(f"{at}.values", values, f"no values with {operator}"))
    for i, value in enumerate(listed):
        if not isinstance(value, str):
            problems.append(Problem(f"{at}.values[{i}]", value, STRING_ACCEPTED))
        elif not (plain or is_label_value(value)):
            problems.append(Problem(f"{at}.values[{i}]", value, VALUE_ACCEPTED))
    if len(problems) == before:
        found.append(Requirement(str(key), str(operator), frozenset(listed)))
