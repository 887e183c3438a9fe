"""What follows for the plain model from what people ask for? Stops, gates, retries, reasons to go back."""

from datetime import datetime
from typing import TYPE_CHECKING

from tests.safety.asked import group_of, stands_at
from tests.safety.terms import Stage

if TYPE_CHECKING:  # the model asks here: it cannot be imported
    from tests.safety.model import Rollout


def misplaced(rollout: "Rollout") -> str:
    """A gate that stands at no stage holds everything."""
    groups = {name for _, name in rollout.groups or {}} - {""}
    for gate in rollout.terms.asked.gates if rollout.terms and rollout.selected else ():
        waits = group_of(gate) in rollout.named - groups
        if not waits and not any(stands_at(gate, stage.key) for stage in rollout.plan.stages):
            return "UnknownApprovalGroup"
    return ""


def shut(rollout: "Rollout", stage: Stage, *sides: str) -> list[str]:
    """Gates at the stage that nobody has opened for this revision."""
    if rollout.terms is None or stage.key in rollout.passed:
        return []
    return [
        gate
        for gate in rollout.terms.asked.gates
        if gate.partition(":")[0] in sides
        and stands_at(gate, stage.key)
        and (gate, stage.key) not in rollout.opened
    ]


def open_gates(rollout: "Rollout", stage: Stage, side: str) -> None:
    """The rollout has reached them: those open that somebody approved."""
    for gate in shut(rollout, stage, side):
        if rollout.said.opens(gate):
            rollout.opened.add((gate, stage.key))


def came_through(rollout: "Rollout", touched: list[str]) -> None:
    """Who is touched shows that the gates on the way to its stage are open, and that stages have passed."""
    behind = [s for s in rollout.plan.stages if any(c in s.members for c in touched)]
    for stage in rollout.plan.stages if behind else ():
        rollout.shown.update((gate, stage.key) for gate in _on_the_way(rollout, stage, behind[-1]))
        if stage.key == behind[-1].key:
            return
        rollout.unproven.discard(stage.key)


def surely_reached(rollout: "Rollout", stage: Stage) -> bool:
    """Whether every gate on the way to it is open, in any reading."""
    for each in rollout.plan.stages:
        for gate in _on_the_way(rollout, each, stage):
            if not rollout.said.opens(gate) and (gate, each.key) not in rollout.shown:
                return False
        if each.key == stage.key:
            break
    return True


def _on_the_way(rollout: "Rollout", stage: Stage, last: Stage) -> list[str]:
    """The gates at a stage that whoever is touched in the ``last`` one has come through."""
    gates = rollout.terms.asked.gates if rollout.terms else ()
    return [
        gate
        for gate in gates
        if stands_at(gate, stage.key) and (gate.startswith("before:") or stage.key != last.key)
    ]


def stop(rollout: "Rollout") -> str:
    """Why this revision goes no further, where a person said so of it."""
    if rollout.terms is None or not rollout.fingerprint:
        return ""
    asked = rollout.terms.asked
    if asked.undo == rollout.fingerprint:
        return "Undone"
    if rollout.fingerprint in asked.aborted:
        return "Aborted"
    return "Rejected" if rollout.said.rejected else ""


def retry(rollout: "Rollout", now: datetime) -> None:
    """Another token than before voids what has failed, and lifts the bar of a rollback, unless it is
    still asked for.
    """
    token = rollout.terms.asked.retry if rollout.terms else ""
    if not token or token == rollout.retried or rollout.terms is None:
        return
    rollout.retried = token
    if not stop(rollout):
        rollout.back.begin_anew()
    members = {c for stage in rollout.plan.stages for c in stage.members}
    for cluster in members | rollout.terms.skip:
        track = rollout.tracks.get(cluster)
        if track is None or track.revision != rollout.terms.revision or track.void:
            continue
        if rollout.is_failure(track, now) and track.exact:
            track.void, track.fresh = True, True
        elif not track.soaked and (track.ended or not track.exact):
            track.maybe_void = True  # by one reading it has failed
        elif track.ended and not rollout.terms.soak and rollout.may_still_soak(track, now):
            track.maybe_void = True  # in a span that does not count not even a soak of 0 s is over


def note_reason(rollout: "Rollout", now: datetime) -> None:
    """Whether there is a reason to take the revision back."""
    if rollout.terms is None:
        return
    mode = rollout.terms.asked.rollback
    asked = stop(rollout) if mode == "Automatic" else ""
    may_exceed = rollout.breach(now, surely=False) or not rollout.sure
    breach = mode == "Automatic" and may_exceed and not rollout.back.completed
    undone = stop(rollout) == "Undone" and mode != "None"
    back = rollout.back
    back.has_reason = back.has_reason or bool(asked) or breach or undone
