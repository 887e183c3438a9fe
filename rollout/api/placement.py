"""What does a Placement or a PlacementDecision say? Wire objects to model values.

Everything of a spec is read, whatever else in it is wrong, so that all problems are known at once.
Source: OCM placement spec 1.4, 1.5, 2.6 to 2.8 and 3.1.
"""

import dataclasses
import re
from collections.abc import Sequence
from functools import lru_cache
from sys import intern
from typing import Any

from rollout.api.fields import Reader, listed, mapping, strings, text, texts, version_of, whole
from rollout.model.amounts import Amount, parse_amount, parse_digits
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from rollout.model.placement import (
    Coordinate,
    Decision,
    NamedGroup,
    Placement,
    Predicate,
    SpreadConstraint,
    Toleration,
)
from rollout.model.problems import Problem
from rollout.model.selectors import is_label_key

MODES = ("Additive", "Exact")
EFFECTS = ("NoSelect", "PreferNoSelect", "NoSelectIfNew")
TOLERATION_OPERATORS = ("Equal", "Exists")
SCORE_TYPES = ("BuiltIn", "AddOn")
BUILT_IN = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory")
SORTS = ("ClusterName", "Score")
KEY_TYPES = ("Label", "Claim")
UNSATISFIABLE = ("ScheduleAnyway", "DoNotSchedule")

GROUP_SIZE_ACCEPTED = 'a whole number of 1 or more, or a percentage from "1%" to "100%"'
GROUP_NAME = re.compile(r"\A[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]\Z", re.ASCII)
GROUP_NAME_ACCEPTED = (
    "2 to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
)
RATE_ACCEPTED = 'a whole number and one of h, m, s, such as "1m"'
_RATE = re.compile(r"\A([0-9]{1,9})([hms])\Z", re.ASCII)
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_INT32 = 2**31 - 1
_INT64 = 2**63 - 1


def decode_placement(obj: Obj, previous: Placement | None = None) -> Placement:
    """A Placement with every problem of its spec. A bad selector matches nothing.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. What was parsed of its spec is reused where
            uid and generation are equal.
    """
    meta, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    same = previous is not None and generation and uid and previous.uid == uid
    if previous is not None and same and previous.generation == generation:
        parsed = previous
    else:
        parsed = _spec(obj.get("spec"), text(meta.get("namespace")), text(meta.get("name")))
    return dataclasses.replace(
        parsed,
        uid=uid,
        generation=generation,
        version=version_of(meta),
        deleting=meta.get("deletionTimestamp") is not None,
        annotations=strings(meta.get("annotations")),
        conditions=read_conditions(status.get("conditions")),
        status_groups=_status_groups(status.get("decisionGroups")),
        raw=obj,
    )


def _spec(raw: object, namespace: str, name: str) -> Placement:
    problems: list[Problem] = []
    if len(name) > 63:
        accepted = "at most 63 characters: decisions carry the name in a label"
        problems.append(Problem("metadata.name", name, accepted))
    spec = Reader(raw, "spec", problems)
    policy = spec.inner("prioritizerPolicy")
    strategy = spec.inner("decisionStrategy").inner("groupStrategy")
    parsed = Placement(
        namespace,
        name,
        cluster_sets=spec.texts("clusterSets"),
        number=_number(spec),
        predicates=tuple(_predicate(item) for item in spec.items("predicates")),
        mode=policy.one_of("mode", MODES, "Additive"),
        weights=tuple(
            w for item in policy.items("configurations") if (w := _weight(item)) is not None
        ),
        tolerations=tuple(
            t for item in spec.items("tolerations") if (t := _toleration(item)) is not None
        ),
        spread=tuple(
            s
            for item in spec.inner("spreadPolicy").items("spreadConstraints")
            if (s := _spread(item)) is not None
        ),
        group_size=_group_size(strategy),
        groups=tuple(
            g for item in strategy.items("decisionGroups") if (g := _group(item)) is not None
        ),
        sort_by=spec.one_of("sortBy", SORTS, "ClusterName"),
        score_rate_limit_seconds=_rate(spec),
    )
    return dataclasses.replace(parsed, problems=tuple(problems))


def _number(spec: Reader) -> int | None:
    """numberOfClusters; one that cannot be honoured asks for no cluster rather than for all."""
    return spec.whole("numberOfClusters", 0 if spec.has("numberOfClusters") else None, 0, _INT32)


def _predicate(item: Reader) -> Predicate:
    selector = item.inner("requiredClusterSelector")
    return Predicate(
        selector.selector("labelSelector"),
        selector.selector("claimSelector", plain=True),
        selector.inner("celSelector").texts("celExpressions"),
    )


def _weight(item: Reader) -> tuple[Coordinate, int] | None:
    """A configuration; None where it cannot be honoured. A weight of 0 is not looked at further."""
    before = len(item.problems)
    weight = item.whole("weight", 1, -10, 10)
    if weight == 0:
        return None
    if not item.has("scoreCoordinate"):
        item.refuse("scoreCoordinate", "an object that names a score")
        return None
    coordinate = item.inner("scoreCoordinate")
    kind = coordinate.one_of("type", SCORE_TYPES, "BuiltIn")
    if len(item.problems) > before:
        return None
    found = _addon_score(coordinate) if kind == "AddOn" else _built_in_score(coordinate)
    return None if found is None or len(item.problems) > before else (found, weight or 0)


