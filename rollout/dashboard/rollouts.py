"""Finds the workloads that the list shows, and the clusters that the page of one shows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.account.roster import RosterEntry, RosterPage, roster_page
from rollout.account.states import Code
from rollout.account.tree import WorkloadAccount
from rollout.dashboard.tables import PagedColumn, PagedTable, TablePage, TableQuery
from rollout.dashboard.view import WorkloadRow
from rollout.errors import Invalid
from rollout.hub.selecting import parse_labels
from rollout.model.kinds import KINDS
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Phase

ORDER = (Code.PERSON, Code.FAILED, Code.WAITING, Code.TOLERATED, Code.DONE)
"""What somebody must look at comes first."""
STATES = {
    "person": Code.PERSON,
    "failed": Code.FAILED,
    "going": Code.WAITING,
    "tolerated": Code.TOLERATED,
    "done": Code.DONE,
}
STATE_WORDS = {
    "person": "waits for a person",
    "failed": "failed or halted",
    "going": "going on",
    "tolerated": "done, with failures",
    "done": "done",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What somebody asks to see. "" is: all."""

    text: str = ""
    state: str = ""
    namespace: str = ""
    kind: str = ""
    labels: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutList:
    """One page of the list. ``counts`` are by state, of all that match but for the state asked for.

    ``namespaces`` and ``kinds`` are those that there are; ``fault`` is what is wrong with the labels.
    """

    table: TablePage[WorkloadRow]
    counts: Mapping[str, int]
    namespaces: Sequence[str]
    kinds: Sequence[str]
    fault: str = ""


def wanted(query: Mapping[str, str]) -> ListQuery:
    """What a query string asks for; what is not understood is left at its default."""
    state = query.get("state", "")
    return ListQuery(
        text=query.get("q", "").strip(),
        state=state if state in STATES else "",
        namespace=query.get("namespace", ""),
        kind=query.get("kind", ""),
        labels=query.get("labels", "").strip(),
    )


def listed(rows: Iterable[WorkloadRow], asked: ListQuery, query: Mapping[str, str]) -> RolloutList:
    """The page that is asked for, of the rows that somebody may see."""
    known = list(rows)
    fault = ""
    try:
        selector = parse_labels(asked.labels)
    except Invalid as problem:
        selector, fault = parse_labels(""), str(problem)
    matching = [
        row for row in known if _matches(row.account, asked) and selector.matches(row.labels)
    ]
    names = {code: name for name, code in STATES.items()}
    counts = Counter(names[row.account.code] for row in matching)
    found = [row for row in matching if not asked.state or row.account.code is STATES[asked.state]]
    found.sort(key=lambda row: row.account.key)
    return RolloutList(
        table=TABLE.page(found, query),
        counts=counts,
        namespaces=sorted({row.account.namespace for row in known} - {""}),
        kinds=sorted({KINDS[row.account.kind].typed for row in known}, reverse=True),
        fault=fault,
    )


def _matches(account: WorkloadAccount, asked: ListQuery) -> bool:
    words = f"{account.key} {account.reason} {account.revision} {account.stage}".lower()
    return (
        all(word in words for word in asked.text.lower().split())
        and asked.namespace in ("", account.namespace)
        and asked.kind in ("", KINDS[account.kind].typed)
    )


def _end(account: WorkloadAccount) -> datetime | None:
    return account.finish.at if account.finish is not None else None


def _age(account: WorkloadAccount) -> timedelta | None:
    return account.now - account.created if account.created is not None else None


def _share(account: WorkloadAccount) -> float:
    return account.updated / account.members if account.members else 1.0


TABLE = PagedTable[WorkloadRow](
    PagedColumn(key="name", title="Workload", by=lambda row: row.account.key),
    PagedColumn(key="state", title="State", by=lambda row: ORDER.index(row.account.code)),
    PagedColumn(key="progress", title="Progress", by=lambda row: _share(row.account)),
    PagedColumn(key="failed", title="Failed", by=lambda row: row.account.failed, falls=True),
    PagedColumn(key="wait", title="Waiting for"),
    PagedColumn(key="end", title="Earliest end", by=lambda row: _end(row.account)),
    PagedColumn(key="age", title="Age", by=lambda row: _age(row.account)),
    default="state",
)


CLUSTERS = PagedTable[RosterEntry](
    PagedColumn(key="cluster", title="Cluster", by=lambda each: each.account.name),
    PagedColumn(key="phase", title="Phase", by=lambda each: each.account.phase),
    PagedColumn(key="stage", title="Stage", by=lambda each: each.stage),
    PagedColumn(key="reason", title="Reason"),
    PagedColumn(key="for", title="For"),
    PagedColumn(key="until", title="Until"),
    size=25,
)
"""`roster_page` sorts them: to work out why each of 10,000 clusters waits would take long."""


def members(
    lives: Sequence[LiveRollout], asked: TableQuery, phase: Phase | None = None
) -> TablePage[RosterEntry]:
    """The clusters of a rollout that are asked for."""
    found = _members(lives, asked, phase)
    if found.total and not found.entries:  # there are fewer pages than that
        asked = replace(asked, page=CLUSTERS.part((), found.total, asked).pages)
        found = _members(lives, asked, phase)
    return CLUSTERS.part(found.entries, found.total, asked)


def _members(lives: Sequence[LiveRollout], asked: TableQuery, phase: Phase | None) -> RosterPage:
    return roster_page(
        lives,
        phase=phase,
        text=asked.text,
        start=(asked.page - 1) * CLUSTERS.size,
        most=CLUSTERS.size,
        order=asked.sort,
        is_falling=asked.is_falling,
    )
