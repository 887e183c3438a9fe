"""Which revisions has a workload had, and how do all workloads stand, a line each?"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from rollout.analysis.rollouts import DONE
from rollout.analysis.sight import Sight
from rollout.fleet.workloads import Workload
from rollout.hub.base import Hub
from rollout.model.instants import parse_instant
from rollout.model.kinds import CONTROLLER_REVISION
from rollout.planning.revisions import read_revision
from rollout.strategies.base import Phase, Staging


class Role(Enum):
    """What a revision is to its workload."""

    ROLLING = "rolling"  # what the template is now, on its way
    CURRENT = "current"  # what the fleet is on: rolled out, or the one that is being replaced
    PAST = ""


@dataclass(frozen=True, slots=True)
class RevisionAccount:
    """One revision. ``number`` None: it is not recorded yet; ``clusters`` carry it now."""

    number: int | None
    revision: str
    role: Role
    clusters: int
    created: datetime | None


@dataclass(frozen=True, slots=True)
class History:
    """All revisions of a workload that are kept, newest first. ``unknown`` clusters carry none of them."""

    key: str
    now: datetime
    revisions: tuple[RevisionAccount, ...]
    unknown: int


def history(hub: Hub, sight: Sight, key: str) -> History | None:
    """A workload's revisions; None where there is no workload of that key."""
    workload = sight.workload(key)
    if workload is None or workload.replicaset is None:
        return None
    carried = Counter(
        work.content for c in workload.clusters if (work := workload.work(c)) is not None
    )
    present = workload.replicaset.template.content
    kept = {}
    for obj in hub.list(CONTROLLER_REVISION, workload.ref.namespace).items:
        found = read_revision(obj)
        if found is not None and found.owner == key:
            made = parse_instant(obj["metadata"].get("creationTimestamp"))
            kept[found.content] = (found.number, made)
    numbers: dict[str, int | None] = {content: number for content, (number, _) in kept.items()}
    numbers.setdefault(present, None)
    done = sight.standing(key).reason in DONE
    roles = _roles(numbers, carried, present, done)
    newest = sorted(numbers, key=lambda c: (numbers[c] is not None, -(numbers[c] or 0)))
    return History(
        key,
        sight.now,
        tuple(
            RevisionAccount(
                numbers[content],
                content,
                roles.get(content, Role.PAST),
                carried[content],
                kept[content][1] if content in kept else None,
            )
            for content in newest
        ),
        sum(n for content, n in carried.items() if content not in numbers),
    )


def _roles(
    numbers: dict[str, int | None], carried: Counter[str], present: str, done: bool
) -> dict[str, Role]:
    """The template's revision is current once it is rolled out; until then the last one before it."""
    if done:
        return {present: Role.CURRENT}
    older = [c for c, number in numbers.items() if c != present and number and carried[c]]
    last = max(older, key=lambda c: numbers[c] or 0, default=None)
    roles = {present: Role.ROLLING}
    if last is not None:
        roles[last] = Role.CURRENT
    return roles


@dataclass(frozen=True, slots=True)
class Line:
    """One workload in a line. ``budget`` is how many may fail where it stands; None: not bounded.

    ``stage`` is the first that has not passed, "" where all have; ``updated`` of ``total`` clusters
    carry the revision.
    """

    namespace: str
    name: str
    reason: str
    message: str
    stage: str
    updated: int
    total: int
    failed: int
    budget: int | None
    created: datetime | None


def lines(sight: Sight, namespace: str | None = None) -> tuple[Line, ...]:
    """Every workload (of one namespace), by key."""
    return tuple(
        _line(sight, key, workload)
        for key in sight.workloads()
        if (namespace is None or key.partition("/")[0] == namespace)
        and (workload := sight.workload(key)) is not None
    )


def _line(sight: Sight, key: str, workload: Workload) -> Line:
    assert workload.replicaset is not None
    standing = sight.standing(key)
    stages = [stage for share in workload.shares.values() for stage in share.live.last.stages]
    lives = [share.live for share in workload.shares.values()]
    current = next((stage for stage in stages if not stage.passed), None)
    budgets = [b for live in lives if (b := _budget(live.ledger.rollout.staging)) is not None]
    if current is not None and current.budget is not None:
        budgets = [current.budget]
    namespace, _, name = key.partition("/")
    return Line(
        namespace,
        name,
        standing.reason,
        standing.message,
        current.title if current else "",
        sum(share.counts.updated for share in workload.shares.values()),
        sum(share.selected for share in workload.shares.values()),
        sum(live.last.count(phase) for live in lives for phase in Phase if phase.is_failure),
        sum(budgets) if budgets else None,
        parse_instant(workload.replicaset.raw["metadata"].get("creationTimestamp")),
    )


def _budget(staging: Staging) -> int | None:
    """How many may fail over all stages together."""
    return staging.budget.of(staging.total) if staging.budget else None
