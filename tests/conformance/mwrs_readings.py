"""Which facts does OCM read otherwise than the rows of strict do, and what would it write then?

For the excuses of suite ``mwrs_sync``: OCM's own decision, on the facts as OCM reads them or as one
row after another reads them, in the order of `READINGS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from rollout.model.placement import Group
from rollout.strategies.ocm import ClusterRolloutStatus, Status, decide
from tests.conformance.mwrs_input import Given, Selecting
from tests.conformance.suite import Json

Records = dict[str, ClusterRolloutStatus]
"""By cluster: the works of one placementRef that carry the template."""

NOT_AT_ALL = timedelta(0)


# -- what OCM reads, and how each row reads it ---------------------------------------------------


def as_ocm(ref: Selecting) -> Records:
    return {c: ClusterRolloutStatus(c, w.status, since=w.since) for c, w in ref.current().items()}


def by_report(ref: Selecting, before: Records) -> Records:
    """Rows 9, 10, 23: success is what the template's rules can report, at this generation."""
    after = dict(before)
    for cluster, work in ref.current().items():
        if work.done != (before[cluster].status is Status.SUCCEEDED):
            after[cluster] = ClusterRolloutStatus(
                cluster, Status.SUCCEEDED if work.done else Status.PROGRESSING
            )
    return after


def by_our_soak(ref: Selecting, before: Records) -> Records:
    """Row 8: no work of these inputs tells of us, so every soak starts at this pass."""
    return _without_times(before, {Status.SUCCEEDED})


def by_our_deadline(ref: Selecting, before: Records) -> Records:
    """Row 6: nor does any deadline run yet."""
    return _without_times(before, {Status.PROGRESSING, Status.FAILED})


def by_grace(ref: Selecting, before: Records) -> Records:
    """Row 7: no failure has stood for the grace yet."""
    return {
        c: ClusterRolloutStatus(c, Status.PROGRESSING) if r.status is Status.FAILED else r
        for c, r in before.items()
    }


def _without_times(records: Records, of: set[Status]) -> Records:
    return {c: replace(r, since=None) if r.status in of else r for c, r in records.items()}


Reading = Callable[[Selecting, Records], Records]
READINGS: tuple[Reading, ...] = (by_report, by_our_soak, by_our_deadline, by_grace)


def touched(
    given: Given,
    ref: Selecting,
    records: Records,
    groups: Sequence[Group] | None = None,
    strategy: Json = None,
) -> frozenset[str]:
    """The clusters that OCM would write to; none where it refuses the strategy."""
    answer = decide(
        strategy or ref.ref.raw, groups or ref.groups, list(records.values()), given.now
    )
    return frozenset(answer.to_apply) - ref.current().keys()


def read_until(ref: Selecting, reading: Reading | None) -> Records:
    """The records after all readings before this one; after all of them for None."""
    records = as_ocm(ref)
    for other in READINGS:
        if other is reading:
            break
        records = other(ref, records)
    return records


def soak_of(ref: Selecting) -> timedelta:
    """minSuccessTime; All ignores it."""
    if ref.spec is None or ref.spec.type == "All":
        return NOT_AT_ALL
    return ref.spec.min_success_time
