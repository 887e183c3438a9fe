"""The pages of workloads: each is a function from a request to values of the account."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml
from starlette.responses import Response

from rollout.account.channels import CHANNEL_HEAD
from rollout.account.roster import RosterEntry
from rollout.account.states import Code, conditions_of
from rollout.account.tree import WorkloadAccount
from rollout.account.waits import cluster_gate
from rollout.analysis.histories import History, RevisionAccount, history
from rollout.dashboard.actions import address, approval_at, offered, revisions_of
from rollout.dashboard.analysis_pages import runs_of
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.histories import Timelines
from rollout.dashboard.observer import account_of
from rollout.dashboard.render import MASKS
from rollout.dashboard.rollouts import CLUSTERS, STATE_WORDS, STATES, listed, members, wanted
from rollout.dashboard.tables import PagedColumn, PagedTable, TablePage, TableQuery, since
from rollout.dashboard.verbs import OF_WORKLOAD
from rollout.dashboard.view import HubReading
from rollout.dashboard.what_if_pages import workload_word
from rollout.errors import Gone
from rollout.model.conditions import Condition
from rollout.model.kinds import MANAGED_CLUSTER, ROLLOUT_NOTIFICATION, Ref
from rollout.rollouts.workload import lives_of
from rollout.strategies.base import Phase


def rollouts(asked: PageRequest) -> Response:
    """Every workload that this person may see."""
    query = asked.request.query_params
    wish = wanted(query)
    found = listed(filter(asked.may_see, asked.rows), wish, query)
    return asked.page(
        "rollouts.html",
        asked=wish,
        found=found,
        states=STATES,
        state_words=STATE_WORDS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPage:
    """One workload: its account, its revisions, its conditions, and one page of its clusters."""

    account: WorkloadAccount
    history: History
    conditions: Sequence[tuple[str, Condition]]
    clusters: TablePage[RosterEntry]


class RolloutPages:
    """The page of one rollout.

    Args:
        timelines: what happened to it.
    """

    def __init__(self, timelines: Timelines) -> None:
        self._timelines = timelines

    def show(self, asked: PageRequest) -> Response:
        """One workload."""
        ref, query = asked.workload(), asked.request.query_params
        phase = next((each for each in Phase if each.value.lower() == query.get("phase")), None)
        wish = replace(CLUSTERS.asked(query), text=query.get("cluster", "").strip())
        found = asked.office.observer.ask(
            lambda reading: _rollout(reading, ref, phase, wish), ("rollout", ref, phase, wish)
        )
        verbs = [
            verb for verb in offered(asked, ref, OF_WORKLOAD) if verb.is_offered(found.account)
        ]
        tells = asked.may("list", ROLLOUT_NOTIFICATION, ref.namespace)
        return asked.page(
            "rollout.html",
            account=found.account,
            found=found,
            ref=ref,
            verbs=verbs,
            address=address,
            seen=revisions_of(found.account),
            approval_at=lambda gate: approval_at(asked, ref, found.account, gate),
            cluster_gate=cluster_gate,
            phase=phase,
            clusters=found.clusters,
            revisions=REVISIONS.page(found.history.revisions, query),
            may_clusters=asked.may("get", MANAGED_CLUSTER),
            workload_word=workload_word,
            timeline=self._timelines.of(asked, ref),
            decides=self._timelines.has_decisions,
            analyses=runs_of(asked, ref),
            most_named=MOST_NAMED,
            channels=found.account.channels if tells else (),
            channel_head=CHANNEL_HEAD,
            foreseen=not found.account.done and found.account.code is not Code.FAILED,
        )


def _rollout(reading: HubReading, ref: Ref, phase: Phase | None, wish: TableQuery) -> RolloutPage:
    snapshot, row = reading.snapshot, reading.view.by_ref.get(ref)
    known = row.account.finish if row is not None else None  # it takes a second for 10,000 clusters
    account = account_of(snapshot, ref, reading.view.away_since, most=MOST_NAMED, finish=known)
    past, workload = history(reading.objects, snapshot, ref), snapshot.workload(ref)
    if account is None or past is None or workload is None:
        raise Gone(f"there is no {ref}")
    return RolloutPage(
        account=account,
        history=past,
        conditions=list(conditions_of(snapshot.object_of(ref))),
        clusters=members(lives_of(workload), wish, phase),
    )


def manifest(asked: PageRequest) -> Response:
    """The workload's object as YAML, without the data of Secrets."""
    ref = asked.workload()
    obj = asked.office.observer.ask(lambda reading: reading.snapshot.object_of(ref), ("yaml", ref))
    plain = json.loads(json.dumps(MASKS.over(obj)))  # reasons in a status are more than their words
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    return asked.page("yaml.html", ref=ref, text=text)


MOST_NAMED = 10
REVISIONS = PagedTable[RevisionAccount](
    PagedColumn(key="number", title="Number", by=lambda each: each.number, falls=True),
    PagedColumn(key="revision", title="Revision"),
    PagedColumn(key="state", title="State", by=lambda each: each.role.value or "past"),
    PagedColumn(key="clusters", title="Clusters", by=lambda each: each.clusters, falls=True),
    PagedColumn(key="age", title="Age", by=lambda each: since(each.created)),
    PagedColumn(key="changes", title="Changes"),
    name="revisions",
    size=25,
)
