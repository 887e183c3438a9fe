"""Renders a template with the values of one cluster, or says why it cannot."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout.model.cluster import Cluster
from rollout.model.content import content_hash
from rollout.model.kinds import Obj
from rollout.model.names import PREFIX
from rollout.model.placement import Predicate
from rollout.model.secrets import holds_secret
from rollout.model.waits import Reason, Wait
from rollout.model.work import SIZE_LIMIT, size_of
from rollout.placement.cel.expressions import Judge
from rollout.placement.framework import no_scores
from rollout.values.expressions import (
    Failed,
    ValueProgram,
    as_json,
    evaluate,
    lacks_key,
    value_program,
)
from rollout.values.faults import too_many, uncompiled, unselectable
from rollout.values.paths import PathError, Place, refused, resolve, with_value
from rollout.values.reads import read_from
from rollout.values.rules import ClusterValues, ValueSetting, revision_of, written_rules

_HIDDEN = "(an expression for a Secret)"
_FAILED = "it gives no value"
"""Messages are read by people who may not read Secrets: what is put into one is not quoted there."""
_MOST_GIVEN = 256
"""So many values of a field are remembered at once."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One field of one manifest, by its number in the template, and its value."""

    manifest: int
    place: Place
    value: Any


@dataclass(frozen=True, slots=True)
class RenderedContent:
    """What a cluster is to carry: the template with these values, and the hash of that.

    ``size`` is in bytes, of all manifests; ``largest`` the number of the largest one and its own size.
    """

    content: str
    assignments: tuple[Assignment, ...]
    size: int
    largest: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueShown:
    """A value of one cluster, and where it comes from, for a person to read."""

    rule: str
    target: str
    path: str
    value: Any
    is_secret: bool


@dataclass(frozen=True, slots=True)
class _TargetField:
    """A field that a setting fills in: its manifest, its place there, and its value in the template."""

    manifest: int
    place: Place
    current: Any
    results: dict[tuple[str | None, ...], "_Evaluated"] = field(default_factory=dict)
    """Results of the expression, by the labels and claims that it read."""


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """The result of an expression for a field, its steps, and why the field refuses the value, if it does."""

    value: Any | Failed
    steps: int
    refusal: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundSetting:
    """A setting of a rule with the fields of the template that it fills in."""

    origin: str
    clusters: Predicate | None
    setting: ValueSetting
    program: ValueProgram | None
    literal: Any
    fields: tuple[_TargetField, ...]


