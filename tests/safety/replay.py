"""Does whoever reads the hub anew decide the same? Promises about the whole decision: R5.

A decision is a function of the objects on the hub and the instant: a process that has just read them,
in whatever order, plans what the one plans that has followed them all along.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random

from rollout.fleet.fleet import Fleet
from rollout.hub.base import Hub
from rollout.model.events import Change, Event
from rollout.model.kinds import ROLLOUT_RECORD, Kind, Obj, Ref, ref_of
from rollout.model.policy import Policy
from rollout.planning.plan import Plan
from rollout.runtime.planners import plan_now
from rollout.strategies.base import Step
from tests.safety.subject import Subject


@dataclass(frozen=True, slots=True)
class Decision:
    """What is planned for the workload, and the step of each of its placements."""

    plan: Plan
    steps: dict[str, Step]


def decision(subject: Subject, fleet: Fleet, now: datetime) -> Decision:
    """What this fleet decides."""
    plan = plan_now(subject.planner(), fleet, subject.ref, now)
    known = fleet.rollout(subject.ref)
    steps = {key: share.live.last for key, share in known.shares.items()} if known else {}
    return Decision(plan, steps)


def read_anew(
    subject: Subject,
    hub: Hub,
    read_at: datetime,
    policy: Policy,
    dice: Random | None = None,
    instead: Mapping[Ref, Obj] = {},
) -> Fleet:
    """A fleet that was told all that the hub holds. ``dice``: in any order. ``instead``: with these objects
    as they are here.
    """
    fleet = Fleet(policy, trackers=subject.trackers)
    kinds, read = list(fleet.watched), set[Kind]()
    while kinds:
        events = [
            Event(
                ref := ref_of(kind, obj),
                Change.ADDED,
                instead.get(ref, obj),
                int(obj["metadata"]["resourceVersion"]),
            )
            for kind in kinds
            for obj in hub.list(kind).items
        ]
        if dice is not None:
            dice.shuffle(events)
        for event in events:
            fleet.apply(event, read_at)
        read.update(kinds)
        kinds = sorted(fleet.wanted_kinds() - read, key=repr)
    return fleet


def difference(one: Decision, other: Decision) -> str:
    """How two decisions differ, "" where they do not.

    A new process may note in the record what has come of older revisions meanwhile, and drop outages
    that no longer matter: that decides nothing, so pages of the record are not compared.
    """
    if one.steps != other.steps:
        changed = [k for k in one.steps if one.steps[k] != other.steps.get(k)]
        return f"steps {[(one.steps[k], other.steps.get(k)) for k in changed]}"
    found = [
        [w for w in each.plan.writes if w.ref.kind is not ROLLOUT_RECORD] for each in (one, other)
    ]
    if found[0] != found[1]:
        return "writes " + " or ".join(str([str(w.ref) for w in writes]) for writes in found)
    if one.plan.recheck_at != other.plan.recheck_at:
        return f"a next look at {one.plan.recheck_at} or {other.plan.recheck_at}"
    return ""
