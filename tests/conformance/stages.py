"""Which stages does profile ``strict`` cut the groups of a placement into? For the excuses of both suites."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.strategies.ocm import ClusterRolloutStatus, Status
from rollout.strategies.ocm_inputs import MEMBERS
from tests.conformance.suite import Json

Records = Mapping[str, ClusterRolloutStatus]


class Stage(NamedTuple):
    """Groups that are open together, and the strategy that says so to OCM."""

    groups: list[Group]
    strategy: Json

    def is_done(self, records: Records, *, soaks: bool) -> bool:
        """``soaks``: whether success has to stand for a while."""
        return not any(
            soaks or c not in records or records[c].status is not Status.SUCCEEDED
            for group in self.groups
            for c in group.clusters
        )

    def alone(self, records: Records) -> tuple[list[Group], dict[str, ClusterRolloutStatus]]:
        """Its groups and their records, as if there were nothing else."""
        clusters = {c for group in self.groups for c in group.clusters}
        mine = {c: r for c, r in records.items() if c in clusters}
        return [replace(group, index=n) for n, group in enumerate(self.groups)], mine


ALL_AT_ONCE: Json = {"type": "ProgressivePerGroup"}


def stages_of(spec: RolloutSpec, groups: Sequence[Group], written: Json) -> list[Stage]:
    """Mandatory groups as listed, then the rest: together, or (PerGroup) one after another."""
    first = [groups[n] for n in mandatory_places(spec, groups)]
    rest = [g for g in groups if g not in first]
    stages = [Stage([g], ALL_AT_ONCE) for g in first]
    if spec.type == "ProgressivePerGroup":
        return stages + [Stage([g], ALL_AT_ONCE) for g in rest]
    member = MEMBERS[spec.type]
    without = {**written, member: {**(written.get(member) or {}), "mandatoryDecisionGroups": []}}
    return [*stages, Stage(rest, without)]


def mandatory_places(spec: RolloutSpec | None, groups: Sequence[Group]) -> list[int]:
    """Where the mandatory groups stand among all, in the order in which they are listed."""
    places: list[int] = []
    for wanted in spec.mandatory if spec else ():
        places += [n for n, g in enumerate(groups) if _meant(wanted, g) and n not in places]
    return places


def names_unknown(spec: RolloutSpec | None, groups: Sequence[Group]) -> bool:
    """Whether a mandatory group has no clusters, or does not exist."""
    return any(
        not any(_meant(wanted, group) and group.clusters for group in groups)
        for wanted in (spec.mandatory if spec else ())
    )


def _meant(wanted: GroupRef, group: Group) -> bool:
    return group.name == wanted.name if wanted.name else group.index == wanted.index