class Rendering:
    """The rules of one workload over one template. ``problems`` are what no cluster can be rendered for."""

    def __init__(
        self, template: Obj, content: str, workload: Obj, several: Sequence[ClusterValues]
    ) -> None:
        self.revision = revision_of(content, written_rules(several))
        self._template, self._workload = template, {"workload": workload}
        self._manifests: list[Obj] = manifests_of(template)
        self._secrets = frozenset(
            number for number, manifest in enumerate(self._manifests) if holds_secret(manifest)
        )
        self._known: dict[str, RenderedContent] = {}
        self.problems: tuple[str, ...] = ()
        self._bounds: list[_BoundSetting] = []
        problems = [
            f"ClusterValues {values.key}: {each}" for values in several for each in values.problems
        ]
        problems += too_many(several)
        if not problems:  # what is too much is not even compiled
            for values in sorted(several, key=lambda v: v.name):
                self._bounds += self._bind(values, problems)
        self.problems = tuple(problems)

    def render(self, cluster: Cluster) -> tuple[RenderedContent | Wait, int, int]:
        """What the cluster is to carry, or why nobody can tell; the steps of CEL that it took, and the bytes
        that were made.
        """
        found, steps = self._values(cluster)
        if isinstance(found, Wait):
            return found, steps, 0
        assignments = tuple(
            Assignment(filled.manifest, filled.place, value) for _, filled, value in found
        )
        key = json.dumps([[a.manifest, a.place, a.value] for a in assignments], sort_keys=True)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._rendered(assignments)
        is_too_large = known.size > SIZE_LIMIT and found
        made = self._too_large(cluster, found, known) if is_too_large else known
        return made, steps, known.size

    def keep(self, contents: Collection[str]) -> None:
        """Forget all contents but these: no cluster is to carry them any more."""
        if len(self._known) > len(contents):
            self._known = {
                k: known for k, known in self._known.items() if known.content in contents
            }

    def shown(self, cluster: Cluster) -> list[ValueShown] | Wait:
        """Each value that the cluster gets, and the rule that gives it."""
        found, _ = self._values(cluster)
        if isinstance(found, Wait):
            return found
        return [
            ValueShown(
                rule=bound.origin,
                target=self._name_of(filled.manifest),
                path=bound.setting.path.text,
                value=value,
                is_secret=self._is_secret(filled.manifest),
            )
            for bound, filled, value in found
        ]

    # -- binding -------------------------------------------------------------------------------

    def _bind(self, values: ClusterValues, problems: list[str]) -> Iterator[_BoundSetting]:
        for i, rule in enumerate(values.rules):
            at = f"ClusterValues {values.key}: spec.rules[{i}]"
            problems += [f"{at}.{path}: {problem}" for path, problem in unselectable(rule)]
            for j, setting in enumerate(rule.settings):
                where = f"{at}.set[{j}]"
                fields = tuple(self._target_fields(setting, where, problems))
                is_secret = any(self._is_secret(filled.manifest) for filled in fields)
                problem = uncompiled(setting, is_secret=is_secret)
                if problem is not None:
                    problems.append(f"{where}.value: {problem}")
                yield _BoundSetting(
                    origin=f"{values.name} rules[{i}].set[{j}]",
                    clusters=rule.clusters,
                    setting=setting,
                    program=value_program(setting.expression) if setting.expression else None,
                    literal=as_json(setting.literal),
                    fields=fields,
                )

    def _target_fields(
        self, setting: ValueSetting, where: str, problems: list[str]
    ) -> list[_TargetField]:
        found: list[_TargetField] = []
        matching = [i for i, m in enumerate(self._manifests) if setting.target.matches(m)]
        if not matching:
            problems.append(f"{where}.target: no manifest of the template is {setting.target}")
        for number in matching:
            manifest = self._manifests[number]
            try:
                place, current = resolve(manifest, setting.path)
            except PathError as error:
                problems.append(f"{where}.path: {self._name_of(number)}: {error}")
                continue
            # No rule reads a Secret: what stands in it would show in messages and in other objects.
            found.append(_TargetField(number, place, None if self._is_secret(number) else current))
        return found

    def _is_secret(self, number: int) -> bool:
        return number in self._secrets

    def _name_of(self, number: int) -> str:
        manifest = self._manifests[number]
        meta = manifest.get("metadata")
        return f"{manifest.get('kind')} {meta.get('name') if isinstance(meta, dict) else '?'}"

    # -- one cluster ---------------------------------------------------------------------------

    def _values(
        self, cluster: Cluster
    ) -> tuple[list[tuple[_BoundSetting, _TargetField, Any]] | Wait, int]:
        """The values of a cluster in the order of the rules, the last of each place."""
        seen = {**self._workload, "cluster": seen_of(cluster)}
        found: dict[tuple[int, Place], tuple[_BoundSetting, _TargetField, Any]] = {}
        judge, steps = Judge(no_scores, None), 0
        applies: dict[int, bool | str] = {}
        for bound in self._bounds:
            key = id(bound.clusters)
            if key not in applies:
                applies[key], spent = _concerns(bound.clusters, cluster, judge)
                steps += spent
            verdict = applies[key]
            if isinstance(verdict, str):
                is_missing = lacks_key(verdict)
                return _wait(bound, cluster, f"clusters: {verdict}", missing=is_missing), steps
            if not verdict:
                continue
            for filled in bound.fields:
                value, spent = self._value(bound, filled, seen, cluster)
                steps += spent
                if isinstance(value, Wait):
                    return value, steps
                before = found.get((filled.manifest, filled.place))
                if before is not None and _text(before[2]) != _text(value):
                    return self._conflict(before[0], bound, filled, cluster), steps
                found[filled.manifest, filled.place] = (bound, filled, value)
        return self._apart(list(found.values()), cluster), steps

    def _value(
        self, bound: _BoundSetting, filled: _TargetField, seen: Mapping[str, Any], cluster: Cluster
    ) -> tuple[Any | Wait, int]:
        result = self._evaluated(bound, filled, seen)
        value, steps = result.value, result.steps
        if result.refusal is None and not isinstance(value, Failed):
            return value, steps
        is_secret = self._is_secret(filled.manifest)
        text = _HIDDEN if is_secret else repr(bound.setting.expression)
        if isinstance(value, Failed):
            why = _FAILED if is_secret and not value.is_missing else value.why
            return _wait(bound, cluster, f"{text}: {why}", missing=value.is_missing), steps
        of = f"{text}: " if bound.setting.expression else ""
        return _wait(bound, cluster, f"{bound.setting.path.text}: {of}{result.refusal}"), steps

    def _evaluated(
        self, bound: _BoundSetting, filled: _TargetField, seen: Mapping[str, Any]
    ) -> _Evaluated:
        """The result of a setting for a field. Clusters from which it reads the same share one evaluation."""
        program = bound.program
        reads = () if program is None else program.reads
        if reads is None:
            return self._evaluate(bound, filled, seen)
        read = read_from(seen["cluster"], reads)
        known = filled.results.get(read)
        if known is None:
            if len(filled.results) >= _MOST_GIVEN:  # such labels differ on every cluster
                filled.results.clear()
            known = filled.results[read] = self._evaluate(bound, filled, seen)
        return known

    def _evaluate(
        self, bound: _BoundSetting, filled: _TargetField, seen: Mapping[str, Any]
    ) -> _Evaluated:
        if bound.program is None:
            value, steps = bound.literal, 1
        else:
            value, steps = evaluate(bound.program, {**seen, "current": filled.current})
        if isinstance(value, Failed):
            return _Evaluated(value, steps, None)
        manifest = self._manifests[filled.manifest]
        return _Evaluated(value, steps, refused(manifest, filled.place, filled.current, value))

    def _apart(
        self, found: list[tuple[_BoundSetting, _TargetField, Any]], cluster: Cluster
    ) -> list[tuple[_BoundSetting, _TargetField, Any]] | Wait:
        """The values, unless one would be set inside of another one."""
        places = {(filled.manifest, filled.place): bound for bound, filled, _ in found}
        for bound, filled, _ in found:
            for length in range(1, len(filled.place)):
                outer = places.get((filled.manifest, filled.place[:length]))
                if outer is not None:
                    return self._conflict(outer, bound, filled, cluster)
        return found

    def _conflict(
        self, one: _BoundSetting, other: _BoundSetting, filled: _TargetField, cluster: Cluster
    ) -> Wait:
        return Wait(
            Reason.VALUES_CONFLICT,
            f"{cluster.name}: {self._name_of(filled.manifest)}: {one.origin} sets "
            f"{one.setting.path.text} and {other.origin} sets {other.setting.path.text}: they differ",
        )

    def _rendered(self, assignments: tuple[Assignment, ...]) -> RenderedContent:
        spec = assigned(self._template, assignments)
        sizes = [size_of(manifest) for manifest in manifests_of(spec)]
        largest = max(enumerate(sizes), key=lambda each: each[1], default=(0, 0))
        return RenderedContent(content_hash(spec), assignments, sum(sizes), largest)

    def _too_large(
        self,
        cluster: Cluster,
        found: list[tuple[_BoundSetting, _TargetField, Any]],
        known: RenderedContent,
    ) -> Wait:
        number, size = known.largest
        bound, _, value = max(found, key=lambda each: len(_text(each[2])))
        return _wait(
            bound,
            cluster,
            f"{bound.setting.path.text}: its value has {len(_text(value))} characters; all manifests "
            f"together have {known.size} bytes, {self._name_of(number)} alone {size}, and OCM takes at "
            f"most {SIZE_LIMIT} in one work",
        )


