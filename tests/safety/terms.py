"""What does a workload ask for, read plainly? From raw objects to stages, limits and budgets.

Slow and obvious on purpose, and independent of the engine's own reading. Source: docs/semantics.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from rollout.model.kinds import Obj
from rollout.model.names import (
    FAILURE_TOLERANCE,
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    PAUSED,
    SCHEDULING_DISABLED,
    SKIP,
)
from tests.safety.asked import Asked, asked_in
from tests.safety.objects import duration


class Waits(NamedTuple):
    """How long the engine waits of its own: before verified health counts, and before a failure does."""

    settle: timedelta = timedelta(seconds=15)
    grace: timedelta = timedelta(seconds=60)


QUIET = timedelta(seconds=10)
LEASE = timedelta(seconds=15)

Groups = dict[tuple[int, str], list[str]]


@dataclass(frozen=True, slots=True)
class Terms:
    """One placement's rollout as asked for. ``limit`` None: all. ``bad``: why it cannot be honoured.
    ``verified``: health has to stand for a while.
    """

    revision: str
    kind: str
    soak: timedelta
    verified: bool
    deadline: timedelta | None
    budget: object
    limit: object
    mandatory: tuple[str, ...]
    skip: frozenset[str]
    strict: bool
    bad: str
    asked: Asked


def terms_of(
    revision: str,
    strategy: Obj,
    notes: Mapping[str, str],
    *,
    verified: bool,
    placement: str,
    unset_limit: object = None,
    hold: str = "",
) -> Terms:
    """What a rolloutStrategy asks for, as written.

    ``verified``: health has to stand for a while. ``unset_limit``: what no maxConcurrency means.
    ``hold``: why the revision itself cannot be rolled out.
    """
    kind = strategy.get("type", "All")
    member: Obj = strategy.get(kind[:1].lower() + kind[1:]) or {}
    soak = duration(member.get("minSuccessTime", "0s")) if kind != "All" else timedelta(0)
    deadline = member.get("progressDeadline", "None")
    bad = deadline == "10x"
    limit = member.get("maxConcurrency")
    return Terms(
        revision,
        kind,
        soak,
        verified,
        None if bad or deadline == "None" else duration(deadline),
        member.get("maxFailures", 0),
        unset_limit if limit is None or limit == 0 else limit,
        tuple(g["groupName"] for g in member.get("mandatoryDecisionGroups", ())),
        frozenset(c for c in notes.get(SKIP, "").split(",") if c),
        notes.get(FAILURE_TOLERANCE) == "Strict",
        hold or ("Misconfigured" if bad else ""),
        asked_in(notes, placement),
    )


def is_paused(workload: Obj) -> bool:
    return (workload["metadata"].get("annotations") or {}).get(PAUSED) == "true"


def amount(raw: object, total: int) -> int:
    """A count or a percentage of ``total``, rounded up, within [0, total]."""
    text = str(raw)
    if text.endswith("%"):
        return min(total, (int(text[:-1]) * total + 99) // 100)
    return min(total, int(text))


@dataclass(frozen=True, slots=True)
class Stage:
    """``members`` in the order in which they are next; skipped ones are left out."""

    key: str
    members: tuple[str, ...]
    limit: int | None
    budget: int | None
    mandatory: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages, the budget over all of them (None: each has its own), and a reason to hold."""

    stages: tuple[Stage, ...]
    budget: int | None
    hold: str


