"""Which pages are there to read? Each is one function from a request to values of the account."""

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_bytes

import yaml
from starlette.responses import Response

from rollout.account.roster import RosterPage, roster_page
from rollout.account.states import conditions_of
from rollout.account.tree import WorkloadAccount
from rollout.analysis.histories import History, history
from rollout.dashboard.actions import address, offered
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.observer import account_of
from rollout.dashboard.rollouts import ORDER, STATE_WORDS, STATES, listed, wanted
from rollout.dashboard.verbs import OF_WORKLOAD
from rollout.dashboard.view import HubReading
from rollout.errors import Gone
from rollout.model.conditions import Condition
from rollout.model.kinds import MANAGED_CLUSTER, Ref
from rollout.model.secrets import KEY_BYTES, Masks
from rollout.strategies.base import Phase


def rollouts(asked: PageRequest) -> Response:
    """Every workload that this person may see."""
    wish = wanted(asked.request.query_params)
    found = listed(filter(asked.may_see, asked.view.rows), wish)
    return asked.page(
        "rollouts.html",
        asked=wish,
        found=found,
        states=STATES,
        state_words=STATE_WORDS,
        order=ORDER,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPage:
    """One workload: its account, its revisions, its conditions, and one page of its clusters."""

    account: WorkloadAccount
    history: History
    conditions: Sequence[tuple[str, Condition]]
    clusters: RosterPage


def rollout(asked: PageRequest) -> Response:
    """One workload."""
    ref, query = asked.workload(), asked.request.query_params
    phase = next((each for each in Phase if each.value.lower() == query.get("phase")), None)
    text, number = query.get("cluster", "").strip(), query.get("page", "1")
    page = int(number) if number.isdecimal() and len(number) < 7 else 1
    found = asked.office.observer.ask(
        lambda reading: _rollout(reading, ref, phase, text, max(page, 1)),
        ("rollout", ref, phase, text, page),
    )
    verbs = [verb for verb in offered(asked, ref, OF_WORKLOAD) if verb.is_offered(found.account)]
    return asked.page(
        "rollout.html", account=found.account, found=found, ref=ref, verbs=verbs, address=address,
        phase=phase, text=text, page=max(page, 1), pages=max(-(-found.clusters.total // CLUSTERS), 1),
        may_clusters=asked.may("get", MANAGED_CLUSTER),
    )  # fmt: skip


def _rollout(
    reading: HubReading, ref: Ref, phase: Phase | None, text: str, page: int
) -> RolloutPage:
    snapshot = reading.snapshot
    account = account_of(snapshot, ref, reading.view.away_since, MOST_NAMED)
    past, workload = history(reading.objects, snapshot, ref), snapshot.workload(ref)
    if account is None or past is None or workload is None:
        raise Gone(str(ref))
    start = (page - 1) * CLUSTERS
    return RolloutPage(
        account=account,
        history=past,
        conditions=list(conditions_of(snapshot.object_of(ref))),
        clusters=roster_page(workload, phase=phase, text=text, start=start, most=CLUSTERS),
    )


def manifest(asked: PageRequest) -> Response:
    """The workload's object as YAML, without the data of Secrets."""
    ref = asked.workload()
    obj = asked.office.observer.ask(lambda reading: reading.snapshot.object_of(ref), ("yaml", ref))
    text = yaml.safe_dump(MASKS.over(obj), sort_keys=False, allow_unicode=True)
    return asked.page("yaml.html", ref=ref, text=text)


MOST_NAMED = 10
CLUSTERS = 25
MASKS = Masks(token_bytes(KEY_BYTES))
"""Those of this process: one value keeps one mask for as long as it runs, and no longer."""
