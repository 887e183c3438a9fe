"""Puts the account of a rollout into sentences, the same in every view."""

from collections.abc import Iterator
from datetime import datetime

from rollout.account.figures import CODE_SIGNS, in_flight
from rollout.account.finish import Finish
from rollout.account.interventions import GateAccount, RollbackAccount
from rollout.account.states import StageState
from rollout.account.tree import StageAccount, WorkloadAccount
from rollout.account.waits import WaitAccount
from rollout.account.words import age, at_and_in, many, stopwatch
from rollout.model.instants import rfc3339
from rollout.model.waits import Reason


def rollout_facts(account: WorkloadAccount) -> list[tuple[str, str]]:
    """Why a rollout stands where it stands, as pairs of a key and a text; "" where nothing is to be said."""
    now = account.now
    several = len(account.placements) > 1
    return [
        ("Name", account.key),
        ("Status", f"{CODE_SIGNS[account.code]} {account.reason}"),
        ("Since", since_line(account, now)),
        ("Message", account.message),
        ("Revision", revision_line(account, now)),
        ("Clusters", str(account.members)),
        ("Waiting for", account.wait.ends),
        ("Next timer", "" if account.done else next_timer_line(account, now)),
        *(
            ("Asked", text)
            for text in map(str, account.interventions)
            if text not in account.message
        ),
        *(("Channel", str(channel)) for channel in account.channels if channel.fails),
        *(("Gate", line) for line in gate_lines(account)),
        *(
            ("Rollback", (f"{each.placement}: " if several else "") + rollback_line(back, now))
            for each in account.placements
            if (back := each.rollback) is not None
        ),
    ]


def since_line(account: WorkloadAccount, now: datetime) -> str:
    """When the status changed, as far as conditions tell: ``Progressing=False for 24s``."""
    if account.wait.since is None:
        return ""
    return f"{account.condition} for {age(now - account.wait.since)}"


def revision_line(account: WorkloadAccount, now: datetime) -> str:
    """``1 (845b837f637ed182), begun 10m ago``."""
    hashed = account.revision
    told = f"{account.number} ({hashed})" if account.number else hashed
    return f"{told}, begun {age(now - account.began)} ago" if account.began else told


def next_timer_line(
    account: WorkloadAccount, now: datetime, started: datetime | None = None
) -> str:
    """What time alone changes next, and when."""
    at, what = account.wait.until, ""
    if account.next is not None and at in (None, account.next.at):
        at, what = account.next.at, f"  {account.next.what}"
    if at is None:
        return ""
    if started is None:
        return at_and_in(at, now) + what
    return f"{stopwatch(at - started)} (in {age(at - now)}){what}"


def budget_line(account: WorkloadAccount) -> str:
    """What of the budget is used where the rollout stands: in the first stage that has not passed."""
    stages = account.stages
    if not stages:
        return ""
    title, stage = next((each for each in stages if not each[1].passed), stages[-1])
    if stage.budget is None:
        return f"{many(stage.failures, 'failure')}, any number may fail" if stage.failures else ""
    if stage.failures > stage.budget:
        return f"{stage.failures} failed, {stage.budget} allowed ({title})"
    if not stage.budget:
        return f"no failure is allowed ({title})"
    return f"{stage.failures} of {many(stage.budget, 'failure')} used ({title})"


def finish_line(account: WorkloadAccount, now: datetime) -> str:
    finish: Finish | None = account.finish
    if finish is None:
        return ""
    if finish.at is None:
        return "" if finish.why.startswith(f"{account.reason}:") else finish.why
    return f"{at_and_in(finish.at, now)} at the earliest"


def gate_lines(account: WorkloadAccount) -> Iterator[str]:
    """``before:rest (the rest): shut, nobody has approved it``."""
    for title, stage in account.stages:
        for gate in stage.gates:
            yield f"{gate.gate} ({title}): {gate_state(gate)}"


def gate_state(gate: GateAccount) -> str:
    by = f" by {gate.by} (unverified)" if gate.by else ""
    until = rfc3339(gate.until) if gate.until is not None else ""
    return {
        "open": f"open, approved{by}" if by else "open",
        "approved": (f"approved{by}{f' until {until}' if until else ''}; " if by else "")
        + "it opens when the rollout gets there",
        "passed": "the rollout had passed it before it was asked for",
        "shut": f"shut, {gate.why or 'nobody has approved it'}"
        + (f"; asked again at {until}" if until else ""),
    }[gate.state]


def rollback_line(back: RollbackAccount, now: datetime) -> str:
    began = f"began {age(now - back.began)} ago"
    if back.total is None:
        return f"{began}; nothing moves now"
    counts = [
        f"{back.back} of {back.total} back",
        f"{back.in_flight} on their way (at most {back.limit} at once)",
        f"{back.waiting} to go",
        f"{len(back.held)} held",
        f"{back.failed} failed on the way",
        f"{len(back.stuck)} have nothing to go back to",
    ]
    if not (back.total or back.held or back.stuck):
        counts[0] = "no cluster had to go back"
    shown = [counts[0], *(each for each in counts[1:] if not each.startswith("0 "))]
    return f"{began}: {', '.join(shown)}"


def ends_line(wait: WaitAccount, now: datetime) -> str:
    at = f"; {at_and_in(wait.until, now)}" if wait.until is not None else ""
    return wait.ends + at


_USUAL: dict[str, str] = {
    Reason.WAITING_FOR_STAGE: "waits for the stage before",
    Reason.FAILURE_TOLERANCE: "held back: one more failure could exceed the budget",
}


def stage_info(stage: StageAccount) -> str:
    """What is to be said of a stage beside its state."""
    failed = sum(n for phase, n in stage.phases.items() if phase.is_failure)
    flying = in_flight(stage.phases)
    match stage.state:
        case StageState.PASSED:
            late = f"{flying} in flight" if flying else ""
            return ", ".join(filter(None, (f"{failed} failed, tolerated" if failed else "", late)))
        case StageState.HALTED:
            return f"{stage.failures} failed, {stage.budget or 0} allowed"
        case StageState.HELD:
            return stage.blocked
    reason = stage.wait.reason if stage.wait is not None else ""
    if reason in _USUAL:
        return _USUAL[reason]
    if not flying:
        return ""
    at_most = f", at most {stage.limit}" if stage.limit < stage.members else ""
    return f"{flying} in flight{at_most}"
