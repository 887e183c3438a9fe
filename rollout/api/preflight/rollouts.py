"""Checks that rollouts stop when they should: strategies, references and groups."""

from collections.abc import Iterator

from rollout.api.fields import listed, mapping, number_of, text
from rollout.api.preflight.findings import Finding, Item, Severity, World
from rollout.api.strategy import MEMBERS
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.intents import listed_in
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.names import (
    ALLOW_EMPTY_GROUPS,
    ANALYSIS,
    CLUSTER_ANALYSIS,
    FAILURE_TOLERANCE,
    GATES,
    HISTORY_LIMIT,
    HOLD,
    PROGRESSING,
    ROLLBACK,
    SEMANTICS,
    SKIP,
)
from rollout.model.replicaset import PlacementRef, ReplicaSet, RolloutSpec

_LONGEST_LABEL = 63


def rollout_findings(world: World) -> Iterator[Finding]:
    """What is doubtful about each placement reference, and about clusters that are named."""
    for item in world.of(CLUSTER_MANAGEMENT_ADDON):
        yield from _unknown_clusters(world, item)
    for item, workload in world.replicasets:
        yield from _owner_label(item)
        yield from _rules_wanted(item, workload)
        yield from _without_effect(item, workload)
        yield from _unknown_clusters(world, item)
        yield from _proposed(item, workload)
        seen: set[str] = set()
        for path, raw, ref in _refs(item, workload):
            if ref.name in seen:
                yield item.warning(
                    f"{path}.name",
                    f"{ref.name} is named twice: all its clusters belong to the first of the two",
                    "keep one of the two",
                )
            seen.add(ref.name)
            yield from _placement(world, item, ref.name, f"{path}.name")
            yield from _strategy(world, item, ref, raw, path=f"{path}.rolloutStrategy")


def _refs(item: Item, workload: ReplicaSet) -> Iterator[tuple[str, Obj, PlacementRef]]:
    """Each reference that has a name: its path, as written, and parsed."""
    refs = iter(workload.refs)
    spec = mapping(item.document.obj.get("spec"))
    for i, raw in enumerate(map(mapping, listed(spec.get("placementRefs")))):
        if text(raw.get("name")):
            yield f"spec.placementRefs[{i}]", raw, next(refs)


def _owner_label(item: Item) -> Iterator[Finding]:
    value = f"{item.namespace}.{item.name}"
    if len(value) > _LONGEST_LABEL:
        yield item.info(
            "metadata.name",
            f"namespace and name have {len(value)} characters together: works carry a hash of them "
            "in their owner label, and OCM's own controller would refuse this object",
            f"shorten them to {_LONGEST_LABEL - 1} together where that matters",
        )


def _rules_wanted(item: Item, workload: ReplicaSet) -> Iterator[Finding]:
    """OCM's own logic reads Progressing alone, which agents write only for a rule."""
    if PROGRESSING in workload.template.rules:
        return
    remedy = "add a condition rule for Progressing to manifestConfigs"
    path = "spec.manifestWorkTemplate.manifestConfigs"
    by_steps = any(r.rollout is not None and r.rollout.type != "All" for r in workload.refs)
    if workload.annotations.get(SEMANTICS) != "ocm":
        yield item.info(
            path,
            "without a rule for Progressing a cluster succeeds once its manifests are applied and "
            "exist; their health is not looked at",
            remedy,
        )
    elif by_steps:
        yield item.error(
            path,
            f"nothing can ever report progress: with {SEMANTICS}: ocm and no rule for Progressing "
            "the first clusters hold their slots for ever",
            remedy,
        )
    else:
        yield item.warning(
            path,
            f"with {SEMANTICS}: ocm and no rule for Progressing the rollout never counts as "
            "complete",
            remedy,
        )


def _without_effect(item: Item, workload: ReplicaSet) -> Iterator[Finding]:
    """What profile ``ocm`` does not look at, and somebody seems to rely on."""
    if workload.annotations.get(SEMANTICS) != "ocm":
        return
    measured = [name for name in (ANALYSIS, CLUSTER_ANALYSIS) if name in workload.annotations]
    if any(gate.kind == ANALYSIS_GATE for gate in workload.intents.gates):
        measured.append(GATES)
    for name in measured:
        yield item.warning(
            f"metadata.annotations[{name}]",
            f"{SEMANTICS}: ocm measures nothing: the workload is held as Misconfigured",
            "remove one of the two",
        )
    for name in (GATES, HOLD, SKIP, FAILURE_TOLERANCE):
        if name in workload.annotations and name not in measured:
            yield item.warning(
                f"metadata.annotations[{name}]",
                f"does nothing with {SEMANTICS}: ocm",
                "remove one of the two; pausing works with both",
            )


def _placement(world: World, item: Item, name: str, path: str) -> Iterator[Finding]:
    key = f"{item.namespace}/{name}"
    if key not in world.placements:
        near = [k for k in world.placements if k.endswith(f"/{name}")]
        hint = f"; {near[0]} is in another namespace" if near else ""
        yield item.warning(
            path,
            f"Placement {key} is not in these files{hint}",
            "add it, unless it is on the hub already: without it the rollout waits",
        )


