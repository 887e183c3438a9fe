"""The wire form of a ManifestWorkReplicaSet.

Source: OCM ManifestWorkReplicaSet spec 2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from rollout.api.fields import listed, mapping, strings, text, texts, version_of, whole
from rollout.api.reading import read, read_each
from rollout.api.strategy import RolloutStrategyShape, read_strategy
from rollout.api.wire import (
    BLANK,
    Conditions,
    IfBad,
    Inside,
    InstantText,
    Int32,
    Name,
    RuledShape,
    Shape,
    WireObject,
    accepted,
)
from rollout.api.work import WorkSpec, hashed
from rollout.model import names
from rollout.model.intents import LONGEST_HISTORY, Intents, RollbackMode, read_intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.replicaset import PlacementRef, ReplicaSet, Template


class FailureStrategyShape(RolloutStrategyShape):
    """How a change is brought to the clusters, and back."""

    failure_strategy: Annotated[Literal["AbortAll"] | None, BLANK] = None
    """Proposed by OCM: AbortAll takes a failed revision back by itself, as annotation
    rollout-engine.io/rollback: Automatic does, which wins."""


class PlacementRefShape(Shape):
    """A Placement in this namespace."""

    name: Annotated[Name, accepted("the name of a Placement in this namespace")]
    rollout_strategy: Annotated[Any, Inside(FailureStrategyShape | None, object)] = Field(
        default=None,
        json_schema_extra={"default": {"type": "All", "all": {"progressDeadline": "None"}}},
    )


class ReplicaSetSpec(RuledShape):
    """What goes where, and how."""

    manifest_work_template: Annotated[Obj, Inside(WorkSpec)] | None = None
    placement_refs: Annotated[
        list[Any],
        Inside(Annotated[list[PlacementRefShape], Field(min_length=1)], list),
        IfBad([]),
    ]
    cascade_deletion_policy: Annotated[Literal["Background", "Foreground"] | None, BLANK] = (
        "Background"
    )
    revision_history_limit: Annotated[int, Field(ge=0, le=LONGEST_HISTORY)] | None = None
    """Proposed by OCM: how many earlier templates are kept. Annotation
    rollout-engine.io/revision-history-limit wins."""

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if not listed_manifests(mapping(written.get("manifestWorkTemplate"))):
            at = "manifestWorkTemplate.workload.manifests"
            yield Problem(at, None, "at least one manifest")
        refs = written.get("placementRefs")
        if not any(text(mapping(each).get("name")) for each in listed(refs)):
            words = "at least one object with the name of a Placement"
            yield Problem("placementRefs", refs, words)

    def refs(self, at: str) -> tuple[tuple[PlacementRef, ...], tuple[Problem, ...]]:
        """The references that have a name, and what is wrong with the others."""
        found: list[PlacementRef] = []
        problems: list[Problem] = []
        for path, ref, bad in read_each(PlacementRefShape, self.placement_refs, at):
            problems += bad
            if ref is not None:
                strategy = ref.rollout_strategy
                rollout, wrong = read_strategy(strategy, f"{path}.rolloutStrategy")
                found.append(PlacementRef(ref.name, rollout, wrong, mapping(strategy)))
        return tuple(found), tuple(problems)


class _WatchedRule(Shape):
    condition: Any = None


class _WatchedConfig(Shape):
    condition_rules: list[_WatchedRule] | None = None


class _Watched(Shape):
    """What of a template counts for the rollout: the conditions that its rules set."""

    manifest_configs: list[_WatchedConfig] | None = None


def _template(raw: Obj, at: str) -> tuple[Template, tuple[Problem, ...]]:
    """The template as written, its hash, and the condition types that its rules set."""
    watched, problems = read(_Watched, raw, at)
    rules = {
        text(rule.condition)
        for config in (watched.manifest_configs if watched is not None else None) or ()
        for rule in config.condition_rules or ()
    }
    return Template(raw, hashed(raw), frozenset(rules - {""})), problems


def listed_manifests(template: Obj) -> list[Obj]:
    """The manifests of a template or of a ManifestWork spec; what is no object is left out."""
    manifests = mapping(template.get("workload")).get("manifests")
    return [m for m in manifests if isinstance(m, dict)] if isinstance(manifests, list) else []


class SummaryShape(Shape):
    """How many works are in which state."""

    total: Int32 | None = 0
    applied: Int32 | None = 0
    available: Int32 | None = 0
    progressing: Int32 | None = 0
    degraded: Int32 | None = 0
    desired_total: Int32 | None = 0
    updated: Int32 | None = 0


class PlacementSummaryShape(Shape):
    """The works of one placement."""

    name: str
    available_decision_groups: str | None = None
    summary: SummaryShape | None = None


class ReplicaSetStatus(Shape):
    """How the rollout stands."""

    conditions: Conditions | None = None
    summary: SummaryShape | None = None
    placement_summary: list[PlacementSummaryShape] | None = None
    current_revision: str | None = None
    """The revision that was last rolled out to its end."""
    update_revision: str | None = None
    """The revision of the present template."""
    collision_count: Int32 | None = None
    """Always 0: revisions are named by hashes that do not collide. Written where the spec has fields
    that OCM proposed."""
    aborted_time: InstantText | None = None
    """When the present revision began to be taken back. Written as collisionCount is."""


class ReplicaSetObject(WireObject):
    """Brings one ManifestWork to every cluster that its placements select."""

    spec: ReplicaSetSpec
    status: ReplicaSetStatus | None = None


def decode_replicaset(obj: Obj, previous: ReplicaSet | None = None) -> ReplicaSet:
    """A ManifestWorkReplicaSet. A placement reference without a name is left out, with a problem.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. What was parsed of its spec is reused where
            uid and generation are equal.
    """
    meta = mapping(obj.get("metadata"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    was = (previous.uid, previous.generation) if previous is not None else None
    known = previous if generation and uid and was == (uid, generation) else None
    template, refs, cascade, problems = _parsed(obj.get("spec"), known)
    annotations = strings(meta.get("annotations"))
    intents, follows_ocm = _asked(obj.get("spec"), annotations, known)
    return ReplicaSet(
        namespace=text(meta.get("namespace")),
        name=text(meta.get("name")),
        uid=uid,
        generation=generation,
        version=version_of(meta),
        template=template,
        refs=refs,
        cascade=cascade,
        deleting=meta.get("deletionTimestamp") is not None,
        finalizers=texts(meta.get("finalizers")),
        labels=strings(meta.get("labels")),
        annotations=annotations,
        problems=problems,
        raw=obj,
        intents=intents,
        follows_ocm=follows_ocm,
    )


def _proposed(raw: object) -> Obj:
    """What the spec says in fields that OCM has proposed: they are there only where the hub has them."""
    spec = mapping(raw)
    found: Obj = {}
    limit = spec.get("revisionHistoryLimit")
    if isinstance(limit, int) and 0 <= limit <= LONGEST_HISTORY:
        found["history_limit"] = limit
    strategies = [
        mapping(mapping(ref).get("rolloutStrategy")) for ref in listed(spec.get("placementRefs"))
    ]
    if any(strategy.get("failureStrategy") == "AbortAll" for strategy in strategies):
        found["rollback"] = RollbackMode.AUTOMATIC
    return found


def _where_unsaid(found: Obj, annotations: Mapping[str, str]) -> Obj:
    """Of those, what no annotation says."""
    said = {"history_limit": names.HISTORY_LIMIT, "rollback": names.ROLLBACK}
    return {key: value for key, value in found.items() if said[key] not in annotations}


def _asked(
    raw: object, annotations: Mapping[str, str], known: ReplicaSet | None
) -> tuple[Intents, bool]:
    """What its annotations, and its spec where these say nothing, ask for, and whether the spec says any of it.
    ``known``: an earlier value with the same spec.
    """
    if known is not None and known.annotations == annotations:
        return known.intents, known.follows_ocm
    found = _proposed(raw)
    asked = replace(read_intents(annotations), **_where_unsaid(found, annotations))
    return asked, bool(found)


def _parsed(
    raw: object, known: ReplicaSet | None
) -> tuple[Template, tuple[PlacementRef, ...], str, tuple[Problem, ...]]:
    if known is not None:
        return known.template, known.refs, known.cascade, known.problems
    spec, problems = read(ReplicaSetSpec, raw, "spec")
    if spec is None:
        return Template({}, hashed({})), (), "Background", problems
    template, unclear = _template(spec.manifest_work_template or {}, "spec.manifestWorkTemplate")
    refs, wrong = spec.refs("spec.placementRefs")
    cascade = spec.cascade_deletion_policy or "Background"
    return template, refs, cascade, (*problems, *unclear, *wrong)