def _built_in_score(coordinate: Reader) -> Coordinate | None:
    """The name of one of ours, or a qualified one (``example.com/Name``) for a plugin to know."""
    name = coordinate.text("builtIn")
    if name in BUILT_IN or "/" in name:
        return Coordinate("BuiltIn", name)
    coordinate.refuse("builtIn", f"one of {', '.join(BUILT_IN)}")
    return None


def _addon_score(coordinate: Reader) -> Coordinate | None:
    addon = coordinate.inner("addOn")
    resource, score = addon.text("resourceName"), addon.text("scoreName")
    if not resource:
        addon.refuse("resourceName", "the name of an AddOnPlacementScore")
    if not score:
        addon.refuse("scoreName", "the name of a score in it")
    return Coordinate("AddOn", resource=resource, score=score) if resource and score else None


def _toleration(item: Reader) -> Toleration | None:
    """A toleration; None where it cannot be honoured, since it must not tolerate more than asked."""
    before = len(item.problems)
    key = item.text("key", most=316)
    operator = item.one_of("operator", TOLERATION_OPERATORS, "Equal")
    value = item.text("value", most=1024)
    effect = item.one_of("effect", EFFECTS, "")
    seconds = item.whole("tolerationSeconds", None, -_INT64, _INT64)
    if key and not is_label_key(key):
        item.refuse("key", "a label key: [prefix/]name")
    if len(item.problems) == before and not key and operator != "Exists":
        item.refuse("operator", "Exists, since the key is empty (which stands for every key)")
    if len(item.problems) == before and operator == "Exists" and value:
        item.refuse("value", "no value with operator Exists")
    return (
        None if len(item.problems) > before else Toleration(key, operator, value, effect, seconds)
    )


def _spread(item: Reader) -> SpreadConstraint | None:
    before = len(item.problems)
    key = item.text("topologyKey", most=316)
    if not is_label_key(key) and len(item.problems) == before:
        item.refuse("topologyKey", "a label key: [prefix/]name")
    kind = item.one_of("topologyKeyType", KEY_TYPES, "Label")
    skew = item.whole("maxSkew", 1, 1, _INT32)
    hard = item.one_of("whenUnsatisfiable", UNSATISFIABLE, "ScheduleAnyway") == "DoNotSchedule"
    if len(item.problems) > before:
        return None
    return SpreadConstraint(key, kind, skew or 1, hard)


def _group_size(strategy: Reader) -> Amount | None:
    """clustersPerDecisionGroup; the number 0 is unset, as typed Go clients write it."""
    value = strategy.obj.get("clustersPerDecisionGroup")
    if value is None or (type(value) is int and value == 0):
        return None
    found = parse_amount(value)
    if found is None or found.value == 0:
        strategy.refuse("clustersPerDecisionGroup", GROUP_SIZE_ACCEPTED)
        return None
    return found


def _group(item: Reader) -> NamedGroup | None:
    name = item.obj.get("groupName")
    if not isinstance(name, str) or not GROUP_NAME.match(name):
        item.refuse("groupName", GROUP_NAME_ACCEPTED)
        name = ""
    selector = item.inner("groupClusterSelector")
    labels = selector.selector("labelSelector")
    claims = selector.selector("claimSelector", plain=True)
    return NamedGroup(name, labels, claims) if name else None


def _rate(spec: Reader) -> int:
    value = spec.obj.get("scoreRateLimit")
    if value is None:
        return 60
    match = _RATE.match(value) if isinstance(value, str) else None
    if match is None:
        spec.refuse("scoreRateLimit", RATE_ACCEPTED)
        return 60
    return int(match[1]) * _SECONDS[match[2]]


def _status_groups(raw: object) -> tuple[tuple[int, str, int, tuple[str, ...]], ...] | None:
    if not isinstance(raw, list):
        return None
    return tuple(
        (
            whole(item.get("decisionGroupIndex")),
            text(item.get("decisionGroupName")),
            whole(item.get("clusterCount")),
            texts(item.get("decisions")),
        )
        for item in raw
        if isinstance(item, dict)
    )


def decode_decision(obj: Obj) -> Decision:
    """A PlacementDecision. Entries without a cluster name are left out."""
    meta = mapping(obj.get("metadata"))
    labels = strings(meta.get("labels"))
    index = labels.get(GROUP_INDEX_LABEL, "")
    entries = listed(mapping(obj.get("status")).get("decisions"))
    return Decision(
        text(meta.get("namespace")),
        text(meta.get("name")),
        labels.get(PLACEMENT_LABEL, ""),
        parse_digits(index),
        labels.get(GROUP_NAME_LABEL, ""),
        _same(
            tuple(
                intern(item["clusterName"])
                for item in entries
                if isinstance(item, dict) and isinstance(item.get("clusterName"), str)
            )
        ),
        version_of(meta),
        text(meta.get("uid")),
        {"metadata": {key: meta[key] for key in ("labels", "ownerReferences") if key in meta}},
        _scores(entries),
    )


def _scores(entries: Sequence[object]) -> tuple[int, ...] | None:
    """As `Decision.scores` has them."""
    found: list[int] = []
    for item in entries:
        if not isinstance(item, dict) or item.get("reason") != "" or "clusterName" not in item:
            return None
        score = item.get("score", 0)
        if type(score) is not int or len(item) != (3 if score else 2):
            return None
        found.append(_SHARED.get(score, score))
    return _same(tuple(found))


@lru_cache(maxsize=1_024)
def _same(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """One value for equal ones: a hundred placements name the same clusters, with the same scores."""
    return found


_SHARED = {score: score for score in range(-100, 101)}
"""Numbers that stand in many decisions are one object each."""