def _strategy(
    world: World, item: Item, ref: PlacementRef, raw: Obj, path: str
) -> Iterator[Finding]:
    strategy, spec = mapping(raw.get("rolloutStrategy")), ref.rollout
    if spec is None:
        return  # its problems have been reported
    member = MEMBERS[spec.type]
    for kind, other in MEMBERS.items():
        if other != member and strategy.get(other) is not None:
            yield item.warning(
                f"{path}.{other}",
                f"is ignored: the type is {spec.type}",
                f"remove it, or write type: {kind}",
            )
    here = f"{path}.{member}"
    yield from _quoted(item, mapping(strategy.get(member)), here)
    yield from _limits(world, item, ref.name, spec, path=here)
    yield from _groups(world, item, ref.name, spec, path=here)


def _quoted(item: Item, member: Obj, path: str) -> Iterator[Finding]:
    for field in ("maxConcurrency", "maxFailures"):
        value = member.get(field)
        number = number_of(text(value))
        if number:
            yield item.warning(
                f"{path}.{field}",
                f"{value!r} is a number in quotes; it is read as {number}, but OCM's own "
                "controllers refuse it",
                "write it without quotes",
            )


def _limits(
    world: World, item: Item, placement: str, spec: RolloutSpec, path: str
) -> Iterator[Finding]:
    if spec.concurrency is not None and spec.concurrency.is_explicit_zero:
        yield item.warning(
            f"{path}.maxConcurrency",
            f"{str(spec.concurrency)!r} holds the rollout: no cluster is touched",
            "raise it to begin; leave it out for all at once",
        )
    if spec.type == "All":
        return
    total = world.at_most(f"{item.namespace}/{placement}")
    failures = spec.max_failures
    over = (
        failures.value >= 100 if failures.percent else total is not None and failures.value >= total
    )
    if over and (total is None or total > 0):
        least = f"{failures} is" if failures.percent else f"{failures} of at most {total} is"
        yield item.warning(
            f"{path}.maxFailures",
            f"{least} every cluster of {placement}: no number of failures stops the rollout",
            "choose a smaller budget",
        )
    if spec.deadline is None:
        yield item.info(
            f"{path}.progressDeadline",
            "there is none: a cluster that never answers holds its slot for ever",
            'set one, such as "10m"',
        )


def _groups(
    world: World, item: Item, placement: str, spec: RolloutSpec, path: str
) -> Iterator[Finding]:
    key = f"{item.namespace}/{placement}"
    found = world.placements.get(key)
    if found is None:
        return
    names = [group.name for group in found.groups]
    may_be_empty = listed_in(_annotations(item), ALLOW_EMPTY_GROUPS)
    asked = [group.name for group in spec.mandatory]
    for i, group in enumerate(spec.mandatory):
        if group.name and group.name in asked[:i]:
            yield item.warning(
                f"{path}.mandatoryDecisionGroups[{i}].groupName",
                f"{group.name!r} is named twice: it is one stage, where it stands first",
                "keep one of the two",
            )
        elif group.name and group.name not in names:
            exist = ", ".join(dict.fromkeys(names)) or "none"
            yield item.warning(
                f"{path}.mandatoryDecisionGroups[{i}].groupName",
                f"Placement {placement} has no decision group {group.name!r}: the rollout is held",
                f"its groups are: {exist}",
            )
        elif group.name and group.name not in may_be_empty and not world.can_be_in(key, group.name):
            yield item.warning(
                f"{path}.mandatoryDecisionGroups[{i}].groupName",
                f"no cluster of these files can be in decision group {group.name!r} of Placement "
                f"{placement}: the rollout is held",
                f"correct its groupClusterSelector, or allow it by annotation {ALLOW_EMPTY_GROUPS}: "
                f"{group.name}",
            )


def _proposed(item: Item, workload: ReplicaSet) -> Iterator[Finding]:
    """Fields that not every hub stores."""
    if workload.follows_ocm:
        yield item.info(
            "spec",
            "failureStrategy and revisionHistoryLimit are proposed by OCM: a hub whose definitions "
            "lack them drops them",
            f"annotations {ROLLBACK} and {HISTORY_LIMIT} work on every hub",
        )


def _annotations(item: Item) -> dict[str, str]:
    """The annotations of the object; values that are no text count as empty."""
    raw = mapping(mapping(item.document.obj.get("metadata")).get("annotations"))
    return {name: text(value) for name, value in raw.items()}


def _unknown_clusters(world: World, item: Item) -> Iterator[Finding]:
    """Names of clusters that none has; nothing is said where the files have no cluster at all."""
    known = {cluster.name for cluster in world.clusters}
    annotations = _annotations(item)
    for name in (SKIP, HOLD) if known else ():
        listed = {entry.partition("@")[0] for entry in listed_in(annotations, name)}
        if listed - known:
            yield item.find(
                Severity.INFO if world.more_clusters else Severity.ERROR,
                f"metadata.annotations[{name}]",
                f"no cluster of these files is called {', '.join(sorted(listed - known))}",
                "correct the name; `rollout validate --force` takes one that is on the hub or still to come",
            )
