"""Which pages are there to read? Each is one function from a request to values of the account."""

from starlette.responses import Response

from rollout.account.tree import WorkloadAccount
from rollout.analysis.histories import History, history
from rollout.dashboard.actions import address, offered
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.observer import account_of
from rollout.dashboard.rollouts import ORDER, STATE_WORDS, STATES, listed, wanted
from rollout.dashboard.verbs import OF_WORKLOAD
from rollout.dashboard.view import HubReading
from rollout.errors import Gone
from rollout.model.kinds import Ref


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


def rollout(asked: PageRequest) -> Response:
    """One workload."""
    ref = asked.workload()
    account, past = asked.office.observer.ask(
        lambda reading: _rollout(reading, ref), ("rollout", ref)
    )
    verbs = [verb for verb in offered(asked, ref, OF_WORKLOAD) if verb.is_offered(account)]
    return asked.page(
        "rollout.html", account=account, history=past, ref=ref, verbs=verbs, address=address
    )


def _rollout(reading: HubReading, ref: Ref) -> tuple[WorkloadAccount, History]:
    account = account_of(reading.snapshot, ref, reading.view.away_since, MOST_NAMED)
    past = history(reading.objects, reading.snapshot, ref)
    if account is None or past is None:
        raise Gone(str(ref))
    return account, past


MOST_NAMED = 10
