"""What is promised, and how often must each guarded state have been reached for a pass to mean anything?

Minima are for a hundred histories, well below what was measured. Statements: docs/safety-contract.md.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Guard:
    """A state in which a promise could be broken. ``least``: for each hundred histories."""

    key: str
    least: float


@dataclass(frozen=True, slots=True)
class Promise:
    """One statement of the safety contract, in a few words."""

    key: str
    title: str
    guards: tuple[Guard, ...]


def _promise(key: str, title: str, **guards: float) -> Promise:
    return Promise(key, title, tuple(Guard(f"{key}.{name}", n) for name, n in guards.items()))


_COMMON: tuple[Promise, ...] = (
    _promise("S1", "no touch above a stage's limit", at_the_limit=500, supersede_in_flight=10,
             restart_in_flight=50),
    _promise("S2", "an explicit zero never means all", explicit_zero=20),
    _promise("S3", "a breach halts", breach_while_waiting=50),
    _promise("S4", "strict tolerance: budget + 1", at_the_bound=200),
    _promise("S5", "stages in order", later_stage_waits=500, named_twice=10),
    _promise("S6", "only this revision and generation count", stale_statuses=300),
    _promise("S7", "the unknown holds and says why", UnknownDecisionGroup=30, PlacementNotFound=5,
             MandatoryGroupEmptied=5, Misconfigured=8),
    _promise("S8", "what stands still is left alone", paused=10, frozen=10, held_waiting=20),
    _promise("S9", "one owner, one carrier", carriers_created=300, owner_changes=5,
             plans_as_ocm=20),
    _promise("S10", "a rollback touches whom it may, and no more"),
    _promise("S11", "nothing removed on a bad read", torn=30, removals=3, brake=3),
    _promise("S12", "the tally adds up", statuses=1000),
    _promise("S13", "no clock and no restart ends a wait early", soaks_ended=300,
             deadlines_ended=20, steps=2, restarts_in_soak=0.5, restarts_before_deadline=1, skewed_agents=30,
             skewed_successors=5),
    _promise("S14", "what was planned and approved is what is done"),
    _promise("S16", "zero targets is never complete", zero_targets=5),
    _promise("S17", "the lost are failures", lost=8),
    _promise("S18", "nobody moves a rollout by writing what is not his", meddled=4, verdicts=500),
    _promise("S19", "no proof from nobody, nor from decisions that are not still", unsettled=20,
             first_decisions=10, empty_group=5),
    _promise("S20", "a waiver is for one revision", over=5),
    _promise("S21", "nothing is touched in a closed window", closed_waiting=30, removals=0.4,
             removals_shut=2, unread=4, overridden=1, Restore=2),
    _promise("L1", "always a timer or an event ahead", timers_judged=500, openings_judged=1),
    _promise("L2", "free slots are filled at once", slots_judged=1000),
    _promise("L3", "silence times out", silent_for_too_long=1),
    _promise("L4", "lost events delay, no more", lossy_runs=1),
    _promise("L5", "a fix always gets through", finished=90),
    _promise("R1", "a crash changes nothing", restarts=10, restarts_in_flight=5,
             crashes_between_writes=4, verdict_before_touch=500, crash_after_write_k=3),
    _promise("R4", "what was refused is tried again after a pause", tried_again=1),
    _promise("R5", "asked again or anew, nothing new", asked_again=50, replayed=90,
             replayed_midway=20, turns=100, asked_ahead=100, curious=1),
    _promise("R6", "bad news adds nothing", bad_news=20, slower=20),
    _promise("R8", "nothing grows without bound", fleets_measured=0.01, lives_measured=0.01),
    _promise("O1", "a reason for each wait, a cause for each touch", waits_foreseen=100,
             touches_with_cause=3000, waits_told=100),
)  # fmt: skip


_OF_KIND: Mapping[str, Mapping[str, float]] = {
    "replicaset": {
        "S9.relabelled": 5,
        "S9.twins_removed": 2,
        "S1.tried_again": 5,
        "S6.truths": 20,
        "L1.attempts": 3,
        "S7.UnknownApprovalGroup": 20,
        "O1.stopped_waits": 20,
        "S8.Aborted": 20,
        "S8.Rejected": 20,
        "S8.Undone": 50,
        "S10.went_back": 25,
        "S10.at_the_limit": 10,
        "S10.barred": 100,
        "S18.revisions_put_back": 0.5,
        "S21.Rollback": 0.5,
        "S14.forecasts": 5,
        "S14.foreseen_touches": 8,
        "S14.gate_shut": 200,
        "S14.gate_open": 200,
        "S14.approved_another": 50,
        "S14.approved_too_early": 10,
    },
    "addon": {
        "S6.successes": 1000,
        "S7.ConfigNotFound": 10,
        "S7.MandatoryGroupEmptied": 0,
        "S7.UnknownApprovalGroup": 20,
        "S1.tried_again": 1,
        "S8.Aborted": 10,
        "S8.Rejected": 20,
        "S14.gate_shut": 100,
        "S14.gate_open": 200,
        "S14.approved_another": 10,
        "S14.approved_too_early": 1,
    },
}
"""Guards of one kind of workload alone, and minima that are others there (0: it is too rare there)."""


def promises_of(kind: str) -> tuple[Promise, ...]:
    """The contract with its guards, for a kind of workload.

    What has no guard there is not put to the test: add-ons keep no templates to go back to.
    """
    found: list[Promise] = []
    for promise in _COMMON:
        own = {k: n for k, n in _OF_KIND[kind].items() if k.startswith(f"{promise.key}.")}
        minima = {guard.key: guard.least for guard in promise.guards} | own
        guards = tuple(Guard(key, least) for key, least in minima.items())
        if guards:
            found.append(replace(promise, guards=guards))
    return tuple(found)


def short(promise: Promise, counts: Counter[str], histories: int) -> list[str]:
    """The guards that were not reached often enough, in words."""
    return [
        f"{guard.key}: {counts[guard.key]} of at least {least(guard, histories)}"
        for guard in promise.guards
        if counts[guard.key] < least(guard, histories)
    ]


def least(guard: Guard, histories: int) -> int:
    if histories < 100 or not guard.least:
        return 0
    return max(1, int(guard.least * histories / 100))
