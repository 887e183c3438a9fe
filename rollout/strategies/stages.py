"""Cuts a fleet into stages: the built-in strategies, and what they share.

* ``All``: one stage, no limits.
* ``Progressive``: the mandatory groups in the order listed, then the rest, `maxConcurrency` at a time.
* ``ProgressivePerGroup``: the mandatory groups, then each further group as a whole.

Source: semantics rows 3-5, 13, 14; OCM's rolloutStrategy API.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta

from rollout.errors import ConfigError
from rollout.model import names
from rollout.model.amounts import Amount
from rollout.model.instants import aware
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import (
    Rollout,
    Selection,
    Stage,
    Staging,
    Standing,
    Strategy,
    Timing,
    select,
)

NONE_TOLERATED = Amount(0)
REST = "rest"
NO_TARGETS = Wait(Reason.NO_TARGETS, "the placement selects no cluster; nothing is rolled out")


class All:
    """Everything at once; `maxFailures` and `minSuccessTime` are ignored, as OCM does."""

    def stages(self, spec: RolloutSpec, selection: Selection) -> Staging:
        return Staging((Stage("all", "all clusters", groups=selection.groups),))


class Progressive:
    """A sliding window over the clusters that are in no mandatory group."""

    def stages(self, spec: RolloutSpec, selection: Selection) -> Staging:
        canaries, rest, hold = _mandatory(spec, selection)
        limit = spec.concurrency
        if limit is not None and limit.value == 0 and not limit.written:
            limit = None  # typed Go clients send 0 for unset
        window = Stage(REST, "the rest", groups=rest, limit=limit)
        return Staging((*canaries, window), budget=spec.max_failures, hold=hold)


class ProgressivePerGroup:
    """One group after another, each as a whole."""

    def stages(self, spec: RolloutSpec, selection: Selection) -> Staging:
        canaries, rest, hold = _mandatory(spec, selection)
        keys = _keys(selection.groups)
        further = tuple(
            Stage(
                keys[group.index, group.name],
                _title(group),
                groups=(group,),
                budget=spec.max_failures,
            )
            for group in rest
        )
        return Staging(canaries + further, hold=hold)


def _mandatory(
    spec: RolloutSpec, selection: Selection
) -> tuple[tuple[Stage, ...], tuple[Group, ...], Wait | None]:
    """The mandatory stages in the order listed, the groups left over, and why to hold, if so."""
    keys = _keys(selection.groups)
    taken: dict[tuple[int, str], Stage] = {}
    hold: Wait | None = None
    for ref in spec.mandatory:
        matched = [group for group in selection.groups if _is_meant(ref, group)]
        for group in matched:
            key = (group.index, group.name)
            if key not in taken:
                taken[key] = Stage(
                    keys[key], _title(group), groups=(group,), budget=NONE_TOLERATED, mandatory=True
                )
        if not matched:
            taken[-1, str(ref)] = Stage(
                f"{ref.name}/0" if ref.name else str(ref),
                str(ref),
                groups=(Group(ref.index, ref.name, ()),),
                budget=NONE_TOLERATED,
                mandatory=True,
            )
        if not any(group.clusters for group in matched):
            hold = hold or _absent(ref, bool(matched), selection)
    rest = tuple(g for g in selection.groups if (g.index, g.name) not in taken)
    return tuple(taken.values()), rest, hold


def _absent(ref: GroupRef, has_group: bool, selection: Selection) -> Wait | None:
    """Row 13: a mandatory group without a member proves nothing, so it holds.

    A person may allow a group to be empty from the start, but not to lose the members it had.
    """
    if str(ref) in selection.seen:
        return Wait(
            Reason.MANDATORY_GROUP_EMPTIED,
            f"mandatory decision group {ref} had clusters in this revision and has none now; "
            "select clusters for it, or take it out of mandatoryDecisionGroups",
        )
    if str(ref) in selection.may_be_empty:
        return None
    if has_group or (ref.name and ref.name in selection.named):
        return Wait(
            Reason.MANDATORY_GROUP_EMPTY,
            f"mandatory decision group {ref} has no cluster: select clusters for it (its "
            "groupClusterSelector, or the placement's predicates and numberOfClusters, match none), "
            f"take it out of mandatoryDecisionGroups, or allow it by annotation "
            f"{names.ALLOW_EMPTY_GROUPS}: {ref}",
        )
    known = sorted(selection.named | {g.name for g in selection.groups if g.name})
    return Wait(
        Reason.UNKNOWN_DECISION_GROUP,
        f"mandatory decision group {ref} is neither in the placement's decisionGroups nor in its "
        f"decisions; known names: {', '.join(known) or 'none'}",
    )


def soak_of(spec: RolloutSpec, settle: timedelta = timedelta(0)) -> timedelta:
    """How long success must stand: minSuccessTime (which All ignores), at least ``settle``."""
    return max(timedelta(0) if spec.type == "All" else spec.min_success_time, settle)


def is_ordered(spec: RolloutSpec) -> bool:
    """Whether some clusters come before others. A strategy of a plugin is taken to have an order."""
    return spec.type != "All" and (spec.type != "Progressive" or bool(spec.mandatory))


def had_members(spec: RolloutSpec, selection: Selection) -> frozenset[str]:
    """The mandatory groups that have members now, to be remembered for this revision (row 13)."""
    return frozenset(
        str(ref)
        for ref in spec.mandatory
        if any(group.clusters and _is_meant(ref, group) for group in selection.groups)
    )


def lost_by_stage(rollout: Rollout) -> Counter[str]:
    """How many were lost in each stage, by key. Those of a stage that is gone count in the first
    one that is left: losing clusters can never open a gate (row 17). A person releases a lost
    cluster by skipping it.
    """
    keys = [stage.key for stage in rollout.staging.stages]
    known = frozenset(keys)
    return Counter(
        key if key in known else keys[0]
        for cluster, key in rollout.lost.items()
        if keys and cluster not in rollout.skipped
    )


def _is_meant(ref: GroupRef, group: Group) -> bool:
    return group.name == ref.name if ref.name else group.index == ref.index


def _title(group: Group) -> str:
    return f"{group.name} #{group.index}" if group.name else f"group #{group.index}"


def _keys(groups: tuple[Group, ...]) -> dict[tuple[int, str], str]:
    """A stage key for each group: its name and its place among groups of that name.

    Indexes shift when an earlier named group gets its first cluster; these keys do not.
    """
    counted: Counter[str] = Counter()
    keys: dict[tuple[int, str], str] = {}
    for group in groups:
        keys[group.index, group.name] = f"{group.name}/{counted[group.name]}"
        counted[group.name] += 1
    return keys


BUILT_IN: dict[str, All | Progressive | ProgressivePerGroup] = {
    "All": All(),
    "Progressive": Progressive(),
    "ProgressivePerGroup": ProgressivePerGroup(),
}


def rollout_of(
    spec: RolloutSpec,
    groups: Iterable[Group],
    standings: Iterable[Standing] = (),
    revision: str = "1",
    *,
    passed: Iterable[str] = (),
    strategies: Mapping[str, Strategy] = BUILT_IN,
) -> Rollout:
    """A rollout of ``revision`` to these groups, as `decide` and `Ledger` take it.

    Args:
        spec: the rolloutStrategy.
        groups: decision groups in any order; a cluster named twice counts in the first.
        standings: what is known of clusters that have been touched; the others never were.
        passed: the keys of stages that have passed (`Step.passed` of earlier steps).

    Raises: ConfigError where no strategy has the name ``spec.type``, or a time has no timezone.
    """
    strategy = strategies.get(spec.type)
    if strategy is None:
        names = ", ".join(sorted(strategies))
        raise ConfigError(f"no rollout strategy is called {spec.type!r}; there are: {names}")
    selection = select(groups)
    known = {standing.cluster: standing for standing in standings}
    for cluster, standing in known.items():
        aware(f"Standing.touched of {cluster}", standing.touched)
        if standing.since is not None:
            aware(f"Standing.since of {cluster}", standing.since)
    return Rollout(
        revision=revision,
        staging=strategy.stages(spec, selection),
        standings=known,
        timing=Timing(soak=soak_of(spec), deadline=spec.deadline),
        passed=frozenset(passed),
    )
