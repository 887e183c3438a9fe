"""Which workloads does the list show, and in which order? Filtered, sorted and paged on the server."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rollout.account.figures import in_flight
from rollout.account.states import Code
from rollout.account.tree import WorkloadAccount
from rollout.dashboard.view import WorkloadRow
from rollout.errors import Invalid
from rollout.hub.selecting import parse_labels
from rollout.model.kinds import KINDS

PAGE = 50
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
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What somebody asks to see. "" is: all. ``page`` counts from 1."""

    text: str = ""
    state: str = ""
    namespace: str = ""
    kind: str = ""
    labels: str = ""
    sort: str = "state"
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutList:
    """One page of the list. ``counts`` are by state, of all that match but for the state asked for.

    ``namespaces`` and ``kinds`` are those that there are; ``fault`` is what is wrong with the labels.
    """

    rows: tuple[WorkloadRow, ...]
    total: int
    page: int
    pages: int
    counts: Mapping[str, int]
    namespaces: Sequence[str]
    kinds: Sequence[str]
    fault: str = ""


def wanted(query: Mapping[str, str]) -> ListQuery:
    """What a query string asks for; what is not understood is left at its default."""
    page = query.get("page", "1")
    sort = query.get("sort", "state")
    state = query.get("state", "")
    return ListQuery(
        text=query.get("q", "").strip(),
        state=state if state in STATES else "",
        namespace=query.get("namespace", ""),
        kind=query.get("kind", ""),
        labels=query.get("labels", "").strip(),
        sort=sort if sort in _SORTS else "state",
        page=max(int(page), 1) if page.isdecimal() and len(page) < 7 else 1,
    )


def listed(rows: Iterable[WorkloadRow], asked: ListQuery) -> RolloutList:
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
    found.sort(key=_SORTS[asked.sort])
    pages = max(-(-len(found) // PAGE), 1)
    page = min(asked.page, pages)
    return RolloutList(
        rows=tuple(found[(page - 1) * PAGE : page * PAGE]),
        total=len(found),
        page=page,
        pages=pages,
        counts=counts,
        namespaces=sorted({row.account.namespace for row in known} - {""}),
        kinds=sorted({KINDS[row.account.kind].short[0] for row in known}, reverse=True),
        fault=fault,
    )


def _matches(account: WorkloadAccount, asked: ListQuery) -> bool:
    words = f"{account.key} {account.reason} {account.revision} {account.stage}".lower()
    return (
        all(word in words for word in asked.text.lower().split())
        and asked.namespace in ("", account.namespace)
        and asked.kind in ("", KINDS[account.kind].short[0])
    )


def _share(account: WorkloadAccount) -> float:
    return account.updated / account.members if account.members else 1.0


_SORTS: Mapping[str, Callable[[WorkloadRow], Any]] = {
    "state": lambda row: ORDER.index(row.account.code),
    "name": lambda row: row.account.key,
    "progress": lambda row: _share(row.account),
    "failed": lambda row: -row.account.failed,
    "flight": lambda row: -in_flight(row.account.phases),
    "age": lambda row: row.account.created or _NEVER,
}