def stages_of(terms: Terms, groups: Groups, named: frozenset[str], seen: frozenset[str]) -> Plan:
    """Cut a selection into stages. ``seen``: mandatory groups that had members in this revision."""
    ordered = sorted(groups)
    counted: dict[str, int] = {}
    keys: dict[tuple[int, str], str] = {}
    for group in ordered:
        nth = counted.get(group[1], 0)
        counted[group[1]] = nth + 1
        keys[group] = f"{group[1]}/{nth}"

    def line(chosen: Sequence[tuple[int, str]]) -> tuple[str, ...]:
        return tuple(c for g in chosen for c in sorted(groups[g]) if c not in terms.skip)

    if terms.kind == "All":
        return Plan((Stage("all", line(ordered), None, None, False),), None, "")
    stages: list[Stage] = []
    hold, taken = "", set()
    for name in terms.mandatory:
        matched = [g for g in ordered if g[1] == name]
        if not any(groups[g] for g in matched):
            hold = hold or _absent(name, terms, seen, is_known=bool(matched) or name in named)
        if not matched and all(stage.key != f"{name}/0" for stage in stages):
            stages.append(Stage(f"{name}/0", (), None, 0, True))  # gates stand there all the same
        for group in matched:
            if group not in taken:
                taken.add(group)
                stages.append(Stage(keys[group], line([group]), None, 0, True))
    rest = [g for g in ordered if g not in taken]
    if terms.kind == "ProgressivePerGroup":
        for group in rest:
            members = line([group])
            budget = amount(terms.budget, len(members))
            stages.append(Stage(keys[group], members, None, budget, False))
        return Plan(tuple(stages), None, hold)
    members = line(rest)
    limit = None if terms.limit is None else amount(terms.limit, len(members))
    stages.append(Stage("rest", members, limit, None, False))
    total = sum(len(stage.members) for stage in stages)
    return Plan(tuple(stages), amount(terms.budget, total), hold)


def _absent(name: str, terms: Terms, seen: frozenset[str], *, is_known: bool) -> str:
    """Why a mandatory group without clusters holds; "" where it does not."""
    if name in seen:
        return "MandatoryGroupEmptied"
    if not is_known:
        return "UnknownDecisionGroup"
    return "" if name in terms.asked.may_be_empty else "MandatoryGroupEmpty"


def named_groups(placement: Obj) -> frozenset[str]:
    strategy = placement["spec"]["decisionStrategy"]["groupStrategy"]
    return frozenset(g["groupName"] for g in strategy["decisionGroups"])


def decided_by_others(placement: Obj) -> bool:
    return (placement["metadata"].get("annotations") or {}).get(SCHEDULING_DISABLED) == "true"


def groups_of(pages: Sequence[Obj]) -> Groups:
    """The decisions by (index, name). A cluster named twice is in the first group that names it."""
    found: Groups = {}
    for page in pages:
        labels = page["metadata"]["labels"]
        group = (int(labels[GROUP_INDEX_LABEL]), labels.get(GROUP_NAME_LABEL, ""))
        found.setdefault(group, []).extend(clusters_on(page))
    taken: set[str] = set()
    for group in sorted(found):
        found[group] = sorted(set(found[group]) - taken)
        taken |= set(found[group])
    return found


def clusters_on(page: Obj) -> list[str]:
    return [d["clusterName"] for d in (page.get("status") or {}).get("decisions") or []]


def is_undecided(placement: Obj) -> bool:
    """Whether the scheduler has not said anything yet of the placement as it is now."""
    status, generation = placement.get("status") or {}, placement["metadata"].get("generation", 0)
    said = (c for c in status.get("conditions") or [] if c["type"] == "PlacementSatisfied")
    observed = next((c.get("observedGeneration", generation) for c in said), generation)
    return status.get("decisionGroups") is None or observed < generation


def is_torn(placement: Obj, pages: Sequence[Obj]) -> bool:
    """Whether the decisions contradict what the placement's status says of them."""
    told = (placement.get("status") or {}).get("decisionGroups")
    if told is None:
        return False
    says = {
        (g["decisionGroupIndex"], g.get("decisionGroupName", "")): (
            g["clusterCount"],
            sorted(g["decisions"]),
        )
        for g in told
    }
    has: dict[tuple[int, str], tuple[int, list[str]]] = {}
    for page in pages:
        labels = page["metadata"]["labels"]
        group = (int(labels[GROUP_INDEX_LABEL]), labels.get(GROUP_NAME_LABEL, ""))
        count, names = has.get(group, (0, []))
        names = sorted([*names, page["metadata"]["name"]])
        has[group] = (count + len(clusters_on(page)), names)
    return says != has