def manifests_of(template: Obj) -> list[Obj]:
    """The manifests of a template; what is no object stands for an empty one."""
    workload = template.get("workload")
    manifests = workload.get("manifests") if isinstance(workload, dict) else None
    found = manifests if isinstance(manifests, list) else []
    return [each if isinstance(each, dict) else {} for each in found]


def assigned(template: Obj, assignments: Sequence[Assignment]) -> Obj:
    """The template with these values. What does not change is shared."""
    spec = template
    for each in assignments:
        place = ("workload", "manifests", each.manifest, *each.place)
        spec = with_value(spec, place, each.value)
    return spec


def seen_of(cluster: Cluster) -> Obj:
    """The cluster as expressions see it."""
    meta = cluster.raw.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    mine = annotations if isinstance(annotations, dict) else {}
    return {
        "name": cluster.name,
        "labels": dict(cluster.labels),
        "claims": dict(cluster.claims),
        "annotations": {key: text for key, text in mine.items() if key.startswith(PREFIX)},
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in cluster.taints
        ],
    }


def _concerns(wanted: Predicate | None, cluster: Cluster, judge: Judge) -> tuple[bool | str, int]:
    """Whether a rule concerns the cluster, or in words why nobody can tell; and the steps taken."""
    if wanted is None:
        return True, 1
    if not wanted.labels.matches(cluster.labels) or not wanted.claims.matches(cluster.claims):
        return False, 1
    steps = 1
    for text in wanted.cel:
        verdict, spent = judge.verdict(text, cluster)
        steps += spent
        if verdict is not True:
            return verdict, steps
    return True, steps


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _wait(bound: _BoundSetting, cluster: Cluster, why: str, *, missing: bool = False) -> Wait:
    reason = Reason.VALUES_MISSING if missing else Reason.VALUES_INVALID
    return Wait(reason, f"{cluster.name}: ClusterValues {bound.origin}: {why}")
