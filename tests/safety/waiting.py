"""Does everybody who waits have exactly one reason, and is it the right one? Promise O1, at rest.

What is judged is the list of clusters as people see it on the dashboard. What it must say is worked out from
the plain model alone.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from rollout.account.roster import roster_page
from rollout.account.tree import ClusterAccount
from rollout.account.waits import WaitAccount
from rollout.fleet.fleet import Fleet
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Phase
from tests.safety import wishes
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.terms import Stage
from tests.safety.told import Told
from tests.safety.tracks import Track

Blame = Callable[[str, str], None]

GOING_BACK = frozenset(
    {"RollingBack", "RolledBack", "RollbackHalted", "GoingBack", "NothingToGoBackTo"}
)


def waits(
    told: Told,
    fleet: Fleet,
    now: datetime,
    counts: Counter[str],
    blame: Blame,
    kept_back: Collection[str] = (),
) -> None:
    """Each cluster that is selected and not soaked; the engine has nothing to do at this instant.

    Args: kept_back: clusters of which the server refuses what is to be said about them.
    """
    workload = fleet.rollout(told.subject.ref)
    for rollout in told.rollouts.values():
        share = workload.shares.get(told.subject.share_key(rollout.name)) if workload else None
        if share is None or rollout.terms is None:
            continue
        if rollout.hold or rollout.bad:
            allow(counts, "wait_under_hold")
            continue
        listed = _listed(share.live, blame)
        for stage in rollout.plan.stages:
            for cluster in stage.members:
                if cluster not in listed:
                    blame("O1", f"{cluster} is selected, and is in no list")
                    continue
                wait = listed[cluster].wait
                if wait is not None and wait.reason == "WriteRejected" and cluster in kept_back:
                    allow(counts, "wait_not_foreseen")
                    continue
                _judge(told, rollout, stage, cluster, wait, now, counts, blame)


def _listed(live: LiveRollout, blame: Blame) -> Mapping[str, ClusterAccount]:
    page = roster_page([live], phase=None, text="", start=0, most=10_000)
    accounts = [e.account for e in page.entries if e.account.phase is not Phase.LOST]
    found = {each.name: each for each in accounts}
    if len(found) != len(accounts):
        blame("O1", f"of {len(accounts)} lines of clusters only {len(found)} are of different ones")
    return found


def _judge(
    told: Told,
    rollout: Rollout,
    stage: Stage,
    cluster: str,
    wait: WaitAccount | None,
    now: datetime,
    counts: Counter[str],
    blame: Blame,
) -> None:
    track = rollout.current(cluster)
    if wait is None:
        if rollout.is_maybe(cluster):
            allow(counts, "maybe_void")
        elif track is None or not rollout.has_soaked(track, now):
            blame("O1", f"{cluster} has not soaked, and nobody says why: {track}")
        return
    counts["O1.waits_told"] += 1
    goes_on = not rollout.back.has_reason  # else those that have soaked wait for their way back
    if goes_on and track is not None and track.exact and rollout.surely_soaked(track, now):
        blame("O1", f"{cluster} has soaked, and is said to wait: {wait}")
    if not _says_for_what(rollout, stage, wait, now, counts):
        blame("O1", f"{cluster} waits, and it is not said for what: {wait}")
    if wait.reason == "Due":
        blame("O1", f"{cluster} is due, and nothing is written")
    expected = _expected(told, rollout, stage, cluster)
    if track is None and expected and not rollout.is_maybe(cluster):
        counts["O1.stopped_waits"] += 1
    elif goes_on and rollout.sure:
        is_new = track is None and not rollout.is_maybe(cluster)
        has_it = track is not None and track.exact and track.landed
        expected = _in_line(told, rollout, stage, now) if is_new else frozenset()
        expected = _under_way(rollout, track, now) if has_it and track is not None else expected
        if is_new and expected and _may_be_barred(told, rollout):
            expected |= {"RolledBack"}
        counts["O1.waits_foreseen"] += bool(expected)
    else:
        expected = frozenset()
    if not expected:
        allow(counts, "wait_not_foreseen")
    if expected and wait.reason not in expected:
        blame(
            "O1", f"{cluster} is said to wait for {wait.reason}, it is {sorted(expected)}: {track}"
        )


def _says_for_what(
    rollout: Rollout, stage: Stage, wait: WaitAccount, now: datetime, counts: Counter[str]
) -> bool:
    is_over = wait.until is not None and wait.until <= now
    if is_over and wait.reason == "WindowClosed":
        is_behind = not _is_reached(rollout, stage, now) or _is_full(rollout, stage, now)
        return is_behind and allow(counts, "opened_behind")
    return bool(wait.reason and wait.ends) and not is_over


def _is_reached(rollout: Rollout, stage: Stage, now: datetime) -> bool:
    """Whether every earlier stage may have passed."""
    earlier = rollout.plan.stages[: rollout.plan.stages.index(stage)]
    return all(rollout.may_have_passed(each, now) for each in earlier)


def _is_full(rollout: Rollout, stage: Stage, now: datetime) -> bool:
    """Whether every slot of the stage is taken."""
    flying = sum(rollout.in_flight(cluster, now) for cluster in stage.members)
    return stage.limit is not None and flying >= stage.limit


def _may_be_barred(told: Told, rollout: Rollout) -> bool:
    """Whether another placement may take this revision back: then it goes no further here either."""
    others = [other for other in told.rollouts.values() if other is not rollout]
    return any(o.back.has_reason or o.back.barred == rollout.terms_revision for o in others)


def _in_line(told: Told, rollout: Rollout, stage: Stage, now: datetime) -> frozenset[str]:
    """Why a cluster is not touched yet, where that is plain and nobody stops the rollout; else none."""
    exact = all(t.exact and t.landed and not t.refused for t in rollout.tracks.values())
    if not exact or rollout.is_unquiet or told.closed(now) or rollout.terms is None:
        return frozenset()
    may_halt = rollout.maybe_lost - rollout.terms.skip or rollout.breach(now, surely=False)
    if rollout.terms.asked.gates or may_halt:
        return GOING_BACK | {"MaxFailuresExceeded"} if rollout.breach(now) else frozenset()
    earlier = rollout.plan.stages[: rollout.plan.stages.index(stage)]
    if not _is_reached(rollout, stage, now):
        return frozenset({"WaitingForStage"})
    if stage.limit is None or set(rollout.unproven).intersection(each.key for each in earlier):
        return frozenset()
    flying = sum(rollout.in_flight(c, now) for c in stage.members)
    if not 0 < stage.limit <= flying:
        return frozenset()
    return frozenset({"SlotsFull", "FailureTolerance"} if rollout.terms.strict else {"SlotsFull"})


def _under_way(rollout: Rollout, track: Track, now: datetime) -> frozenset[str]:
    """What a cluster that has the revision waits for, where that is plain; else none."""
    if track.refused or rollout.may_be_failure(track, now):
        return frozenset()
    found = {"silent": {"NotAcknowledged", "Unreachable"}, "succeeded": {"Soaking"}}
    return frozenset(found.get(track.health, ()))


def _expected(told: Told, rollout: Rollout, stage: Stage, cluster: str) -> frozenset[str]:
    """Reasons of which one must be told, where people are what is waited for; else none."""
    assert rollout.terms is not None
    held = frozenset({"Held"} if cluster in rollout.terms.asked.held else ())
    if held:
        return held
    if told.frozen:
        return frozenset({"Frozen"})
    if told.paused:
        return frozenset({"Paused"})
    if rollout.back.barred:
        return GOING_BACK
    return GOING_BACK | {wishes.stop(rollout)} if wishes.stop(rollout) else frozenset()
